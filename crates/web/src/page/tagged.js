// The requests of one tag: asked for about once a second while one is chosen, since events tell of all requests together.

import { Choice } from './shared.js';
import { shown, state } from './state.js';

const EVERY_MS = 900;

let known = null, asked = 0, asking = '', rows = null, redraw = () => {};
const choice = new Choice('Show', () => {
  known = null;
  asked = 0;
  redraw();
});
choice.element.hidden = true;

// Returns the switch; `show` is called when there is something else to see.
export function startTagged(show) {
  redraw = show;
  return choice.element;
}

// Takes the report of a run that is over: there is nobody to be asked any more.
export function takeTags(report) {
  rows = report.by_tag ?? [];
}

// Returns the requests to show and their total: of the chosen tag, or else of all.
export function requestsShown() {
  const tags = state.tags ?? [], chosen = choice.value, all = [['', 'all'], ...tags.map(tag => [tag, shown(tag)])];
  // After a reset it comes back with the first request that has it.
  if (chosen && !tags.includes(chosen)) all.push([chosen, shown(chosen)]);
  choice.offer(all);
  choice.element.hidden = !tags.length && !chosen;
  if (!chosen) return { requests: state.requests ?? [], aggregated: state.aggregated };
  if (state.phase === 'over' && rows) known = ended(chosen);
  else ask(chosen);
  return known ?? { requests: [], aggregated: null };
}

function ended(tag) {
  const row = rows.find(row => row.tag === tag);
  return row ? { requests: row.requests, aggregated: row.aggregated } : null;
}

async function ask(tag) {
  if (asking === tag || document.hidden || performance.now() - asked < EVERY_MS) return;
  asking = tag;
  asked = performance.now();
  try {
    const answer = await fetch(`/api/v1/tags/${encodeURIComponent(tag)}`, { signal: AbortSignal.timeout(10_000) });
    const told = answer.status === 404 ? null : answer.ok ? await answer.json() : known;
    if (choice.value === tag) {
      known = told;
      redraw();
    }
  } catch { /* the connection is lost, which is told where events come */ }
  if (asking === tag) asking = '';
}
