//! Order of the nodes in each layer, with as few crossings as possible.

use super::{Layers, at, of, set};

/// Maximum number of sweeps.
const MOST_SWEEPS: usize = 24;

/// The search ends after this number of sweeps without improvement.
const PATIENCE: usize = 4;

/// A graph with more nodes and dummies than this gets fewer sweeps.
const LARGE: usize = 8_000;

/// Maximum number of passes that swap neighbours.
const MOST_SWAPS: usize = 8;

/// Sets the initial order, in which a walk down from the upper nodes reaches the nodes.
pub(super) fn start(layers: &mut Layers, ranks: &[usize]) {
    let count = layers.widths.len();
    let mut by_rank: Vec<usize> = (0..count).filter(|&node| of(&layers.up, node).is_empty()).collect();
    by_rank.sort_by_key(|&node| at(ranks, node));
    let mut seen = vec![false; count];
    let mut stack = Vec::new();
    // Nodes of damaged graphs that no walk reaches come last.
    for first in by_rank.into_iter().chain(0..count) {
        stack.push(first);
        while let Some(node) = stack.pop() {
            if at(&seen, node) {
                continue;
            }
            set(&mut seen, node, true);
            if let Some(layer) = layers.layers.get_mut(at(ranks, node)) {
                layer.push(node);
            }
            stack.extend(of(&layers.down, node).iter().rev());
        }
    }
    layers.set_places();
}

/// Sorts the layers and returns the number of crossings that remain.
pub(super) fn minimise(layers: &mut Layers) -> u64 {
    let mut best = crossings(layers);
    let mut kept = layers.layers.clone();
    let (sweeps, patience) = if layers.widths.len() > LARGE { (6, 2) } else { (MOST_SWEEPS, PATIENCE) };
    let mut without = 0;
    for sweep in 0..sweeps {
        if best == 0 || without >= patience {
            break;
        }
        // In every other pair of sweeps, a node moves to the right of nodes with the same mean.
        self::sweep(layers, sweep % 2 == 0, sweep % 4 >= 2);
        swap(layers, 2);
        let now = crossings(layers);
        without += 1;
        if now < best {
            (best, without) = (now, 0);
            kept.clone_from(&layers.layers);
        }
    }
    layers.layers = kept;
    layers.set_places();
    if best > 0 {
        swap(layers, MOST_SWAPS);
        best = crossings(layers);
    }
    best
}

/// Sorts the nodes of every layer by the mean place of their neighbours in the previous layer. Nodes without neighbours
/// keep their place.
fn sweep(layers: &mut Layers, is_down: bool, prefers_last: bool) {
    let depth = layers.layers.len();
    for step in 1..depth {
        let rank = if is_down { step } else { depth - 1 - step };
        let neighbours = if is_down { &layers.up } else { &layers.down };
        let Some(layer) = layers.layers.get_mut(rank) else { continue };
        let mut moving: Vec<(f64, usize, usize)> = Vec::with_capacity(layer.len());
        for (place, &node) in layer.iter().enumerate() {
            let near = of(neighbours, node);
            if !near.is_empty() {
                let sum: f64 = near.iter().map(|&other| at(&layers.places, other) as f64).sum();
                moving.push((sum / near.len() as f64, if prefers_last { usize::MAX - place } else { place }, node));
            }
        }
        moving.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut next = moving.into_iter().map(|it| it.2);
        for slot in layer.iter_mut() {
            if !of(neighbours, *slot).is_empty()
                && let Some(node) = next.next()
            {
                *slot = node;
            }
        }
        for (place, &node) in layer.iter().enumerate() {
            set(&mut layers.places, node, place);
        }
    }
}

/// Swaps neighbours in a layer as long as this removes crossings.
fn swap(layers: &mut Layers, passes: usize) {
    for _ in 0..passes {
        let mut swapped = false;
        for rank in 0..layers.layers.len() {
            let Some(mut layer) = layers.layers.get_mut(rank).map(std::mem::take) else { continue };
            for left in 1..layer.len() {
                let (a, b) = (at(&layer, left - 1), at(&layer, left));
                let kept = crossed(layers, &layers.up, a, b) + crossed(layers, &layers.down, a, b);
                if kept == 0 {
                    continue;
                }
                let other = crossed(layers, &layers.up, b, a) + crossed(layers, &layers.down, b, a);
                if other < kept {
                    layer.swap(left - 1, left);
                    set(&mut layers.places, b, left - 1);
                    set(&mut layers.places, a, left);
                    swapped = true;
                }
            }
            set(&mut layers.layers, rank, layer);
        }
        if !swapped {
            return;
        }
    }
}

/// If a node has more neighbours in a layer than this, its crossings there are not counted.
const MOST_COMPARED: usize = 64;

/// Counts the crossings between the edges of two nodes if `left` is to the left of `right`.
fn crossed(layers: &Layers, neighbours: &[Vec<usize>], left: usize, right: usize) -> usize {
    let (a, b) = (of(neighbours, left), of(neighbours, right));
    if a.len() > MOST_COMPARED || b.len() > MOST_COMPARED {
        return 0;
    }
    let crosses = |&x: &usize| b.iter().filter(|&&y| at(&layers.places, y) < at(&layers.places, x)).count();
    a.iter().map(crosses).sum()
}

/// Counts all crossings between neighbouring layers.
pub(super) fn crossings(layers: &Layers) -> u64 {
    let mut sum = 0u64;
    let mut ends: Vec<usize> = Vec::new();
    let mut tree: Vec<u64> = Vec::new();
    for (rank, layer) in layers.layers.iter().enumerate() {
        ends.clear();
        for &node in layer {
            let first = ends.len();
            ends.extend(of(&layers.down, node).iter().map(|&below| at(&layers.places, below)));
            if let Some(new) = ends.get_mut(first..) {
                new.sort_unstable();
            }
        }
        // Counts the inversions of the sequence with a Fenwick tree over the places of the next layer.
        tree.clear();
        tree.resize(of(&layers.layers, rank + 1).len() + 1, 0);
        for (before, &end) in (0u64..).zip(&ends) {
            let mut not_after = 0;
            let mut place = end + 1;
            while place > 0 {
                not_after += at(&tree, place);
                place &= place - 1;
            }
            sum += before - not_after;
            let mut place = end + 1;
            while let Some(count) = tree.get_mut(place) {
                *count += 1;
                place += place & place.wrapping_neg();
            }
        }
    }
    sum
}
