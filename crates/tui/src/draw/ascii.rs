//! The screen in ASCII, for terminals that know nothing else: each sign is replaced by one that looks like it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Returns whether the terminal and the locale can show more than ASCII. `variable` looks an environment variable up.
pub fn speaks_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let term = set("TERM").unwrap_or_default();
    if matches!(term.as_str(), "linux" | "dumb" | "vt100" | "vt220" | "ansi") {
        return false;
    }
    // The first variable that is set decides (setlocale(3)).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8")
    })
}

pub(super) fn replace(buffer: &mut Buffer, area: Rect) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let cell = &mut buffer[(x, y)];
            let symbol = cell.symbol();
            if !symbol.is_ascii() {
                let sign = symbol.chars().next().map_or(' ', alike);
                cell.set_char(sign);
            }
        }
    }
}

fn alike(sign: char) -> char {
    match sign {
        '█' | '▇' | '▆' => '#',
        '▅' | '▄' => '=',
        '▃' | '▂' => '-',
        '▁' => '_',
        '░' => '.',
        '✓' => '+',
        '✗' => 'x',
        '⚠' => '!',
        '→' => '>',
        '↑' | '▲' => '^',
        '▼' | '↓' => 'v',
        '←' => '<',
        '↵' => 'E',
        '⇥' => 'T',
        '·' => '-',
        '…' => '~',
        '╌' | '─' | '–' => '-',
        '│' | '┊' | '┤' | '╵' => '|',
        '┌' | '┐' | '└' | '┘' => '+',
        '×' => 'x',
        'µ' => 'u',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaks(set: &[(&str, &str)]) -> bool {
        speaks_unicode(|name| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_locale_and_the_terminal_decide() {
        let term = ("TERM", "xterm-256color");
        assert!(speaks(&[term, ("LANG", "de_DE.UTF-8")]));
        assert!(speaks(&[term, ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(speaks(&[term, ("LC_ALL", ""), ("LANG", "C.UTF-8")]));
        assert!(!speaks(&[term, ("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
        assert!(!speaks(&[term, ("LANG", "en_US.ISO-8859-1")]));
        assert!(!speaks(&[term]));
        assert!(!speaks(&[("TERM", "linux"), ("LANG", "C.UTF-8")]));
    }
}
