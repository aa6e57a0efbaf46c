//! A JSON value in one piece of memory, which all users of a process read and none changes. Knows no Lua.

use lgoose_base::files::{DataCharge, DataMemory, DataMemoryFull};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// A JSON value. 10,000 objects of three fields take 0.7 MB and their texts.
#[derive(Debug)]
pub(crate) struct JsonTree {
    /// The values; those of a list or an object stand together, and the whole is the last one.
    entries: Vec<Entry>,
    /// The names of all members, each once.
    names: Vec<Box<str>>,
    /// The texts, one after the other.
    texts: String,
}

/// A value, and the place of its name if it is a member of an object.
#[derive(Debug)]
struct Entry {
    name: u32,
    value: Stored,
}

#[derive(Debug)]
enum Stored {
    Null,
    Flag(bool),
    Integer(i64),
    Number(f64),
    /// Its first byte and its length.
    Text(u32, u32),
    /// Its first value and their number.
    List(u32, u32),
    /// Its first member and their number; members are sorted by name.
    Object(u32, u32),
}

/// A value within a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonNode<'a> {
    tree: &'a JsonTree,
    place: u32,
}

/// The kind and content of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum JsonValue<'a> {
    Null,
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(&'a str),
    /// A list of so many values.
    List(usize),
    /// An object of so many members.
    Object(usize),
}

impl JsonTree {
    /// Reads a value.
    ///
    /// # Errors
    /// The deserializer's, or that the value is too large.
    pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JsonTree, D::Error> {
        JsonTree::read_within(deserializer, &mut DataMemory::default().charge())
    }

    /// Reads a value in memory that is taken from `charge` before it is used.
    ///
    /// # Errors
    /// As [`JsonTree::read`], and that there is not enough memory, which `charge` knows, too.
    pub(crate) fn read_within<'de, D: Deserializer<'de>>(
        deserializer: D,
        charge: &mut DataCharge,
    ) -> Result<JsonTree, D::Error> {
        let mut builder = Builder::new(charge);
        let whole = builder.deserialize(deserializer)?;
        builder.finish(whole)
    }

    /// Begins a list whose values are read one after the other, likewise.
    pub(crate) fn of_list(charge: &mut DataCharge) -> ListBuilder<'_> {
        ListBuilder {
            builder: Builder::new(charge),
            values: Vec::new(),
        }
    }

    /// Returns the memory that it takes, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let names = self
            .names
            .iter()
            .map(|name| name.len() + size_of::<Box<str>>());
        self.entries.capacity() * size_of::<Entry>() + self.texts.capacity() + names.sum::<usize>()
    }

    /// Returns an object without members.
    pub(crate) fn empty() -> JsonTree {
        let value = Stored::Object(0, 0);
        JsonTree {
            entries: vec![Entry { name: 0, value }],
            names: Vec::new(),
            texts: String::new(),
        }
    }

    /// Returns the whole value.
    pub(crate) fn root(&self) -> JsonNode<'_> {
        // It was added last, and there are fewer than 2^32.
        let place = (self.entries.len() - 1) as u32;
        JsonNode { tree: self, place }
    }

    /// Returns the value at that place, which a node has named.
    pub(crate) fn at(&self, place: u32) -> JsonNode<'_> {
        JsonNode { tree: self, place }
    }

    fn name(&self, entry: &Entry) -> &str {
        &self.names[entry.name as usize]
    }
}

impl<'a> JsonNode<'a> {
    /// Returns where the value stands in its tree.
    pub(crate) fn place(self) -> u32 {
        self.place
    }

