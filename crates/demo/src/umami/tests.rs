//! Tests of the site over real connections: the observed behaviour of Umami, point by point.

use super::content::{nodes, terms};
use crate::fixture::{FixtureResponse, Visitor};
use crate::{Behaviour, Site};

fn visitor() -> Visitor {
    Visitor::of(Site::Umami, Behaviour::default(), 1)
}

fn log_in(visitor: &mut Visitor, name: &str, pass: &str) -> FixtureResponse {
    let fields = [
        ("name", name),
        ("pass", pass),
        ("form_id", "user_login_form"),
        ("op", "Log+in"),
    ];
    let reply = visitor.post("/en/user/login", &fields);
    visitor.store_cookie(&reply);
    reply
}

fn admin() -> Visitor {
    let mut visitor = visitor();
    assert_eq!(log_in(&mut visitor, "admin", "admin").status, 303);
    visitor
}

/// Returns whether the reply leads to `path` of the site.
fn leads_to(visitor: &Visitor, reply: &FixtureResponse, path: &str) -> bool {
    let url = format!("{}{path}", visitor.demo.url());
    reply.status == 303 && reply.header("location") == Some(url.as_str())
}

/// The assets of a page as the load test finds them.
fn assets(page: &FixtureResponse) -> Vec<&str> {
    let values = |before: &str| {
        let parts = page.text().split(before).skip(1);
        let values = parts.filter_map(|part| part.split('"').next());
        values.collect::<Vec<_>>()
    };
    let own = |url: &&str| url.starts_with("/sites") || url.starts_with("/core");
    let style = |url: &&str| url.starts_with("/sites/default/files/css/");
    let mut found: Vec<&str> = values("src=\"").into_iter().filter(own).collect();
    found.extend(values("href=\"").into_iter().filter(style));
    found
}

#[test]
fn pages_and_their_assets_are_as_many_and_as_large_as_umamis() {
    let visitor = visitor();
    for (path, kilobytes, count, asset_kilobytes) in [
        ("/en", 33.0, 15, 747),
        ("/en/recipes/deep-mediterranean-quiche", 26.0, 8, 212),
        ("/en/articles", 35.0, 15, 747),
        ("/en/user/login", 21.0, 7, 148),
    ] {
        let page = visitor.get(path);
        let bytes = page.body.len();
        assert!(
            (bytes as f64 / 1e3 - kilobytes).abs() < 1.0,
            "{path}: {bytes}"
        );
        let assets = assets(&page);
        assert_eq!(assets.len(), count, "{path}: {assets:?}");
        let sizes = assets.iter().map(|asset| {
            let reply = visitor.get(asset);
            assert_eq!(
                (reply.status, reply.header("x-cache")),
                (200, Some("HIT")),
                "{asset}"
            );
            reply.body.len()
        });
        assert_eq!(sizes.sum::<usize>(), asset_kilobytes * 1_000, "{path}");
    }
    let admin = admin();
    let form = admin.get("/en/node/15/edit");
    assert!(
        (60_000..62_000).contains(&form.body.len()),
        "{}",
        form.body.len()
    );
}

#[test]
fn every_size_of_a_picture_and_the_icon_are_there() {
    let visitor = visitor();
    let page = visitor.get("/es");
    let (_, sizes) = page
        .text()
        .split_once("srcset=\"")
        .expect("there is a picture");
    let sizes = sizes.split('"').next().unwrap_or_default();
    let urls: Vec<&str> = sizes
        .split(", ")
        .filter_map(|size| size.split(' ').next())
        .collect();
    assert_eq!(urls.len(), 3);
    for url in urls
        .into_iter()
        .chain(["/core/profiles/demo_umami/themes/umami/favicon.ico"])
    {
        assert_eq!(visitor.get(url).status, 200, "{url}");
    }
    assert_eq!(visitor.get("/sites/default/files/none.jpg").status, 404);
}

