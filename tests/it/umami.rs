//! `plans/umami.lua` against the built-in site: exact proportions of users and tasks, every title checked, the
//! same counts on both sides, and what the report shows of a plan that is broken.

use crate::program::{Lgoose, in_repository, scratch, wait_until};
use crate::report::{Report, run};
use lgoose::demo::{Behaviour, Demo, Site};
use std::collections::BTreeMap;

const PLAN: &str = "plans/umami.lua";

/// The tasks of a reader and how often each runs in an iteration, for a language.
const READING: [(&str, u64); 9] = [
    ("basicpage", 1),
    ("articles/", 1),
    ("articles/%", 2),
    ("recipes/", 1),
    ("recipes/%", 4),
    ("term", 2),
    ("search", 1),
    ("contact", 1),
    ("", 2),
];

fn site() -> Demo {
    Demo::start(Site::Umami, 0, Behaviour::default(), 1).expect("a port is free")
}

/// Writes the plan without its pauses and with these texts replaced, in a folder of that name beside its lists.
fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    let folder = scratch(name);
    std::fs::create_dir_all(folder.join("umami")).expect("the scratch folder takes a folder");
    for entry in std::fs::read_dir(in_repository("plans/umami")).expect("the lists are there") {
        let list = entry.expect("the folder can be listed");
        let copy = folder.join("umami").join(list.file_name());
        std::fs::copy(list.path(), copy).expect("the scratch folder takes a file");
    }
    let mut text = std::fs::read_to_string(in_repository(PLAN)).expect("the plan is text");
    for pause in [", wait = { 0, 3 }", ", wait = { 3, 10 }"] {
        assert!(text.contains(pause), "'{pause}' stands in the plan");
        text = text.replace(pause, "");
    }
    for (from, to) in changes {
        assert_eq!(
            text.matches(from).count(),
            1,
            "'{from}' stands once in the plan"
        );
        text = text.replace(from, to);
    }
    let path = folder.join("umami.lua");
    std::fs::write(&path, text).expect("the scratch folder takes a file");
    path.display().to_string()
}

/// Runs one iteration of a number of users.
fn iterate(plan: &str, site: &Demo, users: &str, more: &[&str]) -> Report {
    let url = site.url();
    let arguments = [plan, "-H", &url, "-u", users, "-r", "1000", "-i", "1"];
    run(arguments.iter().chain(more))
}

/// Returns the name of a reader's task.
fn task(lang: &str, what: &str) -> String {
    match (lang, what) {
        ("en", "") => "anon /".to_owned(),
        (_, "term") => format!("anon /{lang} term"),
        _ => format!("anon /{lang}/{what}"),
    }
}

