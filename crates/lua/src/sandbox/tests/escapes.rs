//! Tests with ways out of the sandbox.

use super::*;

#[test]
fn nothing_leads_out_of_the_sandbox() {
    for lines in [
        "assert(string.dump == nil)",
        "assert(not pcall(function() return ('x').dump() end))",
        "assert(getmetatable('') == false)",
        "assert(not pcall(setmetatable, '', {}))",
        "assert(not pcall(setmetatable, {}, { __gc = spin }))",
        // Lua knows a finalizer only if it is there when the metatable is set.
        "local m = {} local t = setmetatable({}, m) rawset(m, '__gc', spin)\n\
         assert(not pcall(setmetatable, {}, m)) t = nil",
        "assert(not pcall(function() math.randomseed(1) end))",
        "assert(not pcall(function() string.rep = nil end))",
        "assert(getmetatable(user) == false and getmetatable(string) == false)",
        "assert(getmetatable(regex 'a') == false and getmetatable(html.parse '<p>') == false)",
        "rawset(string, 'rep', 1) assert(('x'):rep(2) == 'xx')",
        "assert(coroutine.running() and not pcall(coroutine.close, coroutine.running()))",
        "assert(not pcall(coroutine.close, main) and not pcall(coroutine.resume, main))",
    ] {
        let raised = attempt(lines);
        // A missing function raises an error that says so.
        let missing = raised
            .as_ref()
            .is_none_or(|raised| raised.message.contains("does not exist"));
        assert!(missing, "{lines}\n{raised:?}");
    }
    for name in [
        "io",
        "os.execute",
        "os.exit",
        "package",
        "debug",
        "dofile",
        "loadfile",
        "loadstring",
        "collectgarbage",
        "_G.io",
        "_ENV._G.debug",
    ] {
        let raised = attempt(&format!("local _ = {name}('x')")).expect("it is not there");
        let is_explained = ["is not declared", "does not exist"]
            .iter()
            .any(|part| raised.message.contains(part));
        assert!(is_explained, "{name}: {raised:?}");
    }
}

#[test]
fn bytecode_is_not_loaded() {
    // The header that every chunk of Lua 5.4 begins with, and modes that would allow it.
    let lines = "for _, mode in ipairs { 't', 'b', 'bt' } do
                   local loaded, problem = load('\\27LuaT\\0\\25\\147\\r\\n\\26\\n', 'chunk', mode)
                   assert(loaded == nil and type(problem) == 'string', mode)
                 end
                 assert(load('\\27LuaT') == nil and load('return 1 + 1')() == 2)
                 assert(not pcall(load 'return io'))";
    assert_eq!(attempt_within(LONG_TIME, lines), None);
}
