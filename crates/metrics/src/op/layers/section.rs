//! Builds the layers section of the report.

use super::{Layer, Layers, NO_PATH};
use crate::op::ops::Ops;
use base::{Ps, sort};
use report::{LayerTime, Phase, PhaseTime};

/// A layer is listed if it takes at least this share of the time of all ops, in percent.
const LEAST_PERCENT: f64 = 0.5;
const MOST: usize = 100;

/// Builds the section from the [merged layers](super::LayerGrouping::Layer). Returns `None` if no op has a framework path.
pub(crate) fn section(ops: &Ops, layers: &Layers) -> Option<report::Layers> {
    let run = layers.rows.first()?;
    let named = |layer: &Layer| layer.depth == 2 && layer.name != NO_PATH;
    if !layers.rows.iter().any(named) {
        return None;
    }
    let share = |part: Ps| (ops.op_time > Ps::ZERO).then(|| 100.0 * part.as_ps() as f64 / ops.op_time.as_ps() as f64);
    let phase = |phase: Phase| PhaseTime {
        phase,
        self_time_us: run.in_phase(phase).as_us(),
        busy_self_time_percent: share(run.in_phase(phase)),
    };
    let listed = layers
        .rows
        .iter()
        .enumerate()
        .filter(|(_, layer)| layer.depth > 0 && share(layer.self_time).is_some_and(|share| share >= LEAST_PERCENT));
    let mut listed: Vec<(usize, &Layer)> = listed.collect();
    // The sort is stable, so that a layer stays before the layers inside it.
    sort::sort_by(&mut listed, |(_, a), (_, b)| b.self_time.cmp(&a.self_time));
    let layer = |(at, layer): (usize, &Layer)| {
        let slowest = layer.members.as_ref().and_then(|members| members.slowest.as_ref());
        LayerTime {
            path: layers.path(at),
            members: layer.members.as_ref().map_or(1, |members| members.count),
            self_time_us: layer.self_time.as_us(),
            busy_self_time_percent: share(layer.self_time),
            flops: layer.flops,
            bytes_accessed: layer.bytes,
            exposed_communication_us: layer.exposed.map(Ps::as_us),
            slowest_member: slowest.map(|slowest| slowest.name.clone()),
            slowest_ratio: slowest.and_then(super::members::Slowest::ratio),
        }
    };
    Some(report::Layers {
        without_scope_percent: share(layers.without_scope()),
        mixed_percent: share(run.mixed).filter(|_| ops.has_phases_of_programs),
        phases: if ops.has_gradients { Phase::ALL.map(phase).into() } else { Vec::new() },
        layers: listed.into_iter().take(MOST).map(layer).collect(),
    })
}
