//! Tests with descriptions that are wrong in one way each, beside a correct one.

use super::read_descriptions;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::field_descriptor_proto::Label;
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto,
    MessageOptions, MethodDescriptorProto, ServiceDescriptorProto,
};

/// The numbers of the types of fields.
const INT32: i32 = 5;
const TEXT: i32 = 9;
const MESSAGE: i32 = 11;
const ENUM: i32 = 14;

fn field(name: &str, number: i32, kind: i32, type_name: &str) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(kind),
        type_name: Some(type_name.to_owned()).filter(|name| !name.is_empty()),
        ..FieldDescriptorProto::default()
    }
}

fn message(name: &str, fields: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto {
        name: Some(name.to_owned()),
        field: fields,
        ..DescriptorProto::default()
    }
}

/// Describes `NAME.proto` with the service `NAME.S`, whose messages are `NAME.M`.
fn file(name: &str, imports: &[&str]) -> FileDescriptorProto {
    let method = MethodDescriptorProto {
        name: Some("Call".to_owned()),
        input_type: Some(format!(".{name}.M")),
        output_type: Some(format!(".{name}.M")),
        ..MethodDescriptorProto::default()
    };
    FileDescriptorProto {
        name: Some(format!("{name}.proto")),
        package: Some(name.to_owned()),
        dependency: imports
            .iter()
            .map(|import| format!("{import}.proto"))
            .collect(),
        message_type: vec![message("M", vec![field("text", 1, TEXT, "")])],
        service: vec![ServiceDescriptorProto {
            name: Some("S".to_owned()),
            method: vec![method],
            options: None,
        }],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

/// Describes `a.proto`, after a change.
fn changed(change: impl FnOnce(&mut FileDescriptorProto)) -> FileDescriptorProto {
    let mut file = file("a", &[]);
    change(&mut file);
    file
}

/// Describes `a.proto` with a further field in its message.
fn with_field(field: FieldDescriptorProto) -> FileDescriptorProto {
    changed(|file| file.message_type[0].field.push(field))
}

/// Describes `a.proto` with a map whose entry has these fields.
fn with_entry(fields: Vec<FieldDescriptorProto>) -> FileDescriptorProto {
    let mut map = field("map", 2, MESSAGE, ".a.M.MapEntry");
    map.label = Some(Label::Repeated.into());
    let mut file = with_field(map);
    let mut entry = message("MapEntry", fields);
    entry.options = Some(MessageOptions {
        map_entry: Some(true),
        ..MessageOptions::default()
    });
    file.message_type[0].nested_type.push(entry);
    file
}

/// Returns the services that can be called, and those that cannot, each with the reason.
fn services(files: &[FileDescriptorProto]) -> (Vec<String>, Vec<String>) {
    let bytes: Vec<_> = files.iter().map(|file| file.encode_to_vec()).collect();
    let described = read_descriptions(&bytes);
    assert_eq!(described.undecoded, None);
    let read = described.pool.services();
    let read = read.map(|service| service.full_name().to_owned()).collect();
    let unread = described.unread_services.into_iter();
    let unread = unread.map(|(service, reason)| format!("{service}: {reason}"));
    (read, unread.collect())
}

/// The expected reading of `a.proto`: everything, or nothing for a reason that ends so.
#[test]
fn a_file_that_is_wrong_is_left_out_by_name_and_the_one_beside_it_is_read() {
    let text = |name, number| field(name, number, TEXT, "");
    let mut repeated_key = text("key", 1);
    repeated_key.label = Some(Label::Repeated.into());
    let extension = FieldDescriptorProto {
        extendee: Some(".a.Missing".to_owned()),
        ..text("more", 100)
    };
    let cases: Vec<(FileDescriptorProto, &str)> = vec![
        (changed(|_| {}), ""),
        (changed(|file| file.syntax = None), ""),
        (changed(|file| file.syntax = Some(String::new())), ""),
        (
            changed(|file| file.syntax = Some("proto4".to_owned())),
            "the syntax 'proto4', which is not known",
        ),
        (
            changed(|file| file.package = Some("a..b".to_owned())),
            "the package 'a..b', whose name is invalid",
        ),
        (
            changed(|file| file.package = Some("a.".repeat(3000) + "a")),
            "whose name is invalid",
        ),
        (
            changed(|file| file.message_type[0].name = None),
            "the name '', which is invalid",
        ),
        (
            changed(|file| file.message_type[0].name = Some("a.b".to_owned())),
            "the name 'a.b', which is invalid",
        ),
        (
            changed(|file| file.service[0].method[0].name = Some("é".to_owned())),
            "the name 'é', which is invalid",
        ),
        (
            changed(|file| file.service[0].method[0].input_type = None),
            "is wrong: name '' is not defined",
        ),
        (
            changed(|file| file.service[0].method[0].output_type = Some(".a.S".to_owned())),
            "is wrong: 'a.S' is not a message type",
        ),
        (
            changed(|file| file.message_type.push(message("M", Vec::new()))),
            "is wrong: name 'a.M' is defined twice",
        ),
        (
            with_field(text("text", 2)),
            "is wrong: camel-case name of field 'text' conflicts",
        ),
        (
            with_field(text("other", 1)),
            "is wrong: field number '1' is already used",
        ),
        (
            with_field(text("zero", 0)),
            "is wrong: invalid field number '0'",
        ),
        (
            with_field(text("negative", -1)),
            "is wrong: invalid field number '-1'",
        ),
        (
            with_field(text("large", 536_870_912)),
            "is wrong: invalid field number '536870912'",
        ),
        (
            with_field(text("reserved", 19_000)),
            "is wrong: invalid field number '19000'",
        ),
        (
            with_field(field("kind", 2, 99, "")),
            "the field 'kind' of no known type",
        ),
        (
            with_field(FieldDescriptorProto {
                r#type: None,
                ..text("kind", 2)
            }),
            "the field 'kind' of no known type",
        ),
        (
            with_field(FieldDescriptorProto {
                label: Some(7),
                ..text("label", 2)
            }),
            "the field 'label' of no known type",
        ),
        (
            with_field(field("missing", 2, MESSAGE, "")),
            "is wrong: missing required field at",
        ),
        (
            with_field(field("missing", 2, MESSAGE, ".a.Missing")),
            "is wrong: name '.a.Missing' is not defined",
        ),
        (
            with_field(field("missing", 2, MESSAGE, ".")),
            "is wrong: name '.' is not defined",
        ),
        (
            with_field(field("service", 2, MESSAGE, ".a.S")),
            "is wrong: 'a.S' is not a message or enum type",
        ),
        (
            with_field(FieldDescriptorProto {
                oneof_index: Some(3),
                ..text("one", 2)
            }),
            "is wrong: invalid oneof index",
        ),
        (with_entry(vec![text("key", 1), text("value", 2)]), ""),
        (
            with_entry(vec![
                field("key", 1, INT32, ""),
                field("value", 2, MESSAGE, ".a.M"),
            ]),
            "",
        ),
        (
            with_entry(Vec::new()),
            "the map entry 'MapEntry' without a key and a value",
        ),
        (
            with_entry(vec![text("key", 1)]),
            "the map entry 'MapEntry' without a key and a value",
        ),
        (
            with_entry(vec![text("value", 2)]),
            "the map entry 'MapEntry' without a key and a value",
        ),
        (
            with_entry(vec![field("key", 1, MESSAGE, ".a.M"), text("value", 2)]),
            "without a key and a value",
        ),
        (
            with_entry(vec![field("key", 1, 1, ""), text("value", 2)]),
            "without a key and a value",
        ),
        (
            with_entry(vec![repeated_key, text("value", 2)]),
            "without a key and a value",
        ),
        (
            with_field(field("kind", 2, ENUM, ".a.E")),
            "is wrong: name '.a.E' is not defined",
        ),
        (
            changed(|file| {
                file.enum_type.push(EnumDescriptorProto {
                    name: Some("E".to_owned()),
                    ..EnumDescriptorProto::default()
                })
            }),
            "is wrong: enums must have at least one value",
        ),
        // Parts that do not affect the encoding do not matter.
        (changed(|file| file.extension.push(extension)), ""),
        (
            with_field(FieldDescriptorProto {
                default_value: Some("\\x€€".to_owned()),
                ..field("bytes", 2, 12, "")
            }),
            "",
        ),
        (
            with_field(FieldDescriptorProto {
                default_value: Some("\\777".to_owned()),
                ..field("bytes", 2, 12, "")
            }),
            "",
        ),
        (changed(|file| file.public_dependency = vec![7, -1]), ""),
        (
            changed(|file| file.dependency = vec!["missing.proto".to_owned()]),
            "",
        ),
    ];
    for (wrong, expected) in cases {
        let shown = format!("{wrong:?}");
        let shown: String = shown.chars().take(1000).collect();
        let (read, unread) = services(&[wrong, file("good", &[])]);
        if expected.is_empty() {
            assert_eq!((read.len(), unread), (2, Vec::new()), "{shown}");
            continue;
        }
        assert_eq!(read, ["good.S"], "{shown}");
        let [reason] = &unread[..] else {
            panic!("{unread:?}: {shown}");
        };
        assert!(
            reason.contains("'a.proto'") && reason.contains(expected),
            "{reason}: {shown}"
        );
    }
}

#[test]
fn editions_are_refused_with_what_needs_them() {
    // Field 14, which the types of `prost` lack.
    let numbers: [(&[u8], &str); 3] = [
        (&[0x70, 0xe9, 0x07], "edition 2024"),
        (&[0x70, 0x8f, 0x4e], "edition number 9999"),
        (&[], "edition number 0"),
    ];
    for (number, edition) in numbers {
        let new = changed(|file| file.syntax = Some("editions".to_owned()));
        let mut needs = file("needs", &["a"]);
        needs.message_type[0]
            .field
            .push(field("new", 2, MESSAGE, ".a.M"));
        let imports = file("imports", &["a"]);
        let mut by_way = file("by_way", &["needs"]);
        by_way.message_type[0]
            .field
            .push(field("new", 2, MESSAGE, ".needs.M"));
        let mut files: Vec<_> = [new, needs, imports, by_way, file("good", &[])]
            .map(|file| file.encode_to_vec())
            .to_vec();
        files[0].extend_from_slice(number);
        let described = read_descriptions(&files);
        let read: Vec<_> = described.pool.services().collect();
        let read: Vec<_> = read.iter().map(|service| service.full_name()).collect();
        assert_eq!(read, ["good.S", "imports.S"], "{edition}");
        let problem = format!(
            "has {edition} of Protocol Buffers, and lgoose reads proto2, proto3 and edition 2023"
        );
        let reason = |service: &str| described.unread_services[service].to_string();
        assert_eq!(reason("a.S"), format!("'a.proto' {problem}"));
        assert_eq!(
            reason("needs.S"),
            format!(
                "'needs.proto' is wrong: name '.a.M' is not defined; it lacks 'a.proto', which {problem}"
            )
        );
        assert_eq!(
            reason("by_way.S"),
            format!(
                "'by_way.proto' is wrong: name '.needs.M' is not defined; it lacks 'a.proto', which {problem}"
            )
        );
    }
}

#[test]
fn imports_are_followed_as_the_language_has_them() {
    let uses = |name: &str, imports: &[&str]| {
        let mut file = file(name, imports);
        file.message_type[0]
            .field
            .push(field("far", 2, MESSAGE, ".far.M"));
        file
    };
    let public = |name: &str, imports: &[&str]| FileDescriptorProto {
        public_dependency: (0..imports.len() as i32).collect(),
        ..file(name, imports)
    };
    let far = || file("far", &[]);
    // In any order, and over any number of public imports.
    let all = [
        uses("last", &["second"]),
        public("second", &["first", "first"]),
        public("first", &["far"]),
        far(),
    ];
    assert_eq!(services(&all).0.len(), 4);
    let (read, unread) = services(&[uses("last", &["first"]), file("first", &["far"]), far()]);
    assert_eq!(read, ["far.S", "first.S"]);
    assert!(
        unread[0].contains("name 'far.M' is not defined"),
        "{unread:?}"
    );
    let (read, unread) = services(&[uses("last", &["far"])]);
    assert!(read.is_empty());
    let expected = "last.S: 'last.proto' is wrong: name '.far.M' is not defined; it lacks 'far.proto', which the server does not describe";
    assert_eq!(unread, [expected]);
    for circle in [
        vec![public("a", &["a"])],
        vec![public("a", &["b"]), public("b", &["a"])],
        vec![
            file("a", &["b"]),
            file("b", &["c"]),
            public("c", &["a", "b"]),
        ],
        vec![file("a", &["b"]), public("b", &["c"]), public("c", &["b"])],
    ] {
        let (read, unread) = services(&[&circle[..], &[far()]].concat());
        assert_eq!(read, ["far.S"]);
        assert_eq!(unread.len(), circle.len());
        assert!(
            unread[0].ends_with("import each other in a circle"),
            "{unread:?}"
        );
    }
    // Each way to the same file doubles those to the one before it.
    let mut ways = vec![far()];
    for place in 0..60 {
        let before = match place {
            0 => "far".to_owned(),
            _ => format!("end{}", place - 1),
        };
        let (left, right) = (format!("left{place}"), format!("right{place}"));
        ways.push(public(&left, &[&before]));
        ways.push(public(&right, &[&before]));
        ways.push(public(&format!("end{place}"), &[&left, &right]));
    }
    assert_eq!(services(&ways).1, Vec::<String>::new());
}

#[test]
fn the_first_of_several_counts() {
    let mut other = file("a", &[]);
    other.message_type[0].field.clear();
    let (read, unread) = services(&[file("a", &[]), other]);
    assert_eq!((read.len(), unread.len()), (1, 0));
    let mut same_names = file("a", &[]);
    same_names.name = Some("other.proto".to_owned());
    let (read, unread) = services(&[same_names, file("a", &[])]);
    assert_eq!(read, ["a.S"]);
    assert!(unread[0].contains("is already defined in file 'other.proto'"));
    // Google's own files are those of lgoose, and nothing else has their names.
    let mut options = file("a", &[]);
    options.package = Some("google.protobuf".to_owned());
    options.message_type = vec![message("FieldOptions", vec![field("packed", 2, TEXT, "")])];
    let (read, unread) = services(&[options.clone(), file("good", &[])]);
    assert_eq!(read, ["good.S"]);
    assert!(unread[0].contains("'google.protobuf.FieldOptions' is already defined"));
    options.name = Some("google/protobuf/descriptor.proto".to_owned());
    let mut packed = field("numbers", 2, INT32, "");
    packed.label = Some(Label::Repeated.into());
    packed.options = Some(FieldOptions {
        packed: Some(false),
        ..FieldOptions::default()
    });
    let (read, unread) = services(&[options, with_field(packed)]);
    assert_eq!((&*read, unread.len()), (&["a.S".to_owned()][..], 0));
}

#[test]
fn bytes_that_are_no_description_are_noted() {
    let good = file("good", &[]).encode_to_vec();
    let whole = file("a", &[]).encode_to_vec();
    let mut not_utf8 = whole.clone();
    not_utf8[3] = 0xff;
    for wrong in [
        &whole[..whole.len() - 1],
        &whole[..5],
        &not_utf8,
        b"\xff",
        b"\x0a\x7fa",
    ] {
        let described = read_descriptions(&[wrong.to_vec(), good.clone()]);
        assert!(described.undecoded.is_some(), "{wrong:?}");
        assert_eq!(described.pool.services().len(), 1);
    }
}
