//! Tests of messages written and read, compared with prost-reflect's, and of malformed bytes.

use super::{GivenMessage, decode, decode_any_message, encode};
use crate::limits::{Budget, VmLimits};
use crate::plan_files::Schema;
use mlua::{IntoLua as _, Lua, LuaOptions, StdLib, Table, Value};
use prost_reflect::prost::Message as _;
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, Kind, MessageDescriptor, ReflectMessage as _,
    Value as Field,
};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
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
    encoded(&table, &schema())
}

fn encoded(table: &Value, message: &MessageDescriptor) -> Result<Vec<u8>, String> {
    let limits = VmLimits::new(Duration::from_secs(10), 64 << 20, Some(Arc::default()));
    let mut budget = Budget::new(1 << 20, &Rc::new(limits));
    let given = GivenMessage::table(table.clone());
    encode(&given, message, &mut budget)
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
    // A field of another kind than the schema's counts as unknown.
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

/// The descriptions of the files that a schema of the tests has.
fn descriptions() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/lua/protos");
    let mut compiler = protox::Compiler::new([folder]).expect("a folder");
    compiler.include_imports(true);
    compiler.open_file("kinds.proto").expect("a schema");
    let mut files: Vec<_> = compiler.file_descriptor_set().file;
    let old = protox::file::File::from_source("old.proto", SCHEMA).expect("a schema");
    files.push(old.file_descriptor_proto().clone());
    files.iter().map(|file| file.encode_to_vec()).collect()
}

/// Damages a description, or a part of one, in one place.
fn damage(random: &mut Xoshiro256PlusPlus, message: &mut DynamicMessage) {
    let fields: Vec<_> = message.descriptor().fields().collect();
    let field = &fields[random.random_range(0..fields.len())];
    let has_field = message.has_field(field);
    if !has_field && random.random_bool(0.7) {
        // Most are not set: another one.
        return damage(random, message);
    }
    if has_field && random.random_bool(0.1) {
        return message.clear_field(field);
    }
    let value = message.get_field_mut(field);
    match value {
        Field::List(values) => match (values.len(), random.random_range(0..4)) {
            (1.., 0) => {
                values.swap_remove(random.random_range(0..values.len()));
            }
            (1.., 1) => values.push(values[random.random_range(0..values.len())].clone()),
            (1.., 2) => {
                let place = random.random_range(0..values.len());
                replace(random, &mut values[place], &field.kind());
            }
            _ => {
                let mut value = Field::default_value(&field.kind());
                replace(random, &mut value, &field.kind());
                values.push(value);
            }
        },
        value => replace(random, value, &field.kind()),
    }
}

/// Replaces a value by another one of its kind that a description may have.
fn replace(random: &mut Xoshiro256PlusPlus, value: &mut Field, kind: &Kind) {
    const NUMBERS: [i32; 9] = [-1, 0, 1, 2, 8, 19_000, 536_870_911, i32::MAX, i32::MIN];
    const TEXTS: [&str; 16] = [
        "",
        ".",
        "..",
        "a.b",
        "All",
        ".test.v1.All",
        "test.v1.Number",
        ".test.v1.All.ByNameEntry",
        "Old",
        "key",
        "google.protobuf.Any",
        "google/protobuf/any.proto",
        "kinds.proto",
        "proto2",
        "editions",
        "\\x€\\777",
    ];
    match value {
        Field::Message(message) => damage(random, message),
        Field::Bool(flag) => *flag = !*flag,
        Field::I32(number) | Field::EnumNumber(number) if random.random_bool(0.5) => {
            *number = random.random_range(0..40);
        }
        Field::I32(number) | Field::EnumNumber(number) => {
            *number = NUMBERS[random.random_range(0..NUMBERS.len())];
        }
        Field::String(text) => TEXTS[random.random_range(0..TEXTS.len())].clone_into(text),
        value => *value = Field::default_value(kind),
    }
}

