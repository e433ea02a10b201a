//! Names of the host spans that start a transfer in the TPU runtime (`host_transfers.csv`).

use super::table;

/// Returns `(name of the host span, direction of the transfer)`. The directions are spelled as in reports.
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
