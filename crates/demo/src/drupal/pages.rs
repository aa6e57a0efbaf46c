//! The pages of the site as HTML. Driven by the site, which decides who sees what; knows nothing of requests.

use super::comments::{Comment, Comments};
use super::forms::{CommentDraft, lines};
use crate::filler::{ENGLISH, FillerText};
use crate::sessions::{LoggedInUser, random_key};
use crate::template::{Template, escape};

/// The number of the newest article; the front page shows the last ten.
pub(super) const LAST_ARTICLE: u32 = 10_000;
/// The length of an article's text that makes a page as large as on the observed site: 10.1 kB, with the comment
/// form 12.6 kB.
const ARTICLE_BYTES: usize = 1_850;
/// The length of a teaser's text that makes the front page 29 kB.
const TEASER_BYTES: usize = 1_290;

/// The reader of a page, and the parts around its content.
pub(super) struct PageFrame<'a> {
    /// The host and port, for the addresses of assets.
    pub(super) host: &'a str,
    /// The path that was requested.
    pub(super) path: &'a str,
    pub(super) member: Option<LoggedInUser>,
    /// A notice above the content, such as that a comment was posted.
    pub(super) notice: Option<String>,
    /// The errors above the content, as HTML.
    pub(super) errors: Vec<String>,
}

/// The content of a page.
pub(super) enum PageContent {
    Front,
    /// An article and its comments.
    Article(u32),
    Profile(u32),
    /// The login form with the name that was typed.
    Login(String),
    /// The form for a comment on an article.
    Reply(u32, CommentDraft),
    /// The form for a comment on an article, with the comment as it would look above it.
    Preview(u32, CommentDraft),
    Forbidden,
    NotFound,
}

impl PageContent {
    fn title(&self) -> String {
        match self {
            PageContent::Front => "Welcome to lgoose demo".to_owned(),
            PageContent::Article(nid) => format!("Article {nid}"),
            PageContent::Profile(uid) => format!("user{uid}"),
            PageContent::Login(_) => "User account".to_owned(),
            PageContent::Reply(..) => "Add new comment".to_owned(),
            PageContent::Preview(..) => "Preview comment".to_owned(),
            PageContent::Forbidden => "Access denied".to_owned(),
            PageContent::NotFound => "Page not found".to_owned(),
        }
    }

    /// Returns whether the page itself has a form, besides the login block.
    fn has_form(&self) -> bool {
        !matches!(
            self,
            PageContent::Front
                | PageContent::Profile(_)
                | PageContent::Forbidden
                | PageContent::NotFound
        )
    }

    fn capacity(&self) -> usize {
        match self {
            PageContent::Front => 32 << 10,
            PageContent::Article(_) => 16 << 10,
            _ => 10 << 10,
        }
    }
}

/// The templates and texts that pages are made of.
pub(super) struct PageRenderer {
    text: FillerText,
    head: Template<2>,
    form_script: Template<1>,
    header: Template<4>,
    footer: Template<1>,
    login_block: Template<2>,
    feed_icon: Template<1>,
    article: Template<4>,
    comment: Template<5>,
    comment_form: Template<6>,
    login: Template<2>,
    profile: Template<1>,
    /// The ten teasers as anonymous visitors and as members see them: they never change.
    teasers: [String; 2],
}

impl PageRenderer {
    pub(super) fn new() -> Self {
        let text = FillerText::new(&ENGLISH);
        PageRenderer {
            teasers: [false, true].map(|is_member| teasers(&text, is_member)),
            text,
            head: Template::new(include_str!("head.html"), ["host", "head_title"]),
            form_script: Template::new(include_str!("form_script.html"), ["host"]),
            header: Template::new(
                include_str!("header.html"),
                ["host", "user_menu", "messages", "title"],
            ),
            footer: Template::new(include_str!("footer.html"), ["sidebar"]),
            login_block: Template::new(include_str!("login_block.html"), ["path", "build_id"]),
            feed_icon: Template::new(include_str!("feed_icon.html"), ["host"]),
            article: Template::new(include_str!("node.html"), ["nid", "uid", "text", "links"]),
            comment: Template::new(
                include_str!("comment.html"),
                ["cid", "uid", "posted", "subject", "body"],
            ),
            comment_form: Template::new(
                include_str!("comment_form.html"),
                ["nid", "uid", "subject", "body", "build_id", "token"],
            ),
            login: Template::new(include_str!("login.html"), ["name", "build_id"]),
            profile: Template::new(include_str!("profile.html"), ["uid"]),
        }
    }

