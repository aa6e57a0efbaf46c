//! The resource of all telemetry of a run: the sender and the run.

use super::messages::{AnyValue, InstrumentationScope, KeyValue, Resource, Value};
use super::options::ExportOptions;

/// The sender of telemetry, and its run.
#[derive(Debug, Clone)]
pub(super) struct TelemetryScope {
    pub(super) resource: Resource,
    pub(super) instrumentation: InstrumentationScope,
}

impl TelemetryScope {
    /// Makes the scope of a run of that plan against that host.
    pub(super) fn new(options: &ExportOptions, plan: &str, host: &str) -> TelemetryScope {
        let version = env!("CARGO_PKG_VERSION");
        let run = format!("{:016x}", rand::random::<u64>());
        let service = options.service.as_deref().unwrap_or("lgoose");
        let own = [
            ("service.name", service),
            ("service.version", version),
            ("service.instance.id", &run),
            ("lgoose.plan", plan),
            ("lgoose.host", host),
            ("lgoose.run", &run),
        ];
        let mut attributes: Vec<KeyValue> = own
            .iter()
            .map(|(key, value)| attribute(key, value))
            .collect();
        let attributes_to_add = options.attributes.iter();
        // The variable for the service's name goes before the one for all attributes.
        let attributes_to_add =
            attributes_to_add.filter(|(key, _)| key != "service.name" || options.service.is_none());
        for (key, value) in attributes_to_add {
            attributes.retain(|existing| existing.key != *key);
            attributes.push(attribute(key, value));
        }
        TelemetryScope {
            resource: Resource { attributes },
            instrumentation: InstrumentationScope {
                name: "lgoose".to_owned(),
                version: version.to_owned(),
            },
        }
    }
}

/// Returns an attribute that is a text.
pub(super) fn attribute(key: &str, value: &str) -> KeyValue {
    with(key, Value::StringValue(value.to_owned()))
}

/// Returns an attribute that is a whole number.
pub(super) fn number(key: &str, value: u64) -> KeyValue {
    with(
        key,
        Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)),
    )
}

fn with(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_environment_go_before_those_of_the_run() {
        let of = |variables: &[(&str, &str)]| {
            let options = ExportOptions::read(None, |name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| String::from(*value))
            });
            let scope = TelemetryScope::new(&options.expect("they are right"), "p.lua", "http://a");
            let attributes = scope.resource.attributes.into_iter();
            let text = |value: Option<AnyValue>| match value?.value? {
                Value::StringValue(text) => Some(text),
                _ => None,
            };
            let all = attributes.filter_map(|one| Some((one.key, text(one.value)?)));
            all.collect::<std::collections::BTreeMap<_, _>>()
        };
        let plain = of(&[]);
        assert_eq!(plain["service.name"], "lgoose");
        assert_eq!(plain["lgoose.plan"], "p.lua");
        let variable = (
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=a,lgoose.plan=q,team=t",
        );
        let own = of(&[variable, ("OTEL_SERVICE_NAME", "b")]);
        assert_eq!(
            [&own["service.name"], &own["lgoose.plan"], &own["team"]],
            ["b", "q", "t"]
        );
        assert_eq!(of(&[variable])["service.name"], "a");
    }
}
