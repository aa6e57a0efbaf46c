//! `random`, and `math.random` over the same stream: one per user, determined by the run's seed and the user's number,
//! so that a run can be repeated.

use super::function::{function, function_of_views};
use crate::sandbox::{self, VmHost, entry, length};
use lgoose_plan::{standard_exponential, standard_normal};
use mlua::{FromLua as _, Lua, Table, Value, Variadic};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The most random bytes at once.
const MOST_BYTES: i64 = 1 << 20;

/// Creates `random`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.raw_set(
        "int",
        function(lua, |lua, (a, b): (i64, i64)| between(lua, a, b))?,
    )?;
    library.raw_set(
        "float",
        function(lua, |lua, (): ()| {
            Ok(with(lua, |random| random.random::<f64>()))
        })?,
    )?;
    library.raw_set("choice", function_of_views(lua, choice)?)?;
    library.raw_set("weighted", function(lua, weighted)?)?;
    library.raw_set("key", function_of_views(lua, key)?)?;
    library.raw_set("exponential", function(lua, exponential)?)?;
    library.raw_set("normal", function(lua, normal)?)?;
    library.raw_set("sample", function_of_views(lua, sample)?)?;
    library.raw_set(
        "shuffle",
        function_of_views(lua, |lua, list: Table| drawn(lua, &list, usize::MAX))?,
    )?;
    library.raw_set("bytes", function(lua, bytes)?)?;
    library.raw_set("string", function(lua, string)?)?;
    library.raw_set("words", function(lua, words)?)?;
    library.raw_set("uuid", function(lua, uuid)?)?;
    library.raw_set(
        "name",
        function(lua, |lua, (): ()| Ok(name(lua).join(" ")))?,
    )?;
    library.raw_set("email", function(lua, email)?)?;
    library.raw_set("phone", function(lua, phone)?)?;
    Ok(library)
}

/// Returns Lua's `math` with `random` over the user's stream and without `randomseed`.
pub(super) fn math(lua: &Lua) -> mlua::Result<Table> {
    let math = sandbox::library(lua, "math")?;
    math.raw_set("random", function(lua, math_random)?)?;
    math.raw_remove("randomseed")?;
    Ok(math)
}

fn with<R>(lua: &Lua, draw: impl FnOnce(&mut Xoshiro256PlusPlus) -> R) -> R {
    draw(&mut VmHost::of(lua).random.borrow_mut())
}

fn problem(message: &str) -> mlua::Error {
    mlua::Error::runtime(message)
}

fn between(lua: &Lua, a: i64, b: i64) -> mlua::Result<i64> {
    if a <= b {
        Ok(with(lua, |random| random.random_range(a..=b)))
    } else {
        Err(problem(&format!(
            "random.int(a, b): {a} is larger than {b}"
        )))
    }
}

fn math_random(lua: &Lua, bounds: Variadic<i64>) -> mlua::Result<Value> {
    match bounds[..] {
        [] => Ok(Value::Number(with(lua, |random| random.random::<f64>()))),
        [0] => Ok(Value::Integer(with(lua, |random| random.random::<i64>()))),
        [upper] => between(lua, 1, upper).map(Value::Integer),
        [lower, upper] => between(lua, lower, upper).map(Value::Integer),
        _ => Err(problem("math.random takes at most two numbers")),
    }
}

fn choice(lua: &Lua, list: Table) -> mlua::Result<Value> {
    match length(&list)? {
        0 => Err(problem("random.choice(list): the list is empty")),
        n => entry(&list, with(lua, |random| random.random_range(1..=n))),
    }
}

/// `random.sample(list, n)`: some elements, each place at most once.
fn sample(lua: &Lua, (list, n): (Table, i64)) -> mlua::Result<Table> {
    let length = length(&list)?;
    match usize::try_from(n) {
        Ok(n) if n <= length => drawn(lua, &list, n),
        _ => Err(problem(&format!(
            "random.sample(list, n): n must be from 0 to the length of the list, {length}, not {n}"
        ))),
    }
}

