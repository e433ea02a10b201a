//! Searches for a word in many contiguous texts, ignoring letter case.
//!
//! A million texts are not searched one by one. Together they form one long text, and the search looks for the rarest
//! byte of the word in it. At each hit, the other letters of the word are compared, and then the index of the text is
//! determined.
//!
//! ```text
//! fusion.1|loop fusion|Fusion.2|copy.3        word: fusion, rarest byte in these texts: f
//! ^            ^       ^                      found in texts 0, 1 and 2; after a hit, continues in the next text
//! ```

use super::shared::TextTable;

#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'w> {
    /// Word in lower case.
    pub word: &'w str,
    /// True if the text must equal the word instead of containing it.
    pub whole: bool,
}

/// Number of texts that are searched in one call: see [`trace::in_blocks`].
const BLOCK: usize = 4096;

impl Word<'_> {
    /// Returns true if the text contains the word. Names are nearly always ASCII, and ASCII names are not copied.
    pub(crate) fn is_in(self, text: &str) -> bool {
        if !text.is_ascii() {
            let text = text.to_lowercase();
            return if self.whole { text == self.word } else { text.contains(self.word) };
        }
        let (text, word) = (text.as_bytes(), self.word.as_bytes());
        if self.whole {
            return text.eq_ignore_ascii_case(word);
        }
        let Some((&first, rest)) = word.split_first() else { return true };
        memchr::memchr2_iter(first, first.to_ascii_uppercase(), text)
            .any(|at| text.get(at + 1..at + 1 + rest.len()).is_some_and(|found| found.eq_ignore_ascii_case(rest)))
    }

    /// Sets `found` for each text of a table that contains the word. Returns true if any text contains the word.
    pub(crate) fn mark(self, texts: TextTable<'_>, found: &mut [bool]) -> bool {
        let TextTable { text, ends } = texts;
        let rarest = rarest(self.word.as_bytes(), text.as_bytes());
        let (mut start, mut any) = (0, false);
        for (ends, found) in ends.chunks(BLOCK).zip(found.chunks_mut(BLOCK)) {
            let end = ends.last().copied().unwrap_or(start);
            any |= self.mark_block(text.get(start..end).unwrap_or_default(), start, ends, rarest, found);
            start = end;
        }
        any
    }

    /// Marks the texts of one block that contain the word. The block is `text`, which starts at `start`. The texts of
    /// the block end at `ends`.
    #[inline(never)]
    fn mark_block(self, text: &str, start: usize, ends: &[usize], rarest: usize, found: &mut [bool]) -> bool {
        let Some(&byte) = self.word.as_bytes().get(rarest).filter(|_| text.is_ascii()) else {
            return self.mark_each(text, start, ends, found);
        };
        let (text, word) = (text.as_bytes(), self.word.as_bytes());
        let upper = byte.to_ascii_uppercase();
        // Position from which to search for the rarest byte, and the current text with its start and end.
        let (mut from, mut number, mut any) = (rarest, 0, false);
        let (mut first, mut end) = (0, ends.first().map_or(0, |&end| end - start));
        while let Some(at) = text.get(from..).and_then(|rest| memchr::memchr2(byte, upper, rest)) {
            let at = from + at;
            from = at + 1;
            let word_at = at - rarest;
            if !text.get(word_at..word_at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)) {
                continue;
            }
            while end <= word_at {
                number += 1;
                let Some(&next) = ends.get(number) else { return any };
                (first, end) = (end, next - start);
            }
            let is_within = word_at + word.len() <= end;
            if !is_within || (self.whole && (word_at != first || word_at + word.len() != end)) {
                continue;
            }
            if let Some(found) = found.get_mut(number) {
                *found = true;
                any = true;
            }
            from = end + rarest;
        }
        any
    }

    fn mark_each(self, text: &str, start: usize, ends: &[usize], found: &mut [bool]) -> bool {
        let (mut first, mut any) = (0, false);
        for (&end, found) in ends.iter().zip(found) {
            *found = self.is_in(text.get(first..end - start).unwrap_or_default());
            any |= *found;
            first = end - start;
        }
        any
    }
}

/// Returns the index of the byte of `word` that is rarest in a sample of `text`, ignoring letter case. Names in a program are
/// repetitive, so the letter frequencies of a language would be misleading.
fn rarest(word: &[u8], text: &[u8]) -> usize {
    const SAMPLES: usize = 16;
    const SAMPLE_BYTES: usize = 1024;
    let mut counts = [0u32; 256];
    for sample in text.chunks((text.len() / SAMPLES).max(SAMPLE_BYTES)) {
        for byte in sample.iter().take(SAMPLE_BYTES) {
            if let Some(count) = counts.get_mut(usize::from(byte.to_ascii_lowercase())) {
                *count += 1;
            }
        }
    }
    let count = |byte: &u8| counts.get(usize::from(*byte)).copied().unwrap_or_default();
    word.iter().enumerate().min_by_key(|(_, byte)| count(byte)).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the expected result with the simplest possible search.
    fn plainly(text: &str, word: &str, whole: bool) -> bool {
        let text = text.to_lowercase();
        if whole { text == word } else { text.contains(word) }
    }

    fn check(texts: &[String], word: &str) {
        let text = texts.concat();
        let ends: Vec<usize> =
            texts.iter().scan(0, |end, text| Some(*end + text.len()).inspect(|it| *end = *it)).collect();
        let table = TextTable { text: &text, ends: &ends };
        for whole in [false, true] {
            let searched = Word { word, whole };
            let mut found = vec![false; texts.len()];
            let any = searched.mark(table, &mut found);
            let expected: Vec<bool> = texts.iter().map(|text| plainly(text, word, whole)).collect();
            assert_eq!(found, expected, "{word:?} {whole} in {texts:?}");
            assert_eq!(any, expected.contains(&true));
            let single: Vec<bool> = texts.iter().map(|text| searched.is_in(text)).collect();
            assert_eq!(single, expected, "{word:?} {whole} one by one in {texts:?}");
        }
    }

    #[test]
    fn a_word_is_found_in_its_text_only() {
        let texts = ["fusion.1", "loop fusion", "Fusion.2", "copy.3", "fu", "sion", "xFUSION"].map(str::to_owned);
        for word in ["fusion", "n.1", "1loop", "fusion.2", "fu", "sion", "3fu", "copy.3fu", "x", "", "?", "ö", "sionx"]
        {
            check(&texts, word);
        }
    }

    #[test]
    fn letters_beyond_ascii_are_compared_in_lower_case() {
        // The Kelvin sign becomes a k in lower case, and the dotted capital I becomes longer.
        let texts = ["GRÖSSE", "größe", "\u{212a}ernel", "kernel", "\u{130}x", "ix"].map(str::to_owned);
        for word in ["größe", "kernel", "i\u{307}x", "x", "ö", "ss"] {
            check(&texts, word);
        }
    }

    #[test]
    fn texts_at_the_ends_of_blocks_are_found() {
        let texts: Vec<String> = (0..3 * BLOCK).map(|at| format!("op.{at}")).collect();
        for word in ["op.4095", "op.4096", "op.12287", "o", "7", "op.", "9op"] {
            check(&texts, word);
        }
    }

    proptest! {
        #[test]
        fn the_search_finds_what_a_plain_one_finds(
            texts in prop::collection::vec("[abAB.é\u{212a}]{0,6}", 0..12),
            ascii in prop::collection::vec("[abAB.]{0,6}", 0..12),
            word in "[ab.ék]{0,4}",
        ) {
            check(&texts, &word);
            check(&ascii, &word);
        }
    }
}
