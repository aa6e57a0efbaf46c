// A row of the requests opens: all its figures, its samples, and a button that shows it over time.

const sectionsOf = id => { const section = document.getElementById(id); return section ? [section] : []; };
const named = new Map();

// Returns the rows of a section that are about a name.
function rowsOf(section, name) {
  if (!named.has(section)) {
    const rows = new Map();
    for (const body of find('table', section).tBodies) {
      const key = body.rows[0].cells[0].textContent;
      rows.set(key, [...(rows.get(key) ?? []), body]);
    }
    named.set(section, rows);
  }
  return named.get(section).get(name) ?? [];
}

function figuresOf(section, body) {
  const titles = findAll('thead th', section).map(title => title.textContent), list = make('dl');
  [...body.rows[0].cells].forEach((cell, n) => {
    if (n && !cell.classList.contains('none')) list.append(make('dt', {}, titles[n]), make('dd', {}, cell.textContent));
  });
  return make('div', {}, make('h3', {}, find('h2', section).textContent), list);
}

function samplesOf(section, body) {
  const titles = findAll('thead th', section).map(title => title.textContent);
  const words = [...body.rows[0].cells].map((cell, n) => cell.classList.contains('num') ? `${titles[n]} ${cell.textContent}` : cell.textContent).slice(1).filter(text => text);
  const sample = make('div', {}, make('p', {}, words.join(' · ')));
  const more = body.rows[1] && find('details', body.rows[1]);
  if (more) sample.append(more.cloneNode(true));
  return sample;
}

function detail(name, overTime) {
  const place = make('div', { class: 'row-detail' }), figures = make('div', { class: 'figures' });
  for (const section of ['percentiles', 'more', 'service', 'phases', 'status'].flatMap(sectionsOf)) {
    figures.append(...rowsOf(section, name).map(body => figuresOf(section, body)));
  }
  place.append(figures);
  for (const [id, title] of [['slowest', 'Slowest'], ['errors', 'Failed']]) {
    const samples = sectionsOf(id).flatMap(section => rowsOf(section, name).map(body => samplesOf(section, body)));
    if (samples.length) place.append(make('h3', {}, title), ...samples);
  }
  if (overTime) place.append(overTime);
  return place;
}

// Returns a field that hides the rows whose names do not contain its text.
function filterOf(bodies) {
  const field = make('input', { type: 'search', placeholder: 'filter names', 'aria-label': 'Filter names' });
  field.addEventListener('input', () => {
    const wanted = field.value.toLowerCase();
    for (const body of bodies) body.hidden = !body.rows[0].cells[0].textContent.toLowerCase().includes(wanted);
  });
  return make('p', { class: 'tools' }, field);
}

// Makes the rows of the requests unfold. `choose(name)` shows a name over time; it is missing where there is no chart.
function openRows(choose) {
  for (const section of sectionsOf('requests')) {
    const columns = findAll('thead th', section).length, bodies = [...find('table', section).tBodies];
    if (bodies.length > 12) find('h2', section).after(filterOf(bodies));
    for (const body of bodies) {
      const [cell] = body.rows[0].cells, name = cell.textContent;
      const button = make('button', { type: 'button', class: 'open', 'aria-expanded': 'false' }, ...cell.childNodes);
      cell.append(button);
      button.addEventListener('click', () => {
        const open = button.getAttribute('aria-expanded') === 'false';
        button.setAttribute('aria-expanded', String(open));
        if (!body.rows[1]) {
          let overTime;
          if (choose) {
            overTime = make('button', { type: 'button', class: 'over-time' }, 'show over time');
            overTime.addEventListener('click', () => choose(name));
          }
          body.append(make('tr', { class: 'more' }, make('td', { colspan: columns }, detail(name, overTime))));
        }
        body.rows[1].hidden = !open;
      });
    }
  }
}
