//! Words that people type by habit: the options of other load testers, `run` before the plan, a variable with a slip in its
//! name. Each works, or is told with what to write instead.

use crate::program::{Lgoose, plan};
use crate::report::read;
use crate::server::Server;

const PAGE: &str = "task { \"page\", function(user) user:get \"/\" end }";

/// Runs lgoose with these arguments, asserts that it refuses them, and returns what it says.
fn refused(arguments: &[&str]) -> String {
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (2, ""),
        "{arguments:?}"
    );
    ended.stderr
}

#[test]
fn a_plan_runs_with_the_word_run_in_front_of_it() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("word_run.lua", PAGE));
    let ended = Lgoose::new([
        "run", &path, "-H", &url, "-u", "1", "-i", "2", "-o", "json=-",
    ])
    .finish();
    assert_eq!(read(ended).total("count"), 2);
}

#[test]
fn an_option_of_another_load_tester_is_answered_with_ours() {
    for (theirs, ours) in [
        ("--concurrency", "--users"),
        ("--report-file", "-o html=FILE"),
        ("--increase-time", "--startup-time"),
        ("--requests", "--shared-iterations"),
        ("--password", "env \"NAME\""),
        ("--u", "did you mean '-u', or '--users'?"),
        ("-b", "--body"),
        ("-n", "--shared-iterations"),
    ] {
        let told = refused(&["plan.lua", theirs, "5"]);
        assert!(told.contains(&format!("'{theirs}'")), "{told}");
        assert!(told.contains(ours), "{theirs}: {told}");
        assert!(!told.contains("as a value"), "{told}");
    }
}

#[test]
fn two_words_are_told_by_what_they_could_mean() {
    let told = refused(&["chek", "plan.lua"]);
    assert!(
        told.contains("did you mean 'lgoose check plan.lua'?"),
        "{told}"
    );
    let told = refused(&["plan.lua", "other.lua"]);
    assert!(told.contains("'other.lua' is one word too many"), "{told}");
    let told = refused(&["plan.lua", "check"]);
    assert!(
        told.contains("the command comes first: 'lgoose check"),
        "{told}"
    );
}

#[test]
fn messages_of_a_whole_run_are_refused_with_what_shows_them() {
    for load in [&[][..], &["-u", "1", "-t", "1s"]] {
        let told = refused(&[&["plan.lua", "--http-debug"], load].concat());
        assert!(told.contains("add '--once'"), "{told}");
    }
}

#[test]
fn a_variable_with_a_slip_in_its_name_is_told_with_the_nearest() {
    let path = plan("slip.lua", PAGE);
    let list = |name: &str, quiet: &[&str]| {
        let arguments = [&[path.as_str(), "--list"], quiet].concat();
        let ended = Lgoose::new(arguments).env(name, "5").finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stderr
    };
    let told = list("LGOOSE_USRES", &[]);
    assert!(
        told.contains("warning: nothing reads the environment's LGOOSE_USRES"),
        "{told}"
    );
    assert!(told.contains("did you mean LGOOSE_USERS?"), "{told}");
    assert_eq!(list("LGOOSE_USRES", &["-q"]), "");
    assert_eq!(list("LGOOSE_USERS", &[]), "");
    assert_eq!(list("LGOOSE_SECRET_OF_MINE", &[]), "");
}

#[test]
fn check_takes_what_a_run_would_be_given() {
    let several = "local word = env 'WORD'\nif word ~= 'x' then error('WORD is ' .. tostring(word)) end\n\
                   local function page(user) user:get '/' end\n\
                   scenario { 'many', weight = 97, task { page } }\nscenario { 'rare', weight = 1, task { page } }";
    let path = plan("check_flags.lua", several);
    let check = |more: &[&str]| Lgoose::new([&["check", &path], more].concat()).finish();
    let without = check(&[]);
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("WORD is nil"), "{}", without.stderr);
    let fine = check(&["-e", "WORD=x", "-u", "100", "-H", "http://127.0.0.1:1"]);
    assert_eq!((fine.code, fine.stderr.as_str()), (0, ""));
    let few = check(&["-e", "WORD=x", "-u", "2"]);
    assert_eq!(few.code, 0, "{}", few.stderr);
    for words in ["no user plays 'rare'", "2 users are too few"] {
        assert!(few.stderr.contains(words), "{}", few.stderr);
    }
    for (host, words) in [
        ("ftp://a", "'ftp://a' is not a host"),
        ("demo:drupla", "did you mean 'drupal'?"),
    ] {
        let bad = check(&["-e", "WORD=x", "-H", host]);
        assert_eq!(bad.code, 2, "{host}");
        assert!(bad.stderr.contains(words), "{}", bad.stderr);
    }
    let file = plan("check_flags.env", "WORD=x\n");
    assert_eq!(check(&["--env-file", &file]).code, 0);
}
