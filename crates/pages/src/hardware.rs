//! Section of the devices page: utilisation of the chips' units, power, clocks and other counters.

use crate::{PageQuery, Source};
use base::format;
use document::{Block, Figure};
use report::{Hardware, MeterStats, metric};
use table::Unit;
use tables::{TableName, absent_counters};

/// Returns the figures and tables of the counters, and the reasons why the capture lacks some of them.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let figures: Vec<Figure> = profile.hardware.iter().flat_map(figures).collect();
    let mut blocks = Vec::new();
    if !figures.is_empty() {
        blocks.push(Block::Figures { figures });
    }
    let tables = [
        (TableName::Utilization, "Utilisation of the chips' units"),
        (TableName::Meters, "Power, clocks and other counters"),
        (TableName::KernelUnits, "Utilisation of the chips' units by Pallas kernels"),
        (TableName::PerfCounters, "Readings of hardware counters"),
    ];
    blocks.extend(tables.into_iter().filter_map(|(name, title)| source.table_block(name, title, query)));
    let absent = tables.into_iter().filter_map(|(name, _)| absent_counters(name, profile));
    blocks.extend(
        absent.map(|(reason, remedy)| Block::Empty { reason: reason.to_owned(), remedy: Some(remedy.to_owned()) }),
    );
    blocks
}

/// Returns the mean power and clock over the devices.
fn figures(hardware: &Hardware) -> Vec<Figure> {
    let figure = |quantity: &str, unit: &str, label: &str| {
        let meters: Vec<&MeterStats> =
            hardware.meters.iter().filter(|it| it.quantity == quantity && it.unit == unit).collect();
        let share = mean(meters.iter().filter_map(|it| it.mean_percent))?;
        let value = mean(meters.iter().map(|it| it.mean))?;
        let unit = if unit == "watts" { "W" } else { "MHz" };
        Some(Figure {
            label: label.to_owned(),
            value: Some(share),
            unit: Unit::Percent,
            note: format!("{} {unit} on average", format::number(value)),
            ..Figure::of(metric!("hardware.meters[].mean_percent"))
        })
    };
    [figure("clock", "megahertz", "Clock, share of maximum"), figure("power", "watts", "Power, share of limit")]
        .into_iter()
        .flatten()
        .collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}
