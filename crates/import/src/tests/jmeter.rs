//! Test plans of JMeter: their elements, and hostile ones.

use super::{ImportOptions, Imported, import};

/// A property of an element.
fn prop(name: &str, value: &str) -> String {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

fn element(kind: &str, name: &str, inside: &str, below: &str) -> String {
    format!(
        "<{kind} testclass=\"{kind}\" testname=\"{name}\" enabled=\"true\">{inside}</{kind}><hashTree>{below}</hashTree>"
    )
}

fn sampler(name: &str, method: &str, path: &str, more: &str, below: &str) -> String {
    let inside = prop("HTTPSampler.domain", "127.0.0.1")
        + &prop("HTTPSampler.port", "8080")
        + &prop("HTTPSampler.path", path)
        + &prop("HTTPSampler.method", method)
        + &prop("HTTPSampler.follow_redirects", "true")
        + more;
    element("HTTPSamplerProxy", name, &inside, below)
}

fn group(kind: &str, name: &str, load: &[(&str, &str)], below: &str) -> String {
    let loops = load
        .iter()
        .find(|(name, _)| *name == "loops")
        .map_or("1", |(_, loops)| loops);
    let mut inside = format!(
        "<elementProp name=\"ThreadGroup.main_controller\">{}</elementProp>",
        prop("LoopController.loops", loops)
    );
    for (name, value) in load.iter().filter(|(name, _)| *name != "loops") {
        inside += &prop(&format!("ThreadGroup.{name}"), value);
    }
    element(kind, name, &inside, below)
}

fn plan(inside: &str, below: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<jmeterTestPlan version=\"1.2\"><hashTree>{}</hashTree></jmeterTestPlan>",
        element("TestPlan", "shop", inside, below)
    )
}

fn read(text: &str) -> Imported {
    import("a file", text.as_bytes(), &ImportOptions::default()).expect("it can be read")
}

/// Returns the plan of elements in the only thread group, beside a cookie manager.
fn of_group(below: &str) -> Imported {
    let cookies = element("CookieManager", "cookies", "", "");
    read(&plan(
        "",
        &(cookies + &group("ThreadGroup", "users", &[], below)),
    ))
}

fn has(imported: &Imported, parts: &[&str]) {
    for part in parts {
        assert!(imported.plan.contains(part), "{part} in\n{}", imported.plan);
    }
}

fn notes(imported: &Imported, parts: &[&str]) {
    let notes = imported.notes.join("\n");
    for part in parts {
        assert!(notes.contains(part), "{part} in\n{notes}");
    }
}

#[test]
fn requests_have_their_method_path_fields_and_headers() {
    let argument = |name: &str, value: &str| {
        format!(
            "<elementProp name=\"{name}\">{}{}</elementProp>",
            prop("Argument.name", name),
            prop("Argument.value", value)
        )
    };
    let arguments = |list: &str| {
        format!(
            "<elementProp name=\"HTTPsampler.Arguments\"><collectionProp name=\"Arguments.arguments\">{list}</collectionProp></elementProp>"
        )
    };
    let fields = arguments(&(argument("q", "tea & milk") + &argument("password", "hunter2")));
    let raw = arguments(&argument("", "{\"id\": ${id}, \"pin\": \"s3cr3t\"}"))
        + &prop("HTTPSampler.postBodyRaw", "true");
    let header = |name: &str, value: &str| {
        format!(
            "<elementProp name=\"\">{}{}</elementProp>",
            prop("Header.name", name),
            prop("Header.value", value)
        )
    };
    let headers = element(
        "HeaderManager",
        "headers",
        &format!(
            "<collectionProp name=\"HeaderManager.headers\">{}</collectionProp>",
            header("Accept", "a/b") + &header("Connection", "close")
        ),
        "",
    );
    let inner = element(
        "HeaderManager",
        "headers",
        &format!(
            "<collectionProp name=\"HeaderManager.headers\">{}</collectionProp>",
            header("accept", "c/d")
        ),
        "",
    );
    let imported = of_group(
        &(headers
            + &sampler("search", "GET", "/s", &fields, "")
            + &sampler("send", "POST", "/f", &fields, &inner)
            + &sampler("raw", "PUT", "orders", &raw, "")),
    );
    has(
        &imported,
        &[
            "host = \"http://127.0.0.1:8080\"",
            "user:get(\"/s\", {",
            "query = { { \"q\", \"tea & milk\" }, { \"password\", PASSWORD } }",
            "user:post(\"/f\", nil, {",
            "headers = { accept = \"c/d\" }",
            "headers = { Accept = \"a/b\" }",
            "user:put(\"/orders\", \"{\\\"id\\\": \" .. env(\"id\", \"\") .. \", \\\"pin\\\": \\\"\" .. PIN .. \"\\\"}\", {",
            "name = \"raw\"",
        ],
    );
    assert!(
        !imported.plan.contains("s3cr3t")
            && !imported.plan.contains("hunter2")
            && !imported.plan.contains("close")
    );
    notes(&imported, &["'${id}' has no value", "set PASSWORD"]);
}

