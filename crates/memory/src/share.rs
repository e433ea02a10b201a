//! Computes shares of memory.

/// Returns `part` as a percentage of `whole`, or 0 if `whole` is 0.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_of_nothing_are_nothing() {
        assert_eq!((share(1, 4), share(0, 0)), (25.0, 0.0));
    }
}
