//! Files of edition 2023 as files of proto2 or proto3 that encode the same messages alike. What an edition says by features of
//! a field, those say by its type and its options. Features that do not affect the encoding are dropped.

use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto,
    MessageOptions, UninterpretedOption,
};
use prost_reflect::{DynamicMessage, Kind, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// Files with features for the code of other languages.
const LANGUAGE_FEATURES: [&str; 3] = [
    "google/protobuf/cpp_features.proto",
    "google/protobuf/go_features.proto",
    "google/protobuf/java_features.proto",
];

/// How a field is encoded, as far as features say it.
#[derive(Debug, Clone, Copy)]
struct Features {
    /// Whether it has no presence.
    is_implicit: bool,
    is_required: bool,
    is_packed: bool,
    /// Whether its messages are groups.
    is_delimited: bool,
}

impl Features {
    /// Those of a file that says nothing.
    const USUAL: Features = Features {
        is_implicit: false,
        is_required: false,
        is_packed: true,
        is_delimited: false,
    };

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "field_presence" => {
                self.is_implicit = value == "IMPLICIT";
                self.is_required = value == "LEGACY_REQUIRED";
            }
            "repeated_field_encoding" => self.is_packed = value == "PACKED",
            "message_encoding" => self.is_delimited = value == "DELIMITED",
            _ => {}
        }
    }

    /// Returns them with the changes that the options of something described have.
    fn described(mut self, of: Option<&DynamicMessage>) -> Features {
        let options = of.and_then(|of| of.get_field_by_name("options"));
        let options = options.as_deref().and_then(Value::as_message);
        let features = options.and_then(|options| options.get_field_by_name("features"));
        let features = features.as_deref().and_then(Value::as_message);
        for (field, value) in features.iter().flat_map(|features| features.fields()) {
            if let (Kind::Enum(names), Value::EnumNumber(number)) = (field.kind(), value)
                && let Some(value) = names.get_value(*number)
            {
                self.set(field.name(), value.name());
            }
        }
        self
    }

    /// Takes the features out of the options of a text, and returns these with their changes.
    fn taken(mut self, options: &mut Vec<UninterpretedOption>) -> Features {
        options.retain(|option| {
            let mut parts = option.name.iter().map(|part| part.name_part.as_str());
            if parts.next() != Some("features") {
                return true;
            }
            match (parts.next(), &option.identifier_value) {
                (Some(name), Some(value)) => self.set(name, value),
                _ => {
                    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    let text = option.aggregate_value.as_deref().unwrap_or_default();
                    let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
                    let words: Vec<_> = words.collect();
                    for pair in words.windows(2) {
                        self.set(pair[0], pair[1]);
                    }
                }
            }
            false
        });
        self
    }
}

/// Makes a file of edition 2023 one of another syntax. `described` is the same file with its features, unless they are among
/// the options of its text.
///
/// # Errors
/// The problem with it, as the predicate of a sentence.
pub(in crate::plan_files) fn lower(
    file: &mut FileDescriptorProto,
    described: Option<&DynamicMessage>,
) -> Result<(), String> {
    let mut features = Features::USUAL.described(described);
    if let Some(options) = &mut file.options {
        features = features.taken(&mut options.uninterpreted_option);
    }
    if described.is_none() && features.is_delimited {
        return Err(
            "has the feature 'message_encoding' for all its fields, which lgoose reads of single fields"
                .to_owned(),
        );
    }
    if file.public_dependency.is_empty() && file.weak_dependency.is_empty() {
        let is_needed = |name: &String| !LANGUAGE_FEATURES.contains(&name.as_str());
        file.dependency.retain(is_needed);
    }
    let mut lowering = Lowering {
        has_implicit: false,
    };
    for (place, message) in file.message_type.iter_mut().enumerate() {
        lowering.message(message, part(described, "message_type", place), features);
    }
    for (place, field) in file.extension.iter_mut().enumerate() {
        let described = part(described, "extension", place);
        lowering.field(field, described, features, false);
    }
    file.enum_type.iter_mut().for_each(drop_from_enum);
    for service in &mut file.service {
        if let Some(options) = &mut service.options {
            features.taken(&mut options.uninterpreted_option);
        }
        let options = service.method.iter_mut().flat_map(|one| &mut one.options);
        for options in options {
            features.taken(&mut options.uninterpreted_option);
        }
    }
    // Only in proto2 may an enumeration begin with another value than 0, and only in proto3 has a field no presence.
    let syntax = if lowering.has_implicit {
        "proto3"
    } else {
        "proto2"
    };
    file.syntax = Some(syntax.to_owned());
    Ok(())
}