#[test]
fn extractors_set_variables_and_assertions_are_expected() {
    let regex = prop("RegexExtractor.refname", "token")
        + &prop("RegexExtractor.regex", "name=\"csrf\" value=\"(.+?)\"")
        + &prop("RegexExtractor.template", "$1$")
        + &prop("RegexExtractor.default", "none");
    let json = prop("JSONPostProcessor.referenceNames", "id;name")
        + &prop(
            "JSONPostProcessor.jsonPathExprs",
            "$.order.id;$.items[*].name",
        )
        + &prop("JSONPostProcessor.match_numbers", "1;2");
    let boundary = prop("BoundaryExtractor.refname", "b")
        + &prop("BoundaryExtractor.lboundary", "[")
        + &prop("BoundaryExtractor.rboundary", "]");
    let css = prop("HtmlExtractor.refname", "c")
        + &prop("HtmlExtractor.expr", "a.next")
        + &prop("HtmlExtractor.attribute", "href");
    let behind = prop("RegexExtractor.refname", "z") + &prop("RegexExtractor.regex", "(?<!a)(b)");
    let assertion = |field: &str, kind: &str, text: &str| {
        let inside = format!(
            "<collectionProp name=\"Asserion.test_strings\">{}</collectionProp>",
            prop("1", text)
        ) + &prop("Assertion.test_field", field)
            + &prop("Assertion.test_type", kind);
        element("ResponseAssertion", "is right", &inside, "")
    };
    let below = element("RegexExtractor", "t", &regex, "")
        + &element("JSONPostProcessor", "j", &json, "")
        + &element("BoundaryExtractor", "b", &boundary, "")
        + &element("HtmlExtractor", "c", &css, "")
        + &element("RegexExtractor", "behind", &behind, "")
        + &assertion("Assertion.response_code", "8", "201")
        + &assertion("Assertion.response_data", "16", "Welcome")
        + &assertion("Assertion.response_data", "20", "error")
        + &assertion("Assertion.response_data", "2", "id=\\d+")
        + &assertion("Assertion.response_message", "2", "OK");
    let imported = of_group(
        &(sampler("a", "GET", "/", "", &below) + &sampler("b", "GET", "/${id}?t=${token}", "", "")),
    );
    has(
        &imported,
        &[
            "user.data.token = regex(\"name=\\\"csrf\\\" value=\\\"(.+?)\\\"\"):match(answer) or \"none\"",
            "user.data.id = json_at(answer, \"order.id\") or \"\"",
            "user.data.name = json_list(answer, \"items[*].name\")[2] or \"\"",
            "user.data.b = regex(\"(?s)\\\\[(.*?)\\\\]\"):match(answer) or \"\"",
            "user.data.c = answer:attr(\"a.next\", \"href\") or \"\"",
            "expect = { status = 201, text = \"Welcome\", no_text = \"error\" }",
            "if answer.ok and (not (regex(\"id=\\\\d+\"):test(answer))) then answer:fail(",
            "\"/\" .. (user.data.id or \"\") .. \"?t=\" .. (user.data.token or \"\")",
        ],
    );
    notes(
        &imported,
        &[
            "left out the extractor 'behind', which sets z",
            "left out the assertion 'is right'",
        ],
    );
}

