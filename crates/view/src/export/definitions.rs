//! What the headline numbers mean: the words of docs/metrics.md, for a report that stands for itself.
//!
//! `definitions.tsv` repeats them for the numbers that comparisons score, since the whole document would weigh more than the
//! report; a test holds the two equal.

/// One line a field: its path, a tab, its definition.
const DEFINITIONS: &str = include_str!("definitions.tsv");

/// What the number at this path of the profile means; `None` where docs/metrics.md does not define it.
pub fn definition(metric: &str) -> Option<&'static str> {
    all().find(|(path, _)| *path == metric).map(|(_, text)| text)
}

/// Every path with its definition.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    DEFINITIONS.lines().filter_map(|line| line.split_once('\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition in the document: the bullet that starts with the path, its marks taken off.
    fn in_the_document(document: &str, metric: &str) -> Option<String> {
        let start = document.find(&format!("\n* `{metric}` "))? + metric.len() + 6;
        let mut text = String::new();
        for (index, line) in document[start..].lines().enumerate() {
            if index > 0 && !line.starts_with("  ") {
                break;
            }
            text.push_str(line.trim());
            text.push(' ');
        }
        let mut plain = text.trim().replace(['`', '*'], "");
        // Of a link its words.
        while let Some(middle) = plain.find("](") {
            let start = plain[..middle].rfind('[')?;
            let end = middle + plain[middle..].find(')')?;
            plain = format!("{}{}{}", &plain[..start], &plain[start + 1..middle], &plain[end + 1..]);
        }
        let first = plain.chars().next()?;
        Some(format!("{}{}", first.to_uppercase(), &plain[first.len_utf8()..]))
    }

    /// After a change of docs/metrics.md: `CROSSPROF_WRITE_SCHEMA=1 cargo test -p view definitions`.
    #[test]
    fn they_are_those_of_the_document() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let document = std::fs::read_to_string(format!("{root}docs/metrics.md")).unwrap();
        let mut current = String::new();
        for line in DEFINITIONS.lines() {
            let path = line.split('\t').next().unwrap();
            let text = in_the_document(&document, path).unwrap_or_else(|| panic!("docs/metrics.md lacks {path}"));
            current.push_str(&format!("{path}\t{text}\n"));
        }
        if std::env::var_os("CROSSPROF_WRITE_SCHEMA").is_some() {
            std::fs::write(format!("{root}crates/view/src/export/definitions.tsv"), &current).unwrap();
        } else {
            assert!(current == DEFINITIONS, "CROSSPROF_WRITE_SCHEMA=1 cargo test -p view definitions");
        }
    }

    #[test]
    fn every_scored_number_has_one() {
        let source = include_str!("../../../compare/src/scored.rs");
        let is_path = |text: &&str| {
            text.contains('.')
                && !text.ends_with('.')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c))
        };
        let paths: Vec<&str> = source.split('"').skip(1).step_by(2).filter(is_path).collect();
        assert!(paths.len() > 15, "{paths:?}");
        for path in paths {
            assert!(path.starts_with("efficiency.") || definition(path).is_some(), "definitions.tsv lacks {path}");
        }
    }
}
