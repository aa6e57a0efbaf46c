// The form that starts a run, the queue and the runs that are kept; docs/web.md describes what is asked for. Names and texts
// are set as text only.

import { addTheme, find, findAll, group, make, showMs, showPercent } from "./shared.js";

const EVERY = 2000;
// The list may take one hundredth of the server's time.
const SHARE = 100;
const WHEN = { dateStyle: "short", timeStyle: "short" };
// The most runs of a line.
const MOST_OVER = 60;
// How a value that may be secret ends in the list.
const HIDDEN = "…";
let shown = "", known = [];

// Asks the server; an error of its own has its text and its help.
async function ask(method, path, body) {
  const options = { method };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  const value = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error([value.error, value.help].filter(Boolean).join("\n"));
  return value;
}

function tell(text, bad) {
  const told = find("#told");
  told.textContent = text;
  told.hidden = !text;
  told.className = bad ? "bad" : "";
}

// Does something and shows what came of it.
async function attempt(action, done) {
  try {
    await action();
    tell(done ?? "");
  } catch (error) {
    tell(error.message, true);
  }
  await refresh();
}

function options() {
  const wanted = {};
  for (const field of findAll("[data-option]")) {
    if (field.value.trim()) wanted[field.dataset.option] = field.value.trim();
  }
  for (const line of find("#others").value.split("\n")) {
    if (!line.trim()) continue;
    const [, name, value] = /^\s*(?:--)?([^=\s]+)\s*(?:=\s*(.*?))?\s*$/.exec(line) ?? [];
    if (!name) throw new Error(`'${line.trim()}' is no option: write 'name = value'`);
    // A flag without a value; an option that stands several times is a list.
    wanted[name] = name in wanted ? [wanted[name], value ?? true].flat() : (value ?? true);
  }
  return wanted;
}

const number = (value) => value !== "" && Number.isFinite(Number(value ?? NaN)) ? group(Number(value)) : value ?? "";
const ms = (value) => value === null || value === undefined ? "" : showMs(value);

function result(run) {
  if (run.error) return run.error;
  return run.report?.verdict ?? "";
}

function link(text, path, run, name) {
  return make("a", { href: path, "data-key": `${text} ${run.id}`, "aria-label": `${name} of ${run.id}` }, text);
}

function button(text, run, action) {
  const made = make("button", { type: "button", "data-key": `${text} ${run.id}`, "aria-label": `${text} ${run.id}` }, text);
  made.addEventListener("click", action);
  return made;
}

const cell = (look, ...children) => make("td", { class: look }, ...children);

const hasFailed = ({ state, exit_code: exit, report }) => state === "failed" || (report?.exit_code ?? 0) > 0 || (exit ?? 0) > 0;

// How a run stands, in a word: what went wrong is in its result.
function badge(run) {
  const word = run.state !== "kept" ? run.state : hasFailed(run) ? "failed" : run.report?.exit_code === 0 ? "passed" : "kept";
  return make("span", { class: `badge ${word}` }, word);
}

// The runs that are checked, in the order of their starts: the earlier one is the one before the change.
const checked = new Set();
const ordered = () => byStart(known.filter((run) => checked.has(run.id)));
const startOf = (run) => run.report?.started ?? run.started ?? "";
const byStart = (runs) => [...runs].sort((a, b) => (startOf(a) < startOf(b) ? -1 : 1));

function showChecked() {
  const runs = ordered(), ready = runs.length === 2;
  find("#compare").disabled = !ready;
  find("#compare-note").textContent = ready ? `${runs[0].id} before, ${runs[1].id} after` : "check two runs to compare them";
}

find("#compare").addEventListener("click", () => {
  const [before, after] = ordered().map((run) => encodeURIComponent(run.id));
  open(`/api/v1/runs/${before}/comparison.html?after=${after}`, "_blank", "noopener");
});

