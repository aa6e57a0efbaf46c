// What is known of the run: built from the events of the server as docs/web.md describes them.

const TABLES = ['requests', 'scenarios', 'checks', 'metrics', 'errors', 'thresholds', 'workers'];

export const state = { points: [] };

// Takes the data of a `snapshot` event.
export function take(event) {
  if (event.begin) {
    for (const key of Object.keys(state)) delete state[key];
    state.points = [];
  }
  for (const [key, value] of Object.entries(event)) {
    if (key === 'points') value.forEach(takePoint);
    else if (TABLES.includes(key)) {
      const rows = state[key] ??= [];
      for (const { i, ...row } of value) rows[i] = { ...rows[i], ...row };
    } else state[key] = value;
  }
}

function takePoint(point) {
  const { points } = state, until = point.until ?? point.second + 1;
  if (points.length && points[points.length - 1].second >= point.second) {
    state.points = points.filter(old => old.second < point.second || old.second >= until);
  }
  state.points.push(point);
}

// Length of the time axis, pauses included.
export function measured() {
  const last = state.points[state.points.length - 1];
  return Math.max((state.elapsed_s ?? 0) + (state.paused_s ?? 0), last ? last.second + last.seconds : 0, 1);
}

// Text of a plan or a site as one line in which nothing hides.
export function shown(text) {
  return String(text ?? '').replace(/[\n\t]/g, ' ').replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, sign => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

export const requestName = row => shown(`${row.method} ${row.name}`.trimStart());
