//! Tests of the coroutine of a VM.

use super::*;
use std::time::Duration;

fn limits() -> VmLimits {
    VmLimits::new(Duration::from_secs(60), 1 << 20, None)
}

/// Returns a coroutine of that code.
fn coroutine(lua: &Lua, code: &str) -> Coroutine {
    let function = lua.load(code).into_function().expect("it is Lua");
    Coroutine::new(lua, function).expect("memory takes it")
}

fn yielded(resumed: mlua::Result<ResumeResult<'_>>) -> YieldedValues<'_> {
    match resumed {
        Ok(ResumeResult::Yielded(yielded)) => yielded,
        Ok(ResumeResult::Ended | ResumeResult::Preempted) => panic!("it yields nothing"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_is_yielded_is_seen_where_it_is() {
    let lua = Lua::new();
    let code = r#"coroutine.yield(nil, "a\0b", 3, 2.5, { x = { y = 1 } }, print)"#;
    let mut coroutine = coroutine(&lua, code);
    let limits = limits();
    let yielded = yielded(coroutine.resume(&limits, []));
    assert!(matches!(yielded.at(0), StackValue::Nil));
    assert!(matches!(yielded.at(1), StackValue::Text(b"a\0b")));
    assert!(matches!(yielded.at(2), StackValue::Integer(3)));
    assert!(matches!(yielded.at(3), StackValue::Other));
    assert!(matches!(yielded.at(5), StackValue::Other));
    assert!(matches!(yielded.at(6), StackValue::Nil));
    let StackValue::Table(outer) = yielded.at(4) else {
        panic!("it is a table");
    };
    let mut found = Vec::new();
    let seen = outer.all(|key, value| match (key, value) {
        (StackValue::Text(b"x"), StackValue::Table(inner)) => inner.all(|key, value| {
            found.push(format!("{key:?} {value:?}"));
            true
        }),
        _ => false,
    });
    assert!(seen);
    assert_eq!(found, ["Text([121]) Integer(1)"]);
}

#[test]
fn a_table_that_was_interrupted_in_the_middle_is_converted_whole() {
    let lua = Lua::new();
    let code = r#"coroutine.yield({ 10, 20, 30, a = 1 }, "behind")"#;
    let mut coroutine = coroutine(&lua, code);
    let limits = limits();
    let yielded = yielded(coroutine.resume(&limits, []));
    let StackValue::Table(table) = yielded.at(0) else {
        panic!("it is a table");
    };
    let mut shown = 0;
    assert!(!table.all(|_, _| {
        shown += 1;
        shown < 2
    }));
    assert_eq!(shown, 2);
    let (list, text): (Vec<i64>, String) = yielded.into_values().expect("they are there");
    assert_eq!((list, text.as_str()), (vec![10, 20, 30], "behind"));
}

#[test]
fn arguments_come_in_order_and_a_function_starts_again_after_its_end() {
    let lua = Lua::new();
    let code = "local a, b = ... local c, d, e = coroutine.yield(a + b)\n\
                coroutine.yield(tostring(c) .. tostring(d) .. e) return 1, 2, 3";
    let mut coroutine = coroutine(&lua, code);
    let limits = limits();
    for _ in 0..2 {
        assert!(coroutine.is_ready());
        let sum =
            yielded(coroutine.resume(&limits, [PlainValue::Integer(1), PlainValue::Integer(2)]));
        assert!(matches!(sum.at(0), StackValue::Integer(3)));
        drop(sum);
        assert!(!coroutine.is_ready());
        let values = Converted((true, Value::Nil, "text"));
        let text = yielded(coroutine.resume(&limits, values));
        assert!(matches!(text.at(0), StackValue::Text(b"trueniltext")));
        drop(text);
        let ended = coroutine.resume(&limits, [PlainValue::Flag(false)]);
        assert!(matches!(ended, Ok(ResumeResult::Ended)));
    }
}

#[test]
fn errors_retain_their_kind_and_a_reset_starts_anew() {
    let lua = Lua::new();
    lua.set_memory_limit(2 << 20).expect("it has a limit");
    let own = lua.create_function(|_, ()| Err::<(), _>(mlua::Error::external("own")));
    lua.globals()
        .set("own", own.expect("memory takes it"))
        .expect("a global");
    let code = r#"local how = ...
        if how == 1 then error("text", 0) elseif how == 2 then own()
        elseif how == 3 then error({}) elseif how == 4 then return ("x"):rep(1 << 28) end
        coroutine.yield(how)"#;
    let mut coroutine = coroutine(&lua, code);
    let limits = limits();
    let function: Function = lua.load(code).into_function().expect("it is Lua");
    for how in 1..=5 {
        let result = coroutine
            .resume(&limits, [PlainValue::Integer(how)])
            .map(|_| ());
        let outcome = result.as_ref().map_err(ToString::to_string);
        match how {
            1 => assert!(matches!(&result, Err(mlua::Error::RuntimeError(text)) if text == "text")),
            2 => assert!(
                outcome.is_err_and(|message| message.contains("own")),
                "{result:?}"
            ),
            3 => assert!(
                matches!(&result, Err(mlua::Error::RuntimeError(text)) if text.starts_with("table:"))
            ),
            4 => assert!(outcome.is_err_and(|message| message.contains("not enough memory"))),
            _ => assert!(result.is_ok(), "{result:?}"),
        }
        assert!(!coroutine.is_ready());
        let reset = coroutine.reset(&limits, function.clone());
        // A coroutine that raised reports its error once more.
        assert_eq!(reset.is_ok(), coroutine.is_ready());
        if reset.is_err() {
            coroutine = Coroutine::new(&lua, function.clone()).expect("memory takes it");
        }
    }
    let dead = coroutine.resume(&limits, []).map(|_| ());
    assert!(dead.is_ok(), "{dead:?}");
}

#[test]
fn only_a_list_of_texts_is_shown_as_one() {
    let cases = [
        ("{}", true, ""),
        ("{ 'a', 'b', '' , 'd' }", true, "a,b,,d"),
        ("{ 'a', nil, 'c' }", true, "a"),
        ("{ [2] = 'b', 'a', [4] = 'd', x = 'y' }", true, "a,b"),
        ("{ 'a', 5, 'c' }", false, "a"),
        ("setmetatable({ 'a' }, {})", false, ""),
    ];
    for (table, whole, expected) in cases {
        let lua = Lua::new();
        let mut coroutine = coroutine(&lua, &format!("coroutine.yield({table}, 'behind')"));
        let limits = limits();
        let yielded = yielded(coroutine.resume(&limits, []));
        let StackValue::Table(list) = yielded.at(0) else {
            panic!("it is a table");
        };
        let mut shown = Vec::new();
        let is_whole = list.texts(|text| {
            shown.push(String::from_utf8_lossy(text).into_owned());
            true
        });
        assert_eq!(
            (is_whole, shown.join(",").as_str()),
            (whole, expected),
            "{table}"
        );
        assert!(!list.texts(|_| false) || shown.is_empty(), "{table}");
        assert!(matches!(yielded.at(1), StackValue::Text(b"behind")));
    }
}
