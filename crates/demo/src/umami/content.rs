//! The content of the site: its nodes and terms in two languages, as in the Umami demo profile of Drupal. Read once
//! when the site starts; knows no HTML.

/// An article, a recipe or the page about the magazine. Pairs are English and Spanish.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) nid: u32,
    pub(super) paths: [String; 2],
    pub(super) titles: [String; 2],
}

/// The kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeType {
    Article,
    Recipe,
    Page,
}

/// A recipe category or a tag, and the nodes that have it.
pub(super) struct Term {
    pub(super) nids: Vec<u32>,
    pub(super) paths: [String; 2],
    pub(super) titles: [String; 2],
}

impl Node {
    /// The kind of the term, by which its English path begins.
    pub(super) fn kind(&self) -> NodeType {
        match self.paths[0].strip_prefix("/en/") {
            Some(path) if path.starts_with("articles/") => NodeType::Article,
            Some(path) if path.starts_with("recipes/") => NodeType::Recipe,
            _ => NodeType::Page,
        }
    }

    /// The last part of its English path, which is also the name of its picture.
    pub(super) fn slug(&self) -> &str {
        let slash = self.paths[0].rfind('/').map_or(0, |slash| slash + 1);
        &self.paths[0][slash..]
    }
}

impl NodeType {
    /// The name of the type in forms.
    pub(super) fn machine_name(self) -> &'static str {
        match self {
            NodeType::Article => "article",
            NodeType::Recipe => "recipe",
            NodeType::Page => "page",
        }
    }

    /// The name of the type that editors see, in English as on the imitated site.
    pub(super) fn name(self) -> &'static str {
        match self {
            NodeType::Article => "Article",
            NodeType::Recipe => "Recipe",
            NodeType::Page => "Basic page",
        }
    }
}

/// All nodes, by their numbers in ascending order.
pub(super) fn nodes() -> Vec<Node> {
    let rows = rows(include_str!("nodes.csv"));
    let nodes = rows.map(|(nid, paths, titles)| Node {
        nid: nid.parse().expect("nodes have numbers"),
        paths,
        titles,
    });
    nodes.collect()
}

/// All terms, categories first.
pub(super) fn terms() -> Vec<Term> {
    let rows = rows(include_str!("terms.csv"));
    let terms = rows.map(|(nids, paths, titles)| Term {
        nids: nids
            .split(' ')
            .map(|nid| nid.parse().expect("nodes have numbers"))
            .collect(),
        paths,
        titles,
    });
    terms.collect()
}

/// The rows of a file of five columns: numbers, the two paths, the two titles.
fn rows(file: &'static str) -> impl Iterator<Item = (String, [String; 2], [String; 2])> {
    let rows = csv::Reader::from_reader(file.as_bytes()).into_deserialize();
    rows.map(|row| {
        let (numbers, en_path, es_path, en_title, es_title) =
            row.expect("the files of the program have five columns");
        (numbers, [en_path, es_path], [en_title, es_title])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_seven_articles_ten_recipes_one_page_and_thirty_three_terms() {
        let nodes = nodes();
        let of = |kind| nodes.iter().filter(|node| node.kind() == kind).count();
        assert_eq!(
            [
                of(NodeType::Article),
                of(NodeType::Recipe),
                of(NodeType::Page)
            ],
            [7, 10, 1]
        );
        let terms = terms();
        assert_eq!(terms.len(), 33);
        let is_node = |nid: &u32| nodes.iter().any(|node| node.nid == *nid);
        assert!(terms.iter().all(|term| term.nids.iter().all(is_node)));
        let tagged = |nid: u32| terms.iter().any(|term| term.nids.contains(&nid));
        assert!((1..=17).all(tagged), "every article and recipe has a term");
    }
}
