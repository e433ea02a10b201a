//! Suggests known names for a name that does not exist.

use crate::sort;

/// Maximum number of suggestions.
const COUNT: usize = 3;

/// Returns the words of `known` that are nearest to `word`. At most a third of the letters may differ, or two letters in
/// short words.
pub fn words(word: &str, known: &[&str]) -> Vec<String> {
    let limit = (word.chars().count() / 3).max(2);
    nearest(known.iter().map(|&it| (distance(word, it), it.to_owned())).collect(), limit)
}

/// Returns the texts within a distance of `limit`, nearest first. Leaves out texts that are much farther away than the
/// nearest one.
pub fn nearest(mut candidates: Vec<(usize, String)>, limit: usize) -> Vec<String> {
    candidates.retain(|(distance, _)| *distance <= limit);
    sort::sort_by(&mut candidates, |a, b| a.cmp(b));
    let best = candidates.first().map_or(0, |(distance, _)| *distance);
    candidates.into_iter().take(COUNT).filter(|(distance, _)| *distance <= best + 2).map(|(_, text)| text).collect()
}

/// Returns ` Did you mean a or b?`, or an empty text if there are no suggestions.
pub fn question(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [only] => format!(" Did you mean {only}?"),
        [first @ .., last] => format!(" Did you mean {} or {last}?", first.join(", ")),
    }
}

/// Returns the number of letters to change, insert or remove to turn `a` into `b`. Returns only a lower bound if the
/// lengths differ by 64 or more.
pub fn distance(a: &str, b: &str) -> usize {
    const FAR: usize = 64;
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    match a.len().abs_diff(b.len()) {
        far @ FAR.. => far,
        _ => edit_distance(&a, &b, 1, |a, b| usize::from(a != b)),
    }
}

/// Computes the Levenshtein distance row by row.
pub fn edit_distance<T>(a: &[T], b: &[T], gap: usize, change: impl Fn(&T, &T) -> usize) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).map(|count| count.saturating_mul(gap)).collect();
    for x in a {
        // Previous value to the upper left of the next cell.
        let mut corner = row.first().copied().unwrap_or_default();
        let mut left = corner.saturating_add(gap);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (place, y) in row.iter_mut().skip(1).zip(b) {
            let above = *place;
            left = (corner.saturating_add(change(x, y))).min(above.saturating_add(gap)).min(left.saturating_add(gap));
            corner = above;
            *place = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_match_the_textbook() {
        for (a, b, expected) in
            [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("flaw", "lawn", 2), ("same", "Same", 0)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        assert_eq!(words("directon", &["count", "direction", "total_bytes"]), ["direction"]);
        assert_eq!(words("nonsense", &["count", "direction"]), Vec::<String>::new());
        assert_eq!(question(&["a".to_owned(), "b".to_owned(), "c".to_owned()]), " Did you mean a, b or c?");
    }
}