#[test]
fn controllers_become_blocks_and_timers_pauses() {
    let request = |name: &str| sampler(name, "GET", &format!("/{name}"), "", "");
    let of = |kind: &str, inside: &str, below: &str| {
        element(kind, &format!("the {kind}"), inside, below)
    };
    let if_condition = prop(
        "IfController.condition",
        "${__groovy(\"${plan}\" == \"gold\" && vars.get(\"n\") != \"0\")}",
    );
    let unknown = prop(
        "IfController.condition",
        "${__groovy(new Date().hours > 12)}",
    );
    let uniform = of(
        "UniformRandomTimer",
        &(prop("ConstantTimer.delay", "300") + &prop("RandomTimer.range", "500.0")),
        "",
    );
    let below = uniform
        + &of("TransactionController", "", &request("t"))
        + &of(
            "LoopController",
            &prop("LoopController.loops", "3"),
            &request("l"),
        )
        + &of("OnceOnlyController", "", &request("o"))
        + &of("IfController", &if_condition, &request("i"))
        + &of("IfController", &unknown, &request("u"))
        + &of("RandomController", "", &(request("r") + &request("q")))
        + &of("InterleaveControl", "", &(request("x") + &request("y")))
        + &of(
            "ThroughputController",
            &(prop("ThroughputController.style", "1")
                + &prop("ThroughputController.percentThroughput", "25")),
            &request("p"),
        )
        + &of(
            "TestAction",
            &(prop("ActionProcessor.action", "1") + &prop("ActionProcessor.duration", "1500")),
            "",
        )
        + &of("JDBCSampler", "", "")
        + "<HTTPSamplerProxy testname=\"off\" enabled=\"false\"/><hashTree/>";
    let imported = of_group(&below);
    has(
        &imported,
        &[
            "user:transaction(\"the TransactionController\", function()\n      user:wait(0.3, 0.8)\n      user:get(\"/t\"",
            "for _ = 1, 3 do\n",
            "if user.iteration == 1 then\n",
            "if tostring(env(\"plan\", \"\")) == tostring(\"gold\") and tostring(env(\"n\", \"\")) ~= tostring(\"0\") then\n",
            "random.choice {\n      function()\n",
            "turns[(user.iteration - 1) % #turns + 1]()",
            "if random.float() < 0.25 then\n",
            "user:wait(1.5)\n",
        ],
    );
    assert!(!imported.plan.contains("\"off\""));
    notes(
        &imported,
        &[
            "left out 1 element that the test plan has disabled",
            "left out 'the JDBCSampler' (JDBCSampler)",
            "its requests are always sent, as its condition is not carried over: ${__groovy(new Date",
        ],
    );
}

#[test]
fn thread_groups_have_their_load() {
    let request = sampler("a", "GET", "/", "", "");
    let one = [
        ("num_threads", "${__P(users,20)}"),
        ("ramp_time", "10"),
        ("loops", "-1"),
        ("scheduler", "true"),
        ("duration", "70"),
    ];
    let imported = read(&plan("", &group("ThreadGroup", "g", &one, &request)));
    has(
        &imported,
        &[
            "users = tonumber(env(\"users\", \"20\"))",
            "startup_time = 10",
            "run_time = 60",
            "no_cookies = true",
            "scenario { \"g\", order = \"serial\",\n",
        ],
    );
    assert!(!imported.plan.contains("iterations"));
    let two = plan(
        "",
        &(group(
            "SetupThreadGroup",
            "before",
            &[("num_threads", "1")],
            &request,
        ) + &group(
            "ThreadGroup",
            "g",
            &[("num_threads", "2"), ("ramp_time", "0"), ("loops", "4")],
            &request,
        ) + &group(
            "ThreadGroup",
            "g",
            &[
                ("num_threads", "3"),
                ("ramp_time", "1"),
                ("scheduler", "true"),
                ("duration", "9"),
                ("delay", "5"),
            ],
            &request,
        )),
    );
    has(
        &read(&two),
        &[
            "on(\"test_start\", function(user)\n  user:get(\"/\"",
            "scenario { \"g\", order = \"serial\", users = 2, startup_time = 0, iterations = 4,\n",
            "scenario { \"g (2)\", order = \"serial\", users = 3, startup_time = 1, iterations = 1, run_time = 8, start = 5,\n",
        ],
    );
}

