use super::*;
use proptest::prelude::*;

/// Returns a random data-flow graph, in which each node uses some of the nodes before it.
fn graphs(most: usize) -> impl Strategy<Value = Graph> {
    (2..most).prop_flat_map(|count| {
        let sizes = proptest::collection::vec((20.0..200.0f64, 10.0..60.0f64), count);
        let edges = proptest::collection::vec((0..count, 0..count), 0..2 * count);
        (sizes, edges).prop_map(|(sizes, edges)| Graph { sizes, pins: Vec::new(), edges })
    })
}

fn boxes(graph: &Graph, layout: &Layout) -> Vec<(f64, f64, f64, f64)> {
    let sizes = graph.sizes.iter().zip(&layout.centres);
    sizes
        .map(|(size, at)| (at.0 - size.0 / 2.0, at.1 - size.1 / 2.0, at.0 + size.0 / 2.0, at.1 + size.1 / 2.0))
        .collect()
}

/// Returns true if a segment passes through the inside of a box.
fn covers(a: Point, b: Point, bounds: (f64, f64, f64, f64)) -> bool {
    let inset = 0.01;
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for (start, delta, low, high) in
        [(a.0, b.0 - a.0, bounds.0 + inset, bounds.2 - inset), (a.1, b.1 - a.1, bounds.1 + inset, bounds.3 - inset)]
    {
        if delta == 0.0 {
            if start <= low || start >= high {
                return false;
            }
        } else {
            let (x, y) = ((low - start) / delta, (high - start) / delta);
            from = from.max(x.min(y));
            to = to.min(x.max(y));
        }
    }
    from < to
}

proptest! {
    #[test]
    fn nodes_do_not_overlap_and_edges_avoid_them(graph in graphs(60)) {
        let layout = layered(&graph, Spacing::default());
        let boxes = boxes(&graph, &layout);
        for (i, a) in boxes.iter().enumerate() {
            prop_assert!(a.0 >= -0.01 && a.1 >= -0.01 && a.2 <= layout.size.0 + 0.01 && a.3 <= layout.size.1 + 0.01);
            for b in &boxes[i + 1..] {
                let apart = a.2 < b.0 || b.2 < a.0 || a.3 < b.1 || b.3 < a.1;
                prop_assert!(apart, "{a:?} {b:?}");
            }
        }
        for (route, &(from, to)) in layout.routes.iter().zip(&graph.edges) {
            if from == to {
                prop_assert!(route.is_empty());
                continue;
            }
            // The route leads from the border of one node to the border of the other.
            let (start, end) = (route[0], route[route.len() - 1]);
            prop_assert!((start.0 - layout.centres[from].0).abs() < 0.01 && (end.0 - layout.centres[to].0).abs() < 0.01);
            for pair in route.windows(2) {
                for bounds in &boxes {
                    prop_assert!(!covers(pair[0], pair[1], *bounds), "{route:?} {bounds:?}");
                }
            }
        }
    }

    #[test]
    fn data_flows_downward(count in 2usize..80, seed in any::<u64>()) {
        let graph = dataflow(count, seed);
        let layout = layered(&graph, Spacing::default());
        for &(from, to) in &graph.edges {
            prop_assert!(layout.centres[from].1 < layout.centres[to].1);
        }
    }

    #[test]
    fn pins_are_at_their_side(count in 1usize..40, seed in any::<u64>()) {
        let mut graph = dataflow(count, seed);
        for node in 0..count {
            if node % 3 == 0 {
                graph.edges.push((graph.sizes.len(), node));
                graph.sizes.push((8.0, 0.0));
                graph.pins.resize(graph.sizes.len(), Pin::Free);
                *graph.pins.last_mut().unwrap() = Pin::Top;
            }
            if node % 4 == 0 {
                graph.edges.push((node, graph.sizes.len()));
                graph.sizes.push((8.0, 0.0));
                graph.pins.resize(graph.sizes.len(), Pin::Free);
                *graph.pins.last_mut().unwrap() = Pin::Bottom;
            }
        }
        let layout = layered(&graph, Spacing::default());
        for (node, pin) in graph.pins.iter().enumerate() {
            match pin {
                Pin::Top => prop_assert_eq!(layout.centres[node].1, 0.0),
                Pin::Bottom => prop_assert_eq!(layout.centres[node].1, layout.size.1),
                Pin::Free => {}
            }
        }
    }
}

/// Returns a graph that looks like a program: most operands are recent, and some are far back.
fn dataflow(count: usize, seed: u64) -> Graph {
    let mut state = seed | 1;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut graph = Graph { sizes: vec![(120.0, 40.0); count], ..Graph::default() };
    for node in 1..count {
        for _ in 0..1 + next(2) {
            let back = 1 + next(8) * if next(10) == 0 { 6 } else { 1 };
            graph.edges.push((node.saturating_sub(back as usize), node));
        }
    }
    graph.edges.sort_unstable();
    graph.edges.dedup();
    graph
}

