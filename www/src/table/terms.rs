//! The terms of a filter as the user typed them. The top bar shows each term as a chip. The library defines the meaning
//! of the terms (`crossprof::table::Filter`).

pub use crossprof::table::terms;

/// Returns the filter without the term at index `at`.
pub fn without(filter: &str, at: usize) -> String {
    let mut left = terms(filter);
    if at < left.len() {
        left.remove(at);
    }
    left.join(" ")
}

/// Returns the filter with `term` as the only condition on the column `key`. Removes the term if the filter already
/// contains it.
pub fn toggled(filter: &str, key: &str, term: &str) -> String {
    let mut all = terms(filter);
    let held = all.iter().any(|it| it == term);
    all.retain(|it| !it.strip_prefix(key).is_some_and(|rest| rest.starts_with('=')));
    if !held {
        all.push(term.to_owned());
    }
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_removed_one_by_one() {
        let filter = " category:\"loop fusion\"  -copy step=3 ";
        assert_eq!(terms(filter), ["category:\"loop fusion\"", "-copy", "step=3"]);
        assert_eq!(without(filter, 1), "category:\"loop fusion\" step=3");
        assert_eq!(without("copy", 0), "");
        assert_eq!(without("copy", 7), "copy");
        assert_eq!(terms("\"open phrase"), ["\"open phrase"]);
    }

    #[test]
    fn toggling_a_term_adds_removes_and_replaces_it() {
        let one = toggled("-copy step=2", "step", "step=\"3\"");
        assert_eq!(one, "-copy step=\"3\"");
        assert_eq!(toggled(&one, "step", "step=\"3\""), "-copy");
        assert_eq!(toggled("steps=1", "step", "step=\"3\""), "steps=1 step=\"3\"");
    }
}
