//! Tests with memory that ends at any place of a task: each allocation that fails is an error of the task, and nothing else.

use super::*;

/// The bytes between two limits that are tried: an allocation of Lua is hardly smaller.
const STEP: u64 = 48;

/// More limits than any of the tasks needs.
const MOST: u64 = 20_000;

/// Runs a task of these lines in a VM that may take so many bytes, and another one in the same VM. Returns whether there
/// was enough memory for both.
fn has_enough(plan: &str, bytes: u64) -> bool {
    let (program, _, _) =
        load("p.lua", plan, BTreeMap::new(), 1).unwrap_or_else(|error| panic!("{error}"));
    let heartbeat = Arc::<Heartbeat>::default();
    let recorder = recorder();
    let setup = VmSetup {
        memory: bytes,
        time: LONG_TIME,
        ..setup(1, &recorder, &heartbeat)
    };
    let Ok(mut vm) = Vm::new(&program, setup) else {
        return false;
    };
    let mut enough = true;
    for task in 0..2 {
        match start(&mut vm, task, 1) {
            Step::Done | Step::Op(_) => {}
            Step::Raised(raised) => {
                assert!(
                    raised.message.starts_with("not enough memory"),
                    "{bytes} B: {raised:?}\n{plan}"
                );
                enough = false;
            }
            Step::Preempted => unreachable!("it goes on"),
        }
    }
    enough
}

#[test]
fn memory_that_ends_anywhere_is_an_error_of_the_task() {
    for lines in [
        "local t = {} for n = 1, 50 do t[n] = { n, tostring(n) } end table.sort(t, function(a, b) return a[1] > b[1] end)",
        "local s = '' for n = 1, 40 do s = s .. n end return s:upper():rep(3, ','):gsub('%d', '%0%0')",
        "local co = coroutine.wrap(function(...) for n = 1, 20 do coroutine.yield({ n, ... }) end end) for _ = 1, 20 do co(1) end",
        "local ok, problem = pcall(function() local t <close> = setmetatable({}, { __close = function() end }) error({ 1 }) end)",
        "local t = json.decode '{\"a\":[1,2.5,\"x\",{\"b\":null}],\"c\":{\"d\":true}}' json.encode(t) json.get(t, 'a[1]')",
        "local page = html.parse '<form action=/a><input name=b value=c></form><p class=x>y</p>' page:css 'p.x' page:css 'input'",
        "local doc = xml.parse '<a b=\"c\"><d>e</d></a>' doc:css 'd'",
        "local re = regex '(a+)(b?)' re:match 'caab' re:replace('caab', '$2$1') re:matches 'aab ab'",
        "base64.decode(base64.encode 'some text') hex.encode(hash.sha256 'x') url.encode 'a b/c' hash.hmac_sha256('k', 'v')",
        "user:spawn(function() error 'x' end) user:spawn(function() user:wait(1) end) user:wait(0)",
        "user.data.list = {} for n = 1, 20 do user.data.list[n] = ('x'):rep(n) end log.info('a', user.data.list)",
        "user:post('/a', nil, { json = { a = { 1, 2, 3 }, b = 'c' }, headers = { ['x-y'] = 'z' }, expect = { status = 200 } })",
        "user:post('/a', nil, { form = { a = 'b' }, name = 'n' .. 1 })",
        "user:transaction('t', function() local t = table.pack(table.unpack({ 1, 2, 3 })) return ('%s %q'):format(t.n, 'x') end)",
        "local a, b = { 1 }, { 1 } json.copy(a) table.move(a, 1, 1, 5, b) table.insert(b, 1, 'x') table.concat({ 'a', 2 }, ',') utf8.char(955, 956)",
        "local t = setmetatable({}, { __index = function(t, k) return k .. '!' end, __concat = function() return { 1 } end }) local _ = t.a .. t.b, t .. t",
        "user:websocket('ws://site/a', { headers = { a = 'b' }, subprotocols = { 'x', 'y' } })",
        "user:fetch { '/a', '/b', '/c' }",
        "user:set_header('a', 'b') user:set_host 'http://b' user:basic_auth('c', 'd')",
        "local url = url.parse 'http://a.b/c?d=e#f' pcall(error, 'failed ' .. tostring(url.query))",
        "local fake = require 'lgoose.fake' local _ = fake and random.int(1, 5)",
    ] {
        let plan = format!(
            "task {{ function(user)\n{lines}\nend }}\ntask {{ function(user) assert(1 + 1 == 2) end }}"
        );
        let enough = (0..MOST).find(|step| has_enough(&plan, 12_000 + step * STEP));
        assert!(enough.is_some_and(|steps| steps > 10), "{enough:?}\n{plan}");
    }
}
