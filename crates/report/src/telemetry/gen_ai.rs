//! Requests of language models by the names of OpenTelemetry's conventions for generative AI, which are in development:
//! <https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/>. Times are those of the requests' rows, tokens those that
//! `lgoose.llm` counts in metrics that begin with the row's name.

use super::families::quantiles_of;
use super::family::{Family, FigureValue, Labels, family, latencies, with};
use lgoose_metrics::{Figures, Latency, Report, RequestRow};

/// The end of a path, and the names of its operation and of who has made the API.
const OPERATIONS: [(&str, &str, &str); 4] = [
    ("/messages", "chat", "anthropic"),
    ("/embeddings", "embeddings", "openai"),
    ("/chat/completions", "chat", "openai"),
    ("/completions", "text_completion", "openai"),
];

/// Returns the figures of all rows of `lgoose.llm`.
pub fn gen_ai(report: &Report) -> Vec<Family> {
    let value = |row: &RequestRow, metric: &str| {
        let name = format!("{} {metric}", row.name);
        let found = report.metrics.iter().find(|one| one.name == name)?;
        found.value
    };
    let rows = report.requests.iter();
    let rows = rows.filter(|row| value(row, "e2e_ms").is_some());
    let times = |pick: fn(&Figures) -> Option<Latency>| {
        rows.clone()
            .flat_map(move |row| quantiles_of(pick(&row.figures), labels(row)))
    };
    let tokens = |row, kind: &str| {
        let count = value(row, &format!("{kind}_tokens"))?;
        let labels = with(labels(row), "gen_ai.token.type", kind);
        Some((labels, FigureValue::Counter(count)))
    };
    let tokens = |row| ["input", "output"].map(|kind| tokens(row, kind));
    vec![
        family(
            "gen_ai.client.operation.duration_seconds",
            "Latency of requests to language models, failed ones at the time they took",
            rows.clone()
                .filter_map(|row| Some((labels(row), latencies(&row.figures)?))),
        ),
        family(
            "gen_ai.client.operation.time_to_first_chunk_seconds",
            "Time from the beginning of a request to the first event with content",
            times(|all| all.first_event_ms),
        ),
        family(
            "gen_ai.client.operation.time_per_output_chunk_seconds",
            "Time from one event with content to the next",
            times(|all| all.event_gap_ms),
        ),
        family(
            "gen_ai.client.token.usage_tokens",
            "Tokens of prompts and of answers",
            rows.clone().flat_map(tokens).flatten(),
        ),
    ]
}

fn labels(row: &RequestRow) -> Labels {
    let url = row.slowest.first().map_or("", |request| &*request.url);
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let known = OPERATIONS.iter().find(|(end, ..)| path.ends_with(end));
    let (operation, provider) = known.map_or(("chat", "openai"), |(_, name, by)| (name, by));
    vec![
        ("gen_ai.operation.name", operation.to_owned()),
        ("gen_ai.provider.name", provider.to_owned()),
        ("lgoose.request.name", row.name.clone()),
    ]
}
