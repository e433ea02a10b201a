//! Utilisation of a TPU's units, computed from hardware counters (`tpu_units.csv`, `tpu_counters.csv`).

use std::sync::LazyLock;

use super::table;

/// Utilisation of a unit between two readings of the counters.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitUse {
    /// Number of the die or SparseCore that contains the unit, or 0 if the unit belongs to the whole chip.
    pub node: u64,
    /// Name of the unit.
    pub name: String,
    /// Amount of work that the unit did.
    pub achieved: f64,
    /// Amount of work that the unit would do if it were never idle. Always positive.
    pub peak: f64,
    /// Unit of `achieved` and `peak`: `cycles`, `instructions`, `bytes`, or `percent` for a share of a sum.
    pub unit: &'static str,
}

/// A series of hardware counters with the same name.
struct Counter {
    chip: &'static str,
    name: &'static str,
    id: u64,
    die: u64,
    sparse_core: u64,
    /// For each level of the series, the number of counters and the distance between their ids. The innermost level is last.
    series: Vec<(u64, u64)>,
}

struct Unit {
    chip: &'static str,
    place: &'static str,
    name: &'static str,
    achieved: Vec<Term>,
    peak: Vec<Term>,
    unit: &'static str,
}

/// A counter with its weight in a sum.
struct Term {
    weight: f64,
    counter: &'static str,
    /// Position of the counter in the innermost level of the series. `None` means all positions.
    position: Option<u64>,
}

/// Chips whose counters are known. Each entry has the key of the device, the chip's name in the tables, and its number
/// of dies.
const CHIPS: [(&str, &str, u64); 2] = [("tpu-v6e", "v6e", 1), ("tpu-v7x", "v7x", 2)];
const SPARSE_CORES_PER_DIE: u64 = 2;

static COUNTERS: LazyLock<Vec<Counter>> =
    LazyLock::new(|| table::rows(include_str!("tpu_counters.csv")).filter_map(|cells| counter(&cells)).collect());
static UNITS: LazyLock<Vec<Unit>> =
    LazyLock::new(|| table::rows(include_str!("tpu_units.csv")).filter_map(|cells| unit(&cells)).collect());

fn counter(cells: &[&'static str]) -> Option<Counter> {
    let &[chip, name, id, die, sparse_core, series] = cells else { return None };
    let distance = |cell: &str| if cell.is_empty() { Some(0) } else { cell.parse().ok() };
    let pair = |text: &str| {
        let (count, distance) = text.split_once('x')?;
        Some((count.parse().ok()?, distance.parse().ok()?))
    };
    let series = series.split_whitespace().map(pair).collect::<Option<_>>()?;
    Some(Counter { chip, name, id: id.parse().ok()?, die: distance(die)?, sparse_core: distance(sparse_core)?, series })
}

fn unit(cells: &[&'static str]) -> Option<Unit> {
    let &[chip, place, name, achieved, peak, unit] = cells else { return None };
    Some(Unit { chip, place, name, achieved: sum(achieved)?, peak: sum(peak)?, unit })
}

fn sum(text: &'static str) -> Option<Vec<Term>> {
    text.split(" + ")
        .map(|term| {
            let (weight, counter) = term.split_once(' ').unwrap_or(("1", term));
            let (counter, position) = match counter.split_once('.') {
                Some((counter, position)) => (counter, Some(position.parse().ok()?)),
                None => (counter, None),
            };
            Some(Term { weight: weight.parse().ok()?, counter, position })
        })
        .collect()
}

/// Returns true if the counters of the device with this key are known.
pub fn has(device: &str) -> bool {
    CHIPS.iter().any(|(key, ..)| *key == device)
}

/// Returns the utilisation of all units of a chip. `device` is the key of the device. `value` returns the value of the
/// counter with an id, or `None` if the capture lacks this counter. Leaves out a unit if the capture lacks the counters
/// of its work or of its peak.
pub fn uses(device: &str, value: &dyn Fn(u64) -> Option<f64>) -> Vec<UnitUse> {
    let Some(&(_, chip, dies)) = CHIPS.iter().find(|(key, ..)| *key == device) else { return Vec::new() };
    let mut uses = Vec::new();
    for (place, nodes, cores) in [("die", dies, 1), ("chip", 1, 1), ("sparse_core", dies, SPARSE_CORES_PER_DIE)] {
        for node in 0..nodes * cores {
            let units = UNITS.iter().filter(|unit| unit.place == place && (unit.chip.is_empty() || unit.chip == chip));
            let of_node = |terms: &[Term]| total(terms, chip, node / cores, node % cores, value);
            uses.extend(units.filter_map(|unit| {
                let (achieved, peak) = (of_node(&unit.achieved)?, of_node(&unit.peak)?);
                let name = unit.name.replace('#', &node.to_string());
                (peak > 0.0).then_some(UnitUse { node, name, achieved, peak, unit: unit.unit })
            }));
        }
    }
    uses
}

/// Sums the weighted counters of a die or SparseCore. Counters that the capture lacks are treated as zero, unless the
/// capture lacks all of them.
fn total(terms: &[Term], chip: &str, die: u64, core: u64, value: &dyn Fn(u64) -> Option<f64>) -> Option<f64> {
    let mut sum = None;
    for term in terms {
        let Some(counter) = COUNTERS.iter().find(|it| it.chip == chip && it.name == term.counter) else { continue };
        let mut ids = vec![counter.id + die * counter.die + core * counter.sparse_core];
        for (at, &(count, distance)) in counter.series.iter().enumerate() {
            let is_innermost = at + 1 == counter.series.len();
            let positions = match term.position.filter(|_| is_innermost) {
                Some(position) => position..position + 1,
                None => 0..count,
            };
            ids = ids.iter().flat_map(|id| positions.clone().map(move |position| id + position * distance)).collect();
        }
        for found in ids.into_iter().filter_map(value) {
            sum = Some(sum.unwrap_or(0.0) + term.weight * found);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_names_known_counters() {
        assert_eq!(COUNTERS.len(), table::rows(include_str!("tpu_counters.csv")).count());
        assert_eq!(UNITS.len(), table::rows(include_str!("tpu_units.csv")).count());
        for term in UNITS.iter().flat_map(|unit| unit.achieved.iter().chain(&unit.peak)) {
            assert!(COUNTERS.iter().any(|counter| counter.name == term.counter), "{}", term.counter);
        }
    }

    #[test]
    fn a_unit_without_counters_is_absent() {
        // The capture has only the cycles of the TensorCore and one of its two scalar counters.
        let value = |id| match id {
            3_257_466_888 => Some(1000.0),
            3_257_466_968 => Some(500.0),
            _ => None,
        };
        let scalar =
            UnitUse { node: 0, name: "Scalar Unit".to_owned(), achieved: 500.0, peak: 2000.0, unit: "instructions" };
        assert_eq!(uses("tpu-v6e", &value), [scalar]);
        assert_eq!(uses("tpu-v5e", &value), []);
    }
}
