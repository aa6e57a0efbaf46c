// The page of a run: follows its events and shows what they tell; docs/web.md describes them. Names and texts of plans and
// sites are set as text only.

import { addTheme, find, findAll, make } from './shared.js';
import { showCommands, startCommands, tellReload } from './commands.js';
import { exemplars } from './exemplars.js';
import { startKeys } from './keys.js';
import { showCharts, showNames, startCharts } from './lines.js';
import { clearLog, takeLog } from './log.js';
import { showFacts, showOverview } from './overview.js';
import { fetchAnew, followReport, keepReports, startDownloads } from './reports.js';
import { state, take } from './state.js';
import { showStreams, showTables, showTasks, showSlowest, startTables } from './tables.js';
import { takeTags } from './tagged.js';

const AGAIN_MS = 2000;
// Figures come once a second.
const SILENCE_MS = 10_000;
const NAMES = { charts: 'Charts' };

let end = null, drawn = 0, started = false, lastPlace = '';

// Several events in a row are shown at once, and nothing while nobody looks.
function show() {
  cancelAnimationFrame(drawn);
  drawn = requestAnimationFrame(() => {
    showOverview(end);
    showCommands();
    showTables();
    showCharts();
    showContents();
  });
}

// Links to the parts that the run has.
function showContents() {
  const parts = findAll('main > section:not([hidden])').map(part => part.id), nav = find('nav');
  if (nav.dataset.parts === parts.join()) return;
  nav.dataset.parts = parts.join();
  nav.replaceChildren(...parts.map(id => make('a', { href: `#${id}` }, NAMES[id] ?? find(`#${id} h2`).textContent)));
}

function lost(text) {
  const element = find('#lost');
  if (element.textContent !== text) element.textContent = text;
  element.hidden = !text;
  if (!text) return;
  // Nobody knows whether it still runs, and nobody takes commands. What was about to be shown would say otherwise.
  cancelAnimationFrame(drawn);
  find('#phase').textContent = 'no connection';
  find('#phase').className = 'phase gone';
  document.title = `no connection · ${find('#plan').textContent} · lgoose`;
  for (const button of findAll('#commands button')) button.disabled = true;
}

// Asks what is run; tells why where that fails. Returns whether there is an answer.
async function ask() {
  try {
    const answer = await fetch('/api/v1/status', { signal: AbortSignal.timeout(10_000) });
    if (answer.status === 401) lost('This page may not watch the run any more: it is another run, or its token has changed. Open the address that lgoose has printed.');
    if (!answer.ok) return false;
    const status = await answer.json();
    showFacts(status);
    if (!started) {
      started = true;
      startCommands(status.read_only);
      startKeys(status.read_only);
    }
    return true;
  } catch {
    return false;
  }
}

function follow() {
  const events = new EventSource('/api/v1/events'), on = (name, act) => events.addEventListener(name, event => {
    heard = performance.now();
    act(JSON.parse(event.data), event.lastEventId);
  });
  let heard = performance.now();
  const leave = () => {
    clearInterval(listening);
    events.close();
  };
  const again = () => {
    leave();
    setTimeout(start, AGAIN_MS);
  };
  // A connection that a network has forgotten is never known to be lost.
  const listening = setInterval(() => {
    if (performance.now() - heard < SILENCE_MS) return;
    leave();
    start();
  }, 1000);
  on('snapshot', (data, place) => {
    // Another process tells of another run.
    const epoch = place.split('-')[0];
    if (lastPlace && epoch !== lastPlace) return location.reload();
    lastPlace = epoch;
    take(data);
    if (data.begin) fetchAnew();
    lost('');
    show();
  });
  on('log', takeLog);
  on('reload', tellReload);
  on('end', data => {
    end = data;
    clearInterval(listening);
    lost('');
    show();
    // The server waits for its readers: as long as this one stays, there is a report to be had.
    keepReports().then(leave);
  });
  events.addEventListener('error', () => {
    if (end) return leave();
    lost('The connection to lgoose is lost. The figures are those of before; this page tries again …');
    // Browsers come back by themselves unless they were answered with an error.
    if (events.readyState === EventSource.CLOSED) again();
  });
}

async function start() {
  if (await ask()) {
    clearLog();
    follow();
  } else {
    if (find('#lost').hidden) lost('lgoose does not answer; this page tries again …');
    setTimeout(start, AGAIN_MS);
  }
}

addTheme(find('header'));
// 'lgoose serve' has other runs, too.
if (location.pathname !== '/') find('.brand').append(' · ', make('a', { href: '/' }, 'all runs'));
startTables();
startCharts();
startDownloads();
followReport([find('#chart-names'), find('#slowest'), find('#tasks'), find('#errors')], report => {
  showNames(report);
  showTasks(report);
  showStreams(report);
  showSlowest(report);
  exemplars.take(report);
  takeTags(report);
  if (end) show();
  showContents();
});
start();
