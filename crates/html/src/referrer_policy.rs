//! The W3C's Referrer Policy, as headers, pages and elements set it: how much requests reveal of the page that they
//! come from.

/// A referrer policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferrerPolicy {
    /// Nothing.
    NoReferrer,
    /// The page, but not from https to http.
    NoReferrerWhenDowngrade,
    /// The page to its own origin, nothing to others.
    SameOrigin,
    /// The origin of the page.
    Origin,
    /// The origin of the page, but not from https to http.
    StrictOrigin,
    /// The page to its own origin, the origin to others.
    OriginWhenCrossOrigin,
    /// The same, but nothing from https to http.
    #[default]
    StrictOriginWhenCrossOrigin,
    /// The page, to everybody.
    UnsafeUrl,
}

impl ReferrerPolicy {
    /// All of them.
    const ALL: [ReferrerPolicy; 8] = [
        ReferrerPolicy::NoReferrer,
        ReferrerPolicy::NoReferrerWhenDowngrade,
        ReferrerPolicy::SameOrigin,
        ReferrerPolicy::Origin,
        ReferrerPolicy::StrictOrigin,
        ReferrerPolicy::OriginWhenCrossOrigin,
        ReferrerPolicy::StrictOriginWhenCrossOrigin,
        ReferrerPolicy::UnsafeUrl,
    ];

    /// Returns its name in headers and attributes.
    pub fn name(self) -> &'static str {
        match self {
            ReferrerPolicy::NoReferrer => "no-referrer",
            ReferrerPolicy::NoReferrerWhenDowngrade => "no-referrer-when-downgrade",
            ReferrerPolicy::SameOrigin => "same-origin",
            ReferrerPolicy::Origin => "origin",
            ReferrerPolicy::StrictOrigin => "strict-origin",
            ReferrerPolicy::OriginWhenCrossOrigin => "origin-when-cross-origin",
            ReferrerPolicy::StrictOriginWhenCrossOrigin => "strict-origin-when-cross-origin",
            ReferrerPolicy::UnsafeUrl => "unsafe-url",
        }
    }

    /// Returns the policy of that name.
    fn named(name: &str) -> Option<ReferrerPolicy> {
        let mut all = ReferrerPolicy::ALL.into_iter();
        all.find(|policy| name.eq_ignore_ascii_case(policy.name()))
    }

    /// Reads the value of a `Referrer-Policy` header, or of several, joined by commas: the last that is known counts.
    pub fn of_header(value: &str) -> Option<ReferrerPolicy> {
        value
            .rsplit(',')
            .find_map(|name| ReferrerPolicy::named(name.trim_ascii()))
    }

    /// Reads the content of a `<meta name=referrer>` or the value of an attribute `referrerpolicy`, which have some old
    /// names, too.
    pub fn of_page(value: &str) -> Option<ReferrerPolicy> {
        let old = [
            ("never", ReferrerPolicy::NoReferrer),
            ("default", ReferrerPolicy::default()),
            ("always", ReferrerPolicy::UnsafeUrl),
            (
                "origin-when-crossorigin",
                ReferrerPolicy::OriginWhenCrossOrigin,
            ),
        ];
        let old = old
            .into_iter()
            .find(|(name, _)| value.eq_ignore_ascii_case(name));
        ReferrerPolicy::named(value).or(old.map(|(_, policy)| policy))
    }
}

#[cfg(test)]
mod tests {
    use super::ReferrerPolicy;

    #[test]
    fn the_last_known_policy_of_a_header_counts() {
        for (value, expected) in [
            ("no-referrer", Some(ReferrerPolicy::NoReferrer)),
            ("origin, Unsafe-URL", Some(ReferrerPolicy::UnsafeUrl)),
            ("origin, unknown", Some(ReferrerPolicy::Origin)),
            ("origin,", Some(ReferrerPolicy::Origin)),
            ("never", None),
            ("", None),
        ] {
            assert_eq!(ReferrerPolicy::of_header(value), expected, "{value}");
        }
        let old = ReferrerPolicy::of_page("Never");
        assert_eq!(old, Some(ReferrerPolicy::NoReferrer));
        assert_eq!(ReferrerPolicy::of_page("origin, unsafe-url"), None);
    }
}