#[test]
fn no_description_of_a_server_makes_anything_panic() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(63);
    let lua = lua();
    let whole = descriptions();
    let kind = DescriptorPool::global().get_message_by_name("google.protobuf.FileDescriptorProto");
    let kind = kind.expect("it is one of Google's own types");
    let (mut read, mut unread) = (0, 0);
    for case in 0..3_000 {
        let mut damaged = whole.clone();
        let place = random.random_range(0..damaged.len());
        let bytes = &mut damaged[place];
        match case % 4 {
            0 => {
                for _ in 0..random.random_range(1..4) {
                    let place = random.random_range(0..bytes.len());
                    bytes[place] = random.next_u32() as u8;
                }
            }
            1 => bytes.truncate(random.random_range(0..bytes.len())),
            _ => {
                let file = DynamicMessage::decode(kind.clone(), &bytes[..]);
                let mut file = file.expect("it is a description");
                for _ in 0..random.random_range(1..4) {
                    damage(&mut random, &mut file);
                }
                *bytes = file.encode_to_vec();
            }
        }
        let schema = Schema::of_descriptions(&damaged, Vec::new());
        match schema.methods.len() {
            0 => unread += 1,
            _ => read += 1,
        }
        let methods = schema.methods.values();
        let messages = methods.flat_map(|method| [&method.input, &method.output]);
        let messages: BTreeMap<_, _> = messages.map(|one| (one.full_name(), one)).collect();
        for message in messages.into_values() {
            let mut bytes = vec![0; random.random_range(0..200)];
            random.fill_bytes(&mut bytes);
            let _decoded = decode(&lua, message, &bytes);
            encode_and_decode(&lua, message);
        }
    }
    assert!(read > 500 && unread > 500, "{read} were read, {unread} not");
}

/// Encodes a message with one field after another, as far as that is possible, and decodes it.
fn encode_and_decode(lua: &Lua, message: &MessageDescriptor) {
    for field in message.fields() {
        let table = lua.create_table().expect("memory");
        let value = match field.kind() {
            Kind::Message(_) => Value::Table(lua.create_table().expect("memory")),
            Kind::String | Kind::Bytes => "a".into_lua(lua).expect("memory"),
            Kind::Bool => Value::Boolean(true),
            _ => Value::Integer(1),
        };
        let value = match field.cardinality() {
            Cardinality::Repeated => {
                let list = lua.create_table().expect("memory");
                list.raw_push(value).expect("memory");
                Value::Table(list)
            }
            _ => value,
        };
        table.raw_set(field.name(), value).expect("memory");
        if let Ok(bytes) = encoded(&Value::Table(table), message) {
            let decoded = decode(lua, message, &bytes);
            assert!(decoded.is_ok(), "{}: {decoded:?}", field.full_name());
        }
    }
}