    /// Returns the value's kind and content.
    pub(crate) fn value(self) -> JsonValue<'a> {
        match self.stored() {
            Stored::Null => JsonValue::Null,
            Stored::Flag(flag) => JsonValue::Flag(*flag),
            Stored::Integer(number) => JsonValue::Integer(*number),
            Stored::Number(number) => JsonValue::Number(*number),
            Stored::Text(from, length) => {
                let from = *from as usize;
                JsonValue::Text(&self.tree.texts[from..from + *length as usize])
            }
            Stored::List(_, count) => JsonValue::List(*count as usize),
            Stored::Object(_, count) => JsonValue::Object(*count as usize),
        }
    }

    /// Returns the values of a list; any other value has none.
    pub(crate) fn elements(self) -> impl ExactSizeIterator<Item = JsonNode<'a>> {
        let places = match self.stored() {
            Stored::List(from, count) => *from..*from + *count,
            _ => 0..0,
        };
        places.map(move |place| self.tree.at(place))
    }

    /// Returns the value of a list with that number, from 0.
    pub(crate) fn element(self, number: usize) -> Option<JsonNode<'a>> {
        self.elements().nth(number)
    }

    /// Returns the members of an object by name; any other value has none.
    pub(crate) fn members(self) -> impl ExactSizeIterator<Item = (&'a str, JsonNode<'a>)> {
        let places = self.member_places();
        let first = places.start;
        let members = self.tree.entries[places].iter().enumerate();
        members.map(move |(number, entry)| {
            let place = (first + number) as u32;
            (self.tree.name(entry), self.tree.at(place))
        })
    }

    /// Returns the number of the member with that name, in their order, and its value.
    pub(crate) fn member(self, name: &str) -> Option<(usize, JsonNode<'a>)> {
        let places = self.member_places();
        let members = &self.tree.entries[places.clone()];
        let number = members
            .binary_search_by(|entry| self.tree.name(entry).cmp(name))
            .ok()?;
        Some((number, self.tree.at((places.start + number) as u32)))
    }

    fn member_places(self) -> Range<usize> {
        match self.stored() {
            Stored::Object(from, count) => *from as usize..(*from + *count) as usize,
            _ => 0..0,
        }
    }

    fn stored(self) -> &'a Stored {
        &self.tree.entries[self.place as usize].value
    }
}

impl Serialize for JsonNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value() {
            JsonValue::Null => serializer.serialize_unit(),
            JsonValue::Flag(flag) => serializer.serialize_bool(flag),
            JsonValue::Integer(number) => serializer.serialize_i64(number),
            JsonValue::Number(number) => serializer.serialize_f64(number),
            JsonValue::Text(text) => serializer.serialize_str(text),
            JsonValue::List(count) => {
                let mut list = serializer.serialize_seq(Some(count))?;
                for element in self.elements() {
                    list.serialize_element(&element)?;
                }
                list.end()
            }
            JsonValue::Object(count) => {
                let mut object = serializer.serialize_map(Some(count))?;
                for (name, value) in self.members() {
                    object.serialize_entry(name, &value)?;
                }
                object.end()
            }
        }
    }
}

/// A list while its values are read.
#[derive(Debug)]
pub(crate) struct ListBuilder<'c> {
    builder: Builder<'c>,
    values: Vec<Entry>,
}

impl ListBuilder<'_> {
    /// Reads one more value.
    ///
    /// # Errors
    /// The deserializer's, or that the value is too large.
    pub(crate) fn add<'de, D: Deserializer<'de>>(
        &mut self,
        deserializer: D,
    ) -> Result<(), D::Error> {
        let value = self.builder.deserialize(deserializer)?;
        self.builder.take_entry()?;
        self.values.push(Entry { name: 0, value });
        Ok(())
    }

    /// Returns the reason why memory was refused, if it was.
    pub(crate) fn refusal(&self) -> Option<&DataMemoryFull> {
        self.builder.charge.refusal()
    }

    /// Returns the list.
    ///
    /// # Errors
    /// It is too large.
    pub(crate) fn finish(mut self) -> Result<JsonTree, serde::de::value::Error> {
        let (from, count) = self.builder.keep(self.values)?;
        self.builder.finish(Stored::List(from, count))
    }
}

/// A tree while it is read.
#[derive(Debug)]
struct Builder<'c> {
    charge: &'c mut DataCharge,
    /// The depth of nesting of the value that is being read.
    depth: u32,
    entries: Vec<Entry>,
    places: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    texts: String,
}

