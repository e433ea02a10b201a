//! The text filter: words that a row must hold, `-words` that it must not. No patterns.

/// A filter, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl Filter {
    /// Words are separated by spaces; a phrase stands in double quotes; letter case does not matter.
    pub fn parse(text: &str) -> Filter {
        let mut filter = Filter::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (negated, tail) = match rest.strip_prefix('-') {
                Some(tail) => (true, tail),
                None => (false, rest),
            };
            let (word, after) = match tail.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => tail.split_once(char::is_whitespace).unwrap_or((tail, "")),
            };
            if !word.is_empty() {
                let list = if negated { &mut filter.unwanted } else { &mut filter.wanted };
                list.push(word.to_lowercase());
            }
            rest = after.trim_start();
        }
        filter
    }

    /// True where every row passes.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }

    /// Whether a row with these texts passes: each word may stand in any of them.
    pub fn passes<'a>(&self, texts: impl Iterator<Item = &'a str> + Clone) -> bool {
        if self.is_empty() {
            return true;
        }
        let texts: Vec<String> = texts.map(str::to_lowercase).collect();
        let holds = |word: &String| texts.iter().any(|text| text.contains(word));
        self.wanted.iter().all(holds) && !self.unwanted.iter().any(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;

    fn passes(filter: &str, texts: &[&str]) -> bool {
        Filter::parse(filter).passes(texts.iter().copied())
    }

    #[test]
    fn words_are_all_needed_and_minus_excludes() {
        let row = ["fusion.12", "loop fusion"];
        assert!(passes("", &row));
        assert!(passes("  FUSION loop", &row));
        assert!(!passes("fusion copy", &row));
        assert!(!passes("fusion -loop", &row));
        assert!(passes("-copy", &row));
        assert!(passes("\"loop fusion\"", &row));
        assert!(!passes("-\"loop fusion\"", &row));
        assert!(passes("-", &row));
        assert!(passes("-\"", &row));
    }

    #[test]
    fn patterns_are_plain_text() {
        assert!(passes(".*", &["a.*b"]));
        assert!(!passes(".*", &["ab"]));
    }
}
