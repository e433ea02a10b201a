//! How a row of a fact table matches a name.

/// A test of a name. All but [`Pattern::Frame`] ignore case: their patterns are written in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The name starts with this text.
    Prefix(&'static str),
    /// The name has this text anywhere.
    Contains(&'static str),
    /// The name has these words (joined by `-`) one after the other; a last `*` lets the last word go on.
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

    /// Bytes with which any match begins, wherever in the name.
    fn head(self) -> &'static [u8] {
        match self {
            Pattern::Prefix(text) | Pattern::Contains(text) => text.as_bytes(),
            Pattern::Words(text) => text.split(['-', '*']).next().unwrap_or("").as_bytes(),
            Pattern::Frame(_) => b"",
        }
    }

    /// Whether `name` matches from the byte `at` on, which is the first of its word number `word` where there is one.
    fn matches_at(self, name: &Name, at: usize, word: Option<usize>) -> bool {
        let goes_on =
            |text: &str| name.lower.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        match self {
            Pattern::Prefix(text) => at == 0 && goes_on(text),
            Pattern::Contains(text) => goes_on(text),
            Pattern::Words(text) => word.is_some_and(|first| name.has_words_from(first, text)),
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

/// Hundreds of patterns that are looked for in one walk over a name: at each byte only those are tried that begin with it and the
/// next one. A million kernels of different names would else be searched for all of them, one after the other.
#[derive(Debug)]
pub(super) struct Patterns {
    patterns: Vec<Pattern>,
    /// Numbers of the patterns by their first two bytes, see [`place`].
    by_head: Vec<Vec<usize>>,
    /// Numbers of the patterns with a shorter head.
    others: Vec<usize>,
}

/// Bits of a byte that tell where a pattern stands: enough for letters.
const BITS: usize = 5;

/// Where the patterns stand that begin with these bytes.
fn place(first: u8, second: u8) -> usize {
    let low = |byte: u8| usize::from(byte) & ((1 << BITS) - 1);
    low(first) << BITS | low(second)
}

impl Patterns {
    pub fn new(patterns: Vec<Pattern>) -> Patterns {
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

    /// Number of the first pattern that `name` matches.
    pub fn first_match(&self, name: &Name) -> Option<usize> {
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
    fn one_walk_finds_what_trying_all_finds() {
        let texts = ["nccl", "conv", "all-reduce*", "a", "reduce", "é", "x-y", "conv2d", "all-reduce", "gemm", ""];
        let kinds: [fn(&'static str) -> Pattern; 3] = [Pattern::Contains, Pattern::Prefix, Pattern::Words];
        let patterns: Vec<Pattern> = texts.iter().rev().flat_map(|text| kinds.map(|kind| kind(text))).collect();
        let names =
            ["", "c", "conv", "myconv2d.3", "all_reduce_fusion", "x.y", "yx", "É", "some é", "all.reducer gemm", "7"];
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
    }
}
