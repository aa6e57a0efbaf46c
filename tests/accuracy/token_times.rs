//! Whether the times of tokens are true: `demo:llm` logs when each request was there and when each token left, and what plan
//! and report have of them is compared with that.

use crate::alone;
use crate::percentiles::quantile;
use crate::program::{plan, wait_until};
use crate::report::{Report, iterate_at};
use lgoose::demo::{Behaviour, Demo, Site};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const USERS: u32 = 4;
const ITERATIONS: u32 = 10;
const TOKENS: usize = 20;

/// A request whose response came token by token, in milliseconds: to the first, and from each to the next.
#[derive(Debug)]
struct TokenTimes {
    first: f64,
    gaps: Vec<f64>,
}

impl TokenTimes {
    /// The time per output token.
    fn per_token(&self) -> f64 {
        self.gaps.iter().sum::<f64>() / self.gaps.len() as f64
    }
}

/// Returns the log of the site by the identities of its responses.
fn sent(site: &Demo) -> BTreeMap<String, TokenTimes> {
    let host = site.url().replace("http://", "");
    let mut stream = TcpStream::connect(&host).expect("the site accepts");
    let request = format!("GET /_demo/sent HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the site reads");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .expect("the site responds");
    let (_, body) = response.split_once("\r\n\r\n").expect("a head");
    let log: Value = serde_json::from_str(body).expect("the log is JSON");
    let one = |response: &Value| {
        let id = response["id"].as_str().expect("an identity").to_owned();
        let received = response["received_ns"].as_u64().expect("a time");
        let sent = response["sent_ns"].as_array().expect("times").iter();
        let sent: Vec<u64> = sent.filter_map(Value::as_u64).collect();
        let ms = |from: u64, to: u64| (to - from) as f64 / 1e6;
        let gaps = sent.windows(2).map(|pair| ms(pair[0], pair[1])).collect();
        (
            id,
            TokenTimes {
                first: ms(received, sent[0]),
                gaps,
            },
        )
    };
    log.as_array().expect("a list").iter().map(one).collect()
}

/// Returns what the plan has printed of its requests: `timed: ID FIRST GAP GAP …`.
fn measured(report: &Report) -> BTreeMap<String, TokenTimes> {
    let lines = report.ended.stderr.lines();
    let lines = lines.filter_map(|line| line.split_once("timed: "));
    let one = |(_, figures): (&str, &str)| {
        let mut words = figures.split(' ');
        let id = words.next().expect("an identity").to_owned();
        let mut times = words.map_while(|word| word.parse().ok());
        let first = times.next().expect("a time");
        (
            id,
            TokenTimes {
                first,
                gaps: times.collect(),
            },
        )
    };
    lines.map(one).collect()
}

fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_unstable_by(f64::total_cmp);
    quantile(&figures, 0.5)
}

#[test]
fn times_of_tokens_are_those_of_the_site_within_two_percent_and_the_way_there_and_back() {
    let _alone = alone();
    let site = Demo::start(Site::Llm, 0, Behaviour::default(), 1).expect("a port is free");
    let text = format!(
        "local llm = require 'lgoose.llm'\n\
         task {{ on_start = true, function(user) user:get '/v1/models' end }}\n\
         task {{ function(user)\n  \
         local answer = llm.chat(user, {{ model = 'demo', path = '/v1/chat/completions?ttft=60&gap=10', max_tokens = {TOKENS},\n    \
         messages = {{ {{ role = 'user', content = 'go' }} }}, body = {{ ignore_eos = true }} }})\n  \
         local figures = {{ answer.id, ('%.4f'):format(answer.ttft * 1000) }}\n  \
         for _, gap in ipairs(answer.itl) do figures[#figures + 1] = ('%.4f'):format(gap * 1000) end\n  \
         print('timed: ' .. table.concat(figures, ' '))\n  \
         user:get('/v1/models', {{ name = 'at once' }})\nend }}"
    );
    let path = plan("token_times.lua", &text);
    let report = iterate_at(&path, &site.url(), USERS, ITERATIONS, &[]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let requests = (USERS * ITERATIONS) as usize;
    wait_until("the log has all responses", || {
        sent(&site).len() == requests
    });
    let (sent, measured) = (sent(&site), measured(&report));
    assert_eq!(measured.len(), requests);
    let pairs: Vec<_> = measured
        .iter()
        .map(|(id, times)| (&sent[id], times))
        .collect();
    for (truth, times) in &pairs {
        assert_eq!(
            (truth.gaps.len(), times.gaps.len()),
            (TOKENS - 1, TOKENS - 1)
        );
        // What is sent is received later, and a request has begun before it was there.
        assert!(
            times.first >= truth.first - 1e-3,
            "{times:?}, sent as {truth:?}"
        );
    }

    let rows = report.json["requests"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect("a row");
    let way = row("at once")["latency_ms"]["p50"]
        .as_f64()
        .expect("a figure");
    let late = median(pairs.iter().map(|(truth, times)| times.first - truth.first));
    let first = median(pairs.iter().map(|(truth, _)| truth.first));
    eprintln!(
        "first token: {first:.3} ms at the site, {late:.3} ms more here; the way there and back {way:.3} ms"
    );
    assert!(
        late <= 0.02 * first + 2.0 * way,
        "{late} ms more than {first} ms"
    );

    let gaps = |truth: &TokenTimes, times: &TokenTimes| {
        let pairs = truth.gaps.iter().zip(&times.gaps);
        pairs.map(|(truth, gap)| gap - truth).collect::<Vec<_>>()
    };
    let off = median(pairs.iter().flat_map(|(truth, times)| gaps(truth, times)));
    let gap = median(pairs.iter().flat_map(|(truth, _)| truth.gaps.clone()));
    eprintln!("gaps: {gap:.3} ms at the site, {off:+.4} ms here");
    assert!(off.abs() <= 0.02 * gap, "{off} ms off {gap} ms");
    let off = median(
        pairs
            .iter()
            .map(|(truth, times)| times.per_token() - truth.per_token()),
    );
    assert!(off.abs() <= 0.02 * gap, "{off} ms a token off {gap} ms");

    // The report has what the plan had, in the row and in the metrics.
    let metrics = report.json["metrics"].as_array().expect("metrics");
    let metric = |name: &str| {
        metrics
            .iter()
            .find(|metric| metric["name"] == name)
            .expect("a metric")
    };
    let here = |figures: &mut dyn Iterator<Item = f64>| median(figures);
    let first = here(&mut measured.values().map(|times| times.first));
    let gap = here(&mut measured.values().flat_map(|times| times.gaps.clone()));
    let per_token = here(&mut measured.values().map(TokenTimes::per_token));
    for (figure, expected) in [
        (&row("chat")["first_event_ms"]["p50"], first),
        (&row("chat")["event_gap_ms"]["p50"], gap),
        (&metric("chat ttft_ms")["p50"], first),
        (&metric("chat itl_ms")["p50"], gap),
        (&metric("chat tpot_ms")["p50"], per_token),
    ] {
        let figure = figure.as_f64().expect("a figure");
        assert!(
            (figure - expected).abs() <= 0.005 * expected,
            "{figure}, seen as {expected}"
        );
    }
}
