//! Directions of edges and ranks of nodes.

use super::{Graph, Pin, at, of, set};

/// Maximum number of passes that shorten edges.
const MOST_PASSES: usize = 16;

/// Returns the edges, each from its upper to its lower node. Reverses edges that close a cycle. `None` for edges from a
/// node to itself, and for edges to or from nodes that do not exist.
pub(super) fn acyclic(graph: &Graph) -> Vec<Option<(usize, usize)>> {
    let count = graph.sizes.len();
    let pin = |node: usize| at(&graph.pins, node);
    let is_edge = |&(from, to): &(usize, usize)| from != to && from < count && to < count;
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| is_edge(edge)) {
        if let Some(list) = out.get_mut(edge.0) {
            list.push(index);
        }
    }
    let mut directed: Vec<Option<(usize, usize)>> =
        graph.edges.iter().map(|edge| is_edge(edge).then_some(*edge)).collect();
    // The states are 0 for not visited, 1 for on the path, and 2 for done.
    let mut state = vec![0u8; count];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..count {
        if at(&state, start) == 0 {
            set(&mut state, start, 1);
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let Some(&edge) = of(&out, *node).get(*next) else {
                set(&mut state, *node, 2);
                path.pop();
                continue;
            };
            *next += 1;
            let (from, to) = at(&graph.edges, edge);
            match at(&state, to) {
                0 => {
                    set(&mut state, to, 1);
                    path.push((to, 0));
                }
                1 => set(&mut directed, edge, Some((to, from))),
                _ => {}
            }
        }
    }
    // Pinned nodes determine the direction of their edges.
    for edge in directed.iter_mut().flatten() {
        let (from, to) = *edge;
        if pin(to) == Pin::Top && pin(from) != Pin::Top || pin(from) == Pin::Bottom && pin(to) != Pin::Bottom {
            *edge = (to, from);
        }
    }
    // An edge between two nodes that are pinned to the same side cannot be drawn.
    for edge in &mut directed {
        if edge.is_some_and(|(from, to)| pin(from) != Pin::Free && pin(from) == pin(to)) {
            *edge = None;
        }
    }
    directed
}

/// Returns the rank of each node. Every edge leads to a higher rank.
pub(super) fn ranks(graph: &Graph, directed: &[Option<(usize, usize)>]) -> Vec<usize> {
    let count = graph.sizes.len();
    let pin = |node: usize| at(&graph.pins, node);
    let mut up: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut down: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(from, to) in directed.iter().flatten() {
        if let Some(list) = down.get_mut(from) {
            list.push(to);
        }
        if let Some(list) = up.get_mut(to) {
            list.push(from);
        }
    }
    let has_top = graph.pins.contains(&Pin::Top);
    let mut ranks: Vec<usize> = (0..count).map(|node| usize::from(has_top && pin(node) != Pin::Top)).collect();
    let mut waiting: Vec<usize> = up.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..count).filter(|&node| at(&waiting, node) == 0).collect();
    let mut done = 0;
    while let Some(&node) = order.get(done) {
        done += 1;
        for &below in of(&down, node) {
            let rank = at(&ranks, below).max(at(&ranks, node) + 1);
            set(&mut ranks, below, rank);
            let waits = at(&waiting, below) - 1;
            set(&mut waiting, below, waits);
            if waits == 0 {
                order.push(below);
            }
        }
    }
    // Moves nodes towards the side with more edges.
    let last = ranks.iter().copied().max().unwrap_or_default();
    for pass in 0..MOST_PASSES {
        let mut moved = false;
        let mut step = |node: usize| {
            let (above, below) = (of(&up, node), of(&down, node));
            if pin(node) != Pin::Free {
                return;
            }
            let lowest = above.iter().map(|&it| at(&ranks, it) + 1).max().unwrap_or(usize::from(has_top));
            let highest = below.iter().map(|&it| at(&ranks, it) - 1).min().unwrap_or(last);
            let wanted = match above.len().cmp(&below.len()) {
                std::cmp::Ordering::Less => highest,
                std::cmp::Ordering::Greater => lowest,
                std::cmp::Ordering::Equal => at(&ranks, node),
            };
            if wanted != at(&ranks, node) {
                set(&mut ranks, node, wanted);
                moved = true;
            }
        };
        if pass % 2 == 0 {
            order.iter().rev().copied().for_each(&mut step)
        } else {
            order.iter().copied().for_each(&mut step)
        }
        if !moved && pass > 0 {
            break;
        }
    }
    if graph.pins.contains(&Pin::Bottom) {
        let free = (0..count).filter(|&node| pin(node) != Pin::Bottom).map(|node| at(&ranks, node) + 1);
        let bottom = free.max().unwrap_or_default();
        (0..count).filter(|&node| pin(node) == Pin::Bottom).for_each(|node| set(&mut ranks, node, bottom));
    }
    without_gaps(&mut ranks, has_top);
    ranks
}

/// Removes ranks without nodes.
fn without_gaps(ranks: &mut [usize], has_top: bool) {
    let mut used: Vec<usize> = ranks.to_vec();
    used.extend(has_top.then_some(0));
    used.sort_unstable();
    used.dedup();
    for rank in ranks.iter_mut() {
        *rank = used.binary_search(rank).unwrap_or_default();
    }
}
