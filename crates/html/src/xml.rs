//! An XML document as a tree, for the same CSS queries as a page. Names keep their case, and a prefix does not count:
//! `Body` finds `<soap:Body>`. Driven by `xml.parse`.

use ego_tree::NodeId;
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, QualName, ns};
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use scraper::node::{Element, Text};
use scraper::{Html, Node};

use super::collapse;
use super::depth::{DEEPEST, MOST_ATTRIBUTES};
use super::weight::TreeWeight;

/// The reason why a text is not a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XmlFault {
    /// The problem with it, and its line.
    Wrong(String),
    /// It would take more memory than it may.
    TooLarge,
    /// `go_on` returned false.
    Ended,
}

/// The elements between two calls of `go_on`, and between two looks at the weight.
const PIECE_ELEMENTS: usize = 256;

/// Reads a document of at most about `most_bytes`, and returns its tree and weight. `go_on` is called after some
/// elements, with the length of the text that was read since.
pub(super) fn tree_of(
    text: &str,
    most_bytes: usize,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<(Html, usize), XmlFault> {
    let mut page = Html::new_document();
    let mut scale = TreeWeight::default();
    let mut reader = Reader::from_str(text);
    let mut open: Vec<NodeId> = vec![page.tree.root().id()];
    let (mut count, mut looked_at, mut has_root) = (0_usize, 0_usize, false);
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
        let parent = open[open.len() - 1];
        match event {
            Event::Start(start) => {
                if open.len() > DEEPEST {
                    return Err(wrong(&format!("elements lie more than {DEEPEST} deep")));
                }
                if open.len() == 1 && std::mem::replace(&mut has_root, true) {
                    return Err(wrong("it has a second root element"));
                }
                let element = element(&start).map_err(|what| wrong(&what))?;
                open.extend(append(&mut page, parent, Node::Element(element)));
                count += 1;
            }
            Event::Empty(start) => {
                if open.len() == 1 && std::mem::replace(&mut has_root, true) {
                    return Err(wrong("it has a second root element"));
                }
                let element = element(&start).map_err(|what| wrong(&what))?;
                append(&mut page, parent, Node::Element(element));
                count += 1;
            }
            Event::End(_) => {
                open.pop();
            }
            Event::Text(part) => {
                let part = part.xml_content(XmlVersion::Implicit1_0);
                let part = part.map_err(|error| wrong(&error.to_string()))?;
                add_text(&mut page, parent, &part);
            }
            Event::CData(part) => {
                let part = part.xml_content(XmlVersion::Implicit1_0);
                let part = part.map_err(|error| wrong(&error.to_string()))?;
                add_text(&mut page, parent, &part);
            }
            Event::GeneralRef(reference) => {
                let char = reference.resolve_char_ref();
                let char = char.map_err(|error| wrong(&error.to_string()))?;
                let name = reference.decode();
                let name = name.map_err(|error| wrong(&error.to_string()))?;
                match (char, resolve_predefined_entity(&name)) {
                    (Some(char), _) => {
                        add_text(&mut page, parent, char.encode_utf8(&mut [0; 4]));
                    }
                    (None, Some(known)) => add_text(&mut page, parent, known),
                    (None, None) => {
                        return Err(wrong(&format!("'&{name};' is not an entity of XML")));
                    }
                }
            }
            // Its definitions are not read, so its entities are unknown.
            Event::DocType(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
        let since = (at as usize).saturating_sub(looked_at);
        if count >= PIECE_ELEMENTS || since > 64 << 10 {
            (count, looked_at) = (0, at as usize);
            if !go_on(since) {
                return Err(XmlFault::Ended);
            }
            if scale.weigh(&page) > most_bytes {
                return Err(XmlFault::TooLarge);
            }
        }
    }
    if open.len() > 1 {
        return Err(fault(text, text.len() as u64, "it ends within an element"));
    }
    if !has_root {
        return Err(XmlFault::Wrong("it has no element".to_owned()));
    }
    match scale.weigh(&page) {
        weight if weight > most_bytes => Err(XmlFault::TooLarge),
        weight => Ok((page, weight)),
    }
}

/// Returns the texts of a document, such as a fault of SOAP, in at most about 200 characters on one line. `None` if it
/// has none; text after a mistake in it is left out.
pub fn xml_reason(document: &[u8]) -> Option<String> {
    const MOST_READ: usize = 64 << 10;
    const MAX_REASON: usize = 200;
    let document = String::from_utf8_lossy(&document[..document.len().min(MOST_READ)]);
    let mut reader = Reader::from_str(&document);
    let mut texts: Vec<String> = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Text(part)) => texts.push(String::from_utf8_lossy(&part).into_owned()),
            Ok(Event::CData(part)) => texts.push(String::from_utf8_lossy(&part).into_owned()),
            Ok(Event::GeneralRef(reference)) => {
                let name = String::from_utf8_lossy(&reference).into_owned();
                let known = resolve_predefined_entity(&name).map(str::to_owned);
                let char = reference.resolve_char_ref().ok().flatten();
                texts.extend(known.or_else(|| Some(char?.to_string())));
            }
            Ok(Event::Start(_) | Event::End(_)) => texts.push(" ".to_owned()),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let line = collapse(texts.iter().map(String::as_str));
    match line.char_indices().nth(MAX_REASON) {
        Some((end, _)) => Some(format!("{}…", &line[..end])),
        None => Some(line).filter(|line| !line.is_empty()),
    }
}

/// Adds a node as the last child of another.
fn append(page: &mut Html, parent: NodeId, node: Node) -> Option<NodeId> {
    let mut parent = page.tree.get_mut(parent)?;
    Some(parent.append(node).id())
}

/// Adds a text; outside of the root, there is none but blanks.
fn add_text(page: &mut Html, parent: NodeId, text: &str) {
    if text.is_empty() || parent == page.tree.root().id() {
        return;
    }
    let text = StrTendril::from_slice(text);
    append(page, parent, Node::Text(Text { text }));
}

fn element(start: &BytesStart<'_>) -> Result<Element, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let named = |name: &str| QualName::new(None, ns!(), LocalName::from(name));
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        if attributes.len() == MOST_ATTRIBUTES {
            return Err(format!(
                "an element has more than {MOST_ATTRIBUTES} attributes"
            ));
        }
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| error.to_string())?;
        attributes.push(Attribute {
            name: named(&text(attribute.key.as_ref())),
            value: StrTendril::from_slice(&value),
        });
    }
    let name = text(start.local_name().as_ref());
    Ok(Element::new(named(&name), attributes))
}

