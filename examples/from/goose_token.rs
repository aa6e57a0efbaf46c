// What examples/from/goose_token.lua shows in lgoose: a token that all users share and renew, and steps in their order.
use goose::goose::GooseResponse;
use goose::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const LIFETIME: Duration = Duration::from_secs(5);
static TOKEN: Mutex<Option<(String, Instant)>> = Mutex::const_new(None);

/// What a user remembers between its transactions.
#[derive(Clone)]
struct Session {
    order: u64,
}

#[tokio::main]
async fn main() -> Result<(), GooseError> {
    GooseAttack::initialize()?
        .register_scenario(
            scenario!("Customer")
                .set_wait_time(Duration::from_secs(1), Duration::from_secs(2))?
                .register_transaction(transaction!(look).set_name("look").set_sequence(1).set_weight(2)?)
                .register_transaction(transaction!(order).set_name("order").set_sequence(2))
                .register_transaction(transaction!(cancel).set_name("cancel").set_sequence(3)),
        )
        .set_default(GooseDefault::Host, "http://127.0.0.1:8080")?
        .execute()
        .await?;
    Ok(())
}

/// Returns the token, and logs in first if it has expired; the others wait at the lock.
async fn sign(user: &mut GooseUser) -> Result<String, Box<TransactionError>> {
    let mut kept = TOKEN.lock().await;
    if let Some((token, since)) = &*kept && since.elapsed() < LIFETIME {
        return Ok(token.clone());
    }
    let login = json!({ "username": "user7", "password": "12345" });
    let answer = user.post_json("/api/login", &login).await?.response?;
    let token = answer.json::<Value>().await?["token"].as_str().unwrap_or_default().to_owned();
    *kept = Some((token.clone(), Instant::now()));
    Ok(token)
}

/// Sends a request with the token.
async fn signed(
    user: &mut GooseUser,
    method: GooseMethod,
    path: &str,
    body: Option<Value>,
) -> Result<GooseResponse, Box<TransactionError>> {
    let token = sign(user).await?;
    let mut builder = user.get_request_builder(&method, path)?.bearer_auth(token);
    if let Some(body) = &body {
        builder = builder.json(body);
    }
    let request = GooseRequest::builder().method(method).path(path).name("order").set_request_builder(builder);
    user.request(request.build()).await
}

async fn look(user: &mut GooseUser) -> TransactionResult {
    let path = format!("/api/products/{}", rand::random_range(1..=100));
    let _answer = user.get_named(&path, "product").await?;
    Ok(())
}

async fn order(user: &mut GooseUser) -> TransactionResult {
    let body = json!({ "product": 7, "quantity": 1 });
    let answer = signed(user, GooseMethod::Post, "/api/orders", Some(body)).await?.response?;
    let order = answer.json::<Value>().await?["id"].as_u64().unwrap_or_default();
    user.set_session_data(Session { order });
    Ok(())
}

async fn cancel(user: &mut GooseUser) -> TransactionResult {
    let order = user.get_session_data_unchecked::<Session>().order;
    let _answer = signed(user, GooseMethod::Delete, &format!("/api/orders/{order}"), None).await?;
    Ok(())
}
