//! Host spans that hand a transfer to the TPU runtime, by their names (`host_transfers.csv`).

use super::table;

/// Returns the name of each host span that hands over a transfer, and the direction of the transfer, spelled as in
/// reports.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    table::rows(include_str!("host_transfers.csv")).filter_map(|cells| match cells[..] {
        [name, direction, _source] => Some((name, direction)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_has_a_direction() {
        assert_eq!(all().count(), table::rows(include_str!("host_transfers.csv")).count());
        assert!(all().all(|(_, direction)| matches!(direction, "h2d" | "d2h")));
    }
}