    /// Renders a page.
    pub(super) fn render(
        &self,
        frame: &PageFrame<'_>,
        page: &PageContent,
        comments: &Comments,
    ) -> String {
        let mut html = String::with_capacity(page.capacity());
        self.open(&mut html, frame, page);
        match page {
            PageContent::Front => {
                html.push_str(&self.teasers[usize::from(frame.member.is_some())]);
                self.feed_icon.render(&mut html, [frame.host]);
            }
            PageContent::Article(nid) => self.article(&mut html, frame, *nid, comments),
            PageContent::Profile(uid) => self.profile.render(&mut html, [&uid.to_string()]),
            PageContent::Login(name) => self.login.render(&mut html, [&escape(name), &build_id()]),
            PageContent::Reply(nid, draft) => self.comment_form(&mut html, frame, *nid, draft),
            PageContent::Preview(nid, draft) => {
                html.push_str("<div class=\"preview\">");
                html.push_str(&lines(&draft.body));
                html.push_str("</div>\n");
                self.comment_form(&mut html, frame, *nid, draft);
            }
            PageContent::Forbidden => html.push_str("You are not authorized to access this page."),
            PageContent::NotFound => html.push_str("The requested page could not be found."),
        }
        self.close(&mut html, frame, page);
        html
    }

    fn open(&self, html: &mut String, frame: &PageFrame<'_>, page: &PageContent) {
        let title = page.title();
        self.head
            .render(html, [frame.host, &format!("{title} | lgoose demo")]);
        if frame.member.is_none() || page.has_form() {
            self.form_script.render(html, [frame.host]);
        }
        let user_menu = match frame.member {
            Some(_) => include_str!("user_menu.html"),
            None => "",
        };
        let values = [frame.host, user_menu, &messages(frame), &title];
        self.header.render(html, values);
    }

    fn close(&self, html: &mut String, frame: &PageFrame<'_>, page: &PageContent) {
        let mut sidebar = String::new();
        if frame.member.is_some() {
            sidebar.push_str(include_str!("navigation.html"));
        } else if !matches!(page, PageContent::Login(_)) {
            let path = match frame.path.trim_matches('/') {
                "" => "node",
                path => path,
            };
            self.login_block
                .render(&mut sidebar, [&escape(path), &build_id()]);
        }
        self.footer.render(html, [&sidebar]);
    }

    fn article(&self, html: &mut String, frame: &PageFrame<'_>, nid: u32, comments: &Comments) {
        let text = self.text.article(nid, ARTICLE_BYTES);
        let links = match frame.member {
            Some(_) => "",
            None => include_str!("log_in_to_comment.html"),
        };
        let values = [&nid.to_string(), &author(nid).to_string(), text, links];
        self.article.render(html, values);
        comments.each(nid, |comment| self.comment(html, comment));
        if frame.member.is_some() {
            html.push_str("<h2 class=\"title comment-form\">Add new comment</h2>\n");
            self.comment_form(html, frame, nid, &CommentDraft::default());
        }
        html.push_str("</div></div>\n");
    }

    fn comment(&self, html: &mut String, comment: &Comment) {
        let posted = comment.posted.strftime("%a, %m/%d/%Y - %H:%M");
        let values = [
            &comment.cid.to_string(),
            &comment.uid.to_string(),
            &posted.to_string(),
            &*escape(&comment.subject),
            &lines(&comment.body),
        ];
        self.comment.render(html, values);
    }

    /// The form for a comment; only members have one.
    fn comment_form(
        &self,
        html: &mut String,
        frame: &PageFrame<'_>,
        nid: u32,
        draft: &CommentDraft,
    ) {
        let Some(member) = &frame.member else {
            return;
        };
        let values = [
            &nid.to_string(),
            &member.uid.to_string(),
            &*escape(&draft.subject),
            &*escape(&draft.body),
            &build_id(),
            &member.form_token,
        ];
        self.comment_form.render(html, values);
    }
}

/// A form_build_id, new for every form on every page.
fn build_id() -> String {
    format!("form-{}", random_key())
}

/// The number of the user who wrote article `nid`.
fn author(nid: u32) -> u32 {
    2 + nid % 5_000
}

fn teasers(text: &FillerText, is_member: bool) -> String {
    let teaser = Template::new(include_str!("teaser.html"), ["nid", "uid", "text"]);
    let mut html = String::new();
    for nid in (LAST_ARTICLE - 9..=LAST_ARTICLE).rev() {
        let words = text.article(nid, TEASER_BYTES);
        teaser.render(
            &mut html,
            [&nid.to_string(), &author(nid).to_string(), words],
        );
        html.push_str(&if is_member {
            format!("<li class=\"comment-add last\"><a href=\"/comment/reply/{nid}#comment-form\" title=\"Add a new comment to this page.\">Add new comment</a></li>")
        } else {
            format!("<li class=\"comment_forbidden last\"><span><a href=\"/user/login?destination=node/{nid}%23comment-form\">Log in</a> to post comments</span></li>")
        });
        html.push_str("</ul></div>\n</div>\n");
    }
    html
}

fn messages(frame: &PageFrame<'_>) -> String {
    let mut html = String::new();
    if let Some(notice) = &frame.notice {
        html.push_str(
            "<div class=\"messages status\"><h2 class=\"element-invisible\">Status message</h2>",
        );
        html.push_str(notice);
        html.push_str("</div>\n");
    }
    for error in &frame.errors {
        html.push_str(
            "<div class=\"messages error\"><h2 class=\"element-invisible\">Error message</h2>",
        );
        html.push_str(error);
        html.push_str("</div>\n");
    }
    html
}
