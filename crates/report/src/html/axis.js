// The time axis that the charts of a run share: how long the run is, what happened in it, and which stretch is shown.
// Knows nothing about the charts except that they draw.

class TimeAxis {
  // `bands`: [[from, to]] where lgoose was the bottleneck; `events`: [[at, lasted, kind, text]]; `broken`: moments; `wall`: the
  // wall clock of its beginning, in milliseconds.
  constructor(seconds, { bands = [], events = [], broken = [], wall = null } = {}) {
    Object.assign(this, { bands, events, broken, wall, end: Math.max(seconds, 1), chosen: null, last: null, redraw: () => {} });
  }

  get window() {
    if (this.chosen) return this.chosen;
    return [this.last && this.last < this.end ? this.end - this.last : 0, this.end];
  }

  get whole() { return !this.chosen && !this.last; }

  // Shows a stretch, of at least two seconds and within the run.
  show(from, to) {
    const length = Math.min(Math.max(to - from, 2), this.end);
    const begin = Math.min(Math.max((from + to - length) / 2, 0), this.end - length);
    this.chosen = length > this.end * 0.999 ? null : [begin, begin + length];
    this.last = null;
    this.redraw();
  }

  // Shows the last `seconds` seconds and follows the run; `null` shows all of it.
  follow(seconds) {
    this.chosen = null;
    this.last = seconds;
    this.redraw();
  }

  zoom(factor, around) {
    const [from, to] = this.window, at = around ?? (from + to) / 2;
    this.show(at - (at - from) / factor, at + (to - at) / factor);
  }

  move(part) {
    const [from, to] = this.window, by = Math.max(-from, Math.min(part * (to - from), this.end - to));
    this.show(from + by, to + by);
  }

  // A moment of the run and its wall clock: `53s | 03:12:41 UTC`.
  moment(at) {
    const run = clock(at, this.end < 20);
    return this.wall === null ? run : `${run} | ${new Date(this.wall + at * 1000).toISOString().slice(11, 19)} UTC`;
  }

  tick(at) {
    const [from, to] = this.window;
    return clock(at, to - from < 8);
  }
}

// Buttons that choose the stretch; `lengths`: [[label, seconds]] that can be followed.
class Spans {
  constructor(axis, lengths) {
    this.axis = axis;
    const button = (label, name, act) => {
      const button = make('button', { type: 'button', 'aria-label': name }, label);
      button.addEventListener('click', act);
      return button;
    };
    this.follows = lengths.map(([label, seconds]) => [seconds, button(label, `Show ${label}`, () => axis.follow(seconds))]);
    this.steps = [
      button('◀', 'Show what came before', () => axis.move(-0.5)), button('▶', 'Show what came after', () => axis.move(0.5)),
    ];
    this.out = button('−', 'Show a longer stretch', () => axis.zoom(0.5));
    this.tools = make('div', { class: 'tools spans', role: 'group', 'aria-label': 'Stretch of time in the charts' },
      ...this.follows.map(([, button]) => button), this.steps[0], this.out,
      button('+', 'Show a shorter stretch', () => axis.zoom(2)), this.steps[1],
      this.told = make('span', { class: 'note' }));
    this.update();
  }

  update() {
    const { axis } = this, [from, to] = axis.window;
    for (const [seconds, button] of this.follows) {
      button.setAttribute('aria-pressed', String(!axis.chosen && axis.last === seconds));
      button.hidden = seconds !== null && axis.end <= seconds;
    }
    for (const button of [...this.steps, this.out]) button.disabled = axis.whole;
    this.told.textContent = axis.whole ? 'drag in a chart to look closer' : `${clock(from)} – ${clock(to)}`;
  }
}
