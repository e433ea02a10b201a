//! Compares layers that differ only by their number: `layer_0` to `layer_23`.

use super::Layer;
use crate::common::statistics::median;
use base::Ps;

/// Layers are compared only if at least this number of layers do the same work.
pub(super) const FEWEST: usize = 4;

/// Layers that a merged layer stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Members {
    /// Number of layers that the merged layer stands for.
    pub count: u64,
    /// The slowest of the layers that do the same work. `None` if fewer than [`FEWEST`] layers do the same work.
    pub slowest: Option<Slowest>,
}

/// The slowest of several layers that do the same work.
#[derive(Clone, Debug, PartialEq)]
pub struct Slowest {
    /// Name of the layer, with the numbered names around it: `layer_7/attention`.
    pub name: String,
    /// Self time of the layer.
    pub time: Ps,
    /// Median of the self times of the layers that do the same work.
    pub median: Ps,
}

impl Slowest {
    /// Returns the layer's time divided by the median. `None` if the median is zero.
    pub fn ratio(&self) -> Option<f64> {
        (self.median > Ps::ZERO).then(|| self.time.as_ps() as f64 / self.median.as_ps() as f64)
    }
}

/// Sets the members of the merged layers whose paths contain a number. `merged_of` contains the merged layer of each
/// layer in `alone`.
pub(super) fn find(merged: &mut [Layer], alone: &[Layer], merged_of: &[u32]) {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); merged.len()];
    for (at, &of) in (0u32..).zip(merged_of) {
        if let Some(members) = members.get_mut(of as usize) {
            members.push(at);
        }
    }
    let is_numbered = |layers: &[Layer], mut at: usize| {
        while let Some(layer) = layers.get(at) {
            if layer.name.contains('*') {
                return true;
            }
            let Some(parent) = layer.parent else { return false };
            at = parent as usize;
        }
        false
    };
    for (at, members) in members.iter().enumerate() {
        if !is_numbered(merged, at) {
            continue;
        }
        let found = Members { count: members.len() as u64, slowest: slowest(alone, members) };
        if let Some(layer) = merged.get_mut(at) {
            layer.members = Some(found);
        }
    }
}

fn slowest(alone: &[Layer], members: &[u32]) -> Option<Slowest> {
    let layer = |at: u32| alone.get(at as usize);
    let equal = equal_work(alone, members);
    if equal.len() < FEWEST || 2 * equal.len() < members.len() {
        return None;
    }
    let time = |at: u32| layer(at).map_or(Ps::ZERO, |layer| layer.self_time);
    let times: Vec<f64> = equal.iter().map(|&at| time(at).as_ps() as f64).collect();
    let slowest = equal.iter().copied().max_by_key(|&at| (time(at), std::cmp::Reverse(at)))?;
    let median = Ps::new(median(&times)? as i64);
    Some(Slowest { name: name(alone, slowest), time: time(slowest), median })
}

/// Returns the layers whose known FLOPs are within 5 % of the median. These layers do the same work as most layers.
/// Layers of different sizes also have numbered names: `Dense_0`, `Dense_1`.
fn equal_work(alone: &[Layer], members: &[u32]) -> Vec<u32> {
    let work = |at: u32| alone.get(at as usize).and_then(|layer| layer.flops).unwrap_or_default();
    let typical = median(&members.iter().map(|&at| work(at)).collect::<Vec<_>>()).unwrap_or_default();
    let is_close = |at: u32| typical > 0.0 && (work(at) - typical).abs() <= 0.05 * typical;
    members.iter().copied().filter(|&at| is_close(at)).collect()
}

/// Returns the path of a layer from its outermost numbered scope.
fn name(alone: &[Layer], at: u32) -> String {
    let mut names = Vec::new();
    let mut next = alone.get(at as usize);
    while let Some(layer) = next.filter(|layer| layer.depth > 1) {
        names.push(layer.name.as_str());
        next = layer.parent.and_then(|parent| alone.get(parent as usize));
    }
    names.reverse();
    let first = names.iter().position(|name| base::framework_path::layered(name) != *name).unwrap_or_default();
    names.split_off(first).join("/")
}
