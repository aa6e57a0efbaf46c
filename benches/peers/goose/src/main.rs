//! `plans/drupal.lua` for Goose, request for request: the same weights, checks and assets. Driven by
//! `benches/peers/run.sh`; ends with 1 when a request failed.

use std::process::ExitCode;
use std::sync::LazyLock;

use goose::goose::GooseResponse;
use goose::metrics::GooseRequestMetric;
use goose::prelude::*;
use rand::Rng;
use regex::Regex;

const PASSWORD: &str = "12345";
const SUBJECT: &str = "this is a test comment subject";
const COMMENT: &str = "this is a test comment body";

/// Scripts, images and imported stylesheets; each pattern is compiled once.
static ASSET: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?:src="|@import url\(")([^"]*)"#));
static BUILD_ID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"name="form_build_id" value="(.*?)""#));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r#"name="form_token" value="(.*?)""#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file is well formed")
}

#[tokio::main]
async fn main() -> Result<ExitCode, GooseError> {
    let metrics = GooseAttack::initialize()?
        .register_scenario(
            scenario!("AnonBrowsingUser")
                .set_weight(4)?
                .register_transaction(transaction!(front_page).set_weight(15)?)
                .register_transaction(transaction!(node_page).set_weight(10)?)
                .register_transaction(transaction!(user_page).set_weight(3)?),
        )
        .register_scenario(
            scenario!("AuthBrowsingUser")
                .set_weight(1)?
                .register_transaction(transaction!(log_in).set_on_start())
                .register_transaction(transaction!(front_page).set_weight(15)?)
                .register_transaction(transaction!(node_page).set_weight(10)?)
                .register_transaction(transaction!(user_page).set_weight(3)?)
                .register_transaction(transaction!(post_comment).set_weight(3)?),
        )
        .execute()
        .await?;
    let failed: usize = metrics.requests.values().map(|row| row.fail_count).sum();
    if failed > 0 {
        eprintln!("{failed} requests failed");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

async fn front_page(user: &mut GooseUser) -> TransactionResult {
    let (mut request, html) = page(user.get("/").await?).await;
    if !html.contains("<title>Welcome") {
        return user.set_failure("not the front page", &mut request, None, Some(&html));
    }
    for asset in ASSET.captures_iter(&html) {
        // Where Drupal 7 keeps those that the plan loads.
        if !(asset[1].contains("/misc/") || asset[1].contains("/themes/")) {
            continue;
        }
        let answer = user.get_named(&asset[1], "static asset").await?;
        if let Ok(response) = answer.response {
            // Unread, it would cost its connection.
            let _ = response.bytes().await;
        }
    }
    Ok(())
}

async fn node_page(user: &mut GooseUser) -> TransactionResult {
    let path = format!("/node/{}", rand::rng().random_range(1..=9999));
    page(user.get_named(&path, "node page").await?).await;
    Ok(())
}

async fn user_page(user: &mut GooseUser) -> TransactionResult {
    let path = format!("/user/{}", rand::rng().random_range(2..=5000));
    page(user.get_named(&path, "user page").await?).await;
    Ok(())
}

async fn log_in(user: &mut GooseUser) -> TransactionResult {
    let (mut request, html) = page(user.get("/user").await?).await;
    let Some(build_id) = BUILD_ID.captures(&html) else {
        return user.set_failure("no login form", &mut request, None, Some(&html));
    };
    let name = format!("user{}", rand::rng().random_range(3..=5001));
    let form = [
        ("name", name.as_str()),
        ("pass", PASSWORD),
        ("form_build_id", &build_id[1]),
        ("form_id", "user_login"),
        ("op", "Log in"),
    ];
    let (mut request, html) = page(user.post_form("/user", &form).await?).await;
    if html.contains("id=\"user-login") {
        return user.set_failure("not logged in", &mut request, None, Some(&html));
    }
    Ok(())
}

async fn post_comment(user: &mut GooseUser) -> TransactionResult {
    let nid = rand::rng().random_range(1..=9999);
    let (mut request, html) =
        page(user.get_named(&format!("/node/{nid}"), "node page").await?).await;
    let (Some(build_id), Some(token)) = (BUILD_ID.captures(&html), TOKEN.captures(&html)) else {
        return user.set_failure("no comment form", &mut request, None, Some(&html));
    };
    let form = [
        ("subject", SUBJECT),
        ("comment_body[und][0][value]", COMMENT),
        ("comment_body[und][0][format]", "filtered_html"),
        ("form_build_id", &build_id[1]),
        ("form_token", &token[1]),
        ("form_id", "comment_node_article_form"),
        ("op", "Save"),
    ];
    let path = format!("/comment/reply/{nid}");
    let builder = user
        .get_request_builder(&GooseMethod::Post, &path)?
        .form(&form);
    let request = GooseRequest::builder()
        .set_request_builder(builder)
        .name("comment form")
        .build();
    let (mut request, html) = page(user.request(request).await?).await;
    if !(html.contains("Your comment has been posted") && html.contains(COMMENT)) {
        return user.set_failure(
            "the comment was not posted",
            &mut request,
            None,
            Some(&html),
        );
    }
    Ok(())
}

/// The request's figures and the whole page, which is empty when there was no answer: Goose has counted that.
async fn page(answer: GooseResponse) -> (GooseRequestMetric, String) {
    let html = match answer.response {
        Ok(response) => response.text().await.unwrap_or_default(),
        Err(_) => String::new(),
    };
    (answer.request, html)
}
