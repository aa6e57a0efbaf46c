//! Lookup by path in JSON text, of which only the result becomes a value of Lua, or in a value that a plan has.

use super::json::JsonDecoder;
use crate::requests::{JsonPath, PathStep, place_of, scalars_are_passed_over};
use crate::sandbox::{VmHost, entry, length};
use mlua::{Lua, LuaSerdeExt as _, Table, Value};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

/// Returns the value in JSON to which a path leads, nil if there is none; for a path with `[*]`, a list.
pub(super) fn in_json(
    path: &JsonPath,
    decoder: &JsonDecoder<'_>,
    text: &[u8],
) -> mlua::Result<Value> {
    let found = decoder.lua.create_table()?;
    let reader = PathReader {
        decoder,
        steps: path.steps(),
        found: &found,
    };
    decoder.read(text, reader)?;
    result(path, decoder.lua, found)
}

/// Returns the value in a value of Lua to which a path leads, nil if there is none; for a path with `[*]`, a list.
pub(super) fn in_value(path: &JsonPath, lua: &Lua, value: &Value) -> mlua::Result<Value> {
    let found = lua.create_table()?;
    follow(lua, value, path.steps(), &found)?;
    result(path, lua, found)
}

fn result(path: &JsonPath, lua: &Lua, found: Table) -> mlua::Result<Value> {
    if !path.is_list() {
        return found.raw_get(1);
    }
    found.set_metatable(Some(lua.array_metatable()))?;
    Ok(Value::Table(found))
}

/// Adds the values at the end of the steps to `found`.
fn follow(lua: &Lua, value: &Value, steps: &[PathStep], found: &Table) -> mlua::Result<()> {
    // A table may contain itself, so '[*]' can go on for ever.
    VmHost::of(lua).limits.spend(lua, 64)?;
    let Some((step, rest)) = steps.split_first() else {
        return match value {
            Value::Nil => Ok(()),
            value => found.raw_push(value),
        };
    };
    let Value::Table(table) = value else {
        return Ok(());
    };
    match step {
        PathStep::Member(name) => {
            let member = entry(table, &**name)?;
            let value = match place_of(name) {
                Some(place) if member.is_nil() => entry(table, place + 1)?,
                _ => member,
            };
            follow(lua, &value, rest, found)
        }
        PathStep::Element(number) => {
            let length = i64::try_from(length(table)?).unwrap_or(i64::MAX);
            let place = if *number < 0 {
                length + number
            } else {
                *number
            };
            follow(lua, &entry(table, place.saturating_add(1))?, rest, found)
        }
        PathStep::All => {
            for place in 1..=length(table)? {
                follow(lua, &entry(table, place)?, rest, found)?;
            }
            Ok(())
        }
    }
}

/// Reads a value, and adds the values at the end of the steps to `found`.
#[derive(Clone, Copy)]
struct PathReader<'a> {
    decoder: &'a JsonDecoder<'a>,
    steps: &'a [PathStep],
    found: &'a Table,
}

impl<'de> DeserializeSeed<'de> for PathReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.steps.is_empty() {
            let value = self.decoder.deserialize(deserializer)?;
            self.decoder.check(self.found.raw_push(value))
        } else {
            deserializer.deserialize_any(self)
        }
    }
}

impl<'a> PathReader<'a> {
    /// Returns the reader of the value behind the first step, which adds it to `found`.
    fn inside<'b>(self, found: &'b Table) -> PathReader<'b>
    where
        'a: 'b,
    {
        PathReader {
            decoder: self.decoder,
            steps: &self.steps[1..],
            found,
        }
    }

    /// Reads the elements that remain, and counts them as work.
    fn skip<'de, A: SeqAccess<'de>>(self, list: &mut A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.decoder.spend()?;
        }
        Ok(())
    }

    /// Reads the element so many places from the end, of which the first is 1.
    fn read_from_end<'de, A: SeqAccess<'de>>(
        self,
        list: &mut A,
        places: usize,
    ) -> Result<(), A::Error> {
        let mut latest: VecDeque<Table> = VecDeque::new();
        loop {
            let found = self.decoder.check(self.decoder.lua.create_table())?;
            if list.next_element_seed(self.inside(&found))?.is_none() {
                break;
            }
            latest.push_back(found);
            if latest.len() > places {
                latest.pop_front();
            }
        }
        let element = latest.pop_front().filter(|_| latest.len() + 1 == places);
        for value in element
            .iter()
            .flat_map(|found| found.sequence_values::<Value>())
        {
            let value = self.decoder.check(value)?;
            self.decoder.check(self.found.raw_push(value))?;
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for PathReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    scalars_are_passed_over!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let step = &self.steps[0];
        if *step == PathStep::All {
            while list.next_element_seed(self.inside(self.found))?.is_some() {
                self.decoder.spend()?;
            }
            return Ok(());
        }
        if let Some(places) = step.place_from_end() {
            return self.read_from_end(&mut list, places);
        }
        let Some(place) = step.place() else {
            return self.skip(&mut list);
        };
        for _ in 0..place {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
            self.decoder.spend()?;
        }
        match list.next_element_seed(self.inside(self.found))? {
            Some(()) => self.skip(&mut list),
            None => Ok(()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let before = self.found.raw_len();
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            self.decoder.spend()?;
            if !matches!(&self.steps[0], PathStep::Member(name) if *name == key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            // The last of several members of one name counts.
            for place in (before + 1..=self.found.raw_len()).rev() {
                self.decoder.check(self.found.raw_set(place, Value::Nil))?;
            }
            map.next_value_seed(self.inside(self.found))?;
        }
        Ok(())
    }
}
