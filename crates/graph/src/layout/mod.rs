//! Layered layout of a directed graph: data flows downward.
//!
//! ```text
//! edges --acyclic, ranks--> layers --dummies--> order --crossings--> x by Brandes and Köpf --> routes
//! ```
//!
//! 1. Edges that close a cycle are reversed. A node's rank is the length of the longest path to it. Then nodes move
//!    towards the side with more edges as long as this shortens edges (`rank.rs`).
//! 2. An edge over several ranks passes through a dummy node in each rank, so that it never covers a real node.
//! 3. Sweeps over the layers sort nodes by the mean place of their neighbours, and swaps of neighbours remove the remaining
//!    crossings (`order.rs`).
//! 4. The horizontal places follow Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment" (2001): each
//!    place is the mean of the two middle values of four alignments (`place.rs`). Long edges become vertical.
//!
//! Nodes do not overlap, and edges do not cover nodes, except for edges whose dummies exceed [`MOST_DUMMIES`].

mod order;
mod place;
mod rank;

#[cfg(test)]
mod tests;

/// Maximum number of dummy nodes. If edges need more dummy nodes, the longest edges are drawn as straight lines.
pub const MOST_DUMMIES: usize = 20_000;

/// Free space between nodes, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacing {
    /// Space between nodes of a layer.
    pub nodes: f64,
    /// Space between edges, and between an edge and a node.
    pub edges: f64,
    /// Between layers.
    pub ranks: f64,
}

impl Default for Spacing {
    fn default() -> Spacing {
        Spacing { nodes: 24.0, edges: 14.0, ranks: 44.0 }
    }
}

/// Required place of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Anywhere.
    #[default]
    Free,
    /// In the first layer, above all free nodes.
    Top,
    /// In the last layer, below all free nodes.
    Bottom,
}

/// A graph to lay out.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Width and height of each node.
    pub sizes: Vec<(f64, f64)>,
    /// Required places of nodes. Nodes without an entry are free.
    pub pins: Vec<Pin>,
    /// Edges between nodes. Edges to or from unknown nodes, and from a node to itself, have no route.
    pub edges: Vec<(usize, usize)>,
}

/// A point `(x, y)`, measured from the upper left corner.
pub type Point = (f64, f64);

/// Places of nodes, and routes of edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Size of the whole layout.
    pub size: (f64, f64),
    /// Centre of each node.
    pub centres: Vec<Point>,
    /// Corners of each edge, from its first node to its second.
    pub routes: Vec<Vec<Point>>,
    /// Number of crossings between edges of neighbouring layers.
    pub crossings: u64,
}

/// Nodes and dummies in layers.
#[derive(Clone, Debug, Default)]
struct Layers {
    /// Nodes of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// Neighbours of each node in the layer above.
    up: Vec<Vec<usize>>,
    /// Neighbours of each node in the layer below.
    down: Vec<Vec<usize>>,
    /// Place of each node in its layer.
    places: Vec<usize>,
    /// Width of each node.
    widths: Vec<f64>,
    /// Number of nodes that are not dummies.
    real: usize,
}

impl Layers {
    fn is_dummy(&self, node: usize) -> bool {
        node >= self.real
    }

    fn set_places(&mut self) {
        for layer in &self.layers {
            for (place, &node) in layer.iter().enumerate() {
                set(&mut self.places, node, place);
            }
        }
    }
}

/// Returns an entry of a list, or a default.
fn at<T: Copy + Default>(list: &[T], index: usize) -> T {
    list.get(index).copied().unwrap_or_default()
}

/// Sets an entry of a list.
fn set<T>(list: &mut [T], index: usize, value: T) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}

/// Returns the list at an index.
fn of(lists: &[Vec<usize>], index: usize) -> &[usize] {
    lists.get(index).map(Vec::as_slice).unwrap_or_default()
}

/// Lays out a graph.
pub fn layered(graph: &Graph, spacing: Spacing) -> Layout {
    let count = graph.sizes.len();
    if count == 0 {
        return Layout { routes: vec![Vec::new(); graph.edges.len()], ..Layout::default() };
    }
    let directed = rank::acyclic(graph);
    let ranks = rank::ranks(graph, &directed);
    let (mut layers, chains) = layers(graph, &directed, &ranks);
    let crossings = order::minimise(&mut layers);
    let x = place::x(&layers, spacing);
    place_and_route(graph, &layers, &directed, &chains, &x, &ranks, spacing, crossings)
}

