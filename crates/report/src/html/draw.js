// Making elements, reading the page's data, showing numbers, choosing round ticks. Text is set by textContent only,
// since it is not ours.

const SVG = 'http://www.w3.org/2000/svg';

const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith('svg:')
    ? document.createElementNS(SVG, tag.slice(4))
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function readBlock(id) {
  const block = document.getElementById(id);
  return block ? JSON.parse(block.textContent) : null;
}

const group = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');

// Three significant digits, as in the tables.
function digits(value) {
  const size = Math.abs(value);
  return size < 9.995 ? value.toFixed(2) : size < 99.95 ? value.toFixed(1) : group(value);
}

// The fewest digits that tell a tick from its neighbours.
function plain(value) {
  return Math.abs(value) >= 1000 ? group(value) : String(+value.toPrecision(6));
}

const units = ms => ms < 0.9995 ? [1000, 'µs'] : ms < 999.5 ? [1, 'ms'] : [0.001, 's'];

function showMs(ms) {
  const [factor, unit] = units(ms);
  return `${digits(ms * factor)} ${unit}`;
}

function tickMs(ms) {
  const [factor, unit] = units(ms);
  return ms === 0 ? '0' : `${plain(+(ms * factor).toPrecision(6))} ${unit}`;
}

const showRate = value => value === 0 ? '0/s' : `${digits(value)}/s`;
const showPercent = part => `${digits(part * 100)}%`;

const tickRate = value => value === 0 ? '0' : `${plain(value)}/s`;

// A moment of the run as the command line writes it: 7s, 1m30s, 1h2m; tenths where seconds are told apart.
function clock(seconds, tenths = false) {
  const whole = tenths ? Math.round(seconds * 10) / 10 : Math.round(seconds);
  const h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, s = +(whole % 60).toFixed(1);
  return `${h ? `${h}h` : ''}${m ? `${m}m` : ''}${s || !(h || m) ? `${s}s` : ''}`;
}

// Round values from zero to just above `most`: of three to six of them those that leave the least room.
function valueTicks(most, wanted, whole) {
  if (!(most > 0)) return [0, 1];
  const choices = [wanted, wanted + 1, wanted - 1, wanted + 2].map(count => {
    let step = most / count;
    const power = 10 ** Math.floor(Math.log10(step));
    step = power * [1, 2, 5, 10].find(factor => factor * power >= step * 0.999999);
    if (whole) step = Math.max(1, step);
    const ticks = [0];
    while (ticks[ticks.length - 1] < most * 0.999999) ticks.push(ticks.length * step);
    return ticks;
  });
  const top = ticks => ticks[ticks.length - 1];
  return choices.reduce((best, ticks) => top(ticks) < top(best) * 0.999 ? ticks : best);
}

// Powers of ten, with twos and fives where they are few, that enclose the values.
function logTicks(least, most) {
  const from = Math.floor(Math.log10(least) + 1e-9), to = Math.ceil(Math.log10(most) - 1e-9);
  const factors = to - from <= 2 ? [1, 2, 5] : to - from <= 5 ? [1, 3] : [1];
  const ticks = [];
  for (let power = from; power <= to; power++) {
    for (const factor of factors) ticks.push(+(factor * 10 ** power).toPrecision(3));
  }
  const low = ticks.filter(tick => tick <= least * 1.000001).pop() ?? ticks[0];
  const high = ticks.find(tick => tick >= most * 0.999999) ?? ticks[ticks.length - 1];
  return ticks.filter(tick => tick >= low && tick <= Math.max(high, low * 10));
}

function timeTicks(from, to, wanted) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400], length = to - from;
  const step = steps.find(step => length / step <= wanted) ?? Math.ceil(length / wanted / 86400) * 86400;
  const ticks = [];
  for (let at = Math.ceil(from / step - 1e-6) * step; at <= to + length * 1e-6; at += step) ticks.push(at);
  return ticks;
}

// The place of the value nearest to `wanted` in a rising list.
function nearest(list, wanted) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low > 0 && wanted - list[low - 1] < list[low] - wanted ? low - 1 : low;
}

// The sample of a line's look in legends and tooltips.
const swatch = line => make('svg:svg', { viewBox: '0 0 22 10', 'aria-hidden': 'true', class: line.look },
  make('svg:line', { x1: 1, y1: 5, x2: 21, y2: 5, class: line.look }));
