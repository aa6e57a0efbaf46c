//! Messages written and read, with prost-reflect's own as the judge, and bytes that are none.

use super::{decode, decode_any_message, encode};
use crate::lua::limits::{Budget, VmLimits};
use mlua::{Lua, LuaOptions, StdLib, Table, Value};
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, Value as Field};
use rand::{RngExt as _, SeedableRng as _};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const SCHEMA: &str = r#"
syntax = "proto2";

message Old {
  required int32 id = 1;
  optional string name = 2 [default = "none"];
  repeated group Part = 3 {
    optional bytes data = 4;
  }
  repeated sint64 packed = 5 [packed = true];
  repeated fixed32 loose = 6;
  optional Old inner = 7;
  map<string, double> prices = 8;
  oneof choice {
    bool yes = 9;
    uint64 number = 10;
  }
}
"#;

fn schema() -> MessageDescriptor {
    let file = protox::file::File::from_source("old.proto", SCHEMA).expect("a schema");
    let mut pool = DescriptorPool::new();
    let file = file.file_descriptor_proto().clone();
    pool.add_file_descriptor_proto(file).expect("a schema");
    pool.get_message_by_name("Old").expect("a message")
}

fn bytes_of(lua: &Lua, table: &str) -> Result<Vec<u8>, String> {
    let table: Value = lua.load(format!("return {table}")).eval().expect("a table");
    let limits = VmLimits::new(Duration::from_secs(10), 64 << 20, Some(Arc::default()));
    encode(
        &table,
        &schema(),
        &mut Budget::new(1 << 20, &Rc::new(limits)),
    )
}

fn lua() -> Lua {
    Lua::new_with(StdLib::NONE, LuaOptions::new()).expect("a VM")
}

#[test]
fn what_is_written_is_what_another_library_writes_and_reads_back() {
    let lua = lua();
    let table = "{ id = -1, name = '', part = { { data = 'a' }, {} }, packed = { 1, -1, 300 }, loose = { 1, 2 }, \
        inner = { id = 2, inner = { id = 3 } }, prices = { b = 1.5, a = 2 }, number = '18446744073709551615' }";
    let bytes = bytes_of(&lua, table).expect("a message");
    let read = DynamicMessage::decode(schema(), &bytes[..]).expect("they read it");
    let get = |name: &str| read.get_field_by_name(name).map(|value| value.into_owned());
    assert_eq!(get("id"), Some(Field::I32(-1)));
    assert_eq!(get("name"), Some(Field::String(String::new())));
    assert_eq!(get("number"), Some(Field::U64(u64::MAX)));
    let packed = [1, -1, 300].map(Field::I64);
    assert_eq!(get("packed"), Some(Field::List(packed.to_vec())));
    let again = decode(&lua, &schema(), &bytes).expect("a message");
    let Value::Table(again) = again else {
        panic!("a table");
    };
    let number: String = again.raw_get("number").expect("a text");
    assert_eq!(number, "18446744073709551615");
    let parts: Table = again.raw_get("part").expect("a list");
    let first: Table = parts.raw_get(1).expect("a group");
    assert_eq!(first.raw_get::<String>("data").expect("bytes"), "a");
    assert_eq!(parts.raw_len(), 2);
    let inner: Table = again.raw_get("inner").expect("a message");
    assert_eq!(inner.raw_get::<i64>("id").expect("a number"), 2);
    assert_eq!(
        bytes_of(&lua, table).expect("a message"),
        bytes,
        "the same each time"
    );
    let theirs = prost_reflect::prost::Message::encode_to_vec(&read);
    assert_eq!(theirs.len(), bytes.len());
}

#[test]
fn a_message_that_comes_in_two_parts_is_joined_and_the_last_of_several_counts() {
    let lua = lua();
    let one = bytes_of(
        &lua,
        "{ id = 1, inner = { id = 5, packed = { 1 } }, yes = true }",
    );
    let two = bytes_of(
        &lua,
        "{ id = 2, inner = { id = 6, packed = { 2 } }, number = 7 }",
    );
    let both = [one.expect("a message"), two.expect("a message")].concat();
    let Ok(Value::Table(table)) = decode(&lua, &schema(), &both) else {
        panic!("a table");
    };
    assert_eq!(table.raw_get::<i64>("id").expect("a number"), 2);
    assert_eq!(table.raw_get::<Value>("yes").expect("nothing"), Value::Nil);
    let inner: Table = table.raw_get("inner").expect("a message");
    assert_eq!(inner.raw_get::<i64>("id").expect("a number"), 6);
    assert_eq!(
        inner.raw_get::<Table>("packed").expect("a list").raw_len(),
        2
    );
}

#[test]
fn no_bytes_break_a_rule() {
    let lua = lua();
    let table = "{ id = 1, name = 'x', part = { {} }, packed = { 1 }, inner = { id = 2 }, prices = { a = 2 }, yes = true }";
    let bytes = bytes_of(&lua, table).expect("a message");
    let schema = schema();
    let mut random = rand::rngs::StdRng::seed_from_u64(7);
    for _ in 0..20_000 {
        let mut changed = bytes.clone();
        for _ in 0..random.random_range(1..4) {
            let place = random.random_range(0..changed.len());
            changed[place] = random.random();
        }
        changed.truncate(random.random_range(0..=changed.len()));
        let _decoded = decode(&lua, &schema, &changed);
    }
    let nested = [0x3a_u8, 0x02].repeat(10_000);
    assert!(decode(&lua, &schema, &nested).is_err());
    // A field of another kind than the schema's is one that is not known.
    let Ok(Value::Table(table)) = decode(&lua, &schema, b"\x0a\x01a\x12\x01b") else {
        panic!("a table");
    };
    assert_eq!(table.raw_get::<Value>("id").expect("nothing"), Value::Nil);
    assert_eq!(table.raw_get::<String>("name").expect("a text"), "b");
    for bytes in [
        &b"\x0b"[..],
        &[0x0b; 5000],
        &[0xff; 20],
        &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
    ] {
        decode_any_message(bytes);
    }
}