#[test]
fn every_node_and_term_has_its_page_in_both_languages() {
    let visitor = visitor();
    let mut pages: Vec<(String, String)> = Vec::new();
    for node in nodes() {
        pages.push((format!("/node/{}", node.nid), node.titles[0].clone()));
        pages.push((format!("/es/node/{}", node.nid), node.titles[1].clone()));
        pages.extend(node.paths.into_iter().zip(node.titles));
    }
    for term in terms() {
        pages.extend(term.paths.into_iter().zip(term.titles));
    }
    assert_eq!(pages.len(), 18 * 4 + 33 * 2);
    for (path, title) in pages {
        let page = visitor.get(&path);
        assert_eq!(page.status, 200, "{path}");
        let title = title.replace('\'', "&#039;");
        assert!(
            page.contains(&format!("<title>{title} | Umami Food Magazine</title>")),
            "{path}"
        );
    }
    let encoded = "/es/tags/cocci%c3%B3n/";
    assert!(visitor.get(encoded).contains("<title>Cocción |"));
}

#[test]
fn the_fixed_pages_have_their_titles() {
    let visitor = visitor();
    for (path, status, title) in [
        ("/", 200, "Home"),
        ("/en", 200, "Home"),
        ("/es", 200, "Inicio"),
        ("/en/articles/", 200, "Articles"),
        ("/es/articles/", 200, "Artículos"),
        ("/en/recipes/", 200, "Recipes"),
        ("/es/recipes/", 200, "Recetas"),
        ("/en/search/node", 200, "Search"),
        ("/es/search/node", 200, "Buscar"),
        ("/en/contact", 200, "Website feedback"),
        ("/es/contact", 200, "Comentarios sobre el sitio web"),
        ("/en/user/login", 200, "Log in"),
        ("/en/node/18", 404, "Page not found"),
        ("/es/nada", 404, "Página no encontrada"),
        (
            "/es/articles/lets-hear-it-for-carrots",
            404,
            "Página no encontrada",
        ),
        ("/en/user/1", 403, "Access denied"),
    ] {
        let page = visitor.get(path);
        assert_eq!(page.status, status, "{path}");
        assert!(
            page.contains(&format!("<title>{title} | Umami Food Magazine</title>")),
            "{path}"
        );
        assert_eq!(page.header("set-cookie"), None, "{path}");
        let lang = if path.starts_with("/es") { "es" } else { "en" };
        assert_eq!(page.header("content-language"), Some(lang), "{path}");
    }
}

#[test]
fn pages_of_visitors_come_from_the_cache_and_those_of_members_do_not() {
    let (visitor, admin) = (visitor(), admin());
    let page = visitor.get("/en");
    assert_eq!(page.header("x-cache"), Some("HIT"));
    assert_eq!(page.header("cache-control"), Some("max-age=900, public"));
    let cookie = format!(
        "If-None-Match: {}\r\n",
        page.header("etag").unwrap_or_default()
    );
    let again = visitor.send("GET", "/en", &cookie, "");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert!(!page.contains("toolbar-administration"));
    let page = admin.get("/en");
    assert_eq!(page.header("x-cache"), Some("MISS"));
    assert!(page.contains("toolbar-administration"));
    assert!(
        page.header("cache-control")
            .is_some_and(|control| control.contains("private"))
    );
}

#[test]
fn text_is_sent_in_gzip_to_those_who_take_it() {
    let (visitor, admin) = (visitor(), admin());
    let css = "/sites/default/files/css/css_demoA7Qm1xk0Vt5ZrYcW9uLd3sNfEjHgBpTiOa.css";
    let png = "/sites/default/files/styles/medium_8_7/public/umami-bundle.png";
    for (who, path, prepared) in [
        (&visitor, "/en", true),
        (&visitor, "/en/search/node?keys=soup", true),
        (&visitor, css, true),
        (&visitor, png, false),
        (&admin, "/en", true),
        (&admin, "/en/node/11/edit", true),
    ] {
        let plain = who.get(path);
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        let reply = who.send("GET", path, "Accept-Encoding: br, gzip\r\n", "");
        assert_eq!(
            reply.header("content-encoding").is_some(),
            prepared,
            "{path}"
        );
        if prepared {
            assert!(reply.body.len() * 2 < plain.body.len(), "{path}");
            assert!(reply.body.starts_with(b"\x1f\x8b"), "{path}");
        }
    }
}

