//! The reader of schemas that a server of gRPC sends of itself: descriptions of files, in Protocol Buffers
//! (`google/protobuf/descriptor.proto`).

use super::{Reader, assert_bounded};
use lgoose_lua::read_any_descriptions;

/// Encodes a field that has a length.
fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut encoded = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        encoded.push(length as u8 | 0x80);
        length >>= 7;
    }
    encoded.push(length as u8);
    encoded.extend_from_slice(bytes);
    encoded
}

fn all(parts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    parts.flatten().collect()
}

/// Encodes a field that is a number.
fn number(field: u8, mut number: usize) -> Vec<u8> {
    let mut encoded = vec![field << 3];
    while number > 0x7f {
        encoded.push(number as u8 | 0x80);
        number >>= 7;
    }
    encoded.push(number as u8);
    encoded
}

/// Encodes a file of that name and package with these parts, after its length.
fn file(name: usize, package: &str, parts: &[u8]) -> Vec<u8> {
    let name = format!("{name}.proto");
    let head = [
        part(1, name.as_bytes()),
        part(2, package.as_bytes()),
        part(12, b"proto3"),
    ];
    let file = [&head.concat(), parts].concat();
    [&(file.len() as u32).to_be_bytes()[..], &file].concat()
}

fn message(name: usize, parts: &[u8]) -> Vec<u8> {
    part(
        4,
        &[&part(1, format!("M{name}").as_bytes()), parts].concat(),
    )
}

/// Encodes a field of a message of the type `int32`, or of a type that is not there.
fn field(name: usize, is_right: bool) -> Vec<u8> {
    let kind = if is_right {
        number(5, 5)
    } else {
        [number(5, 11), part(6, b".no.Such")].concat()
    };
    let named = part(1, format!("f{name}").as_bytes());
    part(
        2,
        &[named, number(3, 20_000 + name), number(4, 1), kind].concat(),
    )
}

/// Encodes a range of numbers in the list that has this number in a message.
fn range(list: u8, place: usize) -> Vec<u8> {
    part(
        list,
        &[
            number(1, 1_000_000 + 2 * place),
            number(2, 1_000_001 + 2 * place),
        ]
        .concat(),
    )
}

const READERS: &[Reader] = &[
    Reader {
        name: "ranges of reserved numbers and extensions",
        bound: "linear",
        size: 2_000,
        input: |n| {
            let ranges = (0..n).map(|place| [range(9, place), range(5, n + place)].concat());
            let parts = [all(ranges), all((0..n).map(|name| field(name, true)))].concat();
            file(0, "a", &message(0, &parts))
        },
        read: read_any_descriptions,
    },
    Reader {
        name: "messages",
        bound: "linear",
        size: 1_000,
        input: |n| {
            file(
                0,
                "a",
                &all((0..n).map(|name| message(name, &field(0, true)))),
            )
        },
        read: read_any_descriptions,
    },
    Reader {
        name: "wrong files of many packages",
        bound: "50,000,000",
        size: 100,
        input: |n| {
            let one = |name| {
                let package = format!("a.p{name}");
                file(name, &package, &message(0, &field(0, name % 2 == 0)))
            };
            all((0..n).map(one))
        },
        read: read_any_descriptions,
    },
    Reader {
        name: "wrong files beside one of many names",
        bound: "50,000,000",
        size: 100,
        input: |n| {
            let names = file(
                0,
                "a",
                &message(0, &all((0..20 * n).map(|name| field(name, true)))),
            );
            let wrong = (1..n).map(|name| file(name, "b", &message(0, &field(0, false))));
            [names, all(wrong)].concat()
        },
        read: read_any_descriptions,
    },
    Reader {
        name: "files that import each other one after another",
        bound: "1,000,000",
        size: 180,
        input: |n| {
            let one = |name: usize| {
                let import = part(3, format!("{}.proto", name + 1).as_bytes());
                let import = if name + 1 < n {
                    [import, number(10, 0)].concat()
                } else {
                    Vec::new()
                };
                file(
                    name,
                    "a",
                    &[import, message(name, &field(0, true))].concat(),
                )
            };
            all((0..n).map(one))
        },
        read: read_any_descriptions,
    },
    Reader {
        name: "messages within each other",
        bound: "100",
        size: 50,
        input: |n| {
            let mut inner = Vec::new();
            for name in 0..n {
                let named = part(1, format!("M{name}").as_bytes());
                inner = part(3, &[named, inner].concat());
            }
            file(0, "a", &message(0, &inner))
        },
        read: read_any_descriptions,
    },
];

#[test]
fn schemas_of_servers_are_read_in_proportion_to_their_size() {
    assert_bounded(READERS);
}
