// What examples/from/goose.lua shows in lgoose: the first example of Goose's kind.
use goose::prelude::*;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), GooseError> {
    GooseAttack::initialize()?
        .register_scenario(
            scenario!("Visitor")
                .set_wait_time(Duration::from_secs(5), Duration::from_secs(15))?
                .register_transaction(transaction!(log_in).set_on_start())
                .register_transaction(transaction!(index).set_name("index").set_weight(3)?)
                .register_transaction(transaction!(about).set_name("about")),
        )
        .set_default(GooseDefault::Host, "http://127.0.0.1:8080")?
        .execute()
        .await?;
    Ok(())
}

async fn log_in(user: &mut GooseUser) -> TransactionResult {
    let form = [("username", "user7"), ("password", "12345")];
    let _answer = user.post_form("/login", &form).await?;
    Ok(())
}

async fn index(user: &mut GooseUser) -> TransactionResult {
    let mut goose = user.get("/").await?;
    if let Ok(answer) = goose.response {
        if !answer.text().await?.contains("Welcome") {
            return user.set_failure("no welcome", &mut goose.request, None, None);
        }
    }
    Ok(())
}

async fn about(user: &mut GooseUser) -> TransactionResult {
    let _answer = user.get("/about").await?;
    Ok(())
}
