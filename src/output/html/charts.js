// A chart: lines over an axis, a legend that switches them, a crosshair that tells their values. Knows
// nothing of what the lines mean.

const charts = [];

class Chart {
  // `spec`: lines() → [{ label, look, x, y, area? }], show(y), tick(y), and as wanted: whole, canLog, log,
  // xLog, showX(x), end, bands, broken, marks, height, ownLegend.
  constructor(figure, spec) {
    Object.assign(this, { spec, figure, hidden: new Set(), log: Boolean(spec.log) });
    this.plot = find('.plot', figure);
    this.plot.replaceChildren();
    this.canvas = make('div', { tabindex: 0, role: 'group', 'aria-label': `${find('h3', figure).textContent}: arrow keys read values` });
    this.tip = make('div', { class: 'tip', role: 'status', hidden: '' });
    this.plot.append(this.canvas, this.tip);
    if (!spec.ownLegend) {
      this.legend = make('div', { class: 'legend' });
      find('figcaption', figure).append(this.legend);
    }
    if (spec.canLog) this.addLog();
    this.canvas.addEventListener('pointermove', event => this.point(event));
    this.canvas.addEventListener('pointerdown', event => this.point(event));
    this.canvas.addEventListener('pointerleave', () => this.leave());
    this.canvas.addEventListener('blur', () => this.leave());
    this.canvas.addEventListener('keydown', event => this.key(event));
    charts.push(this);
    this.draw();
  }

  addLog() {
    const button = make('button', { type: 'button', 'aria-pressed': String(this.log) }, 'log scale');
    button.addEventListener('click', () => {
      this.log = !this.log;
      button.setAttribute('aria-pressed', String(this.log));
      this.draw();
    });
    find('figcaption', this.figure).append(make('div', { class: 'tools' }, button));
  }

  drawLegend(lines) {
    if (!this.legend || this.legend.childElementCount === lines.length) return;
    this.legend.replaceChildren(...lines.map(line => {
      const button = make('button', { type: 'button', 'aria-pressed': 'true' }, swatch(line), make('span', {}, line.label));
      button.addEventListener('click', () => {
        if (!this.hidden.delete(line.label)) this.hidden.add(line.label);
        button.setAttribute('aria-pressed', String(!this.hidden.has(line.label)));
        this.draw();
      });
      return button;
    }));
  }