function check(run) {
  const box = make("input", { type: "checkbox", "data-key": `check ${run.id}`, "aria-label": `Compare ${run.id}` });
  box.checked = checked.has(run.id);
  box.addEventListener("change", () => {
    if (!box.checked) checked.delete(run.id);
    else if (checked.add(run.id).size > 2) checked.delete([...checked][0]);
    for (const each of findAll("#rows input")) each.checked = checked.has(each.dataset.key.slice(6));
    showChecked();
  });
  return box;
}

// Starts a run with the options of an earlier one. Values that may be secret are not kept: the form asks for them.
function again({ plan, options }) {
  const secret = Object.values(options).flat().some((value) => String(value).endsWith(HIDDEN));
  if (!secret) return attempt(() => ask("POST", "/api/v1/runs", { plan, options }), `${plan} is in the queue`);
  find("#plan").value = plan;
  const rest = { ...options };
  for (const field of findAll("[data-option]")) {
    field.value = rest[field.dataset.option] ?? "";
    delete rest[field.dataset.option];
  }
  const lines = Object.entries(rest).flatMap(([name, values]) => [values].flat().map((value) => (value === true ? name : `${name} = ${value}`)));
  find("#others").value = lines.join("\n");
  find("#others").closest("details").open = true;
  tell(`write the values that are hidden (${HIDDEN}), then start: lgoose does not keep them`);
  find("#others").focus();
}

function row(run, readOnly) {
  const { report } = run;
  const path = `/api/v1/runs/${encodeURIComponent(run.id)}`;
  const host = report?.host ?? run.options?.host ?? "";
  const head = make("th", { class: "text", scope: "row", title: run.id },
    make("span", { class: "plan" }, run.plan || run.id), make("span", { class: "host" }, host));
  const time = run.started ?? run.queued;
  const [files, actions] = [cell("files"), cell("actions")];
  if (run.state === "running") {
    files.append(link("watch", "/run", run, "Page"));
  } else if (run.state === "kept") {
    files.append(link("report", `${path}/report.html`, run, "Report"), link("JSON", `${path}/report.json`, run, "JSON"));
  }
  if (run.state !== "queued" && run.options) files.append(link("plan", `${path}/plan`, run, "Plan"));
  if (!readOnly && run.state === "running") {
    actions.append(button("Stop", run, () => attempt(() => ask("POST", "/api/v1/stop"), "stopping: running tasks finish")));
  } else if (!readOnly) {
    if (run.options && run.state !== "queued") {
      actions.append(button("Run again", run, () => again(run)));
    }
    actions.append(
      button("Remove", run, () => {
        const sure = run.state === "queued" || confirm(`Remove the files of ${run.id}?`);
        if (sure) attempt(() => ask("DELETE", path));
      }),
    );
  }
  return make("tr", {},
    cell("", run.state === "kept" ? check(run) : ""),
    head,
    cell(run.state, badge(run)),
    actions,
    files,
    cell("time", time ? new Date(time).toLocaleString(undefined, WHEN) : ""),
    cell("num", number(report?.users ?? run.options?.users)),
    cell("num", number(report?.requests)),
    cell("num", number(report?.failures)),
    cell("num", ms(report?.p95_ms)),
    cell(hasFailed(run) ? "text long bad" : "text long", result(run)),
  );
}

