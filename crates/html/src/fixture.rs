//! Pages in the shapes that Drupal 7 and Drupal 8 (Umami) send, and noise, for the tests of this folder.

use url::Url;

/// The address of the pages.
pub(super) fn page_url() -> Url {
    Url::parse("http://site/node/7").expect("a URL of the tests")
}

/// Returns numbers of 31 bits that look random, and are the same each time: the upper bits of Knuth's linear congruential
/// generator for MMIX.
pub(super) fn noise() -> impl Iterator<Item = u32> {
    let next = |state: &u64| {
        let scaled = state.wrapping_mul(6_364_136_223_846_793_005);
        Some(scaled.wrapping_add(1_442_695_040_888_963_407))
    };
    std::iter::successors(next(&0), next).map(|state| (state >> 33) as u32)
}

/// Returns a Drupal 7 page: absolute asset URLs, styles by `@import`, the login block, and this many teasers.
pub(super) fn drupal7(teasers: usize) -> Vec<u8> {
    let mut page = String::from(
        r##"<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN"
  "http://www.w3.org/MarkUp/DTD/xhtml-rdfa-1.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" version="XHTML+RDFa 1.0" dir="ltr"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:dc="http://purl.org/dc/terms/"
  xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:og="http://ogp.me/ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">

<head profile="http://www.w3.org/1999/xhtml/vocab">
  <meta http-equiv="Content-Type" content="text/html; charset=utf-8" />
<link rel="alternate" type="application/rss+xml" title="Site RSS" href="http://site/rss.xml" />
<link rel="shortcut icon" href="http://site/misc/favicon.ico" type="image/vnd.microsoft.icon" />
<meta name="Generator" content="Drupal 7 (http://drupal.org)" />
  <title>Welcome to Site &amp; Co | Site</title>
  <style type="text/css" media="all">
@import url("http://site/modules/system/system.base.css?s1a2b3");
@import url("http://site/modules/system/system.menus.css?s1a2b3");
</style>
<style type="text/css" media="print">
@import url("http://site/themes/bartik/css/print.css?s1a2b3");
</style>
<!--[if lte IE 7]>
<link type="text/css" rel="stylesheet" href="http://site/themes/bartik/css/ie.css?s1a2b3" media="all" />
<![endif]-->
  <script type="text/javascript" src="http://site/misc/jquery.js?v=1.4.4"></script>
<script type="text/javascript" src="http://site/misc/jquery.once.js?v=1.2"></script>
<script type="text/javascript" src="http://site/misc/drupal.js?s1a2b3"></script>
<script type="text/javascript">
<!--//--><![CDATA[//><!--
jQuery.extend(Drupal.settings, {"basePath":"\/","html":"<img src=\"\/no.png\">"});
//--><!]]>
</script>
</head>
<body class="html front not-logged-in one-sidebar sidebar-first page-node" >
  <div id="skip-link"><a href="#main-content" class="element-invisible">Skip to main content</a></div>
  <a href="/" title="Home" rel="home" id="logo"><img src="http://site/themes/bartik/logo.png" alt="Home" /></a>
"##,
    );
    page.push_str(LOGIN_BLOCK);
    for node in 1..=teasers {
        page.push_str(&format!(
            r#"<div id="node-{node}" class="node node-article node-promoted node-teaser clearfix" about="/node/{node}" typeof="sioc:Item foaf:Document">
  <h2 property="dc:title" datatype=""><a href="/node/{node}">Abigo capto damnum {node}</a></h2>
  <span property="dc:title" content="Abigo capto damnum {node}" class="rdf-meta element-hidden"></span>
  <div class="meta submitted"><span property="dc:date dc:created" content="2022-09-30T10:16:57+02:00" datatype="xsd:dateTime" rel="sioc:has_creator">Submitted by <span class="username" xml:lang="" about="/user/1" typeof="sioc:UserAccount">admin</span> on Fri, 09/30/2022</span></div>
  <div class="content clearfix"><div class="field field-name-body field-type-text-with-summary field-label-hidden"><div class="field-items"><div class="field-item even" property="content:encoded"><p>Consequat exputo in, zelus ullamcorper &quot;ut&quot; vicis brevitas quibus. Facilisis letalis nimis sagaciter tum veniam. Dolus humo ludus quia tincidunt; vel &amp; venio wisi. Abluo brevitas decet eros iriure nutus pala quidem saepius vulpes.</p></div></div></div></div>
  <div class="link-wrapper"><ul class="links inline"><li class="node-readmore first"><a href="/node/{node}" rel="tag" title="Abigo">Read more</a></li><li class="comment-add last"><a href="/comment/reply/{node}#comment-form" title="Add">Add new comment</a></li></ul></div>
</div>
"#
        ));
    }
    page.push_str("<a href=\"/rss.xml\" class=\"feed-icon\"><img src=\"http://site/misc/feed.png\" width=\"16\" /></a></body></html>\n");
    page.into_bytes()
}