#[test]
fn a_chain_is_straight_and_a_diamond_symmetric() {
    let chain =
        Graph { sizes: vec![(50.0, 20.0); 5], edges: (0..4).map(|at| (at, at + 1)).collect(), pins: Vec::new() };
    let layout = layered(&chain, Spacing::default());
    assert!(layout.routes.iter().all(|route| route.len() == 2 && route[0].0 == route[1].0), "{layout:?}");
    let diamond = Graph { sizes: vec![(50.0, 20.0); 4], edges: vec![(0, 1), (0, 2), (1, 3), (2, 3)], pins: Vec::new() };
    let layout = layered(&diamond, Spacing::default());
    let x: Vec<f64> = layout.centres.iter().map(|centre| centre.0).collect();
    assert_eq!((x[0], x[1] + x[2]), (x[3], 2.0 * x[0]));
    assert_eq!(layout.crossings, 0);
}

#[test]
fn odd_graphs_are_laid_out() {
    assert_eq!(layered(&Graph::default(), Spacing::default()).size, (0.0, 0.0));
    let odd = Graph {
        sizes: vec![(10.0, 10.0); 3],
        edges: vec![(0, 0), (1, 9), (0, 1), (1, 0), (1, 2), (2, 0)],
        pins: Vec::new(),
    };
    let layout = layered(&odd, Spacing::default());
    assert!(layout.routes[0].is_empty() && layout.routes[1].is_empty());
    assert!(layout.routes[2..].iter().all(|route| route.len() >= 2));
    // The graph is a star of long edges.
    let wide = Graph {
        sizes: vec![(10.0, 10.0); 3_000],
        edges: (1..3_000).flat_map(|node| [(node - 1, node), (0, node)]).collect(),
        pins: Vec::new(),
    };
    assert!(layered(&wide, Spacing::default()).size.1 > 10_000.0);
}

/// Compares the result with the crate dagre, a port of the layout that most graph views on the web use.
#[test]
fn crossings_and_lengths_are_close_to_those_of_dagre() {
    let (mut ours, mut theirs) = ((0u64, 0.0), (0u64, 0.0));
    for seed in 1..=6u64 {
        let graph = dataflow(36, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let layout = layered(&graph, Spacing::default());
        ours.0 += crossings_of(&layout.routes);
        ours.1 += layout.routes.iter().map(|route| length(route)).sum::<f64>();
        let routes = dagre_routes(&graph);
        theirs.0 += crossings_of(&routes);
        theirs.1 += routes.iter().map(|route| length(route)).sum::<f64>();
    }
    println!("crossings {} (dagre {}), length {:.0} (dagre {:.0})", ours.0, theirs.0, ours.1, theirs.1);
    assert!(ours.0 as f64 <= 1.1 * theirs.0 as f64, "{ours:?} {theirs:?}");
    assert!(ours.1 <= 1.15 * theirs.1, "{ours:?} {theirs:?}");
}

fn dagre_routes(graph: &Graph) -> Vec<Vec<Point>> {
    let mut theirs =
        dagre::graph::Graph::<dagre::NodeLabel, dagre::EdgeLabel>::with_options(dagre::graph::GraphOptions {
            directed: true,
            multigraph: false,
            compound: false,
        });
    for (node, size) in graph.sizes.iter().enumerate() {
        let label = dagre::NodeLabel { width: size.0, height: size.1, ..Default::default() };
        theirs.set_node(node.to_string(), Some(label));
    }
    for (from, to) in &graph.edges {
        theirs.set_edge(from.to_string(), to.to_string(), Some(dagre::EdgeLabel::default()), None);
    }
    let spacing = Spacing::default();
    let options = dagre::LayoutOptions {
        nodesep: spacing.nodes,
        edgesep: spacing.edges,
        ranksep: spacing.ranks,
        ..Default::default()
    };
    dagre::layout(&mut theirs, Some(options));
    let points = |(from, to): &(usize, usize)| {
        let edge = theirs.edge(&from.to_string(), &to.to_string(), None).expect("the edge");
        edge.points.iter().map(|point| (point.x, point.y)).collect()
    };
    graph.edges.iter().map(points).collect()
}

fn length(route: &[Point]) -> f64 {
    let distance = |x: f64, y: f64| (x * x + y * y).sqrt();
    route.windows(2).map(|pair| distance(pair[1].0 - pair[0].0, pair[1].1 - pair[0].1)).sum()
}

/// Counts the pairs of segments of different edges that cross.
fn crossings_of(routes: &[Vec<Point>]) -> u64 {
    let side = |a: Point, b: Point, c: Point| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let mut count = 0;
    for (i, one) in routes.iter().enumerate() {
        for other in &routes[i + 1..] {
            for a in one.windows(2) {
                for b in other.windows(2) {
                    let (p, q) = (side(a[0], a[1], b[0]), side(a[0], a[1], b[1]));
                    let (r, s) = (side(b[0], b[1], a[0]), side(b[0], b[1], a[1]));
                    count += u64::from(p * q < -1e-6 && r * s < -1e-6);
                }
            }
        }
    }
    count
}