  draw(width = this.plot.clientWidth || 640) {
    const { spec } = this;
    const all = spec.lines();
    this.drawLegend(all);
    this.lines = all.filter(line => !this.hidden.has(line.label));
    const height = spec.height ?? (width < 480 ? 190 : 230);
    const svg = make('svg:svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    this.canvas.replaceChildren(svg);
    const values = this.lines.flatMap(line => extremes(line.y));
    const most = Math.max(...values, 0), least = Math.min(...values.filter(value => value > 0));
    const log = this.log && Number.isFinite(least);
    const ticks = log ? logTicks(least, most) : valueTicks(most, height < 200 ? 3 : 4, spec.whole);
    const labels = ticks.map(spec.tick);
    const left = Math.max(...labels.map(label => label.length)) * 6.8 + 12;
    const box = this.box = { left, right: width - 14, top: 10, bottom: height - 26, width, height };
    const [low, high] = [ticks[0], ticks[ticks.length - 1]];
    const part = log ? value => Math.log(Math.max(value, low) / low) / Math.log(high / low) : value => value / high;
    this.y = value => box.bottom - Math.max(0, part(value)) * (box.bottom - box.top);
    this.scaleX();
    this.drawBands(svg);
    this.drawEvents(svg);
    ticks.forEach((tick, n) => {
      const y = this.y(tick).toFixed(1);
      svg.append(
        make('svg:path', { class: n ? 'grid' : 'axis', d: `M${left} ${y}H${box.right}` }),
        make('svg:text', { x: left - 7, y: +y + 4, 'text-anchor': 'end' }, labels[n]));
    });
    this.drawX(svg);
    for (const line of this.lines) {
      const [d, dots] = this.path(line);
      if (line.area && d) svg.append(make('svg:path', { class: `area ${line.look}`, d: `${d}V${box.bottom}H${this.x(line.x[0]).toFixed(1)}Z` }));
      if (d) svg.append(make('svg:path', { class: `line ${line.look}`, d }));
      if (dots) svg.append(make('svg:path', { class: `line single ${line.look}`, d: dots }));
    }
    this.drawMarks(svg);
    if (!values.length) {
      const at = { x: (left + box.right) / 2, y: (box.top + box.bottom) / 2, 'text-anchor': 'middle' };
      svg.append(make('svg:text', at, this.lines.length ? 'no data' : 'no line is switched on'));
    }
    this.cross = make('svg:g', {});
    svg.append(this.cross);
  }

  scaleX() {
    const { left, right } = this.box, { spec } = this;
    if (spec.xLog) {
      const [from, to] = spec.xLog;
      this.x = value => left + Math.log(value / from) / Math.log(to / from) * (right - left);
      this.unX = at => from * (to / from) ** ((at - left) / (right - left));
    } else {
      this.x = value => left + value / spec.end * (right - left);
      this.unX = at => (at - left) / (right - left) * spec.end;
    }
  }

  drawX(svg) {
    const { box, spec } = this, room = Math.max(2, Math.floor((box.right - box.left) / 75));
    const ticks = spec.xLog ? logTicks(...spec.xLog) : timeTicks(spec.end, room);
    let free = -Infinity;
    for (const tick of ticks) {
      const x = this.x(tick), text = spec.showX(tick, true), half = text.length * 3.4;
      if (x < box.left - 1 || x > box.right + 1) continue;
      svg.append(make('svg:path', { class: 'axis', d: `M${x.toFixed(1)} ${box.bottom}v4` }));
      const at = Math.min(x, box.width - half);
      if (at - half < free) continue;
      free = at + half + 8;
      svg.append(make('svg:text', { x: at.toFixed(1), y: box.bottom + 18, 'text-anchor': 'middle' }, text));
    }
  }

  drawBands(svg) {
    const { box, spec } = this;
    if (!spec.bands?.length) return;
    const id = `hatch-${this.figure.id}`;
    const pattern = { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' };
    svg.append(make('svg:defs', {}, make('svg:pattern', pattern, make('svg:path', { class: 'hatch', d: 'M0 0V6' }))));
    for (const [from, to] of spec.bands) {
      const x = this.x(from), width = Math.max(1, this.x(Math.min(to, spec.end)) - x);
      const at = { x: x.toFixed(1), y: box.top, width: width.toFixed(1), height: box.bottom - box.top };
      svg.append(make('svg:rect', { ...at, class: 'band' }), make('svg:rect', { ...at, fill: `url(#${id})`, opacity: 0.5 }));
    }
  }

  // What happened: a band for what lasted, a line for a moment.
  drawEvents(svg) {
    const { box, spec } = this;
    for (const [at, lasted, kind, text] of spec.events ?? []) {
      const x = this.x(at), title = make('svg:title', {}, text);
      if (lasted === null) {
        svg.append(make('svg:path', { class: `event ${kind}`, d: `M${x.toFixed(1)} ${box.top}V${box.bottom}` }, title));
      } else {
        const width = Math.max(1, this.x(Math.min(at + lasted, spec.end)) - x);
        svg.append(make('svg:rect', { class: `event ${kind}`, x: x.toFixed(1), y: box.top, width: width.toFixed(1), height: box.bottom - box.top }, title));
      }
    }
  }

  drawMarks(svg) {
    const { box, spec } = this;
    for (const at of spec.broken ?? []) {
      svg.append(make('svg:path', { class: 'broken', d: `M${this.x(at).toFixed(1)} ${box.top}V${box.bottom}` }));
    }
    (spec.marks ?? []).forEach(([label, at], n) => {
      const x = this.x(at), end = x > box.right - 60;
      svg.append(
        make('svg:path', { class: 'mark', d: `M${x.toFixed(1)} ${box.top}V${box.bottom}` }),
        make('svg:text', { x: x + (end ? -4 : 4), y: box.top + 11 + 14 * n, class: 'label', 'text-anchor': end ? 'end' : 'start' }, label));
    });
  }

  // A line with at most four points a pixel: the first, the least, the most and the last of each column, so
  // that no peak is lost. Broken where there is nothing for long; what stands alone is a dot.
  path({ x, y, gap = Infinity }) {
    let d = '', dots = '', piece = [], column = null, seen = [], last = -Infinity;
    const flush = () => {
      if (!seen.length) return;
      const pick = better => seen.reduce((best, i) => better(y[i], y[best]) ? i : best);
      const kept = new Set([seen[0], pick((a, b) => a < b), pick((a, b) => a > b), seen[seen.length - 1]]);
      for (const i of [...kept].sort((a, b) => a - b)) piece.push(`${this.x(x[i]).toFixed(1)} ${this.y(y[i]).toFixed(1)}`);
      seen = [];
    };
    const stop = () => {
      flush();
      if (piece.length === 1) dots += `M${piece[0]}h.01`;
      else if (piece.length) d += `M${piece.join('L')}`;
      piece = [];
    };
    for (let i = 0; i < x.length; i++) {
      if (y[i] === null) { stop(); continue; }
      if (x[i] - last > gap) stop();
      const at = Math.floor(this.x(x[i]));
      if (at !== column) flush();
      column = at;
      last = x[i];
      seen.push(i);
    }
    stop();
    return [d, dots];
  }

  point(event) {
    const rect = this.canvas.getBoundingClientRect();
    this.readAt(this.unX((event.clientX - rect.left) / rect.width * this.box.width));
  }

  key(event) {
    const moments = this.longest();
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity };
    if (event.key === 'Escape') return this.leave();
    if (!(event.key in steps) || !moments.length) return;
    event.preventDefault();
    const now = this.at === undefined ? (steps[event.key] > 0 ? -1 : moments.length) : nearest(moments, this.at);
    this.readAt(moments[Math.min(moments.length - 1, Math.max(0, now + steps[event.key]))]);
  }

  longest() {
    return this.lines.reduce((longest, line) => line.x.length > longest.length ? line.x : longest, []);
  }

  // Shows the values at a place of the axis, and the same moment in the other charts.
  readAt(wanted) {
    const moments = this.longest();
    if (!moments.length) return;
    this.at = moments[nearest(moments, wanted)];
    const rows = this.lines.map(line => {
      const i = nearest(line.x, this.at);
      const near = Math.abs(line.x[i] - this.at) <= Math.max(line.near ?? 1, 0.6);
      return { line, i, value: near || this.spec.xLog ? line.y[i] : null };
    }).filter(row => row.value !== null && row.value !== undefined);
    const shown = rows.length > 14 ? [...rows].sort((a, b) => b.value - a.value).slice(0, 14) : rows;
    for (const chart of charts) if (Boolean(chart.spec.xLog) === Boolean(this.spec.xLog)) chart.showCross(chart === this ? rows : [], this.at);
    this.tip.replaceChildren(make('strong', {}, this.spec.showX(this.at, false)), ...shown.map(({ line, value, i }) =>
      make('div', {}, swatch(line), make('span', {}, line.label), make('b', {}, this.spec.show(value, line, i)))));
    for (const [at, lasted, , text] of this.spec.events ?? []) {
      const near = lasted === null ? Math.abs(at - this.at) < 0.6 : at <= this.at && this.at <= at + lasted;
      if (near) this.tip.append(make('div', { class: 'happened' }, text));
    }
    if (shown.length < rows.length) this.tip.append(make('div', {}, `and ${rows.length - shown.length} more`));
    this.tip.hidden = false;
    const scale = this.canvas.clientWidth / this.box.width, x = this.x(this.at) * scale;
    const right = x + 14 + this.tip.offsetWidth > this.plot.clientWidth;
    this.tip.style.left = `${Math.max(0, right ? x - 14 - this.tip.offsetWidth : x + 14)}px`;
    this.tip.style.top = `${this.box.top}px`;
  }

  showCross(rows, at) {
    const x = this.x(at).toFixed(1);
    this.cross.replaceChildren(
      make('svg:path', { class: 'cross', d: `M${x} ${this.box.top}V${this.box.bottom}` }),
      ...rows.map(({ line, i, value }) =>
        make('svg:circle', { class: `dot ${line.look}`, r: 4, cx: this.x(line.x[i]).toFixed(1), cy: this.y(value).toFixed(1) })));
  }

  leave() {
    this.at = undefined;
    this.tip.hidden = true;
    for (const chart of charts) chart.cross.replaceChildren();
  }
}

// The least and the most of a list that may be too long for an argument list.
function extremes(list) {
  let least = Infinity, most = -Infinity;
  for (const value of list) {
    if (value === null) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return most === -Infinity ? [] : [least, most];
}
