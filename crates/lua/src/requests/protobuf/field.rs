//! A field of a message, or an extension that another message or file has added to it. In a plan, an extension has its full name in
//! brackets as its name: `[package.name]`.

use prost_reflect::{
    ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor,
};

#[derive(Debug, Clone)]
pub(super) enum MessageField {
    Own(FieldDescriptor),
    Extension(ExtensionDescriptor),
}

/// Returns what both kinds of field have under the same name.
macro_rules! of_either {
    ($self:ident.$method:ident()) => {
        match $self {
            MessageField::Own(field) => field.$method(),
            MessageField::Extension(field) => field.$method(),
        }
    };
}

impl MessageField {
    /// Returns the field of a message with the name that a plan gives.
    pub(super) fn named(message: &MessageDescriptor, name: &str) -> Option<MessageField> {
        let extension = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        if let Some(name) = extension {
            let found = message.parent_pool().get_extension_by_name(name)?;
            let is_of = found.containing_message() == *message;
            return is_of.then_some(MessageField::Extension(found));
        }
        let own = message.get_field_by_name(name);
        let own = own.or_else(|| message.get_field_by_json_name(name));
        own.map(MessageField::Own)
    }

    pub(super) fn name(&self) -> &str {
        match self {
            MessageField::Own(field) => field.name(),
            MessageField::Extension(field) => field.json_name(),
        }
    }

    pub(super) fn number(&self) -> u32 {
        of_either!(self.number())
    }

    pub(super) fn kind(&self) -> Kind {
        of_either!(self.kind())
    }

    pub(super) fn is_list(&self) -> bool {
        of_either!(self.is_list())
    }

    pub(super) fn is_map(&self) -> bool {
        of_either!(self.is_map())
    }

    pub(super) fn is_group(&self) -> bool {
        of_either!(self.is_group())
    }

    pub(super) fn is_packed(&self) -> bool {
        of_either!(self.is_packed())
    }

    pub(super) fn supports_presence(&self) -> bool {
        of_either!(self.supports_presence())
    }

    /// Returns the group of fields of which one may be set, if it is in one.
    pub(super) fn oneof(&self) -> Option<OneofDescriptor> {
        let MessageField::Own(field) = self else {
            return None;
        };
        let oneof = field.containing_oneof();
        oneof.filter(|oneof| !oneof.is_synthetic())
    }
}
