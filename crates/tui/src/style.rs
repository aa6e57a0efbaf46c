//! The view's few styles: in the terminal's own sixteen colours, and distinct without colours, too.

use ratatui::style::{Color, Modifier, Style};

/// Meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextMeaning {
    Plain,
    Faint,
    Strong,
    Title,
    Good,
    Bad,
    Warning,
    Selected,
    Graph,
}

/// Styles, with colours or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Styles {
    pub(super) colours: bool,
}

impl Styles {
    pub(super) fn of(self, meaning: TextMeaning) -> Style {
        let style = Style::new();
        let coloured = |colour: Color| {
            if self.colours {
                style.fg(colour)
            } else {
                style
            }
        };
        match meaning {
            TextMeaning::Plain => style,
            TextMeaning::Faint => style.add_modifier(Modifier::DIM),
            TextMeaning::Strong => style.add_modifier(Modifier::BOLD),
            TextMeaning::Title => coloured(Color::Cyan).add_modifier(Modifier::BOLD),
            TextMeaning::Good => coloured(Color::Green),
            TextMeaning::Bad => coloured(Color::Red).add_modifier(Modifier::BOLD),
            TextMeaning::Warning => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
            TextMeaning::Selected => style.add_modifier(Modifier::REVERSED),
            TextMeaning::Graph => coloured(Color::Cyan),
        }
    }
}
