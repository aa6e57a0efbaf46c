// The tables: thresholds, errors, requests, scenarios, tasks, checks, the plan's own metrics, workers, what happened.

import { digits, find, group, make, showMs, showPercent } from './shared.js';
import { Table, bad, made, mark, num, text } from './table.js';
import { exemplars } from './exemplars.js';
import { requestName, shown, state } from './state.js';
import { requestsShown, startTagged } from './tagged.js';
import { figure, moment, rate, share, traceText, withShare } from './words.js';

const tables = {};
const count = n => num(n, group(n));
const failed = (n, of) => n ? bad(num(n, withShare(n, of))) : count(0);
const alarming = n => n ? bad(count(n)) : count(0);
const ms = value => value === null || value === undefined ? num(null) : num(value, showMs(value));
const at = seconds => seconds === null || seconds === undefined ? num(null) : num(seconds, moment(seconds));

export function startTables() {
  const add = (id, ...rest) => { tables[id] = new Table(id, ...rest); };
  add('thresholds', 'Thresholds', ['ok', 'threshold', 'distance', '#limit', '#figure', '#broken at']);
  add('errors', 'Errors', ['name', '#count', '#first seen', '#last seen', 'message', 'plan']);
  add('requests', 'Requests', ['name', '#requests', '#failed', '#req/s', '#now/s', '#failed now/s', '#p50', '#p95', '#p99', '#max'], { filter: 'Filter names', more: startTagged(showRequests) });
  add('streams', 'Streams', ['name', '#messages', '#messages/s', '#first p50', '#first p95', '#first p99', '#gap p50', '#gap p99', '#gap max'],
    { note: 'First: from the beginning of a stream to its first message. Gap: from one message to the next.' });
  add('slowest', 'Slowest requests', ['name', '#latency', 'status', '#at', '#user', 'what', 'trace'],
    { note: 'The slowest requests of each name. A trace that the site was asked to keep is found in the site’s tracing.' });
  add('scenarios', 'Scenarios', ['scenario', '#users now', '#iterations', '#dropped', '#users lost']);
  add('tasks', 'Tasks and transactions', ['task', 'scenario', '#runs', '#failed', '#runs/s', '#avg', '#p50', '#p95', '#max']);
  add('checks', 'Checks', ['ok', 'check', '#held', '#failed', '#share']);
  add('metrics', 'Custom metrics', ['metric', 'kind', '#values', '#value', '#min', '#p50', '#p90', '#p95', '#p99', '#max'],
    { note: 'The value is the sum of a counter, the latest of a gauge, the share of a rate that was true, the mean of a trend.' });
  add('workers', 'Workers', ['worker', 'labels', 'state', '#users', '#requests', '#failed', '#now/s', '#p95', '#busy', '#lag', '#offset'], { before: find('#generator') });
  add('happened', 'What happened', ['#at', '#lasted', 'what'], { before: find('#log') });
}

export function showTables() {
  tables.thresholds.show((state.thresholds ?? []).map(threshold));
  tables.errors.show((state.errors ?? []).map(row => ({
    key: `${row.name}\n${row.message}\n${row.line}`,
    cells: [text(shown(row.name)), bad(count(row.count)), at(row.first_s), at(row.last_s), text(shown(row.message)), text(shown(row.line ?? '–'))],
    detail: row.name ? () => exemplars.of(row) : undefined,
  })));
  showRequests();
  tables.scenarios.show((state.scenarios ?? []).map((row, key) => ({ key, cells: [text(shown(row.name)), count(row.users_now), count(row.iterations), alarming(row.arrivals?.dropped), alarming(row.users_lost)] })));
  tables.checks.show((state.checks ?? []).map((row, key) => {
    const sum = row.passes + row.failures;
    return { key, cells: [mark(!row.failures, row.failures ? 'failed' : 'held'), text(shown(row.name)), count(row.passes),
      row.failures ? bad(count(row.failures)) : count(0), num(row.passes / Math.max(sum, 1), share(row.passes, sum))] };
  }));
  tables.metrics.show((state.metrics ?? []).map(metric));
  tables.workers.show((state.workers ?? []).map(worker));
  tables.happened.show((state.events ?? []).map((row, key) => ({
    key: `${row.at_s} ${row.kind} ${row.text}`, cells: [at(row.at_s), row.lasted_s === null ? num(null) : num(row.lasted_s, moment(row.lasted_s)), text(shown(row.text))],
  })).reverse());
}

// Without a request of the chosen tag, too, another one can be chosen.
function showRequests() {
  const { requests, aggregated } = requestsShown(), none = { count: 0, failures: 0, rate: 0, rate_now: 0, failures_now: 0, latency_ms: null };
  tables.requests.show(worstFirst(requests).map(row => ({ key: `${row.method} ${row.name}`, cells: request(requestName(row), row) })), request('Aggregated', aggregated ?? none));
  tables.requests.section.hidden = !state.requests?.length;
}

// Those that fail come first, the worst on top, as in the terminal.
function worstFirst(rows) {
  const trouble = row => { const share = row.failures / Math.max(row.count, 1); return share >= 0.01 ? share : 0; };
  return [...rows].sort((a, b) => trouble(b) - trouble(a));
}

// Tasks are in the report only.
export function showTasks(report) {
  tables.tasks.show(report.tasks.map(row => ({
    key: `${row.scenario}\n${row.name}`,
    cells: [text(shown(row.name)), text(shown(row.scenario)), count(row.runs), failed(row.failures, row.runs),
      num(row.runs / Math.max(report.elapsed_s, 1e-9), rate(row.runs / Math.max(report.elapsed_s, 1e-9))),
      ms(row.latency_ms?.avg), ms(row.latency_ms?.p50), ms(row.latency_ms?.p95), ms(row.latency_ms?.max)],
  })));
}

