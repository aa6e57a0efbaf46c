//! What a request tells of the page that it comes from: `Referer` and `Origin`, by the policies of the page and of its
//! elements (the W3C's Referrer Policy).

use crate::browser::Browser;
use crate::faulty::{Asked, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// A page with one link, form or asset, which is requested.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Referred {
    /// Headers of the page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    headers: String,
    /// The page; `$to` stands for where the element leads.
    page: String,
    /// Headers of a redirect that the request meets first, on the page's own site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redirect: Option<String>,
}

/// `Referer` and `Origin` as sent, with `own` for the site of the page; empty without.
type Sent = [String; 2];

/// What the page's own site was sent, and another one. The other one is asked for no assets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    own: Sent,
    other: Option<Sent>,
}

impl Referred {
    fn is_asset(&self) -> bool {
        !self.page.contains("<a ") && !self.page.contains("<form ")
    }

    /// Whether the other site is asked, too.
    fn goes_elsewhere(&self) -> bool {
        !self.is_asset()
    }
}

/// The two sites of a table: that of the pages, at `/case/7/own?q=1` and `/case/7/other?q=1`, and another one.
struct Sites {
    own: Site,
    other: Site,
}

fn sites(cases: &[Referred]) -> Sites {
    let target = |_: &Asked| {
        let headers = "content-type: text/html\r\ncache-control: no-store\r\n";
        answer(200, headers, "<title>target</title>")
    };
    let other = Site::start(target);
    let elsewhere = other.url();
    let cases: Arc<[Referred]> = cases.into();
    let own = Site::start(move |asked| {
        let mut words = asked.path.split(['/', '?']).skip(1);
        let (Some(kind), Some(number), Some(to)) = (words.next(), words.next(), words.next())
        else {
            return target(asked);
        };
        let Some(case) = number.parse().ok().and_then(|at: usize| cases.get(at)) else {
            return target(asked);
        };
        let origin = if to == "other" {
            elsewhere.as_str()
        } else {
            ""
        };
        let goal = format!("{origin}/target/{number}/{to}");
        match (kind, &case.redirect) {
            ("case", redirect) => {
                let to = redirect
                    .as_ref()
                    .map_or(goal, |_| format!("/hop/{number}/{to}"));
                let headers = format!("content-type: text/html\r\n{}", case.headers);
                answer(
                    200,
                    &headers,
                    "<title>page</title>".to_owned() + &case.page.replace("$to", &to),
                )
            }
            ("hop", Some(headers)) => answer(302, &format!("location: {goal}\r\n{headers}"), ""),
            _ => target(asked),
        }
    });
    Sites { own, other }
}

impl Sites {
    fn told(&self, cases: &[Referred]) -> Vec<Told> {
        let of = |number: usize, to: &str| {
            let path = format!("/target/{number}/{to}");
            let site = if to == "other" {
                &self.other
            } else {
                &self.own
            };
            // A form that is sent by GET has a query.
            let all = site.asked();
            let asked = all
                .iter()
                .find(|asked| asked.path.split('?').next() == Some(&path));
            let asked = asked.unwrap_or_else(|| panic!("{path} is requested: {:?}", cases[number]));
            let value = |name| {
                let value = asked.header(name).replace(&self.own.url(), "own");
                value.replace(&format!("/case/{number}/"), "/case/N/")
            };
            [value("referer"), value("origin")]
        };
        let case = |(number, case): (usize, &Referred)| Told {
            own: of(number, "own"),
            other: case.goes_elsewhere().then(|| of(number, "other")),
        };
        cases.iter().enumerate().map(case).collect()
    }
}

fn chromium(browser: &Browser, cases: &[Referred]) -> Vec<Told> {
    let sites = sites(cases);
    let tab = browser.open(&sites.own.url(), (800, 600), "light");
    for (number, case) in cases.iter().enumerate() {
        for to in ["own", "other"] {
            if to == "other" && !case.goes_elsewhere() {
                continue;
            }
            let url = format!("{}/case/{number}/{to}?q=1", sites.own.url());
            tab.ask("Page.navigate", json!({ "url": url }));
            tab.wait_for(&format!(
                "location.href === '{url}' && document.readyState === 'complete'"
            ));
            if !case.is_asset() {
                tab.js("void (document.querySelector('form') ? document.forms[0].submit() : document.links[0].click())");
                tab.wait_for("document.title === 'target' && document.readyState === 'complete'");
            }
        }
    }
    sites.told(cases)
}

fn lgoose(cases: &[Referred]) -> Vec<Told> {
    let sites = sites(cases);
    let kinds = cases
        .iter()
        .map(|case| (case.is_asset(), case.page.contains("<form ")));
    let kinds: Vec<_> = kinds
        .map(|(asset, form)| {
            if asset {
                "asset"
            } else if form {
                "form"
            } else {
                "link"
            }
        })
        .collect();
    let text = format!(
        "local kinds = json.decode {:?}
         task {{ function(user)
           for number, kind in ipairs(kinds) do
             for _, to in ipairs {{ 'own', 'other' }} do
               local page = user:get('/case/' .. number - 1 .. '/' .. to .. '?q=1')
               if kind == 'form' then
                 user:submit(page:form())
               elseif kind == 'link' then
                 user:get(page:links()[1])
               else
                 for _, url in ipairs(page:assets()) do user:get(url) end
               end
             end
           end
         end }}",
        json!(kinds).to_string()
    );
    let path = plan("judge_referrers.lua", &text);
    let ended = Lgoose::new([&path, "-H", &sites.own.url(), "-u", "1", "-i", "1", "-q"]).finish();
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    sites.told(cases)
}

type Referrers = Table<Referred, Told>;

#[test]
fn a_page_is_told_as_chromium_tells_it() {
    let table = Referrers::open("referrers");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| {});
}

#[test]
fn the_record_of_referrers_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-referrers") else {
        return;
    };
    let table = Referrers::open("referrers");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
