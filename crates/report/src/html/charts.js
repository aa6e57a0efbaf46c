// A chart: lines over an axis, a legend that switches them, a crosshair that tells their values. Knows
// nothing of what the lines mean.

const charts = [];

class Chart {
  // `spec`: lines() → [{ label, look, x, y, area? }], show(y), tick(y), and as wanted: axis (a TimeAxis) or xLog with
  // showX(x), whole, canLog, log, marks, height, ownLegend, limits() → [[label, value]], clips, count(x): how many requests
  // a moment has, range: [least, most] of a logarithmic scale, cells(chart) → elements below the lines.
  constructor(figure, spec) {
    Object.assign(this, { spec, figure, hidden: new Set(), log: Boolean(spec.log) });
    this.plot = find('.plot', figure);
    this.plot.replaceChildren();
    this.canvas = make('div', { tabindex: 0, role: 'group', 'aria-label': `${find('h3', figure).textContent}: arrow keys read values${spec.axis ? ', plus and minus zoom' : ''}` });
    this.tip = make('div', { class: 'tip', role: 'status', hidden: '' });
    this.plot.append(this.canvas, this.tip);
    if (!spec.ownLegend) {
      this.legend = make('div', { class: 'legend' });
      find('figcaption', figure).append(this.legend);
    }
    if (spec.canLog) this.addLog();
    this.figures = new FiguresBehind(this);
    this.canvas.addEventListener('pointermove', event => this.point(event));
    this.canvas.addEventListener('pointerdown', event => this.press(event));
    this.canvas.addEventListener('pointerup', event => this.release(event));
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
    this.lines = all.filter(line => !this.hidden.has(line.label)).map(line => this.cut(line));
    const height = spec.height ?? (width < 480 ? 190 : 230);
    const svg = make('svg:svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    this.canvas.replaceChildren(svg);
    const values = spec.range ?? this.lines.flatMap(line => extremes(line.y));
    const most = Math.max(...values, 0), least = Math.min(...values.filter(value => value > 0));
    const log = this.log && Number.isFinite(least);
    // A single outlier must not flatten all the rest: it is marked at the top, with its value.
    const usual = spec.clips && !log ? quantile(values.length ? this.lines.flatMap(line => line.y) : [], 0.99) : most;
    const top = most > 2 * usual && usual > 0 ? usual * 1.25 : most;
    const ticks = log ? logTicks(least, most) : valueTicks(top, height < 200 ? 3 : 4, spec.whole);
    const labels = ticks.map(spec.tick);
    const left = Math.max(...labels.map(label => label.length)) * 6.8 + 12;
    const box = this.box = { left, right: width - 14, top: 10, bottom: height - 26, width, height };
    const [low, high] = [ticks[0], ticks[ticks.length - 1]];
    const part = log ? value => Math.log(Math.max(value, low) / low) / Math.log(high / low) : value => value / high;
    this.y = value => box.bottom - Math.min(1, Math.max(0, part(value))) * (box.bottom - box.top);
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
    svg.append(...spec.cells?.(this) ?? []);
    for (const line of this.lines) {
      const { d, dots, area, range } = this.path(line);
      if (line.area && area) svg.append(make('svg:path', { class: `area ${line.look}`, d: area }));
      if (range) svg.append(make('svg:path', { class: `range ${line.look}`, d: range }));
      if (d) svg.append(make('svg:path', { class: `line ${line.look}`, d }));
      if (dots) svg.append(make('svg:path', { class: `line single ${line.look}`, d: dots }));
    }
    this.drawMarks(svg);
    this.drawLimits(svg, high, log ? low : 0);
    this.drawOutliers(svg, high);
    if (!values.length) {
      const at = { x: (left + box.right) / 2, y: (box.top + box.bottom) / 2, 'text-anchor': 'middle' };
      svg.append(make('svg:text', at, this.lines.length ? 'no data' : 'no line is switched on'));
    }
    this.cross = make('svg:g', {});
    svg.append(this.cross);
    this.figures.update();
  }

  // The part of a line that is in the window.
  cut(line) {
    if (!this.spec.axis || this.spec.axis.whole) return line;
    const [from, to] = this.spec.axis.window, { x } = line;
    const begin = x.findIndex(at => at >= from), after = x.findIndex(at => at > to);
    const part = list => begin < 0 ? [] : list.slice(begin, after < 0 ? undefined : after);
    return { ...line, x: part(x), y: part(line.y) };
  }

  scaleX() {
    const { left, right } = this.box, { spec } = this;
    if (spec.xLog) {
      const [from, to] = spec.xLog;
      this.x = value => left + Math.log(value / from) / Math.log(to / from) * (right - left);
      this.unX = at => from * (to / from) ** ((at - left) / (right - left));
    } else {
      const [from, to] = spec.axis.window;
      this.x = value => left + (value - from) / (to - from) * (right - left);
      this.unX = at => from + (at - left) / (right - left) * (to - from);
    }
  }

  drawX(svg) {
    const { box, spec } = this, room = Math.max(2, Math.floor((box.right - box.left) / 75));
    const ticks = spec.xLog ? logTicks(...spec.xLog) : timeTicks(...spec.axis.window, room);
    let free = -Infinity;
    for (const tick of ticks) {
      const x = this.x(tick), text = spec.xLog ? spec.showX(tick, true) : spec.axis.tick(tick), half = text.length * 3.4;
      if (x < box.left - 1 || x > box.right + 1) continue;
      svg.append(make('svg:path', { class: 'axis', d: `M${x.toFixed(1)} ${box.bottom}v4` }));
      const at = Math.min(x, box.width - half);
      if (at - half < free) continue;
      free = at + half + 8;
      svg.append(make('svg:text', { x: at.toFixed(1), y: box.bottom + 18, 'text-anchor': 'middle' }, text));
    }
  }

  drawBands(svg) {
    const { box } = this, bands = this.spec.axis?.bands.map(band => this.within(band)).filter(Boolean);
    if (!bands?.length) return;
    const id = `hatch-${this.figure.id}`;
    const pattern = { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' };
    svg.append(make('svg:defs', {}, make('svg:pattern', pattern, make('svg:path', { class: 'hatch', d: 'M0 0V6' }))));
    for (const [from, to] of bands) {
      const x = this.x(from), width = Math.max(1, this.x(to) - x);
      const at = { x: x.toFixed(1), y: box.top, width: width.toFixed(1), height: box.bottom - box.top };
      svg.append(make('svg:rect', { ...at, class: 'band' }), make('svg:rect', { ...at, fill: `url(#${id})`, opacity: 0.5 }));
    }
  }

  // Draws the events: a band for one that lasted, a line for a moment, each with its number where there is room.
  drawEvents(svg) {
    const { box } = this;
    let free = -Infinity;
    for (const [n, [at, lasted, kind, text]] of (this.spec.axis?.events ?? []).entries()) {
      const stretch = this.within([at, at + (lasted ?? 0)]);
      if (!stretch) continue;
      const x = this.x(stretch[0]), title = make('svg:title', {}, text);
      if (x >= free) {
        svg.append(make('svg:text', { class: 'label event-number', x: (x + 3).toFixed(1), y: box.bottom - 5 }, `${n + 1}`));
        free = x + 16;
      }
      if (lasted === null) {
        svg.append(make('svg:path', { class: `event ${kind}`, d: `M${x.toFixed(1)} ${box.top}V${box.bottom}` }, title));
      } else {
        const width = Math.max(1, this.x(stretch[1]) - x);
        svg.append(make('svg:rect', { class: `event ${kind}`, x: x.toFixed(1), y: box.top, width: width.toFixed(1), height: box.bottom - box.top }, title));
      }
    }
  }

  // The part of a stretch that is in the window; nothing if there is none.
  within([from, to]) {
    const [first, last] = this.spec.axis.window;
    return from > last || to < first ? null : [Math.max(from, first), Math.min(to, last)];
  }

  drawMarks(svg) {
    const { box, spec } = this;
    for (const at of spec.axis?.broken ?? []) {
      if (!this.within([at, at])) continue;
      svg.append(make('svg:path', { class: 'broken', d: `M${this.x(at).toFixed(1)} ${box.top}V${box.bottom}` }));
    }
    (spec.marks ?? []).forEach(([label, at], n) => {
      const x = this.x(at), end = x > box.right - 60;
      svg.append(
        make('svg:path', { class: 'mark', d: `M${x.toFixed(1)} ${box.top}V${box.bottom}` }),
        make('svg:text', { x: x + (end ? -4 : 4), y: box.top + 11 + 14 * n, class: 'label', 'text-anchor': end ? 'end' : 'start' }, label));
    });
  }

  // Draws the limits that are in sight.
  drawLimits(svg, high, low) {
    const { box } = this;
    for (const [label, value] of this.spec.limits?.() ?? []) {
      if (value > high || value < low) continue;
      const y = this.y(value).toFixed(1);
      svg.append(
        make('svg:path', { class: 'limit', d: `M${box.left} ${y}H${box.right}` }),
        make('svg:text', { class: 'label', x: box.left + 4, y: +y - 4 }, label));
    }
  }

  // Marks what is above the top, the highest of each stretch: `▲8 s`.
  drawOutliers(svg, high) {
    const ROOM = 56, { box } = this, above = [];
    for (const line of this.lines) line.y.forEach((value, i) => { if (value > high) above.push([this.x(line.x[i]), value]); });
    above.sort(([a], [b]) => a - b);
    for (let from = 0; from < above.length;) {
      let to = from;
      while (to < above.length && above[to][0] - above[from][0] < ROOM) to++;
      const [x, value] = above.slice(from, to).reduce((most, each) => each[1] > most[1] ? each : most);
      const end = x > box.right - ROOM;
      svg.append(make('svg:text', { class: 'outlier', x: x.toFixed(1), y: box.top + 9, 'text-anchor': end ? 'end' : 'start' },
        end ? `${this.spec.tick(value)}▲` : `▲${this.spec.tick(value)}`));
      from = to;
    }
  }

  // A line with at most two points a pixel. Where there are more, it is their median, within the range from the least to the
  // most of them. Broken where there is nothing for long; what stands alone is a dot.
  path({ x, y, gap = Infinity }) {
    let d = '', dots = '', area = '', range = '', piece = [], column = null, seen = [], last = -Infinity;
    const place = (at, value) => `${at} ${this.y(value).toFixed(1)}`;
    const flush = () => {
      if (!seen.length) return;
      if (seen.length < 3) {
        for (const i of seen) piece.push([this.x(x[i]).toFixed(1), y[i], y[i], y[i]]);
      } else {
        const sorted = seen.map(i => y[i]).sort((a, b) => a - b), half = sorted.length >> 1;
        piece.push([(column + 0.5).toFixed(1), sorted[0], sorted[half], sorted[sorted.length - 1]]);
      }
      seen = [];
    };
    const stop = () => {
      flush();
      const line = piece.map(([at, , middle]) => place(at, middle));
      if (piece.length === 1) dots += `M${line[0]}h.01`;
      else if (piece.length) {
        d += `M${line.join('L')}`;
        area += `M${piece[0][0]} ${this.box.bottom}L${line.join('L')}L${piece[piece.length - 1][0]} ${this.box.bottom}Z`;
        if (piece.some(([, least, , most]) => most > least)) {
          const [above, below] = [3, 1].map(which => piece.map(each => place(each[0], each[which])));
          range += `M${above.join('L')}L${below.reverse().join('L')}Z`;
        }
      }
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
    return { d, dots, area, range };
  }

  placeOf(event) {
    const rect = this.canvas.getBoundingClientRect();
    return this.unX((event.clientX - rect.left) / rect.width * this.box.width);
  }

  point(event) {
    if (this.pressed !== undefined) this.drawChoice(this.placeOf(event));
    else this.readAt(this.placeOf(event));
  }

  // Dragging a mouse over a stretch zooms in on it; a finger reads values and scrolls.
  press(event) {
    if (!this.spec.axis || event.pointerType !== 'mouse' || event.button) return this.point(event);
    this.pressed = this.placeOf(event);
    this.tip.hidden = true;
    this.canvas.setPointerCapture(event.pointerId);
  }

  release(event) {
    if (this.pressed === undefined) return;
    const from = this.pressed, to = this.placeOf(event);
    this.pressed = undefined;
    if (Math.abs(this.x(to) - this.x(from)) > 5) this.spec.axis.show(Math.min(from, to), Math.max(from, to));
    else this.readAt(to);
  }

  drawChoice(to) {
    const { box } = this, inside = at => Math.min(Math.max(this.x(at), box.left), box.right);
    const [from, until] = [this.pressed, to].map(inside).sort((a, b) => a - b);
    this.cross.replaceChildren(make('svg:rect', { class: 'choice', x: from.toFixed(1), y: box.top, width: (until - from).toFixed(1), height: box.bottom - box.top }));
  }

  key(event) {
    const moments = this.longest();
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity };
    const { axis } = this.spec;
    if (axis && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const zooms = { '+': () => axis.zoom(2, this.at), '=': () => axis.zoom(2, this.at), '-': () => axis.zoom(0.5, this.at), 0: () => axis.follow(null) };
      const moves = event.shiftKey ? { ArrowLeft: () => axis.move(-0.25), ArrowRight: () => axis.move(0.25) } : {};
      const act = zooms[event.key] ?? moves[event.key];
      if (act) {
        event.preventDefault();
        return act();
      }
    }
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
    for (const chart of charts) if (chart !== this) chart.forget();
    this.at = moments[nearest(moments, wanted)];
    const rows = this.lines.map(line => {
      const i = nearest(line.x, this.at);
      const near = Math.abs(line.x[i] - this.at) <= Math.max(line.near ?? 1, 0.6);
      return { line, i, value: line.x.length && (near || this.spec.xLog) ? line.y[i] : null };
    }).filter(row => row.value !== null && row.value !== undefined);
    const shown = rows.length > 14 ? [...rows].sort((a, b) => b.value - a.value).slice(0, 14) : rows;
    for (const chart of charts) if (Boolean(chart.spec.xLog) === Boolean(this.spec.xLog)) chart.showCross(chart === this ? rows : [], this.at);
    const moment = this.spec.xLog ? this.spec.showX(this.at, false) : this.spec.axis.moment(this.at);
    const count = this.spec.count?.(this.at);
    const of = count === undefined ? '' : ` · ${group(count)} ${count === 1 ? 'request' : 'requests'}`;
    this.tip.replaceChildren(make('strong', {}, `${moment}${of}`), ...shown.map(({ line, value, i }) =>
      make('div', {}, swatch(line), make('span', {}, line.label), make('b', {}, this.spec.show(value, line, i)))));
    for (const [at, lasted, , text] of this.spec.axis?.events ?? []) {
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

  forget() {
    this.at = undefined;
    this.tip.hidden = true;
  }

  leave() {
    if (this.pressed !== undefined) return;
    this.forget();
    for (const chart of charts) chart.cross.replaceChildren();
  }
}

// Draws all charts once more; the one that is being read keeps showing the same moment.
function drawAll(wide, narrow) {
  for (const chart of charts) chart.draw(chart.figure.matches('.wide') ? wide : narrow);
  const read = charts.find(chart => chart.at !== undefined);
  if (read) read.readAt(read.at);
}

let drawnAt = innerWidth, waiting = 0;
addEventListener('resize', () => {
  if (innerWidth === drawnAt) return;
  drawnAt = innerWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => drawAll());
});

// The value below which that share of a list is.
function quantile(list, share) {
  const sorted = list.filter(value => value !== null).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
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
