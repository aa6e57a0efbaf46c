// Shows the state of the run; what the server sends is described in docs/web.md. Names and texts are set as text only.

const run = document.getElementById("run");
const figures = document.getElementById("figures");
const state = {};

function show() {
  const all = state.aggregated ?? {};
  const latency = all.latency_ms ?? {};
  const ms = (value) => (value === undefined ? "–" : `${value} ms`);
  run.textContent = `${state.plan} on ${state.host}: ${state.phase}`;
  const rows = [
    ["users", state.users_now ?? 0],
    ["requests", all.count ?? 0],
    ["failures", all.failures ?? 0],
    ["requests per second now", (all.rate_now ?? 0).toFixed(1)],
    ["median", ms(latency.p50)],
    ["95th percentile", ms(latency.p95)],
    ["99 % below", ms(latency.p99)],
  ];
  figures.replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
      dt.textContent = name;
      dd.textContent = value;
      return [dt, dd];
    }),
  );
}

const status = await fetch("/api/v1/status");
const { plan, host, phase } = await status.json();
Object.assign(state, { plan, host, phase });
const events = new EventSource("/api/v1/events");
events.addEventListener("snapshot", (event) => {
  const { phase, users_now, aggregated } = JSON.parse(event.data);
  for (const [key, value] of Object.entries({ phase, users_now, aggregated })) {
    if (value !== undefined) state[key] = value;
  }
  show();
});
events.addEventListener("error", () => {
  run.textContent = "no connection: the run may be over, and lgoose with it";
});
