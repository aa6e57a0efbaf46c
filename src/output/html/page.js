// This report: which charts there are and what their lines are, tables that sort, light and dark, print.

const LOOKS = 8;
const BUSIEST = 5;
const LISTED = 150;

const run = readBlock('data');
const middle = (second, seconds) => second.map((at, i) => at + seconds[i] / 2);
// A fragment of a second says little of a second.
const divided = (counts, seconds) => counts.map((n, i) => seconds[i] < 0.5 ? null : n / seconds[i]);
const look = n => `k${n % LOOKS} d${Math.floor(n / LOOKS) % 4}`;

const overTime = {
  end: Math.max(run.elapsed, 1),
  bands: run.saturated,
  events: run.events,
  broken: run.broken,
  showX: (at, tick) => clock(at, !tick && run.elapsed < 20),
};
const moments = middle(run.second, run.seconds);
const near = run.second.length > 1 ? Math.max(...extremes(run.seconds)) : 1;
const line = (label, look, y, more = {}) => ({ label, look, x: moments, y, near, ...more });

function chart(id, spec) {
  const figure = document.getElementById(id);
  return figure && new Chart(figure, spec);
}

chart('chart-rate', {
  ...overTime, show: showRate, tick: tickRate,
  lines: () => [line('requests/s', 'k0', run.rate, { area: true })],
});
chart('chart-latency', {
  ...overTime, show: showMs, tick: tickMs, canLog: true,
  lines: () => [line('p99', 'k1', run.p99), line('p95', 'k0', run.p95), line('p50', 'k2', run.p50)],
});
chart('chart-errors', {
  ...overTime, show: showRate, tick: tickRate,
  lines: () => [line('failures/s', 'kbad', run.failing, { area: run.failures.some(n => n) })],
});
chart('chart-users', {
  ...overTime, show: group, tick: plain, whole: true,
  lines: () => [line('users', 'k6', run.users, { area: true })],
});

// Names: read from the page when they are first shown.
function unpack(text) {
  const bytes = atob(text), values = [];
  let value = 0, part = 0, factor = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes.charCodeAt(i);
    part += (byte & 127) * factor;
    factor *= 128;
    if (byte > 127) continue;
    value += part % 2 ? -(part + 1) / 2 : part / 2;
    values.push(value);
    part = 0;
    factor = 1;
  }
  return values;
}
const unpackMs = text => unpack(text).map(steps => run.least * 2 ** (steps / run.octave));
function readName(n) {
  const name = readBlock(`name-${n}`), second = [], seconds = [];
  for (const [from, count] of name.runs) {
    for (const stretch of run.stretches.slice(from, from + count)) {
      second.push(stretch[0]);
      seconds.push(stretch[1]);
    }
  }
  return {
    second, seconds, spread: name.spread, count: unpack(name.count),
    failures: name.failures ? unpack(name.failures) : second.map(() => 0),
    p50: unpackMs(name.p50), p95: unpackMs(name.p95), p99: unpackMs(name.p99),
  };
}
const blocks = new Map();
const block = n => blocks.get(n) ?? blocks.set(n, readName(n)).get(n);
const busiest = run.names.map((name, n) => n).sort((a, b) => run.names[b][1] - run.names[a][1]);
const place = new Map(busiest.map((n, at) => [n, at]));
const on = new Set(busiest.slice(0, BUSIEST));
const FIGURES = [
  ['requests/s', showRate, tickRate, name => name.count],
  ['failures/s', showRate, tickRate, name => name.failures],
  ['p50', showMs, tickMs, null], ['p95', showMs, tickMs, null], ['p99', showMs, tickMs, null],
];
let figure = FIGURES[3];

// Seconds without a request have no latency, and a rate of zero.
function nameLine(n) {
  const name = block(n), [key, , , counts] = figure;
  const width = Math.max(...extremes(name.seconds), 0.5);
  const x = middle(name.second, name.seconds);
  const common = { label: run.names[n][0], look: look(place.get(n)), near: width };
  if (!counts) return { ...common, x, y: name[key], gap: Math.max(5 * width, run.elapsed / 60) };
  const rates = divided(counts(name), name.seconds), filled = { x: [], y: [] };
  const put = (at, value) => { filled.x.push(at); filled.y.push(value); };
  let ended = 0;
  name.second.forEach((from, i) => {
    if (from - ended > 0.5 * width) {
      put(ended + width / 2, 0);
      if (from - ended > 1.5 * width) put(from - width / 2, 0);
    }
    put(x[i], rates[i]);
    ended = 2 * x[i] - from;
  });
  if (run.elapsed - ended > 0.5 * width) { put(ended + width / 2, 0); put(run.elapsed, 0); }
  return { ...common, ...filled };
}

