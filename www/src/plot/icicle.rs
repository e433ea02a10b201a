//! Layout of a tree as nested spans. The root is at the top, and children are below their parent from left to right.
//!
//! ```text
//! |------------- root -------------|   depth 0
//! |----- a -----|------ b ----|        depth 1: the rest of the width belongs to the parent itself
//!     |-- a1 --| |-- b1 --|            depth 2
//! ```

/// A visible node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Index of the node.
    pub node: usize,
    /// Left edge, as a fraction of the width.
    pub left: f64,
    /// Width, as a fraction of the total width.
    pub width: f64,
    /// Number of rows below the top.
    pub depth: usize,
}

/// Minimum width of a drawn span, as a fraction of the total width.
const MIN_WIDTH: f64 = 0.0008;

/// Returns the spans below the node `top`, sorted by depth and from left to right. The node `top` itself fills the
/// width. `parents` and `values` describe the tree. Parents must come before their children.
pub fn layout(parents: &[Option<u32>], values: &[f64], top: usize, max_depth: usize) -> Vec<Span> {
    let size = |node: usize| values.get(node).copied().filter(|value| value.is_finite() && *value > 0.0).unwrap_or(0.0);
    let parent = |node: usize| parents.get(node).copied().flatten().map(|parent| parent as usize);
    // If children together exceed their parent, they share the width of the parent.
    let mut sums = vec![0.0; parents.len()];
    for node in 0..parents.len() {
        if let Some(sum) = parent(node).filter(|parent| *parent < node).and_then(|parent| sums.get_mut(parent)) {
            *sum += size(node);
        }
    }
    let mut spans: Vec<Option<Span>> = vec![None; parents.len()];
    let mut filled = vec![0.0; parents.len()];
    if let Some(slot) = spans.get_mut(top) {
        *slot = Some(Span { node: top, left: 0.0, width: 1.0, depth: 0 });
    }
    for node in top + 1..parents.len() {
        let Some(above) = parent(node).filter(|parent| *parent < node) else { continue };
        let Some(outer) = spans.get(above).copied().flatten().filter(|outer| outer.depth < max_depth) else { continue };
        let whole = size(above).max(sums.get(above).copied().unwrap_or(0.0));
        let (Some(used), true) = (filled.get_mut(above), whole > 0.0) else { continue };
        let width = outer.width * size(node) / whole;
        let left = outer.left + *used;
        *used += width;
        if width >= MIN_WIDTH
            && let Some(slot) = spans.get_mut(node)
        {
            *slot = Some(Span { node, left, width, depth: outer.depth + 1 });
        }
    }
    let mut found: Vec<Span> = spans.into_iter().flatten().collect();
    crossprof::text::sort::sort_by(&mut found, |a, b| a.depth.cmp(&b.depth).then(a.left.total_cmp(&b.left)));
    found
}

/// Returns the path from the root to a node, including both.
pub fn path(parents: &[Option<u32>], node: usize) -> Vec<usize> {
    let mut path = vec![node];
    let mut at = node;
    while let Some(above) = parents.get(at).copied().flatten().map(|above| above as usize).filter(|above| *above < at) {
        path.push(above);
        at = above;
    }
    path.reverse();
    path
}

/// Returns the span to which an arrow key moves the selection. `from` and the result are indices of `spans`.
pub fn step(spans: &[Span], parents: &[Option<u32>], from: Option<usize>, key: &str) -> Option<usize> {
    let Some((index, here)) = from.and_then(|index| Some((index, spans.get(index)?))) else {
        return (!spans.is_empty()).then_some(0);
    };
    let is_beside = |other: usize| spans.get(other).is_some_and(|span| span.depth == here.depth);
    match key {
        "ArrowRight" => Some(index + 1).filter(|next| is_beside(*next)),
        "ArrowLeft" => index.checked_sub(1).filter(|next| is_beside(*next)),
        "ArrowUp" => {
            let above = parents.get(here.node).copied().flatten()? as usize;
            spans.iter().position(|span| span.node == above)
        }
        "ArrowDown" => spans.iter().position(|span| {
            parents.get(span.node).copied().flatten() == u32::try_from(here.node).ok() && span.depth > here.depth
        }),
        "Home" => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENTS: [Option<u32>; 5] = [None, Some(0), Some(0), Some(1), Some(2)];
    const VALUES: [f64; 5] = [100.0, 40.0, 40.0, 40.0, 10.0];

    #[test]
    fn children_are_inside_their_parent() {
        let spans = layout(&PARENTS, &VALUES, 0, 9);
        let nodes: Vec<(usize, usize)> = spans.iter().map(|span| (span.node, span.depth)).collect();
        assert_eq!(nodes, [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2)]);
        assert_eq!((spans[2].left, spans[2].width), (0.4, 0.4));
        assert_eq!((spans[4].left, spans[4].width), (0.4, 0.1));
    }

    #[test]
    fn zooming_shows_one_branch_in_full_width() {
        let spans = layout(&PARENTS, &VALUES, 2, 9);
        assert_eq!(spans.len(), 2);
        assert_eq!((spans[1].node, spans[1].width), (4, 0.25));
        assert_eq!(path(&PARENTS, 4), [0, 2, 4]);
    }

    #[test]
    fn bad_trees_stay_inside() {
        // Children larger than their parent, a parent after its child, and NaN.
        let spans = layout(&[None, Some(0), Some(0), Some(9)], &[1.0, 3.0, f64::NAN, 1.0], 0, 9);
        assert!(spans.iter().all(|span| span.left + span.width <= 1.0));
        assert_eq!(layout(&[], &[], 0, 9), []);
        assert_eq!(path(&[Some(1), Some(0)], 0), [0]);
    }

    #[test]
    fn arrows_walk_the_tree() {
        let spans = layout(&PARENTS, &VALUES, 0, 9);
        let go = |from, key| step(&spans, &PARENTS, from, key);
        assert_eq!(go(None, "ArrowDown"), Some(0));
        assert_eq!(go(Some(0), "ArrowDown"), Some(1));
        assert_eq!(go(Some(1), "ArrowRight"), Some(2));
        assert_eq!(go(Some(2), "ArrowRight"), None);
        assert_eq!(go(Some(2), "ArrowDown"), Some(4));
        assert_eq!(go(Some(4), "ArrowUp"), Some(2));
    }
}