#[test]
fn well_known_messages_have_the_forms_of_json_and_stay_what_they_are() {
    const FORMS: &str = r#"
        syntax = "proto3";
        import "google/protobuf/any.proto";
        import "google/protobuf/duration.proto";
        import "google/protobuf/field_mask.proto";
        import "google/protobuf/struct.proto";
        import "google/protobuf/timestamp.proto";
        message Forms {
          google.protobuf.Timestamp at = 1;
          google.protobuf.Duration took = 2;
          google.protobuf.FieldMask mask = 3;
          google.protobuf.Value value = 4;
          google.protobuf.Any any = 5;
          repeated google.protobuf.Value values = 6;
          double number = 7;
        }
    "#;
    struct Only;
    impl protox::file::FileResolver for Only {
        fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
            match name {
                "forms.proto" => protox::file::File::from_source(name, FORMS),
                _ => protox::file::GoogleFileResolver::new().open_file(name),
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Only);
    compiler
        .include_imports(true)
        .open_file("forms.proto")
        .expect("a schema");
    let pool = compiler.descriptor_pool();
    let message = pool.get_message_by_name("Forms").expect("a message");
    let lua = lua();
    let bytes = |table: &str| {
        let table: Value = lua.load(format!("return {table}")).eval().expect("a table");
        encoded(&table, &message)
    };
    // What another library reads, as text.
    let seen = |table: &str| {
        let bytes = bytes(table).unwrap_or_else(|error| panic!("{table}: {error}"));
        let read = DynamicMessage::decode(message.clone(), &bytes[..]).expect("they read it");
        read.to_string()
    };
    for (table, expected) in [
        (
            "{ at = 1700000000.123 }",
            "at{seconds:1700000000,nanos:123000000}",
        ),
        ("{ at = 1.001 }", "at{seconds:1,nanos:1000000}"),
        (
            "{ at = 1700000000.999999 }",
            "at{seconds:1700000000,nanos:999999000}",
        ),
        ("{ at = 0.1 }", "at{nanos:100000000}"),
        ("{ at = -0.25 }", "at{seconds:-1,nanos:750000000}"),
        ("{ at = 5 }", "at{seconds:5}"),
        (
            "{ at = { seconds = 1, nanos = 2 } }",
            "at{seconds:1,nanos:2}",
        ),
        (
            "{ at = '2024-01-01T00:00:00.5Z' }",
            "at{seconds:1704067200,nanos:500000000}",
        ),
        (
            "{ at = '2024-01-01T01:00:00+01:00' }",
            "at{seconds:1704067200}",
        ),
        (
            "{ at = '9999-12-31T23:59:59.999999999Z' }",
            "at{seconds:253402300799,nanos:999999999}",
        ),
        (
            "{ at = '0001-01-01T00:00:00.123Z' }",
            "at{seconds:-62135596800,nanos:123000000}",
        ),
        ("{ number = 'NaN' }", "number:NaN"),
        ("{ number = '-Infinity' }", "number:-inf"),
        ("{ number = '1e3' }", "number:1000.0"),
        ("{ took = '1.5s' }", "took{seconds:1,nanos:500000000}"),
        ("{ took = '-0.000000001s' }", "took{nanos:-1}"),
        ("{ took = -1.5 }", "took{seconds:-1,nanos:-500000000}"),
        (
            "{ mask = 'a,fooBar.b' }",
            "mask{paths:[\"a\",\"foo_bar.b\"]}",
        ),
        ("{ mask = { 'a', 'b_c' } }", "mask{paths:[\"a\",\"b_c\"]}"),
        ("{ mask = { paths = { 'a' } } }", "mask{paths:[\"a\"]}"),
        ("{ any = {} }", "any{}"),
    ] {
        assert_eq!(seen(table), expected, "{table}");
    }
    for (table, told) in [
        (
            "{ at = 'yesterday' }",
            "or a text such as \"2026-11-30T06:45:10.5Z\", not \"yesterday\"",
        ),
        (
            "{ took = '1.5' }",
            "or a text such as \"1.5s\", not \"1.5\"",
        ),
        ("{ took = 1e300 }", "must be a number of seconds"),
        (
            "{ at = '2024-01-01T00:00:00' }",
            "must be a number of seconds",
        ),
        ("{ number = 'nan' }", "must be a number, not \"nan\""),
        ("{ number = '1e999' }", "must be a number, not \"1e999\""),
        ("{ at = 0/0 }", "must be a number of seconds"),
        ("{ mask = 7 }", "must be a list of paths"),
    ] {
        let error = bytes(table).expect_err(table);
        assert!(error.contains(told), "{table}: {error}");
    }
    // What comes goes back as it came.
    let lists = DynamicMessage::parse_text_format(
        message.clone(),
        "value { list_value {} } any {} values { struct_value {} } values { list_value { values { list_value {} } } }",
    );
    let sent = lists.expect("they read their own").encode_to_vec();
    let table = decode(&lua, &message, &sent).expect("a message");
    assert_eq!(encoded(&table, &message), Ok(sent));
}
