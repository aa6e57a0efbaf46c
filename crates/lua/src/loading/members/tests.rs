//! Tests that names that do not exist are found, and nothing else is.

use super::*;

fn messages(text: &str) -> Vec<String> {
    let source = SourceFile {
        name: "p.lua".to_owned(),
        text: text.into(),
    };
    let found = unknown_names(&source, None);
    found
        .iter()
        .map(|diagnostic| diagnostic.message().to_owned())
        .collect()
}

#[test]
fn names_that_do_not_exist_are_reported() {
    for (body, message) in [
        ("user:gte '/'", "'user:gte' does not exist"),
        ("user.get('/')", "'user.get' is called with a dot"),
        ("user.get '/'", "'user.get' is called with a dot"),
        (
            "local page = user:get '/' page.json()",
            "'page.json' is called with a dot",
        ),
        (
            "local page = user:get '/' print(page.json.data)",
            "'page.json' is a method, and has no fields",
        ),
        (
            "user:post('/', { anything = 1 })",
            "the body of user:post is a text, not a table",
        ),
        ("if x then user.wiat(1) end", "'user.wiat' does not exist"),
        (
            "local page = user:get('/')\n page:fomr()",
            "'page:fomr' does not exist",
        ),
        (
            "local r = user:post '/' if r.stauts == 2 then end",
            "'r.stauts' does not exist",
        ),
        (
            "user:get('/', { nmae = 'x' })",
            "unknown option 'nmae' in a request",
        ),
        (
            "user:get('/a' .. f(1, 2), { name = 'x', expect = { stauts = 2 } })",
            "unknown field 'stauts' in expect",
        ),
        (
            "user:post('/', nil, { form = { a = 1 }, timout = 3 })",
            "unknown option 'timout' in a request",
        ),
        (
            "local stream = user:get('/', { stream = true }) stream:evnts()",
            "'stream:evnts' does not exist",
        ),
        (
            "local socket = user:websocket '/' socket:recieve()",
            "'socket:recieve' does not exist",
        ),
        (
            "local socket = user:tcp 'a:1' socket:recieve(3)",
            "'socket:recieve' does not exist",
        ),
        (
            "user:tls('a:1', { server_nmae = 'x' })",
            "unknown option 'server_nmae' in a socket",
        ),
        (
            "user:timed('a', function() user:tcp 'a:1' end, { knd = 'X' })",
            "unknown option 'knd' in user:timed",
        ),
        (
            "user:events('/', { reconect = true })",
            "unknown option 'reconect' in a request",
        ),
        (
            "user:request { method = 'GET', pth = '/' }",
            "unknown option 'pth' in a request",
        ),
    ] {
        let plan = format!("task {{ 'a', function(user) {body} end }}");
        assert_eq!(messages(&plan), [message], "{plan}");
    }
}

#[test]
fn what_could_be_meant_is_not_reported() {
    for body in [
        "user:get '/' user:wait(1) user.data.anything = user.data.other",
        "local user = other() user:gte()",
        "for user in list() do user:gte() end",
        "f(function(user) user:gte() end)",
        "user = other() user:gte()",
        "local form = user:get('/'):form '#a' form:anything()",
        "local page = user:get '/' page = 3 page:anything()",
        "local page = user:get '/' or nil page:anything()",
        "do local page = user:get '/' end page:anything()",
        "local page = user:get '/' local function f(page) page:anything() end",
        "local page, other = user:get '/', 3 other:anything()",
        "local t = { user = 1 } t.user:gte() x.user.gte()",
        "user:get('/', opts) user:get('/', { [x] = 1, form = { anything = 1 }, headers = { a = 'b' } })",
        "user:post('/', body({ anything = 1 }))",
        "user:submit(form, { anything = 1 }, { button = false, name = 'x', added = true })",
        "for event in user:events('/', { reconnect = true, name = 'x' }) do end",
        "local page = user:post('/', nil, { json = { stream = true } }) print(page:json())",
        "local stream = user:get('/', options) stream:close()",
        "local stream = user:get('/', { stream = true }) for line in stream:lines() do end stream:close()",
        "user:get('/', { name = (function() local t = { anything = 1 } return t end)() })",
        "print('user:gte') -- user:gte",
        "pcall(user.get, user, '/') user.get(user, '/') user.stop()",
        "user:transaction('a', function() user:get '/' end)",
        "local value = user:timed('a', function() return { other = 1 } end, { kind = 'X' }) value:anything()",
    ] {
        let plan = format!("task {{ 'a', function(user) {body} end }}");
        assert_eq!(messages(&plan), Vec::<String>::new(), "{plan}");
    }
    for plan in [
        "local user = 1 f(function(user) user:gte() end)",
        "task { 'a', f } user:gte()",
    ] {
        assert_eq!(messages(plan), Vec::<String>::new(), "{plan}");
    }
}

#[test]
fn constant_queries_of_a_response_are_judged_as_in_a_run() {
    let of = |body: &str| {
        let plan = format!("task {{ 'a', function(user) local page = user:get '/' {body} end }}");
        let loaded = crate::load("p.lua", &plan, std::collections::BTreeMap::new(), 0);
        let (program, ..) = loaded.expect("the plan is fine");
        let globals = Globals::new(&program).expect("a VM");
        let sources = program.sources.all();
        let found = sources
            .iter()
            .flat_map(|source| unknown_names(source, Some(&globals)));
        found
            .map(|warning| warning.message().to_owned())
            .collect::<Vec<_>>()
    };
    for (body, expected) in [
        ("page:css 'a['", "'a[' is not a CSS selector"),
        ("page:form('#x[')", "'#x[' is not a CSS selector"),
        ("page:attr('a[', 'href')", "'a[' is not a CSS selector"),
        ("page:match '('", "this regular expression is not valid"),
        ("page:json 'a['", "the path 'a['"),
    ] {
        let found = of(body);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{body}: {found:?}"
        );
    }
    for body in [
        "page:css 'a.b > c' page:form '#x' page:attr('a', name) page:match 'a(b)' page:json 'a[-1].b'",
        "page:css(selector) page:css('a[' .. name .. ']') page:contains '(' page:match(regex '(')",
        "page:text() page:css()",
    ] {
        assert_eq!(of(body), Vec::<String>::new(), "{body}");
    }
}
