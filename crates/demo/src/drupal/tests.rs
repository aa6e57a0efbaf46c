//! Tests of the site over real connections: the observed behaviour of Drupal 7, point by point.

use crate::Behaviour;
use crate::fixture::{FixtureResponse, Visitor};

const BODY: &str = "this is a test comment body";
const OUTDATED: &str = "The form has become outdated.";

fn visitor() -> Visitor {
    Visitor::new(Behaviour::default(), 1)
}

fn member() -> Visitor {
    let mut visitor = visitor();
    visitor.log_in("user7", "12345");
    visitor
}

/// Posts a comment on article 5 as its form does, except for `changes`.
fn comment(visitor: &Visitor, changes: &[(&str, &str)]) -> FixtureResponse {
    let form = visitor.get("/node/5");
    let field = |name| form.field(name).unwrap_or_default();
    let mut fields = vec![
        ("subject", "this is a test comment subject"),
        ("comment_body[und][0][value]", BODY),
        ("comment_body[und][0][format]", "filtered_html"),
        ("form_build_id", field("form_build_id")),
        ("form_token", field("form_token")),
        ("form_id", "comment_node_article_form"),
        ("op", "Save"),
    ];
    for change in changes {
        fields.retain(|(name, _)| *name != change.0);
        fields.push(*change);
    }
    visitor.post("/comment/reply/5", &fields)
}

