//! Counters over time whose meaning is known: power, clocks, temperature, utilisation (`meters.csv`).

use std::sync::LazyLock;

use super::pattern::{Name, Pattern};
use super::table;

/// Time to which the value of a sample applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterForm {
    /// The value holds until the next sample.
    Value,
    /// The value is the mean since the previous sample.
    Mean,
    /// The value is the increase since the previous sample.
    Total,
}

/// Meaning of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    /// Measured quantity: `power`, `clock`, `clock_limit`, ...
    pub quantity: &'static str,
    /// Unit of the samples.
    pub unit: &'static str,
    /// Time to which the value of a sample applies.
    pub form: MeterForm,
    pattern: Pattern,
}

static METERS: LazyLock<Vec<Meter>> =
    LazyLock::new(|| table::rows(include_str!("meters.csv")).filter_map(|cells| parse(&cells)).collect());

fn parse(cells: &[&'static str]) -> Option<Meter> {
    let &[kind, pattern, quantity, unit, form, _source] = cells else { return None };
    let form = match form {
        "value" => MeterForm::Value,
        "mean" => MeterForm::Mean,
        "total" => MeterForm::Total,
        _ => return None,
    };
    Some(Meter { quantity, unit, form, pattern: Pattern::parse(kind, pattern)? })
}

/// Returns the meaning of the counter with this name, if it is known.
pub fn find(name: &str) -> Option<Meter> {
    let name = Name::new(name);
    METERS.iter().copied().find(|meter| meter.pattern.matches(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_found() {
        assert_eq!(METERS.len(), table::rows(include_str!("meters.csv")).count());
        let quantity = |name: &str| find(name).map(|meter| meter.quantity);
        assert_eq!(quantity("VDD Core FW Power Meter PL1(W) power"), Some("power"));
        assert_eq!(quantity("HBM FW Max Temperature(C)"), Some("temperature"));
        assert_eq!(quantity("VDD Core FW Throttle(%)"), Some("throttling"));
        assert_eq!(quantity("sm__cycles_active.avg.pct_of_peak_sustained_elapsed"), Some("unit_use"));
        assert_eq!(find("sm__cycles_active.avg").map(|meter| meter.form), Some(MeterForm::Total));
        assert_eq!(quantity("Clock limit: power cap"), Some("clock_limit"));
        assert_eq!(quantity("queue depth"), None);
    }
}