const chosen = () => busiest.filter(n => on.has(n));
const namesChart = chart('chart-names', {
  ...overTime, ownLegend: true, canLog: true, height: 280,
  show: value => figure[1](value), tick: value => figure[2](value),
  lines: () => chosen().map(nameLine),
});

// The distribution: the share of requests in each step of a logarithmic scale.
const at = step => 10 ** (step / run.steps) / 1000;
function spreadLine(pairs, total, common) {
  const from = pairs[0][0] - 1, to = pairs[pairs.length - 1][0] + 1, x = [], y = [], below = [];
  const counts = new Map(pairs);
  let sum = 0;
  for (let step = from; step <= to; step++) {
    const n = counts.get(step) ?? 0;
    sum += n;
    x.push(at(step + 0.5)); y.push(n / total); below.push(sum / total);
  }
  return { ...common, x, y, below };
}
const total = pairs => pairs.reduce((sum, [, n]) => sum + n, 0);
let spreadChart = null;
if (run.spread.length) {
  const [first, last] = [run.spread[0][0] - 1, run.spread[run.spread.length - 1][0] + 2];
  const marks = run.marks ?? [];
  spreadChart = chart('chart-spread', {
    xLog: [at(first), at(last)], height: 260, ownLegend: true,
    showX: (ms, tick) => tick ? tickMs(ms) : `${showMs(at(Math.floor(Math.log10(ms * 1000) * run.steps + 1e-6)))} – ${showMs(at(Math.floor(Math.log10(ms * 1000) * run.steps + 1e-6) + 1))}`,
    tick: part => `${plain(+(part * 100).toPrecision(4))}%`,
    show: (part, line, i) => `${showPercent(part)} here, ${showPercent(line.below[i])} up to here`,
    marks: ['p50', 'p95', 'p99'].map((label, n) => [`${label} ${showMs(marks[n])}`, marks[n]]).slice(0, marks.length),
    lines: () => [
      spreadLine(run.spread, total(run.spread), { label: 'all requests', look: 'k6', area: true }),
      ...chosen().filter(n => run.names.length > 1 && block(n).spread.length).map(n =>
        spreadLine(block(n).spread, total(block(n).spread), { label: run.names[n][0], look: look(place.get(n)) })),
    ],
  });
  const whose = run.names.length > 1 ? ' of all requests (filled) and of the names chosen above' : '';
  find('figcaption', spreadChart.figure).append(make('p', { class: 'note' }, `share of requests in each step of latency${whose}`));
}