/// The values of all `src` attributes.
fn sources(page: &FixtureResponse) -> Vec<&str> {
    let parts = page.text().split("src=\"").skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

fn about(bytes: usize, kilobytes: f64) -> bool {
    (bytes as f64 / 1000.0 - kilobytes).abs() <= 0.15
}

#[test]
fn pages_are_about_as_large_as_drupals() {
    let (anonymous, member) = (visitor(), member());
    for (visitor, path, status, kilobytes) in [
        (&anonymous, "/node/5", 200, 10.1),
        (&anonymous, "/node/10000", 200, 10.1),
        (&anonymous, "/user", 200, 7.7),
        (&anonymous, "/nowhere", 404, 7.6),
        (&anonymous, "/node/10001", 404, 7.6),
        (&member, "/node/5", 200, 12.6),
    ] {
        let page = visitor.get(path);
        assert_eq!(page.status, status, "{path}");
        assert!(
            about(page.body.len(), kilobytes),
            "{path}: {}",
            page.body.len()
        );
        assert_eq!(
            page.header("cache-control"),
            Some("no-cache, must-revalidate")
        );
        assert_eq!(page.header("set-cookie"), None);
    }
    for visitor in [&anonymous, &member] {
        let bytes = visitor.get("/").body.len();
        assert!((28_500..29_700).contains(&bytes), "{bytes}");
    }
}

#[test]
fn the_front_page_names_its_assets_absolutely_and_once() {
    let (anonymous, member) = (visitor(), member());
    for (visitor, count) in [(&anonymous, 8), (&member, 7)] {
        let page = visitor.get("/");
        assert!(page.contains("<title>Welcome to lgoose demo | lgoose demo</title>"));
        let mut assets = sources(&page);
        assert_eq!(assets.len(), count);
        let site = format!("{}/", visitor.demo.url());
        assert!(assets.iter().all(|asset| asset.starts_with(&site)));
        let sheets = page.text().split("@import url(\"").skip(1);
        assets.extend(sheets.filter_map(|sheet| sheet.split('"').next()));
        assert_eq!(assets.len(), count + 13);
        let bytes = assets.iter().map(|asset| {
            let reply = visitor.get(asset.trim_start_matches(visitor.demo.url().as_str()));
            assert_eq!(reply.status, 200, "{asset}");
            reply.body.len()
        });
        let last = if count == 8 { 2_619 } else { 0 };
        assert_eq!(bytes.sum::<usize>(), 122_365 + 51_700 + last);
    }
}

#[test]
fn a_good_login_redirects_to_the_profile_and_sets_the_session_cookie() {
    let mut visitor = visitor();
    assert!(
        visitor
            .get("/user")
            .field("form_build_id")
            .is_some_and(|id| id.len() == 48)
    );
    assert!(visitor.get("/").contains("id=\"user-login-form\""));
    let reply = visitor.log_in("user7", "12345");
    assert_eq!(reply.status, 302);
    let profile = format!("{}/user/7", visitor.demo.url());
    assert_eq!(reply.header("location"), Some(profile.as_str()));
    let cookie = reply.header("set-cookie").unwrap_or_default();
    assert!(cookie.starts_with("SESS"), "{cookie}");
    assert_eq!(cookie.find('='), Some(36), "{cookie}");
    assert!(
        cookie.ends_with(" GMT; Max-Age=2000000; path=/; HttpOnly"),
        "{cookie}"
    );
    assert!(
        visitor
            .get("/user")
            .contains("<title>user7 | lgoose demo</title>")
    );
    assert_eq!(visitor.get("/user/logout").status, 302);
    assert!(visitor.get("/user").contains("id=\"user-login\""));
}

#[test]
fn a_bad_login_gets_status_200_and_a_message() {
    let mut visitor = visitor();
    let reply = visitor.log_in("user7<b>", "wrong");
    assert_eq!((reply.status, reply.header("set-cookie")), (200, None));
    assert!(reply.contains("<div class=\"messages error\">"));
    assert!(reply.contains("Sorry, unrecognized username or password."));
    assert!(reply.contains("value=\"user7&lt;b&gt;\""));
}

#[test]
fn the_login_block_leads_back_to_its_page() {
    let visitor = visitor();
    let mut fields = [
        ("name", "user9"),
        ("pass", "12345"),
        ("form_id", "user_login_block"),
    ];
    let reply = visitor.post("/node/5?destination=node/5", &fields);
    let article = format!("{}/node/5", visitor.demo.url());
    assert_eq!(reply.header("location"), Some(article.as_str()));
    fields[1].1 = "wrong";
    assert!(
        visitor
            .post("/node?destination=node", &fields)
            .contains("Sorry, unrecognized")
    );
}

#[test]
fn a_comment_is_posted_and_announced_once() {
    let member = member();
    let reply = comment(&member, &[]);
    let place = format!("{}/node/5#comment-1", member.demo.url());
    assert_eq!(
        (reply.status, reply.header("location")),
        (302, Some(place.as_str()))
    );
    let article = member.get("/node/5");
    assert!(article.contains(BODY) && article.contains("Your comment has been posted."));
    let again = member.get("/node/5");
    assert!(again.contains(BODY) && !again.contains("Your comment has been posted."));
    assert!(!member.get("/node/6").contains(BODY));
}

#[test]
fn the_token_is_the_sessions_and_the_build_id_the_pages() {
    let member = member();
    let (one, two) = (member.get("/node/5"), member.get("/node/6"));
    assert_eq!(one.field("form_token"), two.field("form_token"));
    assert_ne!(one.field("form_build_id"), two.field("form_build_id"));
    let (_, after_text) = one
        .text()
        .split_once("</textarea>")
        .expect("there is a form");
    assert!(
        after_text.contains("name=\"form_token\""),
        "hidden fields come last"
    );
}

#[test]
fn a_wrong_token_is_refused_without_echoing_the_text() {
    let member = member();
    for token in ["", "wrong"] {
        let reply = comment(&member, &[("form_token", token)]);
        assert_eq!(reply.status, 200);
        assert!(reply.contains("<title>Add new comment |") && reply.contains(OUTDATED));
        assert!(!reply.contains(BODY));
    }
    assert!(!member.get("/node/5").contains(BODY));
}

#[test]
fn other_wrong_comments_get_the_responses_of_drupal() {
    let member = member();
    let wrong_form = comment(&member, &[("form_id", "other")]);
    assert!(
        wrong_form.contains("<title>Add new comment |") && !wrong_form.contains("messages error")
    );
    let empty = comment(&member, &[("comment_body[und][0][value]", " ")]);
    assert!(empty.contains("Comment field is required."));
    let illegal = comment(&member, &[("comment_body[und][0][format]", "full_html")]);
    assert!(illegal.contains("An illegal choice has been detected") && illegal.contains(BODY));
    assert!(
        [wrong_form, empty, illegal]
            .iter()
            .all(|reply| reply.status == 200)
    );
    let preview = comment(&member, &[("op", "Preview")]);
    assert!(preview.contains("<title>Preview comment |") && preview.contains(BODY));
    assert!(!member.get("/node/5").contains(BODY));
    assert_eq!(member.post("/comment/reply/10001", &[]).status, 404);
}

#[test]
fn a_bogus_build_id_and_a_second_post_do_no_harm() {
    let member = member();
    assert_eq!(comment(&member, &[("form_build_id", "form-x")]).status, 302);
    assert_eq!(comment(&member, &[("form_build_id", "form-x")]).status, 302);
    assert_eq!(member.get("/node/5").text().matches(BODY).count(), 2);
}

#[test]
fn without_a_session_a_comment_vanishes_behind_a_redirect() {
    let visitor = visitor();
    let reply = comment(&visitor, &[("form_token", "x")]);
    let article = format!("{}/node/5", visitor.demo.url());
    assert_eq!(
        (reply.status, reply.header("location")),
        (302, Some(article.as_str()))
    );
    assert!(!visitor.get("/node/5").contains(BODY));
    assert_eq!(comment(&visitor, &[]).header("set-cookie"), None);
}

#[test]
fn what_is_posted_is_escaped() {
    let member = member();
    let hostile = "<script>alert('x')</script>\n& \"more\"";
    comment(
        &member,
        &[("comment_body[und][0][value]", hostile), ("subject", "<i>")],
    );
    let article = member.get("/node/5");
    assert!(article.contains("&lt;script&gt;alert(&#039;x&#039;)&lt;/script&gt;<br />"));
    assert!(article.contains("&lt;i&gt;") && !article.contains("alert('x')"));
}

#[test]
fn what_is_no_form_is_taken_as_an_empty_one() {
    let member = member();
    let broken = "Content-Length: 7\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let json = "Content-Length: 7\r\nContent-Type: application/json\r\n";
    for headers in [broken, json] {
        assert_eq!(
            member
                .send("POST", "/comment/reply/5", headers, "%%=&&\u{e9}")
                .status,
            200
        );
    }
}
