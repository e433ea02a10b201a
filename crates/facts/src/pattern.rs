//! Matches names against the rows of a fact table.

use super::{library_files, table};

/// A pattern that names are compared with. All patterns except [`Pattern::Frame`] ignore case and are written in lower
/// case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The name is this text.
    Exact(&'static str),
    /// The name starts with this text.
    Prefix(&'static str),
    /// The name contains this text.
    Contains(&'static str),
    /// The name contains these words (joined by `-`) in this order and next to each other. If the pattern ends with
    /// `*`, the last word of the name may be longer.
    Words(&'static str),
    /// The name is a Python frame of a certain file and function. The pattern is written as `file.py function`. `*
    /// function` matches a user's function in any file.
    Frame(&'static str),
}

impl Pattern {
    /// Parses the `match` and `pattern` cells of a table. Returns `None` if the kind of match is unknown.
    pub(super) fn parse(kind: &str, text: &'static str) -> Option<Pattern> {
        match kind {
            "exact" => Some(Pattern::Exact(text)),
            "prefix" => Some(Pattern::Prefix(text)),
            "contains" => Some(Pattern::Contains(text)),
            "words" => Some(Pattern::Words(text)),
            "frame" => Some(Pattern::Frame(text)),
            _ => None,
        }
    }

    /// Returns true if `name` matches. A [`Pattern::Frame`] never matches here, see [`Pattern::matches_frame`].
    pub fn matches(self, name: &Name) -> bool {
        match self {
            Pattern::Exact(text) => name.lower == text,
            Pattern::Prefix(text) => name.lower.starts_with(text),
            Pattern::Contains(text) => name.lower.contains(text),
            Pattern::Words(text) => name.has_words(text),
            Pattern::Frame(_) => false,
        }
    }

    /// Returns the bytes with which every match begins. The match may be at any position in the name.
    fn head(self) -> &'static [u8] {
        match self {
            Pattern::Exact(text) | Pattern::Prefix(text) | Pattern::Contains(text) => text.as_bytes(),
            Pattern::Words(text) => text.split(['-', '*']).next().unwrap_or("").as_bytes(),
            Pattern::Frame(_) => b"",
        }
    }

    /// Returns true if `name` matches at the byte `at`. If a word starts at `at`, `word` is the index of this word.
    fn matches_at(self, name: &Name, at: usize, word: Option<usize>) -> bool {
        let goes_on =
            |text: &str| name.lower.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        match self {
            Pattern::Exact(text) => at == 0 && name.lower == text,
            Pattern::Prefix(text) => at == 0 && goes_on(text),
            Pattern::Contains(text) => goes_on(text),
            Pattern::Words(text) => word.is_some_and(|first| name.has_words_from(first, text)),
            Pattern::Frame(_) => false,
        }
    }

    /// Returns true if `frame`, the name of an event, is the Python frame that the pattern describes. JAX writes
    /// `$file.py:12 function`, and PyTorch writes `path/file.py(12): function`.
    pub fn matches_frame(self, frame: &str) -> bool {
        let Pattern::Frame(wanted) = self else { return false };
        let Some((file, function)) = wanted.split_once(' ') else { return false };
        let Some((place, called)) = frame.rsplit_once(' ') else { return false };
        let place = place.trim_end_matches([':', ')']).trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(path) = place.strip_suffix([':', '(']) else { return false };
        let is_file = || match file {
            "*" => library_files::is_users(frame),
            _ => path.rsplit(['/', '$']).next() == Some(file),
        };
        called == function && is_file()
    }
}

/// A name prepared for matching many patterns: its first 256 bytes in lower case, split into words.
#[derive(Clone, Debug, Default)]
pub struct Name {
    lower: String,
    words: Vec<(usize, usize)>,
}

/// Maximum number of bytes that are compared. The start of a kernel's name identifies it, but its template arguments
/// can take kilobytes.
const LONGEST: usize = 256;

impl Name {
    /// Prepares `name`. A word is a run of letters and digits that is not only digits.
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

    /// Returns the words, in order and in lower case.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter_map(|&(start, end)| self.lower.get(start..end))
    }

    fn has_words(&self, pattern: &str) -> bool {
        (0..self.words.len()).any(|first| self.has_words_from(first, pattern))
    }

    fn has_words_from(&self, first: usize, pattern: &str) -> bool {
        let matches = |word: &str, wanted: &str| match wanted.strip_suffix('*') {
            Some(start) => word.starts_with(start),
            None => word == wanted,
        };
        let mut words = self.words().skip(first);
        pattern.split('-').all(|wanted| words.next().is_some_and(|word| matches(word, wanted)))
    }
}

/// Hundreds of patterns, all searched in one pass over a name. At each byte of the name, only patterns that begin with
/// the next two bytes are tried. A profile can have a million kernels with different names, so trying every pattern on
/// each name would be too slow.
#[derive(Debug)]
pub(super) struct Patterns {
    patterns: Vec<Pattern>,
    /// Indices of the patterns by their first two bytes, see [`place`].
    by_head: Vec<Vec<usize>>,
    /// Indices of the patterns whose head is shorter than two bytes.
    others: Vec<usize>,
}

/// Number of low bits of each byte that are used in the index. Five bits are enough to distinguish letters.
const BITS: usize = 5;

/// Returns the index in `by_head` of patterns that begin with these bytes.
fn place(first: u8, second: u8) -> usize {
    let low = |byte: u8| usize::from(byte) & ((1 << BITS) - 1);
    low(first) << BITS | low(second)
}

impl Patterns {
    pub(crate) fn new(patterns: Vec<Pattern>) -> Patterns {
        let mut by_head = vec![Vec::new(); 1 << (2 * BITS)];
        let mut others = Vec::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let list = match pattern.head() {
                &[first, second, ..] => by_head.get_mut(place(first, second)),
                _ => None,
            };
            list.unwrap_or(&mut others).push(number);
        }
        Patterns { patterns, by_head, others }
    }

    /// Returns the index of the first pattern that `name` matches.
    pub(crate) fn first_match(&self, name: &Name) -> Option<usize> {
        let pattern = |number: usize| self.patterns.get(number);
        let mut best = self.others.iter().copied().find(|&number| pattern(number).is_some_and(|it| it.matches(name)));
        let mut words = name.words.iter().map(|&(start, _)| start).enumerate().peekable();
        for (at, pair) in name.lower.as_bytes().windows(2).enumerate() {
            let word = words.next_if(|&(_, start)| start == at).map(|(word, _)| word);
            let &[first, second] = pair else { continue };
            let list = self.by_head.get(place(first, second)).map_or(&[][..], Vec::as_slice);
            let mut better = list.iter().copied().take_while(|&number| best.is_none_or(|best| number < best));
            let found = better.find(|&number| pattern(number).is_some_and(|it| it.matches_at(name, at, word)));
            best = found.or(best);
        }
        best
    }
}

/// Returns the patterns of a table with the columns `kind, pattern, source`.
pub(super) fn of_table(text: &'static str) -> Vec<Pattern> {
    let parse = |cells: Vec<&'static str>| match cells.as_slice() {
        &[kind, pattern, _source] => Pattern::parse(kind, pattern),
        _ => None,
    };
    table::rows(text).filter_map(parse).collect()
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
    fn one_pass_finds_the_same_as_trying_all_patterns() {
        let texts = ["nccl", "conv", "all-reduce*", "a", "reduce", "é", "x-y", "conv2d", "all-reduce", "gemm", ""];
        let kinds: [fn(&'static str) -> Pattern; 4] =
            [Pattern::Contains, Pattern::Prefix, Pattern::Words, Pattern::Exact];
        let patterns: Vec<Pattern> = texts.iter().rev().flat_map(|text| kinds.map(|kind| kind(text))).collect();
        let names = [
            "",
            "c",
            "conv",
            "x-y",
            "myconv2d.3",
            "all_reduce_fusion",
            "x.y",
            "yx",
            "É",
            "some é",
            "all.reducer gemm",
            "7",
        ];
        let mut found = 0;
        for skipped in 0..patterns.len() {
            let (_, patterns) = patterns.split_at(skipped);
            let walk = Patterns::new(patterns.to_vec());
            for name in names.map(Name::new) {
                let first = patterns.iter().position(|pattern| pattern.matches(&name));
                assert_eq!(walk.first_match(&name), first, "{name:?} {patterns:?}");
                found += usize::from(first.is_some_and(|first| first > 0));
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn frames_name_a_file_and_a_function() {
        let frame = Pattern::Frame("dataloader.py __next__");
        assert!(frame.matches_frame("$dataloader.py:701 __next__"));
        assert!(frame.matches_frame("torch/utils/data/dataloader.py(701): __next__"));
        assert!(!frame.matches_frame("$my_dataloader.py:1 __next__"));
        assert!(!frame.matches_frame("$dataloader.py:1 __init__"));
        assert!(!frame.matches_frame("dataloader.py __next__"));
        let anywhere = Pattern::Frame("* next_batch");
        assert!(anywhere.matches_frame("$train.py:7 next_batch"));
        assert!(
            !anywhere.matches_frame("$train.py:7 next_batches")
                && !anywhere.matches_frame("$threading.py:7 next_batch")
        );
    }
}
