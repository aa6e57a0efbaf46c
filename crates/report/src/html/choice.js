// A switch between all and one of several values, such as tags.

class Choice {
  // `changed` gets what was chosen; '' is all.
  constructor(label, changed) {
    this.select = make('select');
    this.element = make('label', { class: 'choice' }, `${label} `, this.select);
    this.select.addEventListener('change', () => changed(this.value));
  }

  get value() { return this.select.value; }

  // Takes the values to choose from: [[value, text]]. The chosen one stays chosen if it is among them.
  offer(values) {
    const now = JSON.stringify(values), { value } = this;
    if (now === this.offered) return;
    this.offered = now;
    this.select.replaceChildren(...values.map(([value, text]) => make('option', { value }, text)));
    this.select.value = values.some(([each]) => each === value) ? value : values[0]?.[0] ?? '';
  }
}
