//! XML as a tree of elements, within bounds. There are no entities but the five that XML has by itself, and no document types,
//! so that no text stands for more than it is.

use super::lua_text::comment;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// The deepest elements: a plan has no use for more, and each is a call of a function that walks the tree.
const MAX_DEPTH: usize = 200;
/// The most elements.
const MAX_ELEMENTS: usize = 500_000;

/// An element with its children.
#[derive(Debug, Default)]
pub(super) struct XmlElement {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// Its own text, without that of its children.
    pub(super) text: String,
    pub(super) children: Vec<XmlElement>,
}

impl XmlElement {
    /// Returns an attribute; empty if there is none.
    pub(super) fn attribute(&self, name: &str) -> &str {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

/// Reads a document, and returns its root.
///
/// # Errors
/// The fault, with its line.
pub(super) fn parse(text: &str) -> Result<XmlElement, String> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<XmlElement> = vec![XmlElement::default()];
    let mut count = 0_usize;
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let at = reader.error_position();
                return Err(fault(text, at, &error.to_string()));
            }
        };
        let at = reader.buffer_position();
        let wrong = |what: &str| fault(text, at, what);
        if matches!(event, Event::Start(_) | Event::Empty(_)) {
            count += 1;
            if count > MAX_ELEMENTS {
                return Err(wrong(&format!("it has more than {MAX_ELEMENTS} elements")));
            }
        }
        match event {
            Event::Start(start) => {
                if open.len() > MAX_DEPTH {
                    return Err(wrong(&format!("elements lie more than {MAX_DEPTH} deep")));
                }
                open.push(element(&start).map_err(|what| wrong(&what))?);
            }
            Event::Empty(start) => {
                let empty = element(&start).map_err(|what| wrong(&what))?;
                open.extend([empty]);
                close(&mut open);
            }
            Event::End(_) => close(&mut open),
            Event::Text(part) => {
                let part = part.xml_content(XmlVersion::Implicit1_0);
                push(&mut open, &part.map_err(|error| wrong(&error.to_string()))?);
            }
            Event::CData(part) => {
                let part = part.xml_content(XmlVersion::Implicit1_0);
                push(&mut open, &part.map_err(|error| wrong(&error.to_string()))?);
            }
            Event::GeneralRef(reference) => {
                let char = reference.resolve_char_ref();
                let char = char.map_err(|error| wrong(&error.to_string()))?;
                let name = reference.decode();
                let name = name.map_err(|error| wrong(&error.to_string()))?;
                match (char, resolve_predefined_entity(&name)) {
                    (Some(char), _) => push(&mut open, char.encode_utf8(&mut [0; 4])),
                    (None, Some(known)) => push(&mut open, known),
                    (None, None) => return Err(wrong(&format!("'&{name};' is no entity of XML"))),
                }
            }
            Event::DocType(_) => {
                return Err(wrong("it defines a document type, which is not read"));
            }
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    if open.len() > 1 {
        return Err(fault(text, text.len() as u64, "it ends within an element"));
    }
    let root = open.pop().and_then(|mut whole| whole.children.pop());
    root.ok_or_else(|| "it has no element".to_owned())
}

/// Ends the innermost open element, which is then one of its parent.
fn close(open: &mut Vec<XmlElement>) {
    if open.len() > 1
        && let Some(element) = open.pop()
        && let Some(parent) = open.last_mut()
    {
        parent.children.push(element);
    }
}

fn push(open: &mut [XmlElement], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn element(start: &BytesStart<'_>) -> Result<XmlElement, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| error.to_string())?;
        attributes.push((text(attribute.key.as_ref()), value.into_owned()));
    }
    Ok(XmlElement {
        name: text(start.name().as_ref()),
        attributes,
        ..XmlElement::default()
    })
}

fn fault(text: &str, at: u64, what: &str) -> String {
    let before = text.as_bytes().iter().take(at as usize);
    let line = before.filter(|byte| **byte == b'\n').count() + 1;
    format!("line {line}: {}", comment(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_attributes_texts_and_children() {
        let text = "<?xml version='1.0'?>\n<a b='1 &lt; 2'><!-- x --><c/>t&amp;u&#xe9;<d><![CDATA[<e>]]></d></a>";
        let root = parse(text).expect("it is XML");
        assert_eq!((root.name.as_str(), root.attribute("b")), ("a", "1 < 2"));
        assert_eq!(root.attribute("c"), "");
        assert_eq!(root.text, "t&ué");
        let names: Vec<&str> = root
            .children
            .iter()
            .map(|child| child.name.as_str())
            .collect();
        assert_eq!(names, ["c", "d"]);
        assert_eq!(root.children[1].text, "<e>");
    }

    #[test]
    fn what_is_no_xml_or_too_much_is_reported_with_its_line() {
        for (text, part) in [
            ("<a>\n<b></a>", "line 2"),
            ("<a>", "within an element"),
            (
                "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
                "document type",
            ),
            ("<a>&x;</a>", "no entity"),
            ("<a b=1></a>", "line 1"),
            ("", "no element"),
        ] {
            let fault = parse(text).expect_err("a fault");
            assert!(fault.contains(part), "{text}: {fault}");
        }
        let deep = "<a>".repeat(1_000_000);
        assert!(parse(&deep).expect_err("a fault").contains("200 deep"));
    }
}