/// Returns a list of at most `n` elements of another in random order (Fisher-Yates).
fn drawn(lua: &Lua, list: &Table, n: usize) -> mlua::Result<Table> {
    let host = VmHost::of(lua);
    let copy = lua.create_table()?;
    for place in 1..=length(list)? {
        host.limits.spend(lua, 64)?;
        copy.raw_push(entry(list, place)?)?;
    }
    let length = copy.raw_len();
    let n = n.min(length);
    for place in 1..=n {
        host.limits.spend(lua, 64)?;
        let other = with(lua, |random| random.random_range(place..=length));
        let (here, there): (Value, Value) = (copy.raw_get(place)?, copy.raw_get(other)?);
        copy.raw_set(place, there)?;
        copy.raw_set(other, here)?;
    }
    for place in (n + 1..=length).rev() {
        copy.raw_set(place, Value::Nil)?;
    }
    Ok(copy)
}

fn bytes(lua: &Lua, n: i64) -> mlua::Result<mlua::LuaString> {
    let mut bytes = vec![0; count(n, MOST_BYTES, "random.bytes")?];
    with(lua, |random| random.fill(&mut bytes[..]));
    lua.create_string(bytes)
}

fn weighted(lua: &Lua, weights: Table) -> mlua::Result<Value> {
    let mut entries = by_name(lua, &weights, |weight| f64::from_lua(weight, lua))?;
    let total: f64 = entries.iter().map(|(_, weight)| weight.max(0.0)).sum();
    if !(total > 0.0 && total.is_finite()) {
        return Err(problem(
            "random.weighted { name = weight }: at least one weight must be above 0",
        ));
    }
    let mut remaining = with(lua, |random| random.random::<f64>()) * total;
    for (key, weight) in &entries {
        remaining -= weight.max(0.0);
        if remaining < 0.0 {
            return Ok(key.clone());
        }
    }
    Ok(entries.pop().map_or(Value::Nil, |(key, _)| key))
}

/// `random.key(table)`.
fn key(lua: &Lua, table: Table) -> mlua::Result<Value> {
    let keys = by_name(lua, &table, |_| Ok(1.0))?;
    if keys.is_empty() {
        return Err(problem("random.key(table): the table is empty"));
    }
    let place = with(lua, |random| random.random_range(0..keys.len()));
    Ok(keys[place].0.clone())
}

/// `random.exponential(mean)`.
fn exponential(lua: &Lua, mean: f64) -> mlua::Result<f64> {
    if mean >= 0.0 && mean.is_finite() {
        return Ok(mean * with(lua, standard_exponential));
    }
    Err(problem(&format!(
        "random.exponential(mean): the mean must not be negative, and it is {mean}"
    )))
}

/// `random.normal(mean, deviation)`.
fn normal(lua: &Lua, (mean, deviation): (f64, f64)) -> mlua::Result<f64> {
    if deviation >= 0.0 && deviation.is_finite() && mean.is_finite() {
        return Ok(mean + deviation * with(lua, standard_normal));
    }
    Err(problem(&format!(
        "random.normal(mean, deviation): the deviation must not be negative, and it is {deviation}"
    )))
}

/// Returns the keys with their weights, sorted by the texts of the keys: Lua's order of fields changes from run to run,
/// and a seed must give the same choice.
fn by_name(
    lua: &Lua,
    weights: &Table,
    weight: impl Fn(Value) -> mlua::Result<f64>,
) -> mlua::Result<Vec<(Value, f64)>> {
    /// The memory of a key beside its text, with its weight and its place in Lua's list of values held by Rust.
    const KEY_BYTES: usize = 192;
    let host = VmHost::of(lua);
    let mut budget = host.budget(lua);
    let mut named = Vec::new();
    for pair in weights.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let weight = weight(value)?;
        host.limits.spend(lua, KEY_BYTES as u64)?;
        budget.take(KEY_BYTES).map_err(mlua::Error::runtime)?;
        named.push((Vec::new(), key, weight));
    }
    for (name, key, _) in &mut named {
        *name = match key {
            Value::String(text) => {
                let taken = budget.take(text.as_bytes().len());
                taken.map_err(mlua::Error::runtime)?;
                text.as_bytes().to_vec()
            }
            // This may run code of the plan, which may have been ended.
            other => other.to_string()?.into_bytes(),
        };
    }
    named.sort_by(|(left, ..), (right, ..)| left.cmp(right));
    let entries = named.into_iter().map(|(_, key, weight)| (key, weight));
    Ok(entries.collect())
}

