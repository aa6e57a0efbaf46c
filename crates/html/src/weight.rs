//! The memory of a page's tree, as far as it can be estimated from outside. Driven by `document` while it parses.

use scraper::{Html, Node};

/// The longest piece of a page, in bytes. Parsing one holds up its thread for about 100 ms at most: a byte of `&` or `<`
/// takes some 300 ns with little optimization.
pub(super) const LONGEST_PIECE: usize = 256 << 10;

/// The memory of an attribute beside its value, in bytes: its name and the value's handle.
pub(super) const ATTRIBUTE_BYTES: usize = 40;

/// Weighs a tree that grows, each node once.
#[derive(Debug, Default)]
pub(super) struct TreeWeight {
    nodes: usize,
    contents: usize,
    /// The contents of the last node, a text to which the next piece may add.
    last: usize,
}

impl TreeWeight {
    /// Returns the memory that the tree takes now, in bytes.
    pub(super) fn weigh(&mut self, page: &Html) -> usize {
        /// A node's links to others.
        const LINKS: usize = 40;
        let nodes = page.tree.values();
        let count = nodes.len();
        // From the end: to skip those at the beginning would take as long as to weigh them.
        let grown = usize::from(self.nodes > 0);
        let new = nodes.rev().take(count - self.nodes + grown);
        self.contents += new.map(contents).sum::<usize>();
        self.contents -= self.last;
        self.last = page.tree.values().next_back().map_or(0, contents);
        self.nodes = count;
        // The list of nodes doubles when it is full.
        count.next_power_of_two() * (size_of::<Node>() + LINKS) + self.contents
    }
}

/// The memory of a node's contents, in bytes.
fn contents(node: &Node) -> usize {
    match node {
        Node::Element(element) => {
            let values = element.attrs.iter().map(|(_, value)| text_bytes(value));
            element.attrs.capacity() * ATTRIBUTE_BYTES + values.sum::<usize>()
        }
        Node::Text(text) => text_bytes(text),
        Node::Comment(comment) => text_bytes(comment),
        _ => 0,
    }
}

/// The memory of a text beside its handle, which itself holds short ones.
fn text_bytes(text: &str) -> usize {
    const SHORT_TEXT: usize = 8;
    const LONG_TEXT: usize = 1 << 10;
    const HEADER: usize = 24;
    match text.len() {
        0..=SHORT_TEXT => 0,
        // A part of a piece that was parsed.
        length @ LONG_TEXT..=LONGEST_PIECE => length + HEADER,
        length => length.next_power_of_two().max(16) + HEADER,
    }
}
