//! A description of a file reduced to the encoding of its messages: names, numbers and types, without the parts for
//! compilers, such as defaults, extensions and nearly all options.

use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumOptions, EnumValueDescriptorProto,
    FieldDescriptorProto, FieldOptions, FileDescriptorProto, MessageOptions, MethodDescriptorProto,
    OneofDescriptorProto, ServiceDescriptorProto,
};

/// The most parts of the name of a package.
const MAX_PACKAGE_PARTS: usize = 100;

/// The memory that names may still take.
pub(super) struct NameRoom {
    remaining: usize,
    names: usize,
}

impl NameRoom {
    pub(super) fn new(bytes: usize) -> NameRoom {
        NameRoom {
            remaining: bytes,
            names: 0,
        }
    }

    /// Returns the number of names that have taken some.
    pub(super) fn names(&self) -> usize {
        self.names
    }

    /// Takes memory for names.
    ///
    /// # Errors
    /// There is not enough.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), String> {
        let rest = self.remaining.checked_sub(bytes);
        self.remaining = rest.ok_or("has longer names than there is room for")?;
        self.names += 1;
        Ok(())
    }
}

/// Reduces a file of proto2 or proto3, or one that was made such, without its imports.
///
/// # Errors
/// The problem with it, as the predicate of a sentence.
pub(super) fn reduce(
    file: &FileDescriptorProto,
    room: &mut NameRoom,
) -> Result<FileDescriptorProto, String> {
    check_maps(&file.message_type)?;
    let package = file.package();
    let parts = package.split('.').count();
    let is_package = package.is_empty() || package.split('.').all(is_identifier);
    if parts > MAX_PACKAGE_PARTS || !is_package {
        return Err(format!(
            "has the package '{package}', whose name is invalid"
        ));
    }
    // The pool has the names of all packages around it, too.
    room.take(package.len() * parts)?;
    let scope = package.len();
    let mut reducer = Reducer { room, scope };
    Ok(FileDescriptorProto {
        name: file.name.clone(),
        package: file.package.clone(),
        message_type: reducer.all(&file.message_type, Reducer::message)?,
        enum_type: reducer.all(&file.enum_type, Reducer::enumeration)?,
        service: reducer.all(&file.service, Reducer::service)?,
        syntax: file.syntax.clone().filter(|syntax| !syntax.is_empty()),
        ..FileDescriptorProto::default()
    })
}

/// Reduces the definitions of a file to the encoding of messages.
struct Reducer<'a> {
    room: &'a mut NameRoom,
    /// The length of the name within which things are named.
    scope: usize,
}

impl Reducer<'_> {
    fn all<T>(
        &mut self,
        of: &[T],
        one: impl Fn(&mut Self, &T) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        of.iter().map(|of| one(self, of)).collect()
    }

    /// Checks a name.
    fn name(&mut self, name: Option<&String>) -> Result<Option<String>, String> {
        let name = name.map_or("", |name| name);
        if !is_identifier(name) {
            return Err(format!(
                "has something of the name '{name}', which is invalid"
            ));
        }
        self.room.take(self.scope + name.len())?;
        Ok(Some(name.to_owned()))
    }

    fn message(&mut self, message: &DescriptorProto) -> Result<DescriptorProto, String> {
        let name = self.name(message.name.as_ref())?;
        let outer = self.scope;
        self.scope += name.as_ref().map_or(0, String::len);
        let is_entry = is_map_entry(message);
        let reduced = DescriptorProto {
            name,
            field: self.all(&message.field, Reducer::field)?,
            nested_type: self.all(&message.nested_type, Reducer::message)?,
            enum_type: self.all(&message.enum_type, Reducer::enumeration)?,
            oneof_decl: self.all(&message.oneof_decl, Reducer::oneof)?,
            options: is_entry.then(|| MessageOptions {
                map_entry: Some(true),
                ..MessageOptions::default()
            }),
            ..DescriptorProto::default()
        };
        self.scope = outer;
        Ok(reduced)
    }

    fn field(&mut self, field: &FieldDescriptorProto) -> Result<FieldDescriptorProto, String> {
        let name = self.name(field.name.as_ref())?;
        let has_type = match field.r#type {
            Some(kind) => Type::try_from(kind).is_ok(),
            None => field.type_name.is_some(),
        };
        let has_label = field
            .label
            .is_none_or(|label| Label::try_from(label).is_ok());
        if !has_type || !has_label {
            return Err(format!("has the field '{}' of no known type", field.name()));
        }
        let packed = field.options.as_ref().and_then(|options| options.packed);
        Ok(FieldDescriptorProto {
            name,
            number: field.number,
            label: field.label,
            r#type: field.r#type,
            type_name: field.type_name.clone(),
            oneof_index: field.oneof_index,
            json_name: field.json_name.clone(),
            proto3_optional: field.proto3_optional,
            options: packed.map(|packed| FieldOptions {
                packed: Some(packed),
                ..FieldOptions::default()
            }),
            ..FieldDescriptorProto::default()
        })
    }

    fn oneof(&mut self, oneof: &OneofDescriptorProto) -> Result<OneofDescriptorProto, String> {
        Ok(OneofDescriptorProto {
            name: self.name(oneof.name.as_ref())?,
            options: None,
        })
    }

    fn enumeration(&mut self, of: &EnumDescriptorProto) -> Result<EnumDescriptorProto, String> {
        Ok(EnumDescriptorProto {
            name: self.name(of.name.as_ref())?,
            value: self.all(&of.value, Reducer::value)?,
            // Whether it may have several names for a number is the server's affair.
            options: Some(EnumOptions {
                allow_alias: Some(true),
                ..EnumOptions::default()
            }),
            ..EnumDescriptorProto::default()
        })
    }

    fn value(
        &mut self,
        value: &EnumValueDescriptorProto,
    ) -> Result<EnumValueDescriptorProto, String> {
        Ok(EnumValueDescriptorProto {
            name: self.name(value.name.as_ref())?,
            number: value.number,
            options: None,
        })
    }

    fn service(
        &mut self,
        service: &ServiceDescriptorProto,
    ) -> Result<ServiceDescriptorProto, String> {
        Ok(ServiceDescriptorProto {
            name: self.name(service.name.as_ref())?,
            method: self.all(&service.method, Reducer::method)?,
            options: None,
        })
    }

    fn method(&mut self, method: &MethodDescriptorProto) -> Result<MethodDescriptorProto, String> {
        Ok(MethodDescriptorProto {
            name: self.name(method.name.as_ref())?,
            options: None,
            ..method.clone()
        })
    }
}

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Checks that each message marked as a map entry has a key and a value.
///
/// # Errors
/// The message that has none, as the predicate of a sentence.
pub(in crate::plan_files) fn check_maps(messages: &[DescriptorProto]) -> Result<(), String> {
    for message in messages {
        let field = |number| {
            let mut fields = message.field.iter();
            fields.find(|field| field.number() == number && field.label() != Label::Repeated)
        };
        let has_key = field(1).is_some_and(|key| {
            key.type_name().is_empty()
                && !matches!(
                    key.r#type(),
                    Type::Double
                        | Type::Float
                        | Type::Bytes
                        | Type::Message
                        | Type::Group
                        | Type::Enum
                )
        });
        if is_map_entry(message) && (!has_key || field(2).is_none()) {
            return Err(format!(
                "has the map entry '{}' without a key and a value",
                message.name()
            ));
        }
        check_maps(&message.nested_type)?;
    }
    Ok(())
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    let options = message.options.as_ref();
    options.is_some_and(MessageOptions::map_entry)
}
