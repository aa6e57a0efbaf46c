// The chart of single names: which are shown, which figure, and a legend that finds a name by typing.

const LOOKS = 8;
const BUSIEST = 5;
const LISTED = 150;

const middle = (second, seconds) => second.map((at, i) => at + seconds[i] / 2);
// A fraction of a second says little about a whole one.
const divided = (counts, seconds) => counts.map((n, i) => seconds[i] < 0.5 ? null : n / seconds[i]);

const FIGURES = [
  ['requests/s', showRate, tickRate, name => name.count],
  ['failures/s', showRate, tickRate, name => name.failures],
  ['p50', showMs, tickMs, null], ['p95', showMs, tickMs, null], ['p99', showMs, tickMs, null],
];

class Names {
  // `source`: axis, names: [[label, requests]], read(n) → { second, seconds, count, failures, p50, p95, p99 } of the name
  // at that place, changed() after another choice.
  constructor(figure, source) {
    Object.assign(this, { source, figure: FIGURES[3], filter: '', listed: [], on: new Set(), place: new Map() });
    this.order();
    for (const n of this.busiest.slice(0, BUSIEST)) this.on.add(n);
    this.chart = new Chart(figure, {
      axis: source.axis, ownLegend: true, canLog: true, height: 280,
      show: value => this.figure[1](value), tick: value => this.figure[2](value),
      lines: () => this.chosen().map(n => this.line(n)),
    });
    this.heading = find('h3', figure);
    this.legend = make('div', { class: 'legend' });
    this.tools = make('div', { class: 'tools' });
    find('figcaption', figure).append(this.tools, find('.tools', figure), this.legend);
    this.addTools();
    this.list();
  }

  // Takes new figures, perhaps of more names; the names that are shown stay.
  take(names) {
    const more = names.length !== this.source.names.length;
    this.source.names = names;
    this.order();
    if (more) {
      const none = !this.on.size;
      for (const n of this.busiest.slice(0, none ? BUSIEST : 0)) this.on.add(n);
      this.addTools();
      this.list();
    }
  }

  // A name keeps its look, whichever is the busiest later.
  order() {
    const { names } = this.source;
    this.busiest = names.map((name, n) => n).sort((a, b) => names[b][1] - names[a][1]);
    for (const n of this.busiest) if (!this.place.has(n)) this.place.set(n, this.place.size);
  }

  look(n) {
    const place = this.place.get(n);
    return `k${place % LOOKS} d${Math.floor(place / LOOKS) % 4}`;
  }

  chosen() { return this.busiest.filter(n => this.on.has(n)); }

  // Seconds without a request have no latency, and a rate of zero.
  line(n) {
    const name = this.source.read(n), [key, , , counts] = this.figure, { end } = this.source.axis;
    const width = Math.max(...extremes(name.seconds), 0.5);
    const x = middle(name.second, name.seconds);
    const common = { label: this.source.names[n][0], look: this.look(n), near: width };
    if (!counts) return { ...common, x, y: name[key], gap: Math.max(5 * width, end / 60) };
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
    const until = this.source.until ?? end;
    if (until - ended > 0.5 * width) { put(ended + width / 2, 0); put(until, 0); }
    return { ...common, ...filled };
  }

  redraw() {
    for (const [n, button] of this.listed) button.setAttribute('aria-pressed', String(this.on.has(n)));
    this.chart.draw();
    this.source.changed?.();
  }

  choose(names) {
    this.on = new Set(names);
    this.redraw();
  }

  // The legend: as many names as one can look through.
  list() {
    const { names } = this.source;
    this.legend.classList.toggle('many', names.length > 12);
    const matching = this.busiest.filter(n => names[n][0].toLowerCase().includes(this.filter));
    this.listed = matching.slice(0, LISTED).map(n => {
      const title = `${names[n][0]}: ${group(names[n][1])} requests; twice shows it alone`;
      const button = make('button', { type: 'button', title, 'aria-pressed': String(this.on.has(n)) },
        swatch({ look: this.look(n) }), make('span', {}, names[n][0]));
      button.addEventListener('click', () => { if (!this.on.delete(n)) this.on.add(n); this.redraw(); });
      button.addEventListener('dblclick', () => this.choose([n]));
      return [n, button];
    });
    this.legend.replaceChildren(...this.listed.map(([, button]) => button));
    if (matching.length > LISTED) this.legend.append(make('span', { class: 'note' }, `and ${group(matching.length - LISTED)} more: filter to find them`));
  }

  addTools() {
    const { names } = this.source, name = () => { this.heading.textContent = `By name: ${this.figure[0]}`; };
    name();
    const figures = FIGURES.map(each => {
      const button = make('button', { type: 'button', 'aria-pressed': String(each === this.figure) }, each[0]);
      button.addEventListener('click', () => {
        this.figure = each;
        name();
        figures.forEach((other, i) => other.setAttribute('aria-pressed', String(FIGURES[i] === each)));
        this.chart.draw();
      });
      return button;
    });
    const choose = (label, names) => {
      const button = make('button', { type: 'button' }, label);
      button.addEventListener('click', () => this.choose(names()));
      return button;
    };
    this.tools.replaceChildren(...figures, make('span', { class: 'gap' }));
    if (names.length > BUSIEST) this.tools.append(choose(`busiest ${BUSIEST}`, () => this.busiest.slice(0, BUSIEST)));
    if (names.length > 1) this.tools.append(choose(names.length > LISTED ? `busiest ${LISTED}` : 'all', () => this.busiest.slice(0, LISTED)), choose('none', () => []));
    if (names.length > 12) {
      const filter = make('input', { type: 'search', placeholder: 'filter names', 'aria-label': 'Filter names', value: this.filter });
      filter.addEventListener('input', () => { this.filter = filter.value.toLowerCase(); this.list(); });
      this.tools.append(filter);
    }
  }
}
