//! Shows a line with a marker below the position of a mistake.

use std::ops::Range;

/// Lines with more characters than this are cut around the marker.
const MOST_CHARS: usize = 160;
/// Characters shown before the marker if a line is cut.
const BEFORE: usize = 60;

/// Returns the visible part of `line`, and a second line with markers under the bytes in `span`. Control characters become
/// spaces. Tabs are kept in both lines, so that the markers stay aligned.
pub fn excerpt(line: &str, span: Range<usize>) -> (String, String) {
    let start = (0..=span.start.min(line.len())).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    let (before, after) = line.split_at(start);
    let marked = after.char_indices().take_while(|(at, _)| start + at < span.end).count();
    let shown = |c: char| if c.is_control() && c != '\t' { ' ' } else { c };
    let (mut before, mut after): (Vec<char>, Vec<char>) =
        (before.chars().map(shown).collect(), after.chars().map(shown).collect());
    if before.len() + after.len() > MOST_CHARS {
        if before.len() > BEFORE {
            before.drain(..before.len() - BEFORE);
            before.insert(0, '…');
        }
        if after.len() > MOST_CHARS - BEFORE {
            after.truncate(MOST_CHARS - BEFORE);
            after.push('…');
        }
    }
    let indent = before.iter().map(|&c| if c == '\t' { '\t' } else { ' ' });
    let marks = std::iter::repeat_n('^', marked.min(after.len()).max(1));
    (before.iter().chain(&after).collect(), indent.chain(marks).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_below_the_marked_text() {
        let of = |line: &str, span| {
            let (text, marks) = excerpt(line, span);
            format!("{text}\n{marks}")
        };
        assert_eq!(of("\ta é = 1", 3..5), "\ta é = 1\n\t  ^");
        assert_eq!(of("a\u{1b}b", 2..2), "a b\n  ^");
        assert_eq!(of("", 0..7), "\n^");
        // Spans that start inside a character or extend beyond the end.
        assert_eq!(of("éé", 1..4), "éé\n^^");
        assert_eq!(of("ab", 9..12), "ab\n  ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let line = format!("{}!{}", "x".repeat(70_000), "y".repeat(70_000));
        let (text, marks) = excerpt(&line, 70_000..70_001);
        assert_eq!(text, format!("…{}!{}…", "x".repeat(60), "y".repeat(99)));
        assert_eq!(marks, format!("{}^", " ".repeat(61)));
        let (text, marks) = excerpt(&line, 0..70_000);
        assert_eq!((text.chars().count(), marks), (101, "^".repeat(101)));
    }
}