fn fault(text: &str, at: u64, what: &str) -> XmlFault {
    let before = text.as_bytes().iter().take(at as usize);
    let line = before.filter(|byte| **byte == b'\n').count() + 1;
    XmlFault::Wrong(format!("line {line}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Selector};

    fn found(text: &str, css: &str) -> Vec<String> {
        let document = Document::parse_xml_while(text, usize::MAX, &mut |_| true);
        let document = document.expect("it is XML");
        let selector = Selector::parse(css).expect("it is a selector");
        let keys = document.select_while(&selector, None, &|| true);
        let keys = keys.expect("nobody ends it").into_iter();
        keys.map(|key| document.text(key)).collect()
    }

    fn with_attributes(count: usize) -> String {
        let attributes = (0..count).map(|number| format!(" b{number}=''"));
        format!("<a{}/>", attributes.collect::<String>())
    }

    const ENVELOPE: &str = "<?xml version='1.0'?>\n<!DOCTYPE x>\n<s:Envelope xmlns:s='urn:soap'><s:Body>\
        <!-- x --><p:orderId p:kind='new'>7 &lt; &#x38;</p:orderId><item/><Item n='1'><![CDATA[<a>]]></Item>\
        </s:Body></s:Envelope>";

    #[test]
    fn elements_are_found_by_their_names_without_prefix_and_in_their_case() {
        assert_eq!(found(ENVELOPE, "Body orderId"), ["7 < 8"]);
        assert_eq!(found(ENVELOPE, "Item"), ["<a>"]);
        assert_eq!(found(ENVELOPE, "item"), [""]);
        assert_eq!(found(ENVELOPE, "Body > :nth-child(3)"), ["<a>"]);
        assert_eq!(found(ENVELOPE, "[n='1'], body").len(), 1);
        assert_eq!(found("<script>a &amp; b</script>", "script"), ["a & b"]);
    }

    #[test]
    fn a_fault_says_why_on_one_line() {
        let fault = "<s:Envelope><s:Body><s:Fault>\n <faultcode>s:Server</faultcode>\n <faultstring>Out of\n stock &amp; \
            gone</faultstring></s:Fault></s:Body></s:Envelope>";
        let reason = |text: &str| xml_reason(text.as_bytes());
        assert_eq!(
            reason(fault).as_deref(),
            Some("s:Server Out of stock & gone")
        );
        assert_eq!(reason("<a> why</b>").as_deref(), Some("why"));
        assert_eq!(reason("<a/>"), None);
        let long = reason(&format!("<a>{}</a>", "x".repeat(1000)));
        assert_eq!(long.map(|line| line.chars().count()), Some(201));
    }

    #[test]
    fn what_is_no_xml_or_too_much_is_reported_with_its_line() {
        let read = |text: &str, most| {
            let read = Document::parse_xml_while(text, most, &mut |_| true);
            read.map(|_| ()).expect_err("a fault")
        };
        for (text, part) in [
            ("<a>\n<b></a>", "line 2"),
            ("<a>", "within an element"),
            ("<a/><b/>", "second root"),
            (
                "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
                "'&x;' is not an entity",
            ),
            ("<a b=1></a>", "line 1"),
            ("{}", "no element"),
            ("", "no element"),
            (&"<a>".repeat(1_000_000), "1024 deep"),
            (&with_attributes(20_000), "more than 2000 attributes"),
        ] {
            match read(text, usize::MAX) {
                XmlFault::Wrong(fault) => assert!(fault.contains(part), "{fault}"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found(&with_attributes(2000), "a[b1999]").len(), 1);
        let many = format!("<a>{}</a>", "<b/>".repeat(100_000));
        assert_eq!(read(&many, 1 << 20), XmlFault::TooLarge);
    }
}
