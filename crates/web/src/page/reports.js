// The report so far: fetched now and then while something that only it has is looked at, and once more at the end, in
// every format, since lgoose ends soon after.

import { find, make } from './shared.js';

const OFTEN_MS = 10_000;
// The report may take one hundredth of the server's time.
const SHARE = 100;

const FORMATS = [['json', 'JSON'], ['yaml', 'YAML'], ['csv', 'CSV'], ['md', 'Markdown'], ['hdr', 'HdrHistogram log']];
const path = format => `/api/v1/report.${format}`;

let seen = new Set(), timer = 0, due = 0, over = false, taken = () => {};

// Calls `take` with each report. Looks for new ones while one of these elements is on the screen.
export function followReport(elements, take) {
  taken = take;
  const observer = new IntersectionObserver(changes => {
    for (const change of changes) if (change.isIntersecting) seen.add(change.target); else seen.delete(change.target);
    plan();
  });
  for (const element of elements) observer.observe(element);
  document.addEventListener('visibilitychange', plan);
}

// Forgets when the last one came, since there are new figures altogether.
export function fetchAnew() {
  due = 0;
  plan();
}

function plan() {
  clearTimeout(timer);
  if (over || document.hidden) return;
  // The first is wanted in any case: it tells what is below the screen.
  if (due && !seen.size) return;
  timer = setTimeout(look, Math.max(0, due - performance.now()));
}

async function look() {
  const began = performance.now();
  due = began + OFTEN_MS;
  try {
    const answer = await fetch(path('json'), { signal: AbortSignal.timeout(30_000) });
    if (answer.ok && !over) taken(await answer.json());
    due = performance.now() + Math.max(OFTEN_MS, SHARE * (performance.now() - began));
  } catch { /* the connection is lost, which is told where events come */ }
  plan();
}

export function startDownloads() {
  const links = FORMATS.flatMap(([format, label], n) => [n ? ' · ' : '', make('a', { href: path(format), download: `report.${format}`, id: `report-${format}` }, label)]);
  find('#downloads').append('Report: ', make('a', { href: path('html'), target: '_blank', rel: 'noopener', id: 'report-html' }, 'page with all charts and tables'), ' · ', ...links);
}

// Fetches the final report in every format and keeps it in the page.
export async function keepReports() {
  over = true;
  clearTimeout(timer);
  await Promise.all(['json', 'html', ...FORMATS.slice(1).map(([format]) => format)].map(async format => {
    const link = find(`#report-${format}`);
    try {
      const answer = await fetch(path(format), { signal: AbortSignal.timeout(30_000) });
      if (!answer.ok) throw new Error(answer.statusText);
      const blob = await answer.blob();
      link.href = URL.createObjectURL(format === 'html' ? new Blob([blob], { type: 'application/octet-stream' }) : blob);
      link.download = `report.${format}`;
      link.removeAttribute('target');
      if (format === 'json') taken(JSON.parse(await blob.text()));
    } catch {
      link.removeAttribute('href');
      link.title = 'lgoose ended before this was fetched';
    }
  }));
  document.documentElement.dataset.kept = 'true';
}