/// Builds the layers, and for each edge the dummies that it passes through from its upper to its lower node. `None` for
/// edges without a route and for edges that are too long.
fn layers(graph: &Graph, directed: &[Option<(usize, usize)>], ranks: &[usize]) -> (Layers, Vec<Option<Vec<usize>>>) {
    let count = graph.sizes.len();
    let span = |&(from, to): &(usize, usize)| at(ranks, to).saturating_sub(at(ranks, from));
    let depth = ranks.iter().max().map_or(0, |last| last + 1);
    let mut longest = depth;
    let dummies = |longest: usize| -> usize {
        let spans = directed.iter().flatten().map(span).filter(|&span| span <= longest);
        spans.map(|span| span.saturating_sub(1)).sum()
    };
    while longest > 1 && dummies(longest) > MOST_DUMMIES {
        longest /= 2;
    }
    let mut built = Layers {
        layers: vec![Vec::new(); depth],
        up: vec![Vec::new(); count],
        down: vec![Vec::new(); count],
        places: Vec::new(),
        widths: graph.sizes.iter().map(|size| size.0).collect(),
        real: count,
    };
    let mut chains = Vec::with_capacity(directed.len());
    let mut rank_of: Vec<usize> = ranks.to_vec();
    let mut known = rustc_hash::FxHashSet::default();
    for edge in directed {
        let Some((from, to)) = edge.filter(|edge| span(edge) <= longest) else {
            chains.push(None);
            continue;
        };
        let mut chain = Vec::new();
        let mut above = from;
        for rank in at(ranks, from) + 1..at(ranks, to) {
            let dummy = built.widths.len();
            built.widths.push(0.0);
            built.up.push(vec![above]);
            built.down.push(Vec::new());
            rank_of.push(rank);
            if let Some(below) = built.down.get_mut(above) {
                below.push(dummy);
            }
            chain.push(dummy);
            above = dummy;
        }
        if !chain.is_empty() || known.insert((from, to)) {
            if let Some(below) = built.down.get_mut(above) {
                below.push(to);
            }
            if let Some(ups) = built.up.get_mut(to) {
                ups.push(above);
            }
        }
        chains.push(Some(chain));
    }
    built.places = vec![0; built.widths.len()];
    order::start(&mut built, &rank_of);
    (built, chains)
}

#[expect(clippy::too_many_arguments)]
fn place_and_route(
    graph: &Graph,
    layers: &Layers,
    directed: &[Option<(usize, usize)>],
    chains: &[Option<Vec<usize>>],
    x: &[f64],
    ranks: &[usize],
    spacing: Spacing,
    crossings: u64,
) -> Layout {
    let height = |node: usize| at(&graph.sizes, node).1;
    // Upper and lower end of each layer.
    let mut bands: Vec<(f64, f64)> = Vec::with_capacity(layers.layers.len());
    let mut top = 0.0;
    for layer in &layers.layers {
        let tallest = layer.iter().map(|&node| height(node)).fold(0.0, f64::max);
        bands.push((top, top + tallest));
        top += tallest + spacing.ranks;
    }
    let band = |rank: usize| at(&bands, rank);
    let centres: Vec<Point> = (0..graph.sizes.len())
        .map(|node| {
            let (top, bottom) = band(at(ranks, node));
            (at(x, node), (top + bottom) / 2.0)
        })
        .collect();
    let mut routes = Vec::with_capacity(directed.len());
    for ((edge, chain), original) in directed.iter().zip(chains).zip(&graph.edges) {
        let Some((from, to)) = *edge else {
            routes.push(Vec::new());
            continue;
        };
        let ((from_x, from_y), (to_x, to_y)) = (at(&centres, from), at(&centres, to));
        let (from_rank, to_rank) = (at(ranks, from), at(ranks, to));
        let mut route = vec![(from_x, from_y + height(from) / 2.0), (from_x, band(from_rank).1)];
        for (rank, &dummy) in (from_rank + 1..).zip(chain.iter().flatten()) {
            let (top, bottom) = band(rank);
            route.extend([(at(x, dummy), top), (at(x, dummy), bottom)]);
        }
        route.extend([(to_x, band(to_rank).0), (to_x, to_y - height(to) / 2.0)]);
        simplify(&mut route);
        if *original != (from, to) {
            route.reverse();
        }
        routes.push(route);
    }
    let right = layers.layers.iter().flatten().map(|&node| at(x, node) + at(&layers.widths, node) / 2.0);
    let bottom = bands.last().map_or(0.0, |band| band.1);
    Layout { size: (right.fold(0.0, f64::max), bottom), centres, routes, crossings }
}

/// Removes points that repeat the previous point or are on the line between their neighbours.
fn simplify(route: &mut Vec<Point>) {
    let mut kept: Vec<Point> = Vec::with_capacity(route.len());
    for &point in route.iter() {
        if let [.., a, b] = kept.as_slice() {
            let cross = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if cross.abs() < 1e-6 {
                kept.pop();
            }
        }
        if kept.last() != Some(&point) {
            kept.push(point);
        }
    }
    *route = kept;
}
