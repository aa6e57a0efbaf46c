//! The view's few styles: in the terminal's own sixteen colours, but told apart without colours, too.

use ratatui::style::{Color, Modifier, Style};

/// Meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
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
    pub(super) fn of(self, meaning: Meaning) -> Style {
        let style = Style::new();
        let coloured = |colour: Color| {
            if self.colours {
                style.fg(colour)
            } else {
                style
            }
        };
        match meaning {
            Meaning::Plain => style,
            Meaning::Faint => style.add_modifier(Modifier::DIM),
            Meaning::Strong => style.add_modifier(Modifier::BOLD),
            Meaning::Title => coloured(Color::Cyan).add_modifier(Modifier::BOLD),
            Meaning::Good => coloured(Color::Green),
            Meaning::Bad => coloured(Color::Red).add_modifier(Modifier::BOLD),
            Meaning::Warning => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
            Meaning::Selected => style.add_modifier(Modifier::REVERSED),
            Meaning::Graph => coloured(Color::Cyan),
        }
    }
}
