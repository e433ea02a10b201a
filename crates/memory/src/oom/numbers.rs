//! Parses sizes in the messages of runtimes: `6.00MiB`, `21.95G`, `1.21 GiB`, `384.0KiB`, `0B`, `6291456`. All units
//! are powers of 1024.

use base::number;

/// Parses the size at the start of a text. Returns the size with the remaining text, or `None` if the text does not
/// start with a size.
pub(super) fn size(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let digits = digits.trim_end_matches('.');
    let value = number::decimal(digits)?;
    let (unit, after) = word(rest);
    if let Some(factor) = factor(unit) {
        return Some((times(value, factor)?, after));
    }
    // PyTorch writes a space before the unit.
    let (unit, after) = word(rest.strip_prefix(' ').unwrap_or(rest));
    if unit.len() >= 2
        && let Some(factor) = factor(unit)
    {
        return Some((times(value, factor)?, after));
    }
    digits.parse().ok().map(|bytes| (bytes, rest))
}

fn factor(unit: &str) -> Option<u64> {
    Some(match unit {
        "B" | "bytes" | "byte" => 1,
        "K" | "k" | "KiB" | "KB" | "kB" => 1 << 10,
        "M" | "MiB" | "MB" => 1 << 20,
        "G" | "GiB" | "GB" => 1 << 30,
        "T" | "TiB" | "TB" => 1 << 40,
        _ => return None,
    })
}

fn times(value: f64, factor: u64) -> Option<u64> {
    let bytes = value * factor as f64;
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Splits a text after the letters at its start.
fn word(text: &str) -> (&str, &str) {
    let letters = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at_checked(letters).unwrap_or((text, ""))
}

/// Returns the text after a marker.
pub(super) fn behind<'t>(line: &'t str, mark: &str) -> Option<&'t str> {
    line.split_once(mark).map(|(_, rest)| rest)
}

pub(super) fn size_behind(line: &str, mark: &str) -> Option<u64> {
    size(behind(line, mark)?).map(|(bytes, _)| bytes)
}

/// Returns the size before a marker: `142.58M` before ` free`, `1.21 GiB` before ` is free`.
pub(super) fn size_before(line: &str, mark: &str) -> Option<u64> {
    let (before, _) = line.split_once(mark)?;
    let is_start = |(at, c): &(usize, char)| {
        c.is_ascii_digit()
            && !before.get(..*at).is_some_and(|text| text.ends_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let (at, _) = before.char_indices().rev().find(is_start)?;
    let stated = before.get(at..)?;
    let (bytes, after) = size(stated)?;
    // A number without a unit is the number of a device.
    (after.trim().is_empty() && stated.contains(|c: char| c.is_ascii_alphabetic())).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_all_spellings() {
        for (text, bytes) in [
            ("6.00MiB", 6 << 20),
            ("21.5G of", 43 << 29),
            ("1.5 GiB is free", 3 << 29),
            ("384.0KiB", 384 << 10),
            ("0B", 0),
            ("6291456 bytes.", 6_291_456),
            ("8. Next", 8),
            ("12 a", 12),
        ] {
            assert_eq!(size(text).map(|(bytes, _)| bytes), Some(bytes), "{text}");
        }
        assert_eq!((size("x"), size("")), (None, None));
    }

    #[test]
    fn sizes_stand_before_marks_too() {
        assert_eq!(size_before("There are 142.5M free.; (0x3", " free"), Some(285 << 19));
        assert_eq!(size_before("of 79.15 GiB of which 1.5 GiB is free.", " is free"), Some(3 << 29));
        assert_eq!((size_before("GPU 0 is free", " is free"), size_before("1G", " free")), (None, None));
    }
}
