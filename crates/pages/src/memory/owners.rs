//! Owners of the peak: by class, then by scope, then by buffer.

use std::collections::BTreeMap;

use memory::{Class, PeakBuffer};

use super::colour;
use document::{ColourClass, Icicle, Link, Node};
use report::View;
use table::Unit;

/// Maximum number of spans. The smallest buffers are shown only as a part of their class.
const MOST_NODES: usize = 2_000;

/// Draws the buffers that are alive at a peak of `peak_bytes` bytes, as nested spans.
pub(super) fn at_peak(title: String, peak_bytes: u64, mut buffers: Vec<PeakBuffer>) -> Icicle {
    buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
    let root = Node {
        label: "peak".to_owned(),
        parent: None,
        value: peak_bytes as f64,
        class: ColourClass::GROUP,
        notes: Vec::new(),
        link: None,
    };
    let mut tree = Tree { nodes: vec![root], places: BTreeMap::new() };
    for buffer in buffers {
        tree.add(buffer);
    }
    Icicle { title, unit: Unit::Bytes, nodes: tree.nodes }
}

/// Returns a link to the op that makes a buffer. For a part of a tuple (`op{1}`), links to the op.
pub(super) fn op(buffer: &str, view: View) -> Option<Link> {
    Link::equal(view, "hlo_op_name", buffer.split('{').next().unwrap_or(buffer))
}

struct Tree {
    nodes: Vec<Node>,
    /// Index of each child, by the child's parent and name.
    places: BTreeMap<(usize, String), usize>,
}

impl Tree {
    fn add(&mut self, buffer: PeakBuffer) {
        let (bytes, class) = (buffer.bytes as f64, buffer.class.class);
        let Some(mut at) = self.child(0, class.label(), bytes, class) else { return };
        for part in buffer.scope.split('/').filter(|part| !part.is_empty()) {
            let Some(next) = self.child(at, part, bytes, class) else { return };
            at = next;
        }
        let shape = buffer.shape_text();
        // The text of an error does not name every buffer.
        let name = if buffer.name.is_empty() { shape.as_deref().unwrap_or("not named") } else { &buffer.name };
        let Some(leaf) = self.child(at, name, bytes, class) else { return };
        if let Some(node) = self.nodes.get_mut(leaf) {
            node.link = op(&buffer.name, View::Ops);
            node.notes = [shape, buffer.source, Some(buffer.class.rule.to_owned())].into_iter().flatten().collect();
        }
    }

    /// Adds bytes to the child with this name. Returns `None` if there would be too many nodes.
    fn child(&mut self, parent: usize, label: &str, bytes: f64, class: Class) -> Option<usize> {
        let key = (parent, label.to_owned());
        let at = match self.places.get(&key) {
            Some(&at) => at,
            None if self.nodes.len() >= MOST_NODES && parent != 0 => return None,
            None => {
                self.nodes.push(Node {
                    label: label.to_owned(),
                    parent: u32::try_from(parent).ok(),
                    value: 0.0,
                    class: colour(class),
                    notes: Vec::new(),
                    link: None,
                });
                self.places.insert(key, self.nodes.len() - 1);
                self.nodes.len() - 1
            }
        };
        self.nodes.get_mut(at)?.value += bytes;
        Some(at)
    }
}