// A line of the p95 of a plan over its runs, and bars of the share that failed; a dot is a run, which its report opens.
function overRuns(plan, runs) {
  const [WIDTH, HEIGHT, EDGE] = [320, 64, 8];
  const most = Math.max(...runs.map((run) => run.report.p95_ms));
  const x = (at) => EDGE + (at / (runs.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value) => HEIGHT - EDGE - (value / (most || 1)) * (HEIGHT - 2 * EDGE);
  const points = runs.map((run, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(run.report.p95_ms).toFixed(1)}`);
  const bars = runs.map(({ report }, at) => {
    const height = report.failures ? Math.max(2, (report.failures / report.requests) * (HEIGHT - EDGE)) : 0;
    return make("svg:rect", { class: "failures", x: (x(at) - 3).toFixed(1), y: (HEIGHT - height).toFixed(1), width: 6, height: height.toFixed(1) });
  });
  const dots = runs.map((run, at) => {
    const { report } = run, failed = report.exit_code > 0;
    const share = report.requests ? showPercent(report.failures / report.requests) : "0%";
    const title = `${new Date(report.started).toLocaleString(undefined, WHEN)}: p95 ${ms(report.p95_ms)}, ${share} failed${failed ? ", verdict failed" : ""}`;
    const dot = make("svg:circle", { class: failed ? "failed" : "", cx: x(at).toFixed(1), cy: y(report.p95_ms).toFixed(1), r: failed ? 5 : 4 },
      make("svg:title", {}, title));
    return make("svg:a", { href: `/api/v1/runs/${encodeURIComponent(run.id)}/report.html`, "aria-label": title }, dot);
  });
  const last = runs[runs.length - 1].report;
  const failures = runs.filter(({ report }) => report.exit_code > 0).length;
  return make("figure", { class: "chart" },
    make("figcaption", {}, make("h3", {}, plan), make("span", { class: "note" },
      `p95 ${ms(last.p95_ms)}, at most ${ms(most)} · ${failures} of ${runs.length} failed`)),
    make("div", { class: "plot" }, make("svg:svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `p95 over the runs of ${plan}` },
      ...bars, make("svg:path", { class: "line k0", d: points.join("") }), ...dots)));
}

function showOverRuns() {
  const plans = new Map();
  for (const run of byStart(known)) {
    if (run.state !== "kept" || typeof run.report?.p95_ms !== "number") continue;
    plans.set(run.plan, [...(plans.get(run.plan) ?? []), run]);
  }
  const lines = [...plans].filter(([, runs]) => runs.length > 1);
  find("#over-runs").replaceChildren(...lines.map(([plan, runs]) => overRuns(plan, runs.slice(-MOST_OVER))));
}

// Hides the rows that do not have the text of the filter.
function sift() {
  const wanted = find("#filter").value.toLowerCase();
  for (const each of findAll("#rows tr")) each.hidden = !`${each.textContent} ${find("th", each).title}`.toLowerCase().includes(wanted);
}
find("#filter").addEventListener("input", sift);

function show({ runs, error, read_only: readOnly }) {
  const focused = document.activeElement?.dataset?.key;
  known = runs;
  for (const id of checked) if (!runs.some((run) => run.id === id && run.state === "kept")) checked.delete(id);
  find("#rows").replaceChildren(...runs.map((run) => row(run, readOnly)));
  find("#runs").hidden = runs.length === 0;
  find("#start-section").hidden = readOnly;
  const count = (state) => runs.filter((run) => run.state === state).length;
  const [running, queued] = [count("running"), count("queued")];
  const over = runs.length - running - queued;
  find("#state").textContent = error ?? `${running ? "1 running" : "none running"}, ${queued} queued, ${over} over`;
  showOverRuns();
  showChecked();
  sift();
  if (focused) findAll("[data-key]").find((one) => one.dataset.key === focused)?.focus();
}

async function refresh() {
  try {
    const list = await ask("GET", "/api/v1/runs");
    const text = JSON.stringify(list);
    if (text !== shown) show(list);
    shown = text;
  } catch (error) {
    shown = "";
    find("#state").textContent = `no answer from lgoose: ${error.message}`;
  }
}

async function plans() {
  const { plans } = await ask("GET", "/api/v1/plans");
  const chosen = find("#plan").value;
  find("#plan").replaceChildren(...plans.map((plan) => make("option", {}, plan)));
  if (plans.includes(chosen)) find("#plan").value = chosen;
  if (plans.length === 0) tell("there is no plan in the folder that lgoose serves", true);
}

find("#start").addEventListener("submit", (event) => {
  event.preventDefault();
  const plan = find("#plan").value;
  attempt(() => ask("POST", "/api/v1/runs", { plan, options: options() }), `${plan} is in the queue`);
});
find("#plan").addEventListener("focus", () => plans().catch((error) => tell(error.message, true)));

addTheme(find("header"));
await plans().catch((error) => tell(error.message, true));

async function look() {
  const began = performance.now();
  if (!document.hidden) await refresh();
  setTimeout(look, Math.max(EVERY, SHARE * (performance.now() - began)));
}
await look();
