// The table behind a chart: the same figures in words, for those who do not see the lines. Filled while it is open.

const MOST_ROWS = 120;

class FiguresBehind {
  constructor(chart) {
    this.chart = chart;
    this.details = make('details', { class: 'behind' }, make('summary', {}, 'Figures'));
    this.details.addEventListener('toggle', () => this.update());
    chart.figure.append(this.details);
  }

  update() {
    if (!this.details.open) return;
    const { lines, spec } = this.chart, title = find('h3', this.chart.figure).textContent;
    const moments = this.chart.longest(), step = Math.max(1, Math.ceil(moments.length / MOST_ROWS));
    const caption = make('caption', { class: 'note' }, step > 1 ? `${title}: one moment of every ${step}` : title);
    const names = lines.map(line => make('th', { class: 'num', scope: 'col' }, line.label));
    const head = make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, spec.xLog ? 'Latency' : 'Time'), ...names));
    const body = make('tbody');
    for (let n = moments.length - 1; n >= 0; n -= step) {
      const at = moments[n], moment = spec.xLog ? spec.showX(at, false) : clock(at, spec.axis.end < 20);
      body.append(make('tr', {}, make('th', { scope: 'row' }, moment), ...lines.map(line => {
        const i = nearest(line.x, at), near = Math.abs(line.x[i] - at) <= Math.max(line.near ?? 1, 0.6);
        const value = line.x.length && near ? line.y[i] : null;
        return make('td', { class: 'num' }, value === null ? '–' : spec.show(value, line, i));
      })));
    }
    const scroll = find('.scroll', this.details), top = scroll?.scrollTop ?? 0;
    const table = make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': `Figures of ${title}` }, make('table', {}, caption, head, body));
    scroll?.remove();
    this.details.append(table);
    table.scrollTop = top;
  }
}
