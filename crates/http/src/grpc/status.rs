//! The statuses of gRPC, and their substitutes where the server has sent none: `statuscodes.md` and
//! `http-grpc-status-mapping.md` of gRPC's own documents.

use crate::failure::{ErrorClass, Failure};
use percent_encoding::percent_decode;

/// The names of the statuses, each at the place of its code.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The code of a status, which has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrpcCode(u8);

impl GrpcCode {
    pub(crate) const OK: GrpcCode = GrpcCode(0);
    pub(crate) const CANCELLED: GrpcCode = GrpcCode(1);
    pub(crate) const UNKNOWN: GrpcCode = GrpcCode(2);
    pub(crate) const DEADLINE_EXCEEDED: GrpcCode = GrpcCode(4);
    pub(crate) const PERMISSION_DENIED: GrpcCode = GrpcCode(7);
    pub(crate) const RESOURCE_EXHAUSTED: GrpcCode = GrpcCode(8);
    pub(crate) const UNIMPLEMENTED: GrpcCode = GrpcCode(12);
    pub(crate) const INTERNAL: GrpcCode = GrpcCode(13);
    pub(crate) const UNAVAILABLE: GrpcCode = GrpcCode(14);
    pub(crate) const UNAUTHENTICATED: GrpcCode = GrpcCode(16);

    /// The names of all of them.
    pub const NAMES: [&str; 17] = NAMES;

    /// The code of that name.
    pub fn named(name: &str) -> Option<GrpcCode> {
        let place = NAMES.iter().position(|one| *one == name)?;
        Some(GrpcCode(place as u8))
    }

    /// The code of that number, if there is one.
    pub fn numbered(number: u64) -> Option<GrpcCode> {
        let number = u8::try_from(number).ok()?;
        (usize::from(number) < NAMES.len()).then_some(GrpcCode(number))
    }

    /// Returns the name, such as `NOT_FOUND`.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// Returns the number, from 0 to 16.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Maps the HTTP status of a response that has no status of gRPC.
    fn of_http(status: u16) -> GrpcCode {
        match status {
            400 => GrpcCode::INTERNAL,
            401 => GrpcCode::UNAUTHENTICATED,
            403 => GrpcCode::PERMISSION_DENIED,
            404 => GrpcCode::UNIMPLEMENTED,
            429 | 502..=504 => GrpcCode::UNAVAILABLE,
            _ => GrpcCode::UNKNOWN,
        }
    }

    /// Maps the reason for which a server has reset the stream (RFC 9113, section 7).
    fn of_reset(reason: u32) -> GrpcCode {
        match reason {
            // REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY
            7 => GrpcCode::UNAVAILABLE,
            8 => GrpcCode::CANCELLED,
            11 => GrpcCode::RESOURCE_EXHAUSTED,
            12 => GrpcCode::PERMISSION_DENIED,
            _ => GrpcCode::INTERNAL,
        }
    }

    fn of_failure(failure: &Failure) -> GrpcCode {
        match failure.class {
            ErrorClass::Timeout => GrpcCode::DEADLINE_EXCEEDED,
            ErrorClass::TooLarge => GrpcCode::RESOURCE_EXHAUSTED,
            ErrorClass::Decoding | ErrorClass::Protocol | ErrorClass::BadUrl => GrpcCode::INTERNAL,
            ErrorClass::NotAllowed => GrpcCode::PERMISSION_DENIED,
            ErrorClass::Aborted => GrpcCode::CANCELLED,
            _ => GrpcCode::UNAVAILABLE,
        }
    }
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcStatus {
    pub code: GrpcCode,
    /// The server's message, or the reason for the lack of a status of its own.
    pub details: String,
    /// Whether lgoose has found it, and no server has sent it.
    pub(crate) is_own: bool,
}

impl GrpcStatus {
    /// Whether the call has succeeded.
    pub fn is_ok(&self) -> bool {
        self.code == GrpcCode::OK
    }

    /// A status that lgoose has found, for that reason.
    pub(crate) fn own(code: GrpcCode, details: impl Into<String>) -> GrpcStatus {
        GrpcStatus {
            code,
            details: details.into(),
            is_own: true,
        }
    }

    /// The status of a call that has failed; `reset` is the reason for which the server has reset its stream.
    pub(super) fn of_failure(failure: &Failure, reset: Option<u32>) -> GrpcStatus {
        let code = match reset {
            Some(reason) => GrpcCode::of_reset(reason),
            None => GrpcCode::of_failure(failure),
        };
        GrpcStatus::own(code, failure.to_string())
    }

    /// The status for a response without one of gRPC.
    pub(super) fn of_http(status: u16, why: &str) -> GrpcStatus {
        let details = match status {
            200 => why.to_owned(),
            status => format!("HTTP status {status}"),
        };
        GrpcStatus::own(GrpcCode::of_http(status), details)
    }

    /// Reads the status among some trailers, if they have one.
    pub(super) fn read(trailers: &[(String, Vec<u8>)]) -> Option<GrpcStatus> {
        let find = |name: &str| trailers.iter().find(|(one, _)| one == name);
        let (_, number) = find("grpc-status")?;
        let number = std::str::from_utf8(number).ok();
        let number = number.and_then(|number| number.trim().parse::<u64>().ok());
        let Some(number) = number else {
            let details = "the server's 'grpc-status' is not a number";
            return Some(GrpcStatus::own(GrpcCode::UNKNOWN, details));
        };
        let details = find("grpc-message").map(|(_, text)| {
            let decoded = percent_decode(text);
            decoded.decode_utf8_lossy().into_owned()
        });
        let details = details.unwrap_or_default();
        Some(match GrpcCode::numbered(number) {
            Some(code) => GrpcStatus {
                code,
                details,
                is_own: false,
            },
            None => GrpcStatus::own(GrpcCode::UNKNOWN, format!("status {number}: {details}")),
        })
    }

    /// The reason why a call that should have succeeded has not, the same for all of one cause.
    pub(super) fn reason(&self) -> String {
        if self.is_own && !self.details.is_empty() {
            format!("{}: {}", self.code.name(), self.details)
        } else {
            self.code.name().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&str, &str)]) -> Option<GrpcStatus> {
        let lines: Vec<_> = lines
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect();
        GrpcStatus::read(&lines)
    }

    #[test]
    fn a_status_is_read_with_its_message() {
        let status = read(&[
            ("grpc-status", "5"),
            ("grpc-message", "caf%C3%A9 100%25 %zz"),
        ]);
        let status = status.expect("a status");
        assert_eq!(status.code.name(), "NOT_FOUND");
        assert_eq!(status.details, "café 100% %zz");
        assert_eq!(status.reason(), "NOT_FOUND", "the same for all");
        assert_eq!(read(&[("grpc-message", "x")]), None);
    }

    #[test]
    fn what_is_no_status_is_unknown() {
        for number in ["x", "-1", "17", "99999999999999999999"] {
            let status = read(&[("grpc-status", number)]).expect("a status");
            assert_eq!(status.code, GrpcCode::UNKNOWN, "{number}");
        }
    }

    #[test]
    fn all_names_have_their_codes() {
        for (number, name) in NAMES.iter().enumerate() {
            let code = GrpcCode::named(name).expect("a code");
            assert_eq!(usize::from(code.number()), number);
            assert_eq!(GrpcCode::numbered(number as u64), Some(code));
        }
        assert_eq!(GrpcCode::named("ok"), None);
    }
}
