//! Movement of the keyboard selection from node to node.

use crossprof::graph::{Drawn, Picture, PictureNode};

/// Direction of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To an operand.
    Up,
    /// To a user.
    Down,
    /// To the nearest node on the left.
    Left,
    /// To the nearest node on the right.
    Right,
}

/// Returns the node after a step, or the first node if none is selected. Returns `None` if there is no node in that
/// direction.
pub fn step(picture: &Picture, from: Option<usize>, step: Step) -> Option<usize> {
    let nodes = &picture.nodes;
    let Some((from, start)) = from.and_then(|from| Some((from, nodes.get(from)?))) else {
        return nodes.iter().position(|node| !node.is_open);
    };
    if start.is_open {
        // The contents of a frame follow it.
        return (from + 1..nodes.len()).find(|&at| !nodes[at].is_open);
    }
    let (x, y) = centre(start);
    let along: Vec<usize> = match step {
        Step::Up => picture.edges.iter().filter(|it| it.to as usize == from).map(|it| it.from as usize).collect(),
        Step::Down => picture.edges.iter().filter(|it| it.from as usize == from).map(|it| it.to as usize).collect(),
        Step::Left | Step::Right => {
            let is_beside = |node: &PictureNode| {
                let (other, _) = centre(node);
                !node.is_open
                    && node.drawn.y < start.drawn.y + start.drawn.height
                    && start.drawn.y < node.drawn.y + node.drawn.height
                    && if step == Step::Left { other < x } else { other > x }
            };
            (0..nodes.len()).filter(|&at| at != from && is_beside(&nodes[at])).collect()
        }
    };
    let distance = |&at: &usize| {
        let (other, height) = nodes.get(at).map(centre).unwrap_or_default();
        (other - x).abs() + (height - y).abs()
    };
    along.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn centre(node: &PictureNode) -> (f64, f64) {
    let Drawn { x, y, width, height, .. } = node.drawn;
    (x + width / 2.0, y + height / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::graph::PictureEdge;

    fn node(x: f64, y: f64, is_open: bool) -> PictureNode {
        PictureNode {
            id: String::new(),
            name: None,
            drawn: Drawn { x, y, width: 10.0, height: 10.0, ..Drawn::default() },
            is_open,
            opens: is_open,
            is_centre: false,
            is_root: false,
            is_critical: false,
        }
    }

    #[test]
    fn arrows_follow_edges_and_rows() {
        let edge = |from, to| PictureEdge { from, to, count: 1, path: String::new(), label: (0.0, 0.0) };
        let nodes = vec![node(0.0, 0.0, true), node(0.0, 0.0, false), node(30.0, 2.0, false), node(25.0, 40.0, false)];
        let picture = Picture { nodes, edges: vec![edge(1, 3), edge(2, 3)], ..Picture::default() };
        assert_eq!(step(&picture, None, Step::Down), Some(1));
        assert_eq!(step(&picture, Some(0), Step::Down), Some(1), "into a frame");
        assert_eq!(step(&picture, Some(1), Step::Right), Some(2));
        assert_eq!(step(&picture, Some(2), Step::Left), Some(1));
        assert_eq!(step(&picture, Some(1), Step::Down), Some(3));
        assert_eq!(step(&picture, Some(3), Step::Up), Some(2), "the nearer operand");
        assert_eq!(step(&picture, Some(3), Step::Down), None);
        assert_eq!(step(&picture, Some(99), Step::Up), Some(1));
    }
}
