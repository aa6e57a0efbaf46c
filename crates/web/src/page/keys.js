// The keyboard: one letter for each command, most of them those of the live view, and a list of them.

import { find, make } from './shared.js';
import { command } from './commands.js';

const visible = element => element && !element.closest('[hidden]');

function goTo(selector) {
  const element = find(selector);
  if (!visible(element)) return;
  element.scrollIntoView({ block: 'start' });
  element.focus({ preventScroll: true });
}

const steers = name => ({ act: () => command(name), steers: true });
const KEYS = {
  u: { told: 'Users', act: () => visible(find('#users')) && find('#users').focus(), steers: true },
  i: { told: 'Iterations per second, in a run at a rate', act: () => visible(find('#rate')) && find('#rate').focus(), steers: true },
  p: { told: 'Pause, resume', ...steers('pause') },
  r: { told: 'Reload the plan', ...steers('reload') },
  0: { told: 'Reset figures', ...steers('reset') },
  q: { told: 'Stop', ...steers('stop') },
  x: { told: 'Abort', ...steers('abort') },
  c: { told: 'Charts', act: () => goTo('#charts') },
  e: { told: 'Errors', act: () => goTo('#errors') },
  '/': { told: 'Filter requests', act: () => { goTo('#requests'); find('#requests input').focus(); } },
  g: { told: 'Requests of one tag', act: () => { goTo('#requests'); if (visible(find('#requests .choice'))) find('#requests select').focus(); } },
  l: { told: 'Log', act: () => goTo('#log .log') },
  t: { told: 'Light or dark', act: () => find('.theme').click() },
  '?': { told: 'This list', act: () => find('#help').showModal() },
};
const IN_CHARTS = [['← →', 'Read values, in a chart'], ['+ −', 'Look closer, or at more'], ['Shift ← →', 'Move the stretch that is shown'], ['0', 'Whole run, in a chart']];

export function startKeys(readOnly) {
  const keys = Object.entries(KEYS).filter(([, key]) => !(readOnly && key.steers));
  // Figures come first among an object's keys, and last in the list.
  keys.sort(([a], [b]) => (a === '0') - (b === '0'));
  const rows = [...keys.map(([key, { told }]) => [key, told]), ...IN_CHARTS];
  find('#help dl').append(...rows.flatMap(([key, told]) => [make('dt', {}, make('kbd', {}, key)), make('dd', {}, told)]));
  find('#help-button').addEventListener('click', () => find('#help').showModal());
  const known = new Map(keys);
  addEventListener('keydown', event => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || find('dialog[open]')) return;
    if (event.target.closest('input, textarea, select') || !known.has(event.key)) return;
    event.preventDefault();
    known.get(event.key).act();
  });
}