/// Asserts that the report and the site have counted the same requests, route for route.
fn assert_same_counts(report: &Report, site: &Demo) {
    let served = site.served();
    let get = |task: &str| report.count(&format!("GET {task}"));
    let post = |task: &str| report.count(&format!("POST {task}"));
    let hops = |task: &str| report.figure(&format!("POST {task}"), "redirects");
    let edit = "auth /en/node/%/edit";
    let login = "auth /en/user/login";
    // Each edit gets the article first, then its form.
    let edited = report.task(edit).0;
    assert_eq!(get(edit), 2 * edited);
    let mut expected: BTreeMap<String, u64> =
        served.keys().map(|route| (route.clone(), 0)).collect();
    let mut expect = |route: &str, count: u64| {
        let known = expected.get_mut(route);
        *known.unwrap_or_else(|| panic!("the site counts '{route}'")) = count;
    };
    for (lang, about) in [("en", "about-umami"), ("es", "acerca-de-umami")] {
        let row = |what: &str| get(&task(lang, what));
        let [search, contact] = ["search", "contact"].map(|what| task(lang, what));
        let editor = |count: u64| if lang == "en" { count } else { 0 };
        expect(&format!("GET /{lang}/{about}"), row("basicpage"));
        expect(
            &format!("GET /{lang}/articles"),
            row("articles/") + editor(get("auth /en/articles/")),
        );
        expect(
            &format!("GET /{lang}/articles/%"),
            row("articles/%") + editor(edited + hops(edit)),
        );
        expect(&format!("GET /{lang}/recipes"), row("recipes/"));
        expect(&format!("GET /{lang}/recipes/%"), row("recipes/%"));
        expect(&format!("GET /{lang}/term/%"), row("term"));
        expect(
            &format!("GET /{lang}/search/node"),
            get(&search) + hops(&search),
        );
        expect(&format!("POST /{lang}/search/node"), post(&search));
        expect(&format!("GET /{lang}/contact"), get(&contact));
        expect(&format!("POST /{lang}/contact"), post(&contact));
    }
    expect("GET /", get("anon /") + get("auth /"));
    expect("GET /en", hops("anon /en/contact"));
    expect("GET /es", get("anon /es/") + hops("anon /es/contact"));
    expect("GET /node/%", get("anon /node/%nid"));
    expect("GET /en/node/%/edit", edited);
    expect("POST /en/node/%/edit", post(edit));
    expect("GET /en/user/login", get(login));
    expect("POST /en/user/login", post(login));
    expect("GET /en/user/%", hops(login));
    expect("GET /core", served["GET /core"]);
    expect("GET /sites", served["GET /sites"]);
    assert_eq!(served, expected, "the site's counts, then the report's");
    assert_eq!(
        served["GET /core"] + served["GET /sites"],
        get("static asset")
    );
    assert_eq!(report.sent(), served.values().sum::<u64>(), "in total");
}

#[test]
fn each_kind_of_user_does_its_tasks_in_their_ratios_and_the_site_counts_the_same() {
    let site = site();
    let plan = changed("umami_ratios", &[]);
    let report = iterate(&plan, &site, "50", &[]);
    assert!(report.errors().is_empty(), "{:?}", report.errors());
    assert_eq!((report.total("failures"), report.task_failures()), (0, 0));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let users = [
        ("Anonymous English user", 40),
        ("Anonymous Spanish user", 9),
        ("Admin user", 1),
    ];
    let users: BTreeMap<String, u64> = users.map(|(name, users)| (name.to_owned(), users)).into();
    assert_eq!(report.scenario_users(), users);
    assert_eq!(report.scenario_iterations(), users);
    let mut runs: BTreeMap<String, u64> = BTreeMap::new();
    for (what, weight) in READING {
        runs.insert(task("en", what), 40 * weight);
        runs.insert(task("es", what), 9 * weight);
    }
    for (name, weight) in [
        ("anon /node/%nid", 40),
        ("auth /en/user/login", 1),
        ("auth /", 2),
        ("auth /en/articles/", 1),
        ("auth /en/node/%/edit", 2),
    ] {
        runs.insert(name.to_owned(), weight);
    }
    assert_eq!(report.task_runs(), runs);
    assert_same_counts(&report, &site);
    let sent = report.figure("POST anon /en/contact", "redirects")
        + report.figure("POST anon /es/contact", "redirects");
    assert_eq!(sent, 5, "what came after the fifth message was no failure");
}

#[test]
fn the_title_of_every_page_is_checked_before_and_after_a_form() {
    let site = site();
    let plan = changed(
        "umami_titles",
        &[
            ("weight = 40", "weight = 1"),
            ("weight = 9", "weight = 1"),
            (
                "expect = { title = title }",
                "expect = { title = 'no ' .. title }",
            ),
            ("title = title, text", "title = 'no ' .. title, text"),
            (
                "find(lang.home, 1, true)",
                "find('no ' .. lang.home, 1, true)",
            ),
        ],
    );
    let report = iterate(&plan, &site, "3", &[]);
    assert_eq!(
        report.rows().len(),
        26,
        "each kind of user is there, and the editor gets no further than the login: {:?}",
        report.rows()
    );
    for row in report.rows() {
        let (count, failures) = (report.count(&row), report.failures(&row));
        match row.as_str() {
            "GET static asset" => assert_eq!(failures, 0),
            "POST anon /en/contact" | "POST anon /es/contact" => {
                // A message above the limit comes back with the form, which is no failure.
                assert_eq!(failures, report.figure(&row, "redirects"), "{row}");
            }
            _ => assert_eq!(failures, count, "{row}: {:?}", report.messages_of(&row)),
        }
    }
    assert_same_counts(&report, &site);
}

