//! What may have been meant by a name that does not exist.

use super::path::{Path, PathPart};
use base::sort;

/// Suggestions at most.
const COUNT: usize = 3;
/// Cost of a part that the writer left out, or that is one too many. A forgotten section is a likelier slip than two wrong letters
/// in every part.
const PART: usize = 3;

/// The words of `known` that are nearest to `word`, if any is near: at most a third of its letters differ.
pub fn words(word: &str, known: &[&str]) -> Vec<String> {
    let limit = (word.chars().count() / 3).max(2);
    nearest(known.iter().map(|&it| (distance(word, it), it.to_owned())).collect(), limit)
}

/// The paths of `known` that are nearest to `path`, if any is near. How entries of lists are chosen does not matter,
/// and neither does the key of a map.
pub fn paths(path: &Path, known: &[Path]) -> Vec<String> {
    let names = |path: &Path| -> Vec<Option<String>> {
        let name = |part: &PathPart| match part {
            PathPart::Key(name) => Some(Some(name.clone())),
            PathPart::EveryKey => Some(None),
            PathPart::Index(_) | PathPart::EveryEntry | PathPart::Where { .. } => None,
        };
        path.parts.iter().filter_map(name).collect()
    };
    let wanted = names(path);
    let letters: usize = wanted.iter().flatten().map(|name| name.chars().count()).sum();
    let limit = (letters / 3).clamp(3, 8);
    nearest(known.iter().map(|path| (path_distance(&wanted, &names(path)), path.to_string())).collect(), limit)
}

/// The nearest up to `limit`, not counting those that are much farther than the first.
fn nearest(mut candidates: Vec<(usize, String)>, limit: usize) -> Vec<String> {
    candidates.retain(|(distance, _)| *distance <= limit);
    sort::sort_by(&mut candidates, |a, b| a.cmp(b));
    let best = candidates.first().map_or(0, |(distance, _)| *distance);
    candidates.into_iter().take(COUNT).filter(|(distance, _)| *distance <= best + 2).map(|(_, text)| text).collect()
}

/// The least cost that makes one list of names the other: names are changed letter by letter, left out or put in.
/// `None` stands for any name.
fn path_distance(a: &[Option<String>], b: &[Option<String>]) -> usize {
    edit_distance(a, b, PART, |a, b| match (a, b) {
        (Some(a), Some(b)) => distance(a, b),
        _ => 0,
    })
}

/// Letters that have to be changed, put in or left out. A lower bound of them where one text is far longer than the
/// other.
fn distance(a: &str, b: &str) -> usize {
    const FAR: usize = 64;
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    match a.len().abs_diff(b.len()) {
        far @ FAR.. => far,
        _ => edit_distance(&a, &b, 1, |a, b| usize::from(a != b)),
    }
}

/// Levenshtein's distance, row by row.
fn edit_distance<T>(a: &[T], b: &[T], gap: usize, change: impl Fn(&T, &T) -> usize) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).map(|count| count.saturating_mul(gap)).collect();
    for x in a {
        // What stood left above of the place that is filled next.
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
    fn distances_are_those_of_the_textbook() {
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
    }

    #[test]
    fn paths_are_found_by_slips_of_many_kinds() {
        let known: Vec<Path> = [
            "step_timing.avg_step_time_us",
            "step_timing.min_step_time_us",
            "kernels.kernels_by_category.*.percent",
            "multi_device.device_stats[*].utilization_percent",
            "throughput.steps_per_sec",
        ]
        .iter()
        .map(|text| Path::parse(text).unwrap())
        .collect();
        for (written, meant) in [
            ("step_timing.avg_step_time", "step_timing.avg_step_time_us"),
            ("avg_step_time_us", "step_timing.avg_step_time_us"),
            ("step_timings.avg_step_tme_us", "step_timing.avg_step_time_us"),
            ("kernels.communication.percent", "kernels.kernels_by_category.*.percent"),
            ("kernels.kernels_by_category.matmul.percnt", "kernels.kernels_by_category.*.percent"),
            ("multi_device.device_stats.utilization_percent", "multi_device.device_stats[*].utilization_percent"),
            ("throughput.step_per_sec", "throughput.steps_per_sec"),
        ] {
            assert_eq!(paths(&Path::parse(written).unwrap(), &known)[0], meant, "{written}");
        }
        assert!(paths(&Path::parse("something.else").unwrap(), &known).is_empty());
    }
}
