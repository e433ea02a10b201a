//! Renders a comparison on one screen of a terminal: the runs, the answer, and the sources of the difference.

use base::format::{self, printable, shorten};
use base::home::shared;
use compare::Comparison;
use document::terminal;
use pages::compare::sections;

/// Maximum number of runs that are introduced by name.
const NAMED: usize = 8;

/// Returns the comparison as text.
pub fn text(comparison: &Comparison) -> String {
    let sections = sections(comparison, None);
    let text = runs(comparison) + "\n" + &terminal::render(&sections) + &terminal::omitted(&sections);
    shared(format::with_plain_spaces(&text))
}

fn runs(comparison: &Comparison) -> String {
    let mut text = String::new();
    let named = |index: usize| index < NAMED || index == comparison.baseline as usize;
    for (index, run) in comparison.runs.iter().enumerate().filter(|(index, _)| named(*index)) {
        let mark = if index == comparison.baseline as usize { " (baseline)" } else { "" };
        let devices = format!("{} x {}", format::count(run.devices), clean(&run.device_type, 40));
        text.push_str(&format!("{:<44}{}, {devices}\n", clean(&run.name, 30) + mark, printable(&run.platform)));
    }
    let left = (0..comparison.runs.len()).filter(|index| !named(*index)).count();
    if left > 0 {
        text.push_str(&format!("and {left} more runs\n"));
    }
    text
}

fn clean(name: &str, width: usize) -> String {
    printable(&shorten(name, width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::example;

    #[test]
    fn the_text_fits_a_screen_and_begins_with_the_answer() {
        let text = text(&example::comparison());
        assert!(text.lines().count() <= 110, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
        assert!(text.contains("Fairness: 1 of 3"), "{text}");
        assert!(text.contains("−20.0 ms") && text.contains("--------"), "{text}");
        assert!(text.contains("without a match: 100 µs in new and none in main."), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        let position = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(
            position("twice as fast") < position("Scaling") && position("Scaling") < position("Ops that differ most")
        );
    }
}