#[test]
fn a_good_login_leads_to_the_profile_and_a_bad_one_back_to_the_form() {
    let mut visitor = visitor();
    let form = visitor.get("/en/user/login");
    assert!(form.field("form_build_id").is_some_and(|id| id.len() == 48));
    for (name, pass) in [("admin", "wrong"), ("user7", "12345")] {
        let reply = log_in(&mut visitor, name, pass);
        assert_eq!((reply.status, reply.header("set-cookie")), (200, None));
        assert!(
            reply.contains("messages--error")
                && reply.contains("Unrecognized username or password.")
        );
        assert_eq!(reply.header("x-cache"), Some("MISS"));
    }
    let reply = log_in(&mut visitor, "admin", "admin");
    assert!(leads_to(&visitor, &reply, "/en/user/1"));
    let cookie = reply.header("set-cookie").unwrap_or_default();
    assert!(cookie.starts_with("SESS") && cookie.ends_with("; Max-Age=2000000; path=/; HttpOnly"));
    let profile = visitor.get("/en/user/1");
    assert!(profile.contains("<title>admin | Umami Food Magazine</title>"));
    assert!(
        profile
            .header("set-cookie")
            .is_some_and(|again| again.starts_with(&visitor.cookie))
    );
    assert_eq!(visitor.get("/en/user/login").status, 302);
    assert_eq!(visitor.get("/en/user/logout").status, 302);
    assert_eq!(visitor.get("/en/user/1").status, 403);
}

/// Saves article 15 with the fields that the load test sends, except for `changes`; an empty value leaves out.
fn save(visitor: &Visitor, token: &str, changes: &[(&str, &str)]) -> FixtureResponse {
    let mut fields = vec![
        ("form_build_id", "form-x"),
        ("form_token", token),
        ("form_id", "node_article_edit_form"),
        ("op", "Save (this translation)"),
    ];
    for change in changes {
        fields.retain(|(name, _)| *name != change.0);
        fields.push(*change);
    }
    fields.retain(|(_, value)| !value.is_empty());
    visitor.post("/en/node/15/edit", &fields)
}

#[test]
fn a_node_is_saved_with_the_token_of_the_session_only() {
    let (one, other, nobody) = (admin(), admin(), visitor());
    let form = one.get("/en/node/15/edit");
    assert!(form.contains("<title>Edit Article Let&#039;s hear it for carrots |"));
    let token = form.field("form_token").expect("the form has a token");
    let foreign = other.get("/en/node/15/edit");
    assert_ne!(Some(token), foreign.field("form_token"));

    let saved = save(&one, token, &[]);
    assert!(leads_to(
        &one,
        &saved,
        "/en/articles/lets-hear-it-for-carrots"
    ));
    let article = one.get("/en/articles/lets-hear-it-for-carrots");
    assert!(article.contains("messages--status") && article.contains("has been updated."));
    assert!(
        !one.get("/en/articles/lets-hear-it-for-carrots")
            .contains("messages--status")
    );

    for wrong in ["", "wrong", foreign.field("form_token").unwrap_or_default()] {
        let reply = save(&one, token, &[("form_token", wrong)]);
        assert_eq!(reply.status, 200, "'{wrong}'");
        assert!(
            reply.contains("messages--error") && reply.contains("The form has become outdated.")
        );
        assert!(reply.contains("<title>Edit Article"), "'{wrong}'");
    }
    let wrong_form = save(&one, token, &[("form_id", "node_recipe_edit_form")]);
    assert!(wrong_form.status == 200 && !wrong_form.contains("messages--"));

    assert_eq!(nobody.get("/en/node/15/edit").status, 403);
    assert_eq!(save(&nobody, token, &[]).status, 403);
    assert_eq!(one.get("/en/node/18/edit").status, 404);
}

