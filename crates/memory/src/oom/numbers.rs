//! Sizes in the texts of XLA: `6.00MiB`, `21.95G`, `384.0KiB`, `0B`, `6291456`. All units are powers of 1024.

use base::number;

/// A size at the start of a text, with what follows it; `None` where there is none.
pub(super) fn size(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let digits = digits.trim_end_matches('.');
    let value = number::decimal(digits)?;
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, behind) = rest.split_at_checked(letters)?;
    let factor = match unit {
        "" | "B" => 1_u64,
        "K" | "KiB" | "KB" => 1 << 10,
        "M" | "MiB" | "MB" => 1 << 20,
        "G" | "GiB" | "GB" => 1 << 30,
        "T" | "TiB" | "TB" => 1 << 40,
        _ => return digits.parse().ok().map(|bytes| (bytes, rest)),
    };
    let bytes = value * factor as f64;
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some((bytes as u64, behind))
}

/// The size behind a mark in a line.
pub(super) fn size_behind(line: &str, mark: &str) -> Option<u64> {
    size(line.split_once(mark)?.1).map(|(bytes, _)| bytes)
}
