//! The order of the fields of a table says nothing: whatever it is, `lgoose check` says the same.

use crate::program::{Lgoose, plan};
use std::collections::BTreeSet;

/// Returns the fields in some other orders: each rotation, forwards and backwards.
fn orders(fields: &[&str]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for first in 0..fields.len() {
        let mut order: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        order.rotate_left(first);
        all.push(order.clone());
        order.reverse();
        all.push(order);
    }
    all
}

/// Returns what a check says of a plan, without the lines of the plan that it shows.
fn checked(name: &str, text: &str) -> (i32, BTreeSet<String>) {
    let ended = Lgoose::new(["check", &plan(name, text)]).finish();
    let said = format!("{}\n{}", ended.stdout, ended.stderr);
    let is_said = |line: &&str| {
        ["error:", "warning:", "  = help:"]
            .iter()
            .any(|begin| line.starts_with(begin))
    };
    let lines = said.lines().filter(is_said).map(str::to_owned);
    (ended.code, lines.collect())
}

#[test]
fn what_a_check_says_does_not_depend_on_the_order_of_fields() {
    let get = "task { function(user) user:get '/' end }";
    let cases: [(&str, String, &[&str]); 9] = [
        (
            "plan",
            format!("plan {{ FIELDS }} {get}"),
            &[
                "usres = 1",
                "hots = 'x'",
                "run_time = 'soon'",
                "timeout = -1",
            ],
        ),
        (
            "loads",
            format!("plan {{ FIELDS }} {get}"),
            &[
                "users = 5",
                "rate = '5/s'",
                "stages = { '1m:5' }",
                "test_plan = '5,1m'",
            ],
        ),
        (
            "thresholds",
            format!("plan {{ thresholds = {{ FIELDS }} }} {get}"),
            &[
                "['a'] = 'p95 < 3sec'",
                "['b'] = 'p9x < 1s'",
                "['c'] = 'p95 < 1s'",
                "['d'] = 3",
            ],
        ),
        (
            "task",
            "task { 'a', FIELDS, function(user) user:get '/' end }".to_owned(),
            &["wieght = 1", "sequence = 'x'", "wait = -1", "on_start = 3"],
        ),
        (
            "scenario",
            format!("scenario {{ 'a', FIELDS, {get} }}"),
            &["usres = 3", "order = 'odd'", "wait = 'x'", "weight = -1"],
        ),
        (
            "tags",
            format!("scenario {{ 'a', tags = {{ FIELDS }}, {get} }}"),
            &["'smoke'", "kind = {}", "[3] = 4", "['a,b'] = 'c'"],
        ),
        (
            "options",
            "task { function(user) user:get('/', { FIELDS }) end }".to_owned(),
            &[
                "nmae = 'x'",
                "tiemout = 3",
                "expect = { stauts = 200, txt = 'a' }",
                "redirects = 0",
            ],
        ),
        (
            "redirect",
            "task { function(user) user:post('/', nil, { FIELDS }) end }".to_owned(),
            &[
                "expect = { status = 302 }",
                "redirects = 0",
                "json = { a = { 1 } }",
                "name = 'a'",
            ],
        ),
        (
            "expect",
            "task { function(user) user:get('/', { expect = { FIELDS } }) end }".to_owned(),
            &[
                "status = 700",
                "title = 'x'",
                "text = { 'a', 'b' }",
                "under = 1",
            ],
        ),
    ];
    for (name, text, fields) in cases {
        let mut orders = orders(fields).into_iter();
        let written = |order: Vec<String>| text.replace("FIELDS", &order.join(", "));
        let file = format!("field_order_{name}.lua");
        let first = written(orders.next().expect("there is an order"));
        let expected = checked(&file, &first);
        for order in orders {
            let other = written(order);
            assert_eq!(checked(&file, &other), expected, "{first}\n{other}");
        }
    }
}