fn count(n: i64, most: i64, what: &str) -> mlua::Result<usize> {
    if (0..=most).contains(&n) {
        Ok(n as usize)
    } else {
        Err(problem(&format!(
            "{what}(n): n must be from 0 to {most}, not {n}"
        )))
    }
}

fn string(lua: &Lua, n: i64) -> mlua::Result<String> {
    let n = count(n, 1_000_000, "random.string")?;
    Ok(with(lua, |random| {
        let letters = random.sample_iter(rand::distr::Alphanumeric).take(n);
        letters.map(char::from).collect()
    }))
}

fn words(lua: &Lua, n: i64) -> mlua::Result<String> {
    const SYLLABLES: [&str; 24] = [
        "la", "mi", "ron", "sto", "ven", "ka", "dor", "el", "tis", "pa", "gra", "no", "lu", "ser",
        "bi", "tan", "mo", "fer", "is", "ta", "qui", "re", "cor", "al",
    ];
    let n = count(n, 100_000, "random.words")?;
    Ok(with(lua, |random| {
        let mut text = String::new();
        for word in 0..n {
            if word > 0 {
                text.push(' ');
            }
            for _ in 0..random.random_range(2..=4) {
                text.push_str(SYLLABLES[random.random_range(0..SYLLABLES.len())]);
            }
        }
        text
    }))
}

/// Draws a first and a last name.
fn name(lua: &Lua) -> [&'static str; 2] {
    const FIRST: [&str; 24] = [
        "Ada", "Amir", "Aiko", "Ben", "Carla", "Chen", "Dina", "Emeka", "Erik", "Fatima", "Grace",
        "Hugo", "Ines", "Ivan", "Jana", "Kofi", "Lena", "Luca", "Maria", "Noah", "Olga", "Priya",
        "Tom", "Yusuf",
    ];
    const LAST: [&str; 24] = [
        "Adams", "Becker", "Bianchi", "Chang", "Diaz", "Eriksen", "Fischer", "Garcia", "Haddad",
        "Ivanova", "Jensen", "Kimura", "Lopez", "Martin", "Nowak", "Okafor", "Patel", "Rossi",
        "Sato", "Silva", "Smith", "Tanaka", "Weber", "Young",
    ];
    let place = |list: &[&str]| with(lua, |random| random.random_range(0..list.len()));
    [FIRST[place(&FIRST)], LAST[place(&LAST)]]
}

/// Draws an address below `example.com`, where no mail arrives (RFC 2606). Hardly any is drawn twice.
fn email(lua: &Lua, (): ()) -> mlua::Result<String> {
    let [first, last] = name(lua).map(str::to_lowercase);
    let number = with(lua, |random| random.random_range(0..1_000_000_000u32));
    Ok(format!("{first}.{last}.{number}@example.com"))
}

/// Draws a telephone number that belongs to nobody (North American Numbering Plan, 555-0100 to 555-0199).
fn phone(lua: &Lua, (): ()) -> mlua::Result<String> {
    let (area, line) = with(lua, |random| {
        (random.random_range(2..10), random.random_range(0..100))
    });
    Ok(format!("+1-{area}12-555-01{line:02}"))
}

/// Creates a version 4 UUID (RFC 9562, section 5.4).
fn uuid(lua: &Lua, (): ()) -> mlua::Result<String> {
    let bits = with(lua, |random| random.random::<u128>());
    let bits = bits & !(0xf << 76) | (4 << 76);
    let bits = bits & !(0b11 << 62) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    Ok(parts.join("-"))
}
