//! Colours headings and severities in terminal output. `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` apply as they do to
//! clap's messages.

use anstream::{AutoStream, ColorChoice};

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// Words at the beginning of a finding or a warning, with their colours.
const GRAVITIES: [(&str, &str); 5] =
    [("critical", RED), ("damage", RED), ("warning", YELLOW), ("caution", YELLOW), ("note", CYAN)];

pub(super) fn is_wanted() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Adds colours to the text. Only escape sequences are inserted, so the words do not change.
pub(super) fn coloured(text: &str) -> String {
    let mut made = String::with_capacity(text.len() + text.len() / 8);
    let mut before = "";
    for line in text.split_inclusive('\n') {
        let word = line.trim_end();
        // A heading starts without indentation, after an empty line or at the start of the text.
        let is_heading = before.trim().is_empty() && !word.is_empty() && !word.starts_with(' ');
        let gravity = GRAVITIES.iter().find_map(|&(gravity, colour)| {
            let rest = word.strip_prefix("  ")?.strip_prefix(gravity)?;
            rest.starts_with(' ').then_some((gravity, colour))
        });
        match gravity {
            _ if is_heading => push(&mut made, BOLD, word, line.get(word.len()..)),
            Some((gravity, colour)) => {
                made.push_str("  ");
                push(&mut made, colour, gravity, line.get(gravity.len() + 2..));
            }
            None => made.push_str(line),
        }
        before = line;
    }
    made
}

fn push(made: &mut String, colour: &str, words: &str, rest: Option<&str>) {
    made.push_str(colour);
    made.push_str(words);
    made.push_str(RESET);
    made.push_str(rest.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_leave_the_text_as_it_is() {
        let text = "run, TPU\n  Step time  1 ms\n\nWhat to do first\n  warning   Devices wait\n            a note\n  notes\n\n  note      x\n";
        let made = coloured(text);
        assert!(made.starts_with("\x1b[1mrun, TPU\x1b[0m\n"), "{made}");
        assert!(made.contains(
            "\x1b[1mWhat to do first\x1b[0m\n  \x1b[33mwarning\x1b[0m   Devices wait\n            a note\n  notes\n"
        ));
        let plain = [BOLD, YELLOW, CYAN, RESET].iter().fold(made, |text, code| text.replace(code, ""));
        assert_eq!(plain, text);
    }
}
