//! One operation as a call.

use super::body::add_body;
use super::operation::{CallContext, Operation};
use super::parameters::ParameterWriter;
use super::path::path;
use super::responses::expect;
use super::security::secure;
use crate::calls::OutlineCall;

/// Returns the call of an operation; `before` is the text before its path.
pub(super) fn call<'a>(
    context: &mut CallContext<'a, '_>,
    operation: &Operation<'a>,
    before: &str,
) -> OutlineCall {
    let mut call = OutlineCall {
        method: operation.method.to_owned(),
        ..OutlineCall::default()
    };
    let document = context.document;
    let parameters = operation.parameters(document);
    let path = path(context, operation, before, &parameters, &mut call);
    let mut writer = ParameterWriter::new(&mut call, path);
    for parameter in &parameters {
        writer.add(context, parameter);
    }
    writer.finish();
    let secrets = &mut context.calls.secrets;
    secure(document, operation.definition, secrets, &mut call);
    let body = document.resolve(&operation.definition["requestBody"]);
    add_body(context, body, &mut call);
    expect(operation.definition, &mut call);
    let name = operation.name();
    call.name_in_notes(&name);
    call
}
