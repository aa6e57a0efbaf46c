// The charts over time, of the points that came, and the chart of single names, of the report so far.

import { Chart, Names, Spans, TimeAxis, drawAll, find, group, make, nearest, plain, showMs, showPercent, tickMs, tickRate } from './shared.js';
import { measured, requestName, shown, state } from './state.js';
import { rate } from './words.js';

const LENGTHS = [['whole run', null], ['last 10 minutes', 600], ['last 2 minutes', 120]];
const MARKED = kind => kind !== 'saturation' && kind !== 'end';

const axis = new TimeAxis(1);
const spans = new Spans(axis, LENGTHS);
let columns = { x: [], near: 1 }, names = null;

axis.redraw = () => {
  spans.update();
  drawAll();
};

const line = (label, look, of, more = {}) => ({ label, look, x: columns.x, y: state.points.map(of), near: columns.near, ...more });
// The limits of the latency of all requests, in words and milliseconds.
const limits = () => (state.thresholds ?? [])
  .filter(row => !row.name && /^(p[\d.]+|avg|max|min) [<>]/.test(row.threshold) && ['ms', 's'].includes(row.unit))
  .map(row => [row.threshold.split(' ').slice(0, 3).join(' '), row.unit === 's' ? row.limit * 1000 : row.limit]);
// A fragment of a second says little of a second.
const perSecond = of => point => point.seconds < 0.5 ? null : of(point) / point.seconds;
const showRate = value => `${rate(value)}/s`;

const SPECS = {
  'chart-rate': { show: showRate, tick: tickRate, lines: () => [line('requests/s', 'k0', perSecond(point => point.count), { area: true })] },
  'chart-latency': {
    show: showMs, tick: tickMs, canLog: true, clips: true, limits, count: at => state.points[nearest(columns.x, at)]?.count,
    lines: () => [line('p99', 'k1 dash-long', point => point.p99_ms), line('p95', 'k0', point => point.p95_ms), line('p50', 'k2 dash-short', point => point.p50_ms)],
  },
  'chart-errors': {
    show: showRate, tick: tickRate,
    lines: () => [line('failures/s', 'kbad', perSecond(point => point.failures), { area: state.points.some(point => point.failures) })],
  },
  'chart-users': { show: group, tick: plain, whole: true, lines: () => [line('users', 'k6', point => point.users, { area: true })] },
  'chart-busy': {
    show: showPercent, tick: part => `${plain(+(part * 100).toPrecision(4))}%`,
    lines: () => [line('busiest thread', 'k4', point => point.busy, { area: true })],
  },
  'chart-lag': {
    show: showMs, tick: tickMs, canLog: true,
    lines: () => [line('timers late', 'k7', point => point.lag_ms), line('own part, p99', 'k3', point => point.own_p99_ms)],
  },
};

export function startCharts() {
  const figure = (id, title) => make('figure', { class: 'chart', id }, make('figcaption', {}, make('h3', {}, title)), make('div', { class: 'plot' }));
  const generator = make('section', { id: 'generator', tabindex: -1, 'aria-labelledby': 'generator-title' },
    make('h2', { id: 'generator-title' }, 'Load generator'),
    make('p', { class: 'note' }, 'How hard lgoose itself works. Near 100%, or with late timers, it and not the site is what is measured.'),
    make('div', { class: 'charts' }, figure('chart-busy', 'Busiest thread'), figure('chart-lag', 'Time that lgoose itself takes')));
  find('main').insertBefore(generator, find('#log'));
  find('#charts').prepend(spans.tools);
  for (const [id, spec] of Object.entries(SPECS)) new Chart(document.getElementById(id), { axis, ...spec });
}

export function showCharts() {
  const { points } = state;
  columns = {
    x: points.map(point => point.second + point.seconds / 2),
    near: points.reduce((most, point) => Math.max(most, point.seconds), 1),
  };
  axis.end = measured();
  const wall = Date.now() - measured() * 1000;
  if (axis.wall === null || Math.abs(axis.wall - wall) > 2000) axis.wall = wall;
  axis.bands = bands(points);
  axis.events = (state.events ?? []).filter(event => MARKED(event.kind)).map(event => [event.at_s, event.lasted_s, event.kind, shown(event.text)]);
  axis.broken = (state.thresholds ?? []).map(row => row.broken_s).filter(at => at !== null && at !== undefined);
  if (axis.chosen && axis.chosen[1] > axis.end) axis.chosen = null;
  axis.redraw();
}

// Stretches in which lgoose was the bottleneck.
function bands(points) {
  const bands = [];
  for (const point of points) {
    if (!point.saturated) continue;
    const last = bands[bands.length - 1], end = point.second + point.seconds;
    if (last && point.second - last[1] < 0.5) last[1] = end; else bands.push([point.second, end]);
  }
  return bands;
}

// Takes the rows of names of a report.
export function showNames(report) {
  const rows = report.requests, listed = rows.map(row => [requestName(row), row.count]);
  const read = n => {
    const { second, seconds, count, failures, p50_ms: p50, p95_ms: p95, p99_ms: p99 } = rows[n].series;
    return { second, seconds, count, failures: failures.length ? failures : second.map(() => 0), p50, p95, p99 };
  };
  const figure = find('#chart-names'), until = report.elapsed_s + report.paused_s;
  figure.hidden = !rows.length;
  if (!rows.length) return;
  if (names) {
    Object.assign(names.source, { read, until });
    names.take(listed);
    names.chart.draw();
  } else names = new Names(figure, { axis, names: listed, read, until });
}

