// The page of a report: its charts and their lines, its sortable tables, and how it prints.

const run = readBlock('data');

const axis = new TimeAxis(run.elapsed, { bands: run.saturated, events: run.events, broken: run.broken, wall: run.wall });
const spans = new Spans(axis, [['whole run', null]]);
axis.redraw = () => {
  spans.update();
  drawAll();
};
find('#charts').prepend(spans.tools);
const moments = middle(run.second, run.seconds);
const near = run.second.length > 1 ? Math.max(...extremes(run.seconds)) : 1;
const line = (label, look, y, more = {}) => ({ label, look, x: moments, y, near, ...more });

function chart(id, spec) {
  const figure = document.getElementById(id);
  return figure && new Chart(figure, spec);
}

chart('chart-rate', {
  axis, show: showRate, tick: tickRate,
  lines: () => [line('requests/s', 'k0', run.rate, { area: true })],
});
chart('chart-latency', {
  axis, show: showMs, tick: tickMs, canLog: true, clips: true, limits: () => run.limits, count: at => run.count[nearest(moments, at)],
  lines: () => [line('p99', 'k1 dash-long', run.p99), line('p95', 'k0', run.p95), line('p50', 'k2 dash-short', run.p50)],
});
chart('chart-errors', {
  axis, show: showRate, tick: tickRate,
  lines: () => [line('failures/s', 'kbad', run.failing, { area: run.failures.some(n => n) })],
});
chart('chart-users', {
  axis, show: group, tick: plain, whole: true,
  lines: () => [line('users', 'k6', run.users, { area: true })],
});

// How many requests took how long at each moment: darker is more, by powers of the most of all cells.
const SHADES = 8;
const heatMs = step => 10 ** (step / run.heat.steps) / 1000;
const heatExtremes = odd => extremes((run.heat?.columns ?? []).flatMap(([, , cells]) => cells.filter((_, n) => n % 2 === odd)));
const [, most = 0] = heatExtremes(1);
function heatCells(chart) {
  const { columns } = run.heat, paths = Array(SHADES).fill('');
  for (const [from, until, cells] of columns) {
    const stretch = axis.window[1] < from || axis.window[0] > until ? null : chart.within([from, until]);
    if (!stretch) continue;
    const [x, right] = stretch.map(at => chart.x(at).toFixed(1));
    for (let n = 0; n < cells.length; n += 2) {
      const shade = most < 2 ? SHADES - 1 : Math.min(SHADES - 1, Math.floor(Math.log(cells[n + 1]) / Math.log(most) * SHADES));
      paths[shade] += `M${x} ${chart.y(heatMs(cells[n])).toFixed(1)}H${right}V${chart.y(heatMs(cells[n] + 1)).toFixed(1)}H${x}Z`;
    }
  }
  return paths.flatMap((d, n) => d ? [make('svg:path', { class: 'heat', d, opacity: ((n + 1) / SHADES).toFixed(2) })] : []);
}
if (run.heat) {
  const [first, last] = heatExtremes(0);
  const heat = chart('chart-heat', {
    axis, show: showMs, tick: tickMs, log: true, height: 260, range: [heatMs(first), heatMs(last + 1)], cells: heatCells, limits: () => run.limits,
    count: at => run.count[nearest(moments, at)],
    lines: () => [line('p50', 'k6', run.p50), line('p99', 'k1 dash-long', run.p99)],
  });
  find('figcaption', heat.figure).append(make('p', { class: 'note' }, 'each cell: how many requests of that time took that long; darker is more'));
}

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

let spreadChart = null;
const byName = document.getElementById('chart-names')
  && new Names(document.getElementById('chart-names'), { axis, names: run.names, read: block, changed: () => spreadChart?.draw() });

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
      ...(byName?.chosen() ?? []).filter(n => run.names.length > 1 && block(n).spread.length).map(n =>
        spreadLine(block(n).spread, total(block(n).spread), { label: run.names[n][0], look: byName.look(n) })),
    ],
  });
  const whose = run.names.length > 1 ? ' of all requests (filled) and of the names chosen above' : '';
  find('figcaption', spreadChart.figure).append(make('p', { class: 'note' }, `share of requests in each step of latency${whose}`));
}

for (const table of findAll('main table')) {
  if (table.tBodies.length > 1 && !table.closest('#overview')) new Sorting(table);
}

openRows(byName && (name => {
  const n = run.names.findIndex(([each]) => each === name);
  if (n >= 0) byName.choose([n]);
  find('#chart-names').scrollIntoView({ block: 'center' });
}));

// Rows of one scenario or tag at a time.
const tagged = find('#tags table');
if (tagged) {
  const bodies = [...tagged.tBodies], tag = body => body.rows[0].cells[0].textContent;
  const choice = new Choice('Show', chosen => {
    for (const body of bodies) body.hidden = chosen !== '' && tag(body) !== chosen;
  });
  choice.offer([['', 'all'], ...[...new Set(bodies.map(tag))].map(each => [each, each])]);
  find('#tags-title').after(make('p', { class: 'note' }, choice.element));
}

addTheme(find('header'));

// Paper is narrower than a window. What is folded is printed, too, except for the figures behind the charts.
let folded = [];
addEventListener('beforeprint', () => {
  folded = findAll('details:not([open], .behind)');
  for (const each of folded) each.open = true;
  drawAll(700, 400);
});
addEventListener('afterprint', () => {
  for (const each of folded) each.open = false;
  drawAll();
});
