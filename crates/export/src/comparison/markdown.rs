//! Renders a comparison as Markdown (GitHub's dialect), for a pull request. The answer, the most important numbers and
//! the causes fit on one screen. Everything else is collapsed.

use crate::markdown::escape;
use base::home::shared;
use compare::Comparison;
use document::markdown::render_all;
use pages::compare::sections;

/// Maximum number of runs that are named in the title.
const NAMED: usize = 8;

/// Returns the comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let names: Vec<String> = comparison.runs.iter().map(|run| escape(&run.name)).collect();
    let title = if names.len() <= NAMED { names.join(" and ") } else { format!("{} runs", names.len()) };
    shared(format!("## {title}\n\n{}", render_all(&sections(comparison, None))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::example;

    #[test]
    fn it_has_the_answer_and_no_markup_of_a_trace() {
        let text = markdown(&example::comparison());
        assert!(text.starts_with("## main and new\n\nnew is twice as fast"), "{text}");
        assert!(text.contains("without a match: 100 µs in new and none in main."), "{text}");
        assert!(text.contains("&lt;img onerror=x>") && !text.contains("<img"), "{text}");
        let opened = text.matches("<details>\n<summary>").count();
        assert!(opened > 4 && text.matches("</details>").count() == opened, "{text}");
        for row in text.lines().filter(|line| line.starts_with('|')) {
            assert!(row.ends_with(" |"), "{row}");
        }
    }
}
