//! The static files of a Drupal 7 with its standard theme: real names and sizes. Driven by the site.

/// The files: path without the leading slash, and size in bytes. All stylesheets together have 51,700.
pub(super) const FILES: [(&str, usize); 21] = [
    ("misc/jquery.js", 78_601),
    ("misc/jquery-extend-3.4.0.js", 3_415),
    ("misc/jquery-html-prefilter-3.5.0-backport.js", 12_629),
    ("misc/jquery.once.js", 2_974),
    ("misc/drupal.js", 20_611),
    ("misc/form-single-submit.js", 2_619),
    ("misc/feed.png", 656),
    ("themes/bartik/logo.png", 3_479),
    ("modules/system/system.base.css", 5_428),
    ("modules/system/system.menus.css", 2_035),
    ("modules/system/system.messages.css", 961),
    ("modules/system/system.theme.css", 3_711),
    ("modules/comment/comment.css", 184),
    ("modules/field/theme/field.css", 550),
    ("modules/node/node.css", 144),
    ("modules/search/search.css", 564),
    ("modules/user/user.css", 1_827),
    ("themes/bartik/css/layout.css", 1_634),
    ("themes/bartik/css/style.css", 32_700),
    ("themes/bartik/css/colors.css", 1_357),
    ("themes/bartik/css/print.css", 605),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stylesheets_and_scripts_add_up_to_what_drupal_sends() {
        let sum = |ending: &str| -> usize {
            let files = FILES.iter().filter(|(path, _)| path.ends_with(ending));
            files.map(|(_, size)| size).sum()
        };
        assert_eq!(sum(".css"), 51_700);
        assert_eq!(sum(".js") + sum(".png"), 122_365 + 2_619);
    }
}
