// The first screen: what is run, its phase, the verdict so far, the main figures, warnings.

import { clock, find, group, make, showMs } from './shared.js';
import { measured, shown, state } from './state.js';
import { counted, rate, share, size } from './words.js';

const PHASES = { starting: 'starting', running: 'running', paused: 'paused', stopping: 'stopping', over: 'over' };
const cards = new Map();

// Shows what does not change: plan, host, version.
export function showFacts({ plan, host, version }) {
  find('#plan').textContent = shown(plan);
  find('#host').textContent = shown(host);
  state.version = version;
}

export function showOverview(end) {
  const phase = PHASES[state.phase] ?? 'connecting', element = find('#phase');
  if (element.textContent !== phase) element.textContent = phase;
  element.className = `phase ${phase}`;
  showInTab(phase, end);
  const ends = state.wanted?.ends_s, ran = state.run_s ?? 0;
  const facts = [ends && phase !== 'over' ? `${clock(ran)} of ${clock(ends)}` : clock(ran)];
  if (measured() < ran - 1.5) facts.push(`measured for ${clock(measured())}`);
  if (state.paused_s >= 1) facts.push(`paused for ${clock(state.paused_s)}`);
  find('#facts').textContent = facts.join(' · ');
  const progress = find('#progress');
  progress.hidden = !ends || phase === 'over';
  if (ends) progress.value = Math.min(1, ran / ends);
  showVerdict(end);
  showDiagnosis();
  showCards(phase);
  const warnings = state.warnings ?? [], list = find('#warnings ul');
  find('#warnings').hidden = !warnings.length;
  if (list.childElementCount !== warnings.length) list.replaceChildren(...warnings.map(warning => make('li', {}, shown(warning))));
}