#[test]
fn a_search_leads_to_its_results() {
    let visitor = visitor();
    let search = |path: &str, keys: &str| {
        let form = visitor.get(path);
        let build_id = form.field("form_build_id").unwrap_or_default();
        let fields = [
            ("keys", keys),
            ("form_build_id", build_id),
            ("form_id", "search_form"),
            ("op", "Search"),
        ];
        visitor.post(path, &fields)
    };
    let reply = search("/en/search/node", "carrots soup");
    assert!(leads_to(
        &visitor,
        &reply,
        "/en/search/node?keys=carrots%20soup"
    ));
    let results = visitor.get("/en/search/node?keys=carrots%20soup");
    assert!(
        results.contains("<title>Search for carrots soup |")
            && results.contains("value=\"carrots soup\"")
    );
    assert!(results.contains("href=\"/en/articles/lets-hear-it-for-carrots\""));
    assert!(!results.contains("yielded no results"));
    let reply = search("/es/search/node", "<b>cocción");
    assert!(leads_to(
        &visitor,
        &reply,
        "/es/search/node?keys=%3Cb%3Ecocci%C3%B3n"
    ));
    let results = visitor.get("/es/search/node?keys=%3Cb%3Ecocci%C3%B3n");
    assert!(results.contains("<title>Buscar &lt;b&gt;cocción |") && !results.contains("<b>"));
    assert!(results.contains("no produjo resultados"));
    let empty = search("/en/search/node", " ");
    assert!(empty.status == 200 && empty.contains("Please enter some keywords."));
    let long = search("/en/search/node", &"x".repeat(256));
    assert!(long.status == 200 && long.contains("is currently 256 characters long"));
}

#[test]
fn an_address_may_send_five_messages_an_hour() {
    let visitor = visitor();
    let send = |path: &str, mail: &str| {
        let fields = [
            ("name", "two words"),
            ("mail", mail),
            ("subject[0][value]", "eight"),
            ("message[0][value]", "twelve"),
            ("form_id", "contact_message_feedback_form"),
            ("op", "Send+message"),
        ];
        visitor.post(path, &fields)
    };
    let invalid = send("/en/contact", "nobody");
    assert!(invalid.status == 200 && invalid.contains("is not valid."));
    for _ in 0..4 {
        let reply = send("/en/contact", "a@example.com");
        assert!(leads_to(&visitor, &reply, "/en"));
    }
    let reply = send("/es/contact", "a@example.com");
    assert!(leads_to(&visitor, &reply, "/es"));
    for (path, title) in [
        ("/en/contact", "Website feedback"),
        ("/es/contact", "Comentarios sobre"),
    ] {
        let reply = send(path, "a@example.com");
        assert_eq!(reply.status, 200);
        assert!(reply.contains("messages--error") && reply.contains("You cannot send more than"));
        assert!(reply.contains(&format!("<title>{title}")));
    }
}

#[test]
fn methods_and_requests_without_sense_are_refused() {
    let visitor = visitor();
    assert_eq!(visitor.send("DELETE", "/en/node/15", "", "").status, 405);
    assert_eq!(
        visitor
            .send("POST", "/core/a.js", "Content-Length: 0\r\n", "")
            .status,
        405
    );
    assert_eq!(visitor.post("/en/nowhere", &[("a", "b")]).status, 404);
    assert_eq!(visitor.post("/en", &[("a", "b")]).status, 200);
    assert_eq!(visitor.get("/en/%ff%fe").status, 404);
    let head = visitor.send("HEAD", "/en", "", "");
    assert!(head.status == 200 && head.body.is_empty());
}
