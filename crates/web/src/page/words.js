// Figures in words, as the tables of the report have them.

import { clock, digits, group } from './shared.js';

export const rate = value => value === 0 ? '0' : digits(value);

export function share(count, of) {
  const percent = 100 * count / Math.max(of, 1);
  if (count === 0) return '0%';
  if (percent < 0.01) return '<0.01%';
  if (percent > 99.9 && count < of) return '>99.9%';
  return `${digits(percent)}%`;
}

export const withShare = (count, of) => count ? `${group(count)} (${share(count, of)})` : '0';

export function size(bytes) {
  let value = bytes;
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
    if (value < 999.5) return `${unit === 'B' ? value.toFixed(0) : digits(value)} ${unit}`;
    value /= 1024;
  }
  return `${digits(value)} TiB`;
}

export const counted = (count, noun) => `${group(count)} ${noun}${count === 1 ? '' : 's'}`;

export const moment = seconds => seconds < 59.95 ? `${seconds.toFixed(1)} s` : clock(seconds);

// A trace as a person looks for it.
export const traceText = trace => trace.sampled ? trace.trace_id : `${trace.trace_id} (not sampled)`;

// A figure of a plan's own metric.
export const figure = value => Number.isInteger(value) ? group(value) : digits(value);
