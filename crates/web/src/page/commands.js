// Commands to the run: each says what it has done, or why it is not done.

import { Choice, find, findAll } from './shared.js';
import { shown, state } from './state.js';

const PATIENCE_MS = 65_000;
const SURE = {
  reset: ['Reset all figures?', 'What was measured so far is forgotten, and the measurement begins anew. The run goes on.', 'Reset'],
  stop: ['Stop the run?', 'Running tasks finish, then the run ends and its report is made.', 'Stop'],
  abort: ['Abort the run?', 'The run ends at once, in the middle of its tasks. The report is made of what was measured so far.', 'Abort'],
};

const ENDING = ['stop', 'abort'];

// Ends when the latest command has been answered: commands are sent one after another, and none is left out.
let latest = Promise.resolve(), allowed = false;

// Whose load is set, where scenarios have loads of their own.
const whose = new Choice('Load of', () => {
  for (const input of findAll('#commands input')) input.dataset.typed = '';
  showCommands();
});
const keyOf = load => load.scenario === null ? '' : `=${load.scenario}`;
const load = () => (state.wanted?.loads ?? []).find(load => keyOf(load) === whose.value);

// Tells what a command has done, or what somebody else's has.
export function tell(text, failed = false) {
  const answer = find('#answer');
  answer.className = failed ? 'bad' : '';
  answer.textContent = text;
}

function send(name, body) {
  // What ends a run does not wait for a command that hangs.
  if (ENDING.includes(name)) post(name, body); else latest = latest.then(() => post(name, body));
}

async function post(name, body) {
  find('#commands').setAttribute('aria-busy', 'true');
  try {
    const answer = await fetch(`/api/v1/${name}`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}), signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { done, error, help } = await answer.json();
    if (answer.ok) tell(done); else tell(help ? `${error}\n${help}` : error, true);
  } catch {
    tell(`lgoose does not answer: '${name}' may not have been done`, true);
  }
  find('#commands').removeAttribute('aria-busy');
}

// Asks before what cannot be taken back.
function sure(name) {
  const dialog = find('#confirm'), [title, text, yes] = SURE[name];
  if (dialog.open) return;
  find('#confirm-title').textContent = title;
  find('#confirm-text').textContent = text;
  find('#confirm-yes').textContent = yes;
  find('#confirm-yes').onclick = () => {
    dialog.close();
    send(name);
  };
  dialog.showModal();
}

export const commands = {
  pause: () => send(state.phase === 'paused' ? 'resume' : 'pause'),
  reload: () => send('reload'),
  reset: () => sure('reset'),
  stop: () => sure('stop'),
  abort: () => sure('abort'),
};

// Does a command if it makes sense now.
export function command(name) {
  if (allowed && !find(`#${name}`).disabled) commands[name]();
}

function setter(id, key, isNumber, what) {
  const form = find(`#${id}-form`), input = find(`#${id}`);
  form.addEventListener('submit', event => {
    event.preventDefault();
    const value = input.value.trim();
    if (!isNumber.test(value)) return tell(`'${value}' is no ${what}`, true);
    input.dataset.typed = '';
    const scenario = load()?.scenario;
    send(id, { [key]: +value, ...(scenario ? { scenario } : {}) });
  });
  input.addEventListener('input', () => { input.dataset.typed = 'yes'; });
  input.addEventListener('keydown', event => { if (event.key === 'Escape') { input.dataset.typed = ''; input.blur(); } });
  input.addEventListener('focus', () => input.select());
}

export function startCommands(readOnly) {
  allowed = !readOnly;
  find('#whose').append(whose.element);
  setter('users', 'n', /^\d+$/, 'number of users');
  setter('rate', 'per_s', /^\d+(\.\d+)?$/, 'number of iterations per second');
  for (const name of Object.keys(commands)) find(`#${name}`).addEventListener('click', () => command(name));
  for (const dialog of findAll('dialog')) {
    find('.close', dialog).addEventListener('click', () => dialog.close());
    dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  }
}

export function showCommands() {
  const { phase, wanted } = state;
  find('#commands').hidden = !allowed || phase === 'over' || !phase;
  if (!allowed || !wanted) return;
  find('#pause').textContent = phase === 'paused' ? 'Resume' : 'Pause';
  const loads = wanted.loads ?? [];
  whose.offer(loads.map(load => [keyOf(load), load.scenario === null ? 'the others' : shown(load.scenario)]));
  find('#whose').hidden = !loads.length;
  const { users, rate } = load() ?? wanted, open = rate !== null;
  find('#rate-form').hidden = !open;
  find('#users-form label').textContent = open ? 'Users at most' : 'Users';
  for (const [id, value] of [['users', users], ['rate', rate]]) {
    const input = find(`#${id}`);
    if (document.activeElement !== input && !input.dataset.typed) input.value = value ?? '';
  }
  for (const button of findAll('#commands button')) button.disabled = phase === 'stopping' && button.id !== 'abort';
}

// What came of loading the plan anew, whoever wanted it.
export function tellReload({ done, error }) {
  tell(error ? error : shown(done), Boolean(error));
}