// Tells tabs apart without opening them: `✗ 11% · shop.lua`, and a dot in the colour of the state.
let icon = '';
function showInTab(phase, end) {
  const all = state.aggregated, result = end?.verdict?.result, failing = state.diagnosis?.failing || result === 'failed';
  const failed = all?.failures ? ` ${share(all.failures, all.count)}` : '';
  const plan = find('#plan').textContent.split('/').pop();
  document.title = `${failing ? `✗${failed}` : result === 'passed' ? '✓ passed' : phase} · ${plan} · lgoose`;
  const colour = failing ? '%23bd3307' : phase === 'over' ? '%235a636e' : '%230a7a52';
  if (icon === colour) return;
  icon = colour;
  find('link[rel=icon]').href = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='4' fill='${colour}'/></svg>`;
}

let told = '';
function showVerdict(end) {
  const rows = state.thresholds ?? [], broken = rows.filter(row => !row.passed), verdict = end?.verdict;
  const held = rows.length ? (broken.length ? `${broken.length} of ${counted(rows.length, 'threshold')} broken` : `${rows.length} of ${counted(rows.length, 'threshold')} held`) : '';
  let look = 'open', sign = '○', word = '';
  if (verdict) {
    const short = !end.ending || end.ending.cut_short;
    [look, sign, word] = { failed: ['failed', '✗', 'Failed'], passed: ['passed', '✓', short ? 'Passed so far' : 'Passed'] }[verdict.result] ?? ['open', '○', 'Finished'];
  } else if (end) [look, sign, word] = ['open', '○', 'Over without a report'];
  else if (rows.length) [look, sign, word] = broken.length ? ['failed', '✗', 'Failing so far'] : ['passed', '✓', 'Passing so far'];
  const section = find('#verdict'), now = JSON.stringify([look, word, held, verdict, end?.ending?.text, broken.map(row => row.threshold)]);
  section.hidden = !word;
  if (now === told) return;
  told = now;
  section.className = `verdict ${look}`;
  const lines = [make('p', {}, make('span', { class: 'mark', 'aria-hidden': 'true' }, sign), make('strong', {}, word), ' ', make('span', {}, held))];
  const add = text => text && lines.push(make('p', {}, shown(text)));
  const reasons = verdict ? [...(verdict.reasons.length > 1 ? verdict.reasons : []), ...verdict.remarks] : broken.map(row => `${row.name ? `${row.name}: ` : ''}${row.threshold}`);
  add(verdict?.text);
  if (!verdict?.text?.includes(end?.ending?.text)) add(end?.ending?.text);
  const most = reasons.slice(0, 5).map(reason => make('li', {}, shown(reason)));
  if (reasons.length > 5) most.push(make('li', {}, `and ${reasons.length - 5} more, in the tables`));
  if (most.length) lines.push(make('ul', {}, ...most));
  section.replaceChildren(...lines);
}

// Since when, where and why something fails.
let diagnosed = '';
function showDiagnosis() {
  const diagnosis = state.diagnosis, section = find('#diagnosis'), now = JSON.stringify(diagnosis ?? null);
  section.hidden = !diagnosis;
  if (!diagnosis || now === diagnosed) return;
  diagnosed = now;
  section.className = `diagnosis ${diagnosis.failing ? 'failing' : 'few'}`;
  const answers = diagnosis.answers.flatMap(([question, text]) => [make('dt', {}, question), make('dd', {}, shown(text))]);
  section.replaceChildren(make('h2', {}, shown(diagnosis.heading)), make('dl', {}, ...answers));
}

function card(label, value, unit, more, look = '') {
  let all = cards.get(label);
  if (!all) {
    all = { value: make('span'), unit: make('small'), more: make('p', { class: 'more' }) };
    all.card = make('div', {}, make('h2', {}, label), make('p', { class: 'value' }, all.value, all.unit), all.more);
    find('#cards').append(all.card);
    cards.set(label, all);
  }
  all.card.className = `card ${look}`;
  for (const [key, text] of Object.entries({ value, unit, more })) if (all[key].textContent !== text) all[key].textContent = text;
}

function showCards(phase) {
  const all = state.aggregated ?? { count: 0, failures: 0, rate: 0, rate_now: 0, failures_now: 0, bytes: 0, bytes_sent: 0, latency_ms: null };
  const over = phase === 'over', latency = all.failures ? all.latency_ok_ms : all.latency_ms;
  const users = state.users_now ?? 0, wanted = state.wanted?.users ?? 0;
  const atRate = (state.wanted?.rate ?? null) !== null;
  const aim = atRate ? `at most ${group(wanted)}` : users === wanted ? 'as many as wanted' : `${group(wanted)} wanted`;
  const most = state.points.reduce((most, point) => Math.max(most, point.users), 0);
  card('Users', over ? group(most) : group(users), over ? ' at most' : '', over ? '' : `${aim} · ${counted(state.connections_now ?? 0, 'connection')}`);
  if (atRate) {
    const dropped = state.arrivals?.dropped ?? 0;
    card('Rate wanted', rate(state.wanted.rate), '/s', dropped ? `${counted(dropped, 'start')} dropped: no user was free` : 'no start was dropped', dropped ? 'bad' : '');
  }
  const received = `${counted(all.count, 'request')} · ${size(all.bytes)} received · ${size(all.bytes_sent)} sent`;
  card('Throughput', rate(over ? all.rate : all.rate_now), '/s', over ? received : `${rate(all.rate)}/s on average · ${received}`);
  // What fails at once must not make a site look faster.
  const longest = latency?.max === undefined ? '' : ` · max ${showMs(latency.max)}`;
  card('Latency, p95', latency ? showMs(latency.p95) : '–', '', latency
    ? `${all.failures ? 'of successes · ' : ''}p50 ${showMs(latency.p50)} · p99 ${showMs(latency.p99)}${longest}` : 'no request succeeded');
  const failing = !over && all.failures_now > 0 ? `${rate(all.failures_now)}/s now · ` : '';
  card('Failures', all.count ? share(all.failures, all.count) : '–', '', `${failing}${group(all.failures)} failed`, all.failures ? 'bad' : '');
  const { points } = state, last = points[points.length - 1], slow = points.filter(point => point.saturated).reduce((sum, point) => sum + point.seconds, 0);
  if (!last) return;
  const busy = over ? points.reduce((most, point) => Math.max(most, point.busy), 0) : last.busy;
  const lag = over ? points.reduce((most, point) => Math.max(most, point.lag_ms), 0) : last.lag_ms;
  const effort = `busiest thread ${Math.round(busy * 100)}%${over ? ' at most' : ''} · timers ${showMs(lag)} late`;
  const word = last.saturated && !over ? 'too slow now' : slow ? 'too slow at times' : over ? 'kept up' : 'keeps up';
  card('Load generator', word, '', `${slow ? `the bottleneck in ${Math.round(slow)} s · ` : ''}${effort}`, slow ? 'bad word' : 'good word');
}
