//! Horizontal places of nodes, by Brandes and Köpf.

use rustc_hash::FxHashSet;

use super::{Layers, Spacing, at, of, set};

/// Returns the horizontal centre of each node. The left border of the leftmost node is at zero.
pub(super) fn x(layers: &Layers, spacing: Spacing) -> Vec<f64> {
    let conflicts = conflicts(layers);
    let mut all: Vec<Vec<f64>> = Vec::with_capacity(4);
    for (is_down, is_left) in [(true, true), (true, false), (false, true), (false, false)] {
        let blocks = align(layers, &conflicts, is_down, is_left);
        all.push(compact(layers, &blocks, spacing, is_left));
    }
    let extent = |x: &[f64]| {
        let ends = |sign: f64| x.iter().zip(&layers.widths).map(move |(x, width)| x + sign * width / 2.0);
        (ends(-1.0).fold(f64::INFINITY, f64::min), ends(1.0).fold(f64::NEG_INFINITY, f64::max))
    };
    // All alignments are shifted to line up with the narrowest one.
    let extents: Vec<(f64, f64)> = all.iter().map(|x| extent(x)).collect();
    let width = |extent: &(f64, f64)| extent.1 - extent.0;
    let narrowest =
        extents.iter().copied().reduce(|a, b| if width(&b) < width(&a) { b } else { a }).unwrap_or_default();
    for (index, (x, own)) in all.iter_mut().zip(&extents).enumerate() {
        let shift = if index % 2 == 0 { narrowest.0 - own.0 } else { narrowest.1 - own.1 };
        x.iter_mut().for_each(|x| *x += shift);
    }
    let mut balanced: Vec<f64> = (0..layers.widths.len())
        .map(|node| {
            let mut four = [0.0; 4];
            four.iter_mut().zip(&all).for_each(|(slot, x)| *slot = at(x, node));
            four.sort_by(f64::total_cmp);
            let [_, second, third, _] = four;
            (second + third) / 2.0
        })
        .collect();
    let left = extent(&balanced).0;
    if left.is_finite() {
        balanced.iter_mut().for_each(|x| *x -= left);
    }
    balanced
}

/// Returns the edges `(upper, lower)` that cross an edge between two dummies. These edges bend, so that long edges stay
/// straight.
fn conflicts(layers: &Layers) -> FxHashSet<(usize, usize)> {
    let mut found = FxHashSet::default();
    for pair in layers.layers.windows(2) {
        let [upper, lower] = pair else { continue };
        let mut left = 0;
        let mut scanned = 0;
        for (place, &node) in lower.iter().enumerate() {
            let inner = of(&layers.up, node).first().copied();
            let inner = inner.filter(|&above| layers.is_dummy(node) && layers.is_dummy(above));
            if inner.is_none() && place + 1 < lower.len() {
                continue;
            }
            let right = inner.map_or(upper.len(), |above| at(&layers.places, above));
            for &between in lower.get(scanned..=place).unwrap_or_default() {
                for &above in of(&layers.up, between) {
                    let at_place = at(&layers.places, above);
                    let is_inner = layers.is_dummy(above) && layers.is_dummy(between);
                    if (at_place < left || at_place > right) && !is_inner {
                        found.insert((above, between));
                    }
                }
            }
            scanned = place + 1;
            left = right;
        }
    }
    found
}

/// Aligns each node with a middle neighbour. Returns the root of each node's block, which consists of nodes that are
/// aligned vertically.
fn align(layers: &Layers, conflicts: &FxHashSet<(usize, usize)>, is_down: bool, is_left: bool) -> Vec<usize> {
    let count = layers.widths.len();
    let mut root: Vec<usize> = (0..count).collect();
    let mut is_taken = vec![false; count];
    let depth = layers.layers.len();
    let mut near: Vec<(usize, usize)> = Vec::new();
    for step in 0..depth {
        let layer = of(&layers.layers, if is_down { step } else { depth - 1 - step });
        let neighbours = if is_down { &layers.up } else { &layers.down };
        // Place of the latest neighbour that a block contains, in the direction of the walk.
        let mut latest: Option<usize> = None;
        for index in 0..layer.len() {
            let node = at(layer, if is_left { index } else { layer.len() - 1 - index });
            near.clear();
            near.extend(of(neighbours, node).iter().map(|&other| {
                let place = at(&layers.places, other);
                // Places in the direction of the walk.
                (if is_left { place } else { usize::MAX - place }, other)
            }));
            near.sort_unstable();
            if near.is_empty() {
                continue;
            }
            let middle = near.len() - 1;
            for choice in [middle / 2, middle.div_ceil(2)] {
                let (place, other) = at(&near, choice);
                let edge = if is_down { (other, node) } else { (node, other) };
                if at(&root, node) == node
                    && !at(&is_taken, other)
                    && latest.is_none_or(|latest| latest < place)
                    && !conflicts.contains(&edge)
                {
                    let of_other = at(&root, other);
                    set(&mut root, node, of_other);
                    set(&mut is_taken, other, true);
                    latest = Some(place);
                    break;
                }
            }
        }
    }
    root
}

/// Places the blocks as close to the left (or right) as their order and widths allow, then moves each block towards the
/// other side until another block is in the way.
fn compact(layers: &Layers, root: &[usize], spacing: Spacing, is_left: bool) -> Vec<f64> {
    let count = layers.widths.len();
    // Edges between blocks, from left to right (or right to left), with the distance between their centres.
    let mut after: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
    let mut waiting = vec![0usize; count];
    for layer in &layers.layers {
        for pair in layer.windows(2) {
            let [left, right] = *pair else { continue };
            let (a, b) = if is_left { (left, right) } else { (right, left) };
            let gap = |node| if layers.is_dummy(node) { spacing.edges } else { spacing.nodes };
            let distance = (at(&layers.widths, a) + at(&layers.widths, b)) / 2.0 + (gap(a) + gap(b)) / 2.0;
            let (from, to) = (at(root, a), at(root, b));
            if let Some(list) = after.get_mut(from) {
                list.push((to, distance));
            }
            let waits = at(&waiting, to) + 1;
            set(&mut waiting, to, waits);
        }
    }
    let mut order: Vec<usize> = (0..count).filter(|&node| at(root, node) == node && at(&waiting, node) == 0).collect();
    let mut x = vec![0.0f64; count];
    let mut done = 0;
    while let Some(&block) = order.get(done) {
        done += 1;
        for &(next, distance) in after.get(block).map(Vec::as_slice).unwrap_or_default() {
            let least = at(&x, next).max(at(&x, block) + distance);
            set(&mut x, next, least);
            let waits = at(&waiting, next) - 1;
            set(&mut waiting, next, waits);
            if waits == 0 {
                order.push(next);
            }
        }
    }
    for &block in order.iter().rev() {
        let next = after.get(block).map(Vec::as_slice).unwrap_or_default();
        let most = next.iter().map(|&(next, distance)| at(&x, next) - distance).fold(f64::INFINITY, f64::min);
        if most.is_finite() && most > at(&x, block) {
            set(&mut x, block, most);
        }
    }
    (0..count)
        .map(|node| {
            let x = at(&x, at(root, node));
            if is_left { x } else { -x }
        })
        .collect()
}
