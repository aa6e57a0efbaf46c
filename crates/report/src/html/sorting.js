// Sorting of a table: a click on a heading sorts by it, once more the other way round. Each row is a tbody of its
// own, so that what unfolds below it goes with it.

const collator = new Intl.Collator(undefined, { numeric: true });

class Sorting {
  constructor(table) {
    this.table = table;
    this.headings = findAll('thead th', table);
    this.headings.forEach((heading, column) => {
      const button = make('button', { type: 'button' }, ...heading.childNodes);
      heading.append(button);
      button.addEventListener('click', () => this.by(column));
    });
  }

  isNumeric(column) {
    return this.headings[column].classList.contains('num') || this.table.tBodies[0]?.rows[0].cells[column].dataset.v !== undefined;
  }

  by(column) {
    const heading = this.headings[column], now = heading.getAttribute('aria-sort');
    const down = now ? now === 'ascending' : this.isNumeric(column);
    for (const other of this.headings) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    this.sorted = { column, down };
    this.again();
  }

  // Sorts once more, after figures have changed; does nothing until a column has been chosen.
  again() {
    if (!this.sorted) return;
    const { column, down } = this.sorted, numeric = this.isNumeric(column);
    const key = body => {
      const cell = body.rows[0].cells[column];
      return numeric ? (cell.dataset.v === undefined ? null : +cell.dataset.v) : cell.textContent;
    };
    const before = [...this.table.tBodies], rows = before.map(body => [key(body), body]);
    // Rows without a figure stay last, whichever way.
    rows.sort(([a], [b]) => a === null || b === null
      ? (a === null) - (b === null)
      : (numeric ? a - b : collator.compare(a, b)) * (down ? -1 : 1));
    if (rows.some(([, body], at) => body !== before[at])) this.table.tHead.after(...rows.map(([, body]) => body));
  }
}