// So are the messages of streams.
export function showStreams(report) {
  const perSecond = messages => num(messages.received, rate(messages.received / Math.max(report.elapsed_s, 1e-9)));
  const cells = (name, { messages, first_event_ms: first, event_gap_ms: gap }) => [text(name), count(messages.received), perSecond(messages),
    ms(first?.p50), ms(first?.p95), ms(first?.p99), ms(gap?.p50), ms(gap?.p99), ms(gap?.max)];
  const rows = report.requests.filter(row => row.messages);
  tables.streams.show(rows.map(row => ({ key: requestName(row), cells: cells(requestName(row), row) })), rows.length ? cells('Aggregated', report.aggregated) : undefined);
}

// So are single requests.
export function showSlowest(report) {
  const all = new Map();
  for (const row of report.requests) {
    const name = requestName(row);
    for (const one of [...(row.slowest ?? []), ...(row.traced ?? [])]) all.set(`${name} ${one.start_ns} ${one.user}`, { name, one, took: one.latency_ms + one.delay_ms });
  }
  tables.slowest.show([...all].sort(([, a], [, b]) => b.took - a.took).map(([key, { name, one, took }]) => ({
    key,
    cells: [text(name), ms(took), text(one.status ? `${one.status}` : 'no response'), at(one.start_ns / 1e9), count(one.user), text(shown(one.url)),
      text(one.trace ? shown(traceText(one.trace)) : '–')],
  })));
}

function request(name, row) {
  const latency = row.latency_ms;
  return [text(name), count(row.count), failed(row.failures, row.count), num(row.rate, rate(row.rate)), num(row.rate_now, rate(row.rate_now)),
    row.failures_now ? bad(num(row.failures_now, rate(row.failures_now))) : num(0, '0'),
    ms(latency?.p50), ms(latency?.p95), ms(latency?.p99), ms(latency?.max)];
}

const TIMES = { us: 1e-3, ms: 1, s: 1e3 };

function inUnit(value, unit) {
  if (unit in TIMES) return showMs(value * TIMES[unit]);
  if (unit === '%') return value === 0 ? '0%' : value < 0.01 ? '<0.01%' : `${digits(value)}%`;
  return `${figure(value)}${shown(unit)}`;
}

// How far a figure is from its limit: 1 is at the limit, more is beyond.
function threshold(row, key) {
  const words = row.threshold, most = words.includes('<'), named = row.name ? `${row.name}: ${words}` : words;
  const value = row.value === null || row.value === undefined ? num(null) : num(row.value, inUnit(row.value, row.unit));
  const cells = [mark(row.passed, row.passed ? 'holds' : 'broken'), text(shown(named)), distance(row, most),
    num(row.limit, inUnit(row.limit, row.unit)), row.passed ? value : bad(value), at(row.broken_s)];
  return { key, cells };
}

function distance(row, most) {
  if (row.value === null || row.value === undefined) return made(make('span', { class: 'note' }, 'no figure yet'), undefined, 'no figure yet');
  const left = most ? row.limit - row.value : row.value - row.limit;
  const part = row.limit ? Math.abs(left / row.limit) : null;
  const size = part === null ? inUnit(Math.abs(left), row.unit) : part > 9.99 ? `${figure(Math.round(part + 1))} times` : showPercent(part);
  const words = left === 0 ? 'at the limit' : left > 0 ? `${size} to spare` : part > 9.99 ? `${size} the limit` : `${size} ${most ? 'too much' : 'short'}`;
  // The limit stands at two thirds of the bar.
  const filled = Math.min(1, row.limit ? row.value / row.limit / 1.5 : row.value > 0 ? 1 : 0);
  const bar = make('svg:svg', { class: `meter ${row.passed ? 'good' : 'bad'}`, viewBox: '0 0 90 10', 'aria-hidden': 'true' },
    make('svg:rect', { class: 'track', x: 0, y: 2, width: 90, height: 6, rx: 3 }),
    make('svg:rect', { class: 'value', x: 0, y: 2, width: Math.max(0, filled * 90).toFixed(1), height: 6, rx: 3 }),
    make('svg:path', { class: 'limit', d: 'M60 0v10' }));
  return made(make('span', { class: 'distance' }, bar, make('span', {}, words)), part === null ? left : left / row.limit, words);
}

function metric(row, key) {
  const own = value => value === null || value === undefined ? num(null) : num(value, figure(value));
  const value = row.kind === 'rate' && row.value !== null ? num(row.value, share(Math.round(row.value * row.count), row.count)) : own(row.value);
  return { key, cells: [text(shown(row.name)), text(row.kind), count(row.count), value, ...[row.min, row.p50, row.p90, row.p95, row.p99, row.max].map(own)] };
}

function worker(row) {
  const labels = Object.entries(row.labels).map(([name, value]) => `${name}=${value}`).join(' ');
  const lost = row.state === 'lost', busy = num(row.busy_now, showPercent(row.busy_now));
  return { key: row.name, cells: [text(shown(row.name)), text(shown(labels || '–')), lost ? mark(false, 'lost') : text(row.state), count(row.users_now), count(row.requests),
    failed(row.failures, row.requests), num(row.rate_now, rate(row.rate_now)), ms(row.p95_ms), row.saturated_now ? bad(busy) : busy, ms(row.lag_now_ms),
    num(row.offset_ms, `${showMs(row.offset_ms)} ± ${showMs(row.offset_within_ms)}`)] };
}