/// Returns one of the parts of something described.
fn part<'a>(
    of: Option<&'a DynamicMessage>,
    list: &str,
    place: usize,
) -> Option<&'a DynamicMessage> {
    match of?.get_field_by_name(list)? {
        Cow::Borrowed(list) => list.as_list()?.get(place)?.as_message(),
        // It is not set.
        Cow::Owned(_) => None,
    }
}

fn drop_from_enum(of: &mut EnumDescriptorProto) {
    if let Some(options) = &mut of.options {
        Features::USUAL.taken(&mut options.uninterpreted_option);
    }
    for options in of.value.iter_mut().flat_map(|value| &mut value.options) {
        Features::USUAL.taken(&mut options.uninterpreted_option);
    }
}

struct Lowering {
    /// Whether some field has no presence.
    has_implicit: bool,
}

impl Lowering {
    fn message(
        &mut self,
        message: &mut DescriptorProto,
        described: Option<&DynamicMessage>,
        mut features: Features,
    ) {
        features = features.described(described);
        if let Some(options) = &mut message.options {
            features = features.taken(&mut options.uninterpreted_option);
        }
        let is_entry = |message: &DescriptorProto| {
            let options = message.options.as_ref();
            options.is_some_and(MessageOptions::map_entry)
        };
        if is_entry(message) {
            return;
        }
        let entries = message.nested_type.iter().filter(|one| is_entry(one));
        let entries: HashSet<String> = entries.map(|one| one.name().to_owned()).collect();
        for oneof in &mut message.oneof_decl {
            if let Some(options) = &mut oneof.options {
                features.taken(&mut options.uninterpreted_option);
            }
        }
        for (place, field) in message.field.iter_mut().enumerate() {
            let kind = field.type_name().rsplit('.').next().unwrap_or_default();
            let is_map = entries.contains(kind);
            let described = part(described, "field", place);
            self.field(field, described, features, is_map);
        }
        for (place, nested) in message.nested_type.iter_mut().enumerate() {
            let described = part(described, "nested_type", place);
            self.message(nested, described, features);
        }
        for (place, field) in message.extension.iter_mut().enumerate() {
            let described = part(described, "extension", place);
            self.field(field, described, features, false);
        }
        message.enum_type.iter_mut().for_each(drop_from_enum);
    }

