// The log of the run: its last lines, which scroll on unless somebody has scrolled up.

import { find, make } from './shared.js';
import { shown } from './state.js';

const MOST = 1000;
let missing = 0;

export function takeLog({ lines, missed }) {
  const list = find('#log .log');
  find('#log').hidden = false;
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 8;
  list.append(...lines.map(line => {
    const level = /^\s*(error|warn)/i.exec(line)?.[1].toLowerCase();
    return make('p', level ? { class: level } : {}, line.split('\n').map(shown).join('\n'));
  }));
  while (list.childElementCount > MOST) list.firstElementChild.remove();
  missing += missed;
  find('#log-missed').hidden = !missing;
  find('#log-missed').textContent = `${missing} lines were lost: they came faster than they are kept.`;
  if (atEnd) list.scrollTop = list.scrollHeight;
}

// Forgets all lines, before they come anew.
export function clearLog() {
  find('#log .log').replaceChildren();
  missing = 0;
}