impl<'c> Builder<'c> {
    fn new(charge: &'c mut DataCharge) -> Builder<'c> {
        Builder {
            charge,
            depth: 0,
            entries: Vec::new(),
            places: HashMap::new(),
            names: Vec::new(),
            texts: String::new(),
        }
    }

    /// Takes memory before it is used.
    fn take<E: serde::de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.charge.take(bytes).map_err(E::custom)
    }

    /// Takes the memory of a value: in its list, which grows, and then among all.
    fn take_entry<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.take(3 * size_of::<Entry>())
    }

    /// Adds the values of a list or an object, and returns where they stand.
    fn keep<E: serde::de::Error>(&mut self, values: Vec<Entry>) -> Result<(u32, u32), E> {
        let from = self.entries.len();
        self.entries.extend(values);
        Ok((index(from)?, index(self.entries.len() - from)?))
    }

    fn name<E: serde::de::Error>(&mut self, name: &str) -> Result<u32, E> {
        if let Some(place) = self.places.get(name) {
            return Ok(*place);
        }
        let place = index(self.names.len())?;
        self.take(2 * (name.len() + size_of::<(Box<str>, u32)>()))?;
        self.names.push(name.into());
        self.places.insert(name.into(), place);
        Ok(place)
    }

    /// Begins a list or an object within others: their readers call each other, so that too many would overflow the stack.
    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        const MAX_DEPTH: u32 = 127;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(E::custom(format!(
                "lists and objects are nested more than {MAX_DEPTH} deep"
            )));
        }
        Ok(())
    }

    fn text_of(&self, member: &Entry) -> &str {
        &self.names[member.name as usize]
    }

    fn finish<E: serde::de::Error>(mut self, whole: Stored) -> Result<JsonTree, E> {
        self.keep(vec![Entry {
            name: 0,
            value: whole,
        }])?;
        self.entries.shrink_to_fit();
        self.texts.shrink_to_fit();
        Ok(JsonTree {
            entries: self.entries,
            names: self.names,
            texts: self.texts,
        })
    }
}

/// Returns a place as it is stored.
fn index<E: serde::de::Error>(place: usize) -> Result<u32, E> {
    u32::try_from(place).map_err(|_| E::custom("it has more than 4 GiB of texts or values"))
}

impl<'de> DeserializeSeed<'de> for &mut Builder<'_> {
    type Value = Stored;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Stored, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Builder<'_> {
    type Value = Stored;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Stored, E> {
        Ok(Stored::Null)
    }

    fn visit_none<E>(self) -> Result<Stored, E> {
        Ok(Stored::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Stored, E> {
        Ok(Stored::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Stored, E> {
        Ok(Stored::Integer(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Stored, E> {
        match i64::try_from(number) {
            Ok(number) => Ok(Stored::Integer(number)),
            // Lua has no such integer: as a text, it keeps its digits.
            Err(_) => self.visit_str(&number.to_string()),
        }
    }

    fn visit_f64<E>(self, number: f64) -> Result<Stored, E> {
        // JSON has no other numbers.
        Ok(if number.is_finite() {
            Stored::Number(number)
        } else {
            Stored::Null
        })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Stored, E> {
        let from = index(self.texts.len())?;
        let length = index(text.len())?;
        // Once more while it grows.
        self.take(2 * text.len())?;
        self.texts.push_str(text);
        index::<E>(self.texts.len())?;
        Ok(Stored::Text(from, length))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Stored, A::Error> {
        self.enter()?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(&mut *self)? {
            self.take_entry()?;
            values.push(Entry { name: 0, value });
        }
        self.depth -= 1;
        let (from, count) = self.keep(values)?;
        Ok(Stored::List(from, count))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Stored, A::Error> {
        self.enter()?;
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let name = self.name(&name)?;
            let value = map.next_value_seed(&mut *self)?;
            self.take_entry()?;
            members.push(Entry { name, value });
        }
        self.depth -= 1;
        // Of members with the same name, the last one counts.
        members.reverse();
        members.sort_by(|left, right| self.text_of(left).cmp(self.text_of(right)));
        members.dedup_by_key(|member| member.name);
        let (from, count) = self.keep(members)?;
        Ok(Stored::Object(from, count))
    }
}
