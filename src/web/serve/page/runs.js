// The form that starts a run, the queue and the runs that are kept; docs/web.md describes what is asked for. Names and texts
// are set as text only.

import { find, findAll, group, make, showMs } from "./shared.js";

const EVERY = 2000;
// The list may take one hundredth of the server's time.
const SHARE = 100;
const WHEN = { dateStyle: "short", timeStyle: "short" };
let shown = "";

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

function row(run, readOnly) {
  const { report } = run;
  const path = `/api/v1/runs/${encodeURIComponent(run.id)}`;
  const host = report?.host ?? run.options?.host ?? "";
  const head = make("th", { class: "text", scope: "row", title: run.id },
    make("span", { class: "plan" }, run.plan || run.id), make("span", { class: "host" }, host));
  const time = run.started ?? run.queued;
  const bad = run.state === "failed" || (report?.exit_code ?? 0) > 0 || (run.exit_code ?? 0) > 0;
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
    actions.append(
      button("Remove", run, () => {
        const sure = run.state === "queued" || confirm(`Remove the files of ${run.id}?`);
        if (sure) attempt(() => ask("DELETE", path));
      }),
    );
  }
  return make("tr", {},
    head,
    cell(run.state, run.state),
    actions,
    files,
    cell("time", time ? new Date(time).toLocaleString(undefined, WHEN) : ""),
    cell("number", number(report?.users ?? run.options?.users)),
    cell("number", number(report?.requests)),
    cell("number", number(report?.failures)),
    cell("number", ms(report?.p95_ms)),
    cell(bad ? "text long bad" : "text long", result(run)),
  );
}

function show({ runs, error, read_only: readOnly }) {
  const focused = document.activeElement?.dataset?.key;
  find("#rows").replaceChildren(...runs.map((run) => row(run, readOnly)));
  find("#runs").hidden = runs.length === 0;
  find("#start-section").hidden = readOnly;
  const count = (state) => runs.filter((run) => run.state === state).length;
  const [running, queued] = [count("running"), count("queued")];
  const over = runs.length - running - queued;
  find("#state").textContent = error ?? `${running ? "1 running" : "none running"}, ${queued} queued, ${over} over`;
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

await plans().catch((error) => tell(error.message, true));

async function look() {
  const began = performance.now();
  if (!document.hidden) await refresh();
  setTimeout(look, Math.max(EVERY, SHARE * (performance.now() - began)));
}
await look();
