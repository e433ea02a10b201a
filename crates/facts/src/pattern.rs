//! How a row of a fact table matches a name.

/// A test of a name. All but [`Pattern::Frame`] ignore case: their patterns are written in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The name starts with this text.
    Prefix(&'static str),
    /// This text stands anywhere in the name.
    Contains(&'static str),
    /// These words (joined by `-`) stand in the name one after the other; a last `*` lets the last word go on.
    Words(&'static str),
    /// A Python frame of this `file.py function`.
    Frame(&'static str),
}

impl Pattern {
    /// The pattern of a table's `match` and `pattern` cells, or `None` where the kind is unknown.
    pub(super) fn parse(kind: &str, text: &'static str) -> Option<Pattern> {
        match kind {
            "prefix" => Some(Pattern::Prefix(text)),
            "contains" => Some(Pattern::Contains(text)),
            "words" => Some(Pattern::Words(text)),
            "frame" => Some(Pattern::Frame(text)),
            _ => None,
        }
    }

    /// Whether the name `name` matches; a frame never does, see [`Pattern::matches_frame`].
    pub fn matches(self, name: &Name) -> bool {
        match self {
            Pattern::Prefix(text) => name.lower.starts_with(text),
            Pattern::Contains(text) => name.lower.contains(text),
            Pattern::Words(text) => name.has_words(text),
            Pattern::Frame(_) => false,
        }
    }

    /// Whether the event name `frame` is the Python frame that the pattern asks for. JAX writes
    /// `$file.py:12 function`, PyTorch `path/file.py(12): function`.
    pub fn matches_frame(self, frame: &str) -> bool {
        let Pattern::Frame(wanted) = self else { return false };
        let Some((file, function)) = wanted.split_once(' ') else { return false };
        let Some((place, called)) = frame.rsplit_once(' ') else { return false };
        let place = place.trim_end_matches([':', ')']).trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(path) = place.strip_suffix([':', '(']) else { return false };
        called == function && path.rsplit(['/', '$']).next() == Some(file)
    }
}

/// A name made ready for many patterns: its first 256 bytes in lower case, cut into words.
#[derive(Clone, Debug, Default)]
pub struct Name {
    lower: String,
    words: Vec<(usize, usize)>,
}

/// What tells kernels apart stands at the front of their names, while template arguments can go on for kilobytes.
const LONGEST: usize = 256;

impl Name {
    /// Prepares `name`. Words are runs of letters and digits; numbers alone are no words.
    pub fn new(name: &str) -> Name {
        let mut end = name.len().min(LONGEST);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let lower = name.get(..end).unwrap_or("").to_ascii_lowercase();
        let mut words = Vec::new();
        let mut start = 0;
        for (at, byte) in lower.bytes().chain([b' ']).enumerate() {
            if byte.is_ascii_alphanumeric() {
                continue;
            }
            let number = lower.get(start..at).is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
            if at > start && !number {
                words.push((start, at));
            }
            start = at + 1;
        }
        Name { lower, words }
    }

    /// The words, in order and in lower case.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter_map(|&(start, end)| self.lower.get(start..end))
    }

    fn has_words(&self, pattern: &str) -> bool {
        let matches = |word: &str, wanted: &str| match wanted.strip_suffix('*') {
            Some(start) => word.starts_with(start),
            None => word == wanted,
        };
        (0..self.words.len()).any(|first| {
            let mut words = self.words().skip(first);
            pattern.split('-').all(|wanted| words.next().is_some_and(|word| matches(word, wanted)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_respect_their_boundaries() {
        let has = |name: &str, words| Pattern::Words(words).matches(&Name::new(name));
        assert!(has("all-reduce-start.12", "all-reduce"));
        assert!(has("loop_all_reduce_fusion", "all-reduce"));
        assert!(!has("all-reducer", "all-reduce"));
        assert!(has("all-reducer", "all-reduce*"));
        assert!(!has("reduce-all", "all-reduce"));
        assert!(!has("dotted.1", "dot"));
    }

    #[test]
    fn frames_name_a_file_and_a_function() {
        let frame = Pattern::Frame("dataloader.py __next__");
        assert!(frame.matches_frame("$dataloader.py:701 __next__"));
        assert!(frame.matches_frame("torch/utils/data/dataloader.py(701): __next__"));
        assert!(!frame.matches_frame("$my_dataloader.py:1 __next__"));
        assert!(!frame.matches_frame("$dataloader.py:1 __init__"));
        assert!(!frame.matches_frame("dataloader.py __next__"));
    }
}
