// Sample requests below the errors, with everything that went over the wire: they come with the report.

import { group, make, showMs } from './shared.js';
import { shown } from './state.js';
import { moment, size, traceText } from './words.js';

const LONGEST = 4096;
const keyOf = row => `${row.name}\n${row.message}\n${row.line}`;

class Exemplars {
  places = new Map();
  rows = new Map();

  // Returns the element that shows the samples of an error, once they are known.
  of(row) {
    const place = make('div', { hidden: '' }), key = keyOf(row);
    this.places.set(key, { place, shown: '' });
    this.fill(key);
    return place;
  }

  take(report) {
    for (const row of report.errors) this.rows.set(keyOf(row), row);
    for (const key of this.places.keys()) this.fill(key);
  }

  // What is known already stays as it is, unfolded or not.
  fill(key) {
    const samples = this.rows.get(key)?.exemplars ?? [], known = this.places.get(key), now = JSON.stringify(samples);
    if (known.shown === now) return;
    known.shown = now;
    known.place.hidden = !samples.length;
    const label = samples.length === 1 ? 'a request that ended like this' : `the first and the slowest of these requests (${samples.length})`;
    known.place.replaceChildren(make('details', {}, make('summary', {}, label), ...samples.map(sample)));
  }
}

export const exemplars = new Exemplars();

function sample(one) {
  const status = one.status ? one.status : 'no response';
  const body = one.body_bytes > one.body.length ? `Body, its start of ${size(one.body_bytes)} (${group(one.body_bytes)} bytes)` : 'Body';
  const details = make('details', { class: 'exemplar' },
    make('summary', {}, make('bdi', {}, shown(`${one.method} ${one.url}`)), ` → ${status} in ${showMs(one.latency_ms)}`),
    make('p', { class: 'note' }, shown(whereabouts(one))));
  for (const [title, content] of [['Request headers', one.request_headers.join('\n')], ['Response headers', one.response_headers.join('\n')], [body, one.body]]) {
    if (content) details.append(make('h3', {}, title), make('pre', { tabindex: 0 }, content.slice(0, LONGEST).split('\n').map(shown).join('\n')));
  }
  return details;
}

function whereabouts(one) {
  const phases = [['DNS', 'dns'], ['connect', 'connect'], ['TLS', 'tls'], ['send', 'send'], ['first byte', 'first_byte'], ['receive', 'receive']]
    .filter(([, key]) => one.phases_ms[key] !== null && one.phases_ms[key] !== undefined).map(([name, key]) => `${name} ${showMs(one.phases_ms[key])}`);
  const words = [`${moment(one.start_ns / 1e9)} into the run`, `user ${one.user}`];
  for (const [label, key] of [['scenario', 'scenario'], ['task', 'task'], ['answered from', 'final_url']]) if (one[key]) words.push(`${label} ${one[key]}`);
  if (one.page_says) words.push(`the page says: ${one.page_says}`);
  if (phases.length) words.push(phases.join(', '));
  if (one.trace) words.push(`trace ${traceText(one.trace)}`);
  return words.join(' · ');
}
