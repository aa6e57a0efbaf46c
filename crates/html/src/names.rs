//! Names of elements as numbers: `scan` reads a tag's name into a number and compares it in one step.

/// Returns whether this byte ends the name of a tag or an attribute.
pub(super) fn ends_name(byte: u8) -> bool {
    ENDS_NAME[usize::from(byte)]
}

const ENDS_NAME: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        ends[byte] = (byte as u8).is_ascii_whitespace() || matches!(byte as u8, b'/' | b'>');
        byte += 1;
    }
    ends
};

/// Returns a name of at most eight lower-case bytes as one number.
pub(super) const fn packed(name: &[u8]) -> u64 {
    let mut number = 0;
    let mut at = 0;
    while at < name.len() {
        number = number << 8 | name[at] as u64;
        at += 1;
    }
    number
}

pub(super) const A: u64 = packed(b"a");
pub(super) const BASE: u64 = packed(b"base");
pub(super) const IFRAME: u64 = packed(b"iframe");
pub(super) const IMAGE: u64 = packed(b"image");
pub(super) const IMG: u64 = packed(b"img");
pub(super) const INPUT: u64 = packed(b"input");
pub(super) const LINK: u64 = packed(b"link");
pub(super) const META: u64 = packed(b"meta");
pub(super) const NOEMBED: u64 = packed(b"noembed");
pub(super) const NOFRAMES: u64 = packed(b"noframes");
pub(super) const NOSCRIPT: u64 = packed(b"noscript");
pub(super) const SCRIPT: u64 = packed(b"script");
pub(super) const SOURCE: u64 = packed(b"source");
pub(super) const STYLE: u64 = packed(b"style");
pub(super) const SVG: u64 = packed(b"svg");
pub(super) const TEMPLATE: u64 = packed(b"template");
pub(super) const TEXTAREA: u64 = packed(b"textarea");
pub(super) const TITLE: u64 = packed(b"title");
pub(super) const USE: u64 = packed(b"use");
pub(super) const VIDEO: u64 = packed(b"video");
pub(super) const XMP: u64 = packed(b"xmp");
