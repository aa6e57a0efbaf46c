// A table whose rows change while it is read: rows stay the elements that they are, so that a selection, the focus and
// what is unfolded stay, too. Sorts as the report's tables do, and filters by text.

import { Sorting, find, make } from './shared.js';

const NONE = '–';

export const text = value => ({ text: value });
export const num = (value, shown) => value === null || value === undefined ? { text: NONE, num: true, none: true } : { text: shown, num: true, value };
export const bad = cell => ({ ...cell, bad: true });
export const mark = (held, word) => ({ text: `${held ? '✓' : '✗'} ${word}`, look: held ? 'good' : 'bad', value: held ? 1 : 0 });
export const made = (element, value, shown) => ({ element, value, text: shown });

export class Table {
  // `columns`: titles, those of numbers begin with '#'. `note` is shown below the heading, `more` beside the filter.
  constructor(id, title, columns, { note, filter, more, before } = {}) {
    this.rows = new Map();
    this.columns = columns;
    const heads = columns.map(column => column.startsWith('#')
      ? make('th', { class: 'num', scope: 'col' }, column.slice(1))
      : make('th', { scope: 'col' }, column));
    this.foot = make('tfoot');
    this.table = make('table', {}, make('thead', {}, make('tr', {}, ...heads)), this.foot);
    this.section = make('section', { id, hidden: '', tabindex: -1, 'aria-labelledby': `${id}-title` });
    const heading = make('h2', { id: `${id}-title` }, title);
    this.section.append(filter ? make('div', { class: 'heading' }, heading, this.addFilter(filter), more ?? '') : heading);
    if (note) this.section.append(make('p', { class: 'note' }, note));
    this.section.append(make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-labelledby': `${id}-title` }, this.table));
    this.sorting = new Sorting(this.table);
    find('main').insertBefore(this.section, before ?? find('#log'));
  }

  addFilter(label) {
    this.filter = make('input', { type: 'search', placeholder: label.toLowerCase(), 'aria-label': label });
    this.left = make('span', { class: 'note', role: 'status' });
    this.filter.addEventListener('input', () => this.sift());
    return make('span', { class: 'filter' }, this.filter, this.left);
  }

  // `rows`: [{ key, cells, detail? }] in the order of the run; `total`: cells of the last line. `detail` is an
  // element that stands below the row, made once by a function.
  show(rows, total) {
    this.section.hidden = !rows.length;
    const keys = new Set(rows.map(row => row.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.body.remove();
      this.rows.delete(key);
    }
    let moved = this.table.tHead;
    for (const { key, cells, detail } of rows) {
      const row = this.rows.get(key) ?? this.add(key, cells);
      cells.forEach((cell, n) => put(row.cells[n], cell));
      if (detail && !row.detail) {
        row.detail = detail();
        row.body.append(make('tr', { class: 'more' }, make('td', { colspan: cells.length }, row.detail)));
      }
      if (!this.sorting.sorted) {
        if (moved.nextElementSibling !== row.body) moved.after(row.body);
        moved = row.body;
      }
    }
    if (total) {
      this.total ??= this.foot.appendChild(make('tr', {}, ...total.map(() => make('td'))));
      total.forEach((cell, n) => put(this.total.cells[n], cell));
    }
    this.sorting.again();
    if (this.filter) this.sift();
  }

  add(key, cells) {
    const tr = make('tr', {}, ...cells.map(() => make('td'))), body = make('tbody', {}, tr);
    this.foot.before(body);
    const row = { body, cells: tr.cells };
    this.rows.set(key, row);
    return row;
  }

  sift() {
    const wanted = this.filter.value.toLowerCase();
    let left = 0;
    for (const { body, cells } of this.rows.values()) {
      body.hidden = !cells[0].textContent.toLowerCase().includes(wanted);
      left += !body.hidden;
    }
    const told = wanted ? `${left} of ${this.rows.size}` : '';
    if (this.left.textContent !== told) this.left.textContent = told;
  }
}

// Puts a cell's text; what has not changed is left alone. The value that rows are sorted by may change without it.
function put(td, cell) {
  const shown = cell.text ?? '';
  if (cell.value === undefined) delete td.dataset.v; else td.dataset.v = cell.value;
  if (td.shown === shown && td.bad === cell.bad && !cell.element) return;
  td.shown = shown;
  td.bad = cell.bad;
  td.className = [cell.num ? 'num' : '', cell.bad ? 'bad' : '', cell.none ? 'none' : ''].join(' ').trim();
  if (cell.element) {
    if (td.firstChild !== cell.element) td.replaceChildren(cell.element);
  } else if (cell.look) td.replaceChildren(make('span', { class: cell.look }, shown));
  else if (cell.num) td.textContent = shown;
  else td.replaceChildren(make('bdi', {}, shown));
}