/// Returns the line of the plan, counted from 1, that contains `text`.
fn line_of(plan: &str, text: &str) -> String {
    let lines = std::fs::read_to_string(plan).expect("the plan is text");
    let found = lines.lines().position(|line| line.contains(text));
    format!("{plan}:{}", 1 + found.expect("the text stands in the plan"))
}

#[test]
fn a_wrong_title_is_shown_with_its_count_message_and_line() {
    let site = site();
    let plan = changed(
        "umami_wrong_title",
        &[("recipes = \"Recipes\"", "recipes = \"Rezepte\"")],
    );
    let report = iterate(&plan, &site, "5", &["--scenario", "Anonymous English*"]);
    let expected = format!(
        "5 GET anon /en/recipes/: expected title 'Rezepte', got 'Recipes | Umami Food Magazine' ({})",
        line_of(&plan, "user:get(path")
    );
    assert_eq!(report.errors(), [expected]);
    assert_eq!(report.failures("GET anon /en/recipes/"), 5);
    assert_same_counts(&report, &site);
}

#[test]
fn a_dropped_form_token_is_shown_with_what_drupal_says() {
    let site = site();
    let plan = changed(
        "umami_no_token",
        &[(
            "form.fields = drupal.tokens(form)",
            "form.fields = drupal.tokens(form)\n  form.fields.form_token = nil",
        )],
    );
    let report = iterate(&plan, &site, "1", &["--scenario", "Admin*"]);
    let row = "POST auth /en/node/%/edit";
    assert_eq!((report.count(row), report.failures(row)), (2, 2));
    assert_eq!(report.total("failures"), 2, "{:?}", report.errors());
    let told = &report.errors()[0];
    assert!(
        told.contains("refused: The form has become outdated."),
        "{told}"
    );
    assert!(
        told.ends_with(&format!("({})", line_of(&plan, "drupal.submit("))),
        "{told}"
    );
    assert_same_counts(&report, &site);
}

#[test]
fn a_wrong_password_is_shown_and_ends_the_editor() {
    let site = site();
    let plan = changed("umami_password", &[]);
    let more = ["--scenario", "Admin*", "-e", "ADMIN_PASSWORD=wrong"];
    let report = iterate(&plan, &site, "1", &more);
    let login = "POST auth /en/user/login";
    assert_eq!((report.count(login), report.failures(login)), (1, 1));
    let told = report.messages_of(login);
    assert!(
        told[0].starts_with("refused: Unrecognized username or password."),
        "{told:?}"
    );
    assert_eq!(report.task("auth /en/user/login"), (1, 1));
    let lost = "the editor is gone: refused: Unrecognized username or password.";
    assert_eq!(report.errors_with(lost), 1, "{:?}", report.errors());
    let login = ["GET auth /en/user/login", "GET static asset", login];
    assert_eq!(report.rows(), login, "who is no editor edits nothing");
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    assert_same_counts(&report, &site);
}

#[test]
fn the_site_is_started_for_the_plan_or_by_itself() {
    let ended = Lgoose::new([PLAN, "-u", "5", "-r", "1000", "-t", "0.2s"]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let told = ended.stdout.lines().next().unwrap_or_default();
    assert!(
        told.starts_with("demo:umami is served at http://127.0.0.1:"),
        "{told}"
    );

    let alone = Lgoose::new(["demo", "umami", "--port", "0"]).start();
    wait_until("the site tells its address", || {
        alone.stdout().ends_with('\n')
    });
    let told = alone.stdout();
    let mut words = told.split_whitespace();
    let url = words
        .find(|word| word.starts_with("http://"))
        .expect("the address is told");
    let page = format!("{}/es/tags/cocción", url.trim_end_matches(';'));
    let report = run([page.as_str(), "-u", "1", "-i", "3"]);
    assert_eq!((report.total("count"), report.total("failures")), (3, 0));
}