// The legend of names, shared by both charts; what does not fit is found by typing.
if (namesChart) {
  const caption = find('figcaption', namesChart.figure), legend = make('div', { class: 'legend' });
  if (run.names.length > 12) legend.classList.add('many');
  let listed = [];
  const redraw = () => {
    for (const [n, button] of listed) button.setAttribute('aria-pressed', String(on.has(n)));
    namesChart.draw();
    spreadChart?.draw();
  };
  const list = wanted => {
    const matching = busiest.filter(n => run.names[n][0].toLowerCase().includes(wanted));
    listed = matching.slice(0, LISTED).map(n => {
      const title = `${run.names[n][0]}: ${group(run.names[n][1])} requests`;
      const button = make('button', { type: 'button', title, 'aria-pressed': String(on.has(n)) },
        swatch({ look: look(place.get(n)) }), make('span', {}, run.names[n][0]));
      button.addEventListener('click', () => { if (!on.delete(n)) on.add(n); redraw(); });
      return [n, button];
    });
    legend.replaceChildren(...listed.map(([, button]) => button));
    if (matching.length > LISTED) legend.append(make('span', { class: 'note' }, `and ${group(matching.length - LISTED)} more: filter to find them`));
  };
  const heading = find('h3', caption);
  heading.textContent = `By name: ${figure[0]}`;
  const figures = FIGURES.map(each => {
    const button = make('button', { type: 'button', 'aria-pressed': String(each === figure) }, each[0]);
    button.addEventListener('click', () => {
      figure = each;
      heading.textContent = `By name: ${figure[0]}`;
      figures.forEach((other, i) => other.setAttribute('aria-pressed', String(FIGURES[i] === figure)));
      namesChart.draw();
    });
    return button;
  });
  const choose = (label, names) => {
    const button = make('button', { type: 'button' }, label);
    button.addEventListener('click', () => { on.clear(); names.forEach(n => on.add(n)); redraw(); });
    return button;
  };
  const tools = make('div', { class: 'tools' }, ...figures, make('span', { class: 'gap' }));
  if (run.names.length > BUSIEST) tools.append(choose(`busiest ${BUSIEST}`, busiest.slice(0, BUSIEST)));
  if (run.names.length > 1) tools.append(choose(run.names.length > LISTED ? `busiest ${LISTED}` : 'all', busiest.slice(0, LISTED)), choose('none', []));
  if (run.names.length > 12) {
    const filter = make('input', { type: 'search', placeholder: 'filter names', 'aria-label': 'Filter names' });
    filter.addEventListener('input', () => list(filter.value.toLowerCase()));
    tools.append(filter);
  }
  caption.append(tools, find('.tools', caption), legend);
  list('');
}

// Tables: a click on a heading sorts by it, once more the other way round. Each row is a tbody of its own, so
// that what unfolds below it goes with it.
for (const table of findAll('table')) {
  const headings = findAll('thead th', table);
  if (table.tBodies.length < 2 || table.closest('#overview')) continue;
  headings.forEach((heading, column) => {
    const button = make('button', { type: 'button' }, ...heading.childNodes);
    heading.append(button);
    button.addEventListener('click', () => {
      const numeric = heading.classList.contains('num') || table.tBodies[0].rows[0].cells[column].dataset.v !== undefined;
      const now = heading.getAttribute('aria-sort');
      const down = now ? now === 'ascending' : numeric;
      for (const other of headings) other.removeAttribute('aria-sort');
      heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = body => {
        const cell = body.rows[0].cells[column];
        return numeric ? (cell.dataset.v === undefined ? null : +cell.dataset.v) : cell.textContent;
      };
      const rows = [...table.tBodies].map(body => [key(body), body]);
      const order = new Intl.Collator(undefined, { numeric: true }).compare;
      // Rows without a figure stay last, whichever way.
      rows.sort(([a], [b]) => a === null || b === null
        ? (a === null) - (b === null)
        : (numeric ? a - b : order(a, b)) * (down ? -1 : 1));
      table.tHead.after(...rows.map(([, body]) => body));
    });
  });
}

// Light, dark, or as the system is.
const root = document.documentElement;
const stored = () => { try { return localStorage.getItem('lgoose-theme'); } catch { return null; } };
const isDark = () => (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
if (['dark', 'light'].includes(stored())) root.dataset.theme = stored();
const theme = make('button', { type: 'button', class: 'theme' });
const nameTheme = () => { theme.textContent = isDark() ? 'Light' : 'Dark'; };
theme.addEventListener('click', () => {
  root.dataset.theme = isDark() ? 'light' : 'dark';
  try { localStorage.setItem('lgoose-theme', root.dataset.theme); } catch { /* a page from a file may not store */ }
  nameTheme();
});
nameTheme();
find('header').append(theme);

// Paper is narrower than a window; what is folded is wanted there too.
const redrawAll = (wide, narrow) => charts.forEach(chart => chart.draw(chart.figure.matches('.wide') ? wide : narrow));
let folded = [];
addEventListener('beforeprint', () => {
  folded = findAll('details:not([open])');
  for (const each of folded) each.open = true;
  redrawAll(700, 400);
});
addEventListener('afterprint', () => {
  for (const each of folded) each.open = false;
  redrawAll();
});
let waiting = 0, drawnAt = innerWidth;
addEventListener('resize', () => {
  if (innerWidth === drawnAt) return;
  drawnAt = innerWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => redrawAll());
});
