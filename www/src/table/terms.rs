//! The terms of a filter, as they were typed: each is a chip of its own in the top bar. What they mean is the library's
//! (`crossprof::table::Filter`).

/// The terms, in order. Spaces within quotes part nothing.
pub fn terms(filter: &str) -> Vec<String> {
    let mut inside = false;
    let parts = filter.split(|c: char| {
        inside ^= c == '"';
        c.is_whitespace() && !inside
    });
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The filter without its term number `at`.
pub fn without(filter: &str, at: usize) -> String {
    let mut left = terms(filter);
    if at < left.len() {
        left.remove(at);
    }
    left.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_taken_away_one_by_one() {
        let filter = " category:\"loop fusion\"  -copy step=3 ";
        assert_eq!(terms(filter), ["category:\"loop fusion\"", "-copy", "step=3"]);
        assert_eq!(without(filter, 1), "category:\"loop fusion\" step=3");
        assert_eq!(without("copy", 0), "");
        assert_eq!(without("copy", 7), "copy");
        assert_eq!(terms("\"open phrase"), ["\"open phrase"]);
    }
}