/// The login block of a Drupal 7 page.
pub(super) const LOGIN_BLOCK: &str = r#"<form action="/node?destination=node" method="post" id="user-login-form" accept-charset="UTF-8"><div><div class="form-item form-type-textfield form-item-name">
  <label for="edit-name">Username <span class="form-required" title="This field is required.">*</span></label>
 <input type="text" id="edit-name" name="name" value="" size="15" maxlength="60" class="form-text required" />
</div>
<div class="form-item form-type-password form-item-pass">
 <input type="password" id="edit-pass" name="pass" size="15" maxlength="128" class="form-text required" />
</div>
<input type="hidden" name="form_build_id" value="form-Mbk1UNpuB1Vc8YQuHbhkwBqMiAyXWO6M5A0wYy2VGcM" />
<input type="hidden" name="form_id" value="user_login_block" />
<div class="form-actions form-wrapper" id="edit-actions"><input type="submit" id="edit-submit" name="op" value="Log in" class="form-submit" /></div></div></form>
"#;

/// The comment form of a Drupal 7 node; its hidden fields stand at the end.
pub(super) const COMMENT_FORM: &str = r#"<form class="comment-form" action="/comment/reply/7" method="post" id="comment-form" accept-charset="UTF-8"><div>
<input type="text" id="edit-subject" name="subject" value="" size="60" maxlength="64" class="form-text" />
<textarea class="text-full form-textarea required" id="edit-comment-body-und-0-value" name="comment_body[und][0][value]" cols="60" rows="5"></textarea>
<select class="filter-list form-select" name="comment_body[und][0][format]"><option value="filtered_html" selected="selected">Filtered HTML</option><option value="plain_text">Plain text</option></select>
<input type="hidden" name="form_build_id" value="form-0cVQhFJ-0jGp0hOLE1HwPRdUn1s8v9cbNTxFyYJ2rTE" />
<input type="hidden" name="form_token" value="B7yWnQ2mUjY7ZLp1jcMkF0JkT6VmgLhC2HDzPTrvq4k" />
<input type="hidden" name="form_id" value="comment_node_article_form" />
<input type="submit" id="edit-submit" name="op" value="Save" class="form-submit" /><input type="submit" id="edit-preview" name="op" value="Preview" class="form-submit" />
</div></form>
"#;

/// The parts of an Umami page that carry assets: relative paths, `srcset` with tokens, fonts of another host.
pub(super) const UMAMI: &str = r#"<!DOCTYPE html>
<html lang="en" dir="ltr"><head><meta charset="utf-8" /><title>Home | Umami Food Magazine</title>
<link rel="shortcut icon" href="/core/profiles/demo_umami/themes/umami/favicon.ico" type="image/vnd.microsoft.icon" />
<link rel="alternate" hreflang="es" href="http://site/es" />
<link rel="stylesheet" media="all" href="/sites/default/files/css/css_Zd.css?0" />
<link rel="stylesheet" media="all" href="https://fonts.googleapis.com/css?family=Scope+One&amp;subset=latin-ext" />
<script src="/sites/default/files/js/js_jQ.js"></script></head><body>
<picture><source srcset="/sites/default/files/styles/large/public/pie.jpg?itok=aB-1 1x, /sites/default/files/styles/xl/public/pie.jpg?itok=cD_2 2x" media="all and (min-width: 24em)" />
<img src="/sites/default/files/styles/large/public/pie.jpg?itok=aB-1&amp;h=5" alt="A pie" loading="lazy" /></picture>
<a href="/es/tags/cocción">cocción</a><noscript><img src="/pixel.gif"></noscript>
<script src="/sites/default/files/js/js_jQ.js"></script></body></html>
"#;

/// Encodes fields as `application/x-www-form-urlencoded`.
pub(super) fn encode_form(fields: &[(String, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}
