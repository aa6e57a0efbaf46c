//! The static files of the site and the pictures of its pages: real kinds and sizes, so that a page with its assets
//! weighs as much as the imitated one. Driven by the site and its pages.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::content::Node;
use crate::template::escape;

/// The files of every page, without the leading slash, and the picture of the front page. All but that have 148 kB.
const COMMON: [(&str, usize); 9] = [
    (
        "sites/default/files/css/css_demoA7Qm1xk0Vt5ZrYcW9uLd3sNfEjHgBpTiOa.css",
        14_600,
    ),
    (
        "sites/default/files/css/css_demoB4Wn8ye2Xs6AqZdV0tMc5rKgFiJhCoSuPb.css",
        49_300,
    ),
    (
        "sites/default/files/css/css_demoC1Ek9zf3Yr7BpXeU2vNb6qLhGjIiDnRtQc.css",
        1_100,
    ),
    (
        "sites/default/files/js/js_demoD2Rl5ag8Zq4CoWfT6wOe1pMiHkJjEmSsUd.js",
        9_600,
    ),
    (
        "sites/default/files/js/js_demoE6Tm3bh7Ap9DnVgS0xPf4oNjIlKkFlRrVe.js",
        22_000,
    ),
    ("core/profiles/demo_umami/themes/umami/logo.svg", 12_900),
    (
        "sites/default/files/styles/medium_8_7/public/umami-bundle.png",
        38_500,
    ),
    ("core/profiles/demo_umami/themes/umami/favicon.ico", 5_430),
    (
        "sites/default/files/styles/scale_crop_7_3_large/public/veggie-pasta-bake-hero-umami.jpg",
        151_000,
    ),
];

/// The image style that a page names as the source of a picture, and its bytes.
const SOURCE: (&str, usize) = ("medium_3_2_2x", 64_000);

/// The further styles that it offers for screens of other widths, in pixels.
const SIZES: [(&str, usize, u32); 3] = [
    ("medium_3_2_600x400", 41_000, 600),
    ("large_3_2_768x512", 71_000, 768),
    ("large_3_2_2x", 142_000, 1536),
];

/// The paths of all files, without the leading slash, and their sizes in bytes.
pub(super) fn files(nodes: &[Node]) -> Vec<(String, usize)> {
    let common = COMMON.map(|(path, size)| (path.to_owned(), size));
    let mut files = Vec::from(common);
    for node in nodes {
        let sizes = SIZES.map(|(style, bytes, _)| (style, bytes));
        for (style, bytes) in sizes.into_iter().chain([SOURCE]) {
            files.push((path(style, node.slug()), bytes));
        }
    }
    files
}

/// The HTML of a node's picture.
pub(super) fn picture(node: &Node, title: &str) -> String {
    let mut hasher = DefaultHasher::new();
    node.slug().hash(&mut hasher);
    let token = format!("{:016x}", hasher.finish());
    let url = |style: &str| format!("/{}?itok={}", path(style, node.slug()), &token[..8]);
    let sizes = SIZES.map(|(style, _, width)| format!("{} {width}w", url(style)));
    format!(
        "<img srcset=\"{}\" sizes=\"(min-width: 1008px) 236px, (min-width: 640px) 31vw, 90vw\" src=\"{}\" \
         width=\"768\" height=\"512\" alt=\"{}\" loading=\"lazy\" />",
        sizes.join(", "),
        url(SOURCE.0),
        escape(title)
    )
}

fn path(style: &str, slug: &str) -> String {
    format!("sites/default/files/styles/{style}/public/{slug}.jpg")
}