#[test]
fn rows_come_from_files_with_and_without_names() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("b.csv"), "id;Full Name\n1;x\n").expect("written");
    let set = |file: &str, names: &str, delimiter: &str, more: &str| {
        let inside = prop("filename", file)
            + &prop("variableNames", names)
            + &prop("delimiter", delimiter)
            + more;
        element("CSVDataSet", "rows", &inside, "")
    };
    let below = set("/home/x/a.csv", "login,pin", ",", &prop("recycle", "false"))
        + &set("b.csv", "", ";", "")
        + &sampler("a", "GET", "/${login}/${id}", "", "");
    let choices = ImportOptions {
        path: Some(folder.path().join("plan.jmx")),
        ..ImportOptions::default()
    };
    let text = plan("", &group("ThreadGroup", "g", &[], &below));
    let imported = import("a file", text.as_bytes(), &choices).expect("it can be read");
    has(
        &imported,
        &[
            "local a = data.lines(\"a.csv\")",
            "user.data.login, user.data.pin = a:next():match(\"^([^%,]*)%,([^%,]*)\")",
            "local b = data.csv(\"b.csv\", { separator = \";\" })",
            "local row = b:next()\n",
            "user.data.id, user.data[\"Full Name\"] = row.id, row[\"Full Name\"]",
        ],
    );
    notes(
        &imported,
        &[
            "put 'a.csv' beside the plan",
            "rows begin again after the last one",
        ],
    );
}

#[test]
fn what_is_no_test_plan_is_refused() {
    let nested = format!(
        "<jmeterTestPlan><hashTree>{}",
        "<GenericController/><hashTree>".repeat(100_000)
    );
    let bomb = "<!DOCTYPE a [<!ENTITY b \"x\"><!ENTITY c \"&b;&b;\">]><jmeterTestPlan>&c;</jmeterTestPlan>";
    for (text, part) in [
        ("<html></html>", "cannot be imported"),
        ("<jmeterTestPlan><hashTree>", "no XML that can be read"),
        (nested.as_str(), "200 deep"),
        (bomb, "document type"),
        (&plan("", ""), "no HTTP request that a plan could send"),
    ] {
        let error =
            import("a file", text.as_bytes(), &ImportOptions::default()).expect_err("a mistake");
        assert!(error.to_string().contains(part), "{error}");
    }
    let deep: String = (0..90).fold(sampler("a", "GET", "/", "", ""), |below, _| {
        element("TransactionController", "t", "", &below)
    });
    let all = sampler("b", "GET", "/", "", "") + &deep;
    notes(&of_group(&all), &["left out 't' (TransactionController)"]);
    // Values that are made of each other take no time.
    let variables: String = (0..30)
        .map(|number| {
            let value = format!("${{v{}}}", number + 1).repeat(50);
            format!(
                "<elementProp name=\"v{number}\">{}{}</elementProp>",
                prop("Argument.name", &format!("v{number}")),
                prop("Argument.value", &value)
            )
        })
        .collect();
    let inside = format!(
        "<elementProp name=\"TestPlan.user_defined_variables\"><collectionProp name=\"Arguments.arguments\">{variables}</collectionProp></elementProp>"
    );
    let host = prop("HTTPSampler.domain", "${v0}") + &prop("HTTPSampler.path", "/${v0}");
    let below = element("HTTPSamplerProxy", "s", &host, "");
    let imported = read(&plan(
        &inside,
        &group("ThreadGroup", "g", &[("num_threads", "${v0}")], &below),
    ));
    assert!(imported.plan.len() < 20 << 20);
    let functions = format!("/{}a{}", "${__P(a,".repeat(50_000), ")}".repeat(50_000));
    let _read = of_group(&sampler("f", "GET", &functions, "", ""));
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn what_is_repeated_without_end_is_cut() {
    let text = "x".repeat(2_000);
    let headers: String = (0..3_000)
        .map(|number| {
            let header = prop("Header.name", &format!("h{number}")) + &prop("Header.value", &text);
            let inside = format!("<collectionProp name=\"HeaderManager.headers\"><elementProp>{header}</elementProp></collectionProp>");
            element("HeaderManager", "h", &inside, "")
        })
        .collect();
    let samplers = sampler("a", "GET", "/", "", "").repeat(3_000);
    let counters =
        element("CounterConfig", "c", &prop("CounterConfig.name", "n"), "").repeat(3_000);
    let groups = group("ThreadGroup", "g", &[], &sampler("b", "GET", "/", "", "")).repeat(3_000);
    let imported = read(&plan(
        "",
        &(counters + &group("ThreadGroup", "g", &[], &(headers + &samplers)) + &groups),
    ));
    assert!(imported.plan.len() < 64 << 20, "{}", imported.plan.len());
    notes(
        &imported,
        &["would make a plan that is too large", "a hundred scenarios"],
    );
}