    fn field(
        &mut self,
        field: &mut FieldDescriptorProto,
        described: Option<&DynamicMessage>,
        mut features: Features,
        is_map: bool,
    ) {
        let of_file = features;
        features = features.described(described);
        if let Some(options) = &mut field.options {
            features = features.taken(&mut options.uninterpreted_option);
        }
        let is_message = match field.r#type {
            // A text does not say what a name stands for; only messages have this feature.
            None => features.is_delimited && !of_file.is_delimited,
            Some(_) => field.r#type() == Type::Message,
        };
        if is_message && features.is_delimited && !is_map {
            field.r#type = Some(Type::Group.into());
        }
        if field.label() == Label::Repeated {
            let is_text =
                field.r#type.is_some() && matches!(field.r#type(), Type::String | Type::Bytes);
            if !is_message && !is_text && !is_map {
                let options = field.options.get_or_insert_with(FieldOptions::default);
                options.packed = Some(features.is_packed);
            }
        } else if features.is_required {
            field.label = Some(Label::Required.into());
            field.proto3_optional = Some(true);
        } else if !is_message && field.oneof_index.is_none() {
            self.has_implicit |= features.is_implicit;
            field.proto3_optional = Some(!features.is_implicit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost_reflect::prost::Message as _;
    use prost_reflect::{DescriptorPool, MessageDescriptor};
    use protox::file::File;

    const TEXT: &str = r#"
        syntax = "proto3";
        import "google/protobuf/go_features.proto";
        option features.(pb.go).api_level = API_OPAQUE;
        message A {
          string set = 1;
          string plain = 2 [features.field_presence = IMPLICIT];
          string needed = 3 [features.field_presence = LEGACY_REQUIRED];
          repeated int32 packed = 4;
          repeated int32 loose = 5 [features.repeated_field_encoding = EXPANDED];
          A group = 6 [features.message_encoding = DELIMITED];
          A nested = 7;
          map<int32, A> entries = 8;
          oneof choice {
            option features.(x).y = Z;
            bool one = 9;
          }
        }
        enum E {
          option features = { enum_type: CLOSED };
          ZERO = 0 [features.x = Y];
        }
"#;

    fn message(file: FileDescriptorProto) -> MessageDescriptor {
        let mut pool = DescriptorPool::new();
        pool.add_file_descriptor_proto(file).expect("a file");
        pool.get_message_by_name("A").expect("a message")
    }

    #[test]
    fn features_of_a_text_become_types_and_options() {
        let file = File::from_source("a.proto", TEXT).expect("a file");
        let mut file = file.file_descriptor_proto().clone();
        lower(&mut file, None).expect("it can be read");
        assert_eq!(file.syntax(), "proto3");
        let message = message(file);
        let with = |is: fn(&prost_reflect::FieldDescriptor) -> bool| {
            let fields = message.fields().filter(is);
            fields.map(|field| field.number()).collect::<Vec<_>>()
        };
        assert_eq!(with(|field| field.supports_presence()), [1, 3, 6, 7, 9]);
        assert_eq!(with(|field| field.is_packed()), [4]);
        assert_eq!(with(|field| field.is_group()), [6]);
        assert_eq!(with(|field| field.is_map()), [8]);
        let of_one = |field: prost_reflect::FieldDescriptor| {
            let oneof = field.containing_oneof();
            oneof.is_some_and(|oneof| !oneof.is_synthetic())
        };
        assert_eq!(
            message
                .fields()
                .filter(|field| of_one(field.clone()))
                .count(),
            1
        );
    }

    #[test]
    fn a_feature_that_needs_the_types_of_all_fields_is_refused_in_a_text() {
        let text = "syntax = \"proto3\"; option features.message_encoding = DELIMITED;";
        let file = File::from_source("a.proto", text).expect("a file");
        let problem = lower(&mut file.file_descriptor_proto().clone(), None);
        assert!(problem.is_err_and(|problem| problem.contains("'message_encoding'")));
    }

    #[test]
    fn features_that_a_server_describes_count_alike() {
        let nested = |tag: u8, bytes: &[u8]| [&[tag << 3 | 2, bytes.len() as u8], bytes].concat();
        // A number and a name, one value, and a type; the options of a field have features as field 21.
        let field = |number: u8, kind: u8, more: &[u8]| {
            let name = nested(1, &[b'a' + number]);
            let rest = [0x18, number, 0x20, 1, 0x28, kind];
            nested(2, &[&name[..], &rest, more].concat())
        };
        let features = |features: &[u8]| [&[0xaa, 1, features.len() as u8], features].concat();
        let implicit = nested(8, &features(&[8, 2]));
        let fields = [
            field(1, 9, &[]),
            field(2, 9, &implicit),
            field(3, 11, b"\x32\x02.A"),
        ];
        let message_type = nested(4, &[nested(1, b"A"), fields.concat()].concat());
        // Messages are groups in all of the file.
        let options = nested(8, &[&[0x92, 3, 2][..], &[0x28, 2]].concat());
        let bytes = [nested(1, b"a.proto"), message_type, options].concat();
        let kind =
            DescriptorPool::global().get_message_by_name("google.protobuf.FileDescriptorProto");
        let described = DynamicMessage::decode(kind.expect("it is there"), &bytes[..]);
        let mut file = FileDescriptorProto::decode(&bytes[..]).expect("a file");
        lower(&mut file, Some(&described.expect("a file"))).expect("it can be read");
        let message = message(file);
        let field = |number| message.get_field(number).expect("a field");
        assert!(field(1).supports_presence() && !field(2).supports_presence());
        assert!(field(3).is_group());
    }
}
