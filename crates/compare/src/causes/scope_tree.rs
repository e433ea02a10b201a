//! Selects the scopes and ops that explain a difference. Builds a tree of name scopes from the ops
//! that changed, and lists each branch at the depth that is most informative.
//!
//! ```text
//! layer_*          +300                 +300                  +300
//!   attn             +0                 +150                   +40
//!     dot.1                               dot.1 +150             8 ops, +5 each
//!   mlp            +300                 +150                  +260
//!     dot.2          dot.2 +300           dot.2 +150             20 ops, +13 each
//! listed           dot.2                dot.1 and dot.2       layer_*/attn and layer_*/mlp
//! ```
//!
//! A scope is one entry if many of its ops change alike. If only a few ops make up most of the difference, or if some
//! ops change in the opposite direction, each scope and op inside the scope is a separate entry. All layers of a model
//! are treated as one scope.

use crate::Change;
use base::{framework_path, sort};

/// Minimum number of ops that are listed together as one scope. If there are fewer, each op is a separate entry.
const LEAST_TOGETHER: usize = 4;

/// If at most this many members of a scope make up [`MOST_OF_IT`], each member is a separate entry.
const FEW: usize = 3;

/// Members that make up this share of a scope's difference are treated as most of it.
const MOST_OF_IT: f64 = 0.8;

/// A scope is one entry only if at most this share of its changes goes in the opposite direction.
const MOST_AGAINST: f64 = 0.2;

/// Entry in the list of causes.
#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    /// One op, by its index in the list of changes.
    Op(usize),
    /// All ops of one scope whose time changed, largest change first.
    Scope {
        /// Path of the scope, with all layers merged into one.
        path: String,
        /// Indices in the list of changes.
        ops: Vec<usize>,
    },
}

#[derive(Default)]
struct Node<'a> {
    name: String,
    children: Vec<Node<'a>>,
    ops: Vec<(usize, &'a Change)>,
}

/// Groups the changes at the indices `wanted` into entries.
pub(super) fn entries(changes: &[Change], wanted: &[usize]) -> Vec<Entry> {
    let mut root = Node::default();
    for &at in wanted {
        let Some(change) = changes.get(at) else { continue };
        let path = change.framework_op.as_deref().unwrap_or_default();
        let mut node = &mut root;
        for scope in framework_path::scopes(path) {
            node = node.child(framework_path::layered(scope));
        }
        node.ops.push((at, change));
    }
    let mut entries = Vec::new();
    root.add_members("", &mut entries);
    entries
}

impl<'a> Node<'a> {
    fn child(&mut self, name: String) -> &mut Node<'a> {
        let known = self.children.iter().position(|child| child.name == name);
        let at = known.unwrap_or_else(|| {
            self.children.push(Node { name, ..Node::default() });
            self.children.len() - 1
        });
        // `at` was found or added above.
        #[expect(clippy::indexing_slicing)]
        &mut self.children[at]
    }

    fn all_ops(&self, into: &mut Vec<(usize, &'a Change)>) {
        into.extend(&self.ops);
        self.children.iter().for_each(|child| child.all_ops(into));
    }

    fn delta_us(&self) -> f64 {
        let own: f64 = self.ops.iter().map(|(_, op)| op.delta_us_per_step).sum();
        own + self.children.iter().map(Node::delta_us).sum::<f64>()
    }

    fn add_members(&self, path: &str, entries: &mut Vec<Entry>) {
        entries.extend(self.ops.iter().map(|(at, _)| Entry::Op(*at)));
        for child in &self.children {
            let path = if path.is_empty() { child.name.clone() } else { format!("{path}/{}", child.name) };
            child.add_entries(path, entries);
        }
    }

    fn add_entries(&self, path: String, entries: &mut Vec<Entry>) {
        let mut ops = Vec::new();
        self.all_ops(&mut ops);
        let total = self.delta_us();
        let mut members: Vec<f64> = self.ops.iter().map(|(_, op)| op.delta_us_per_step).collect();
        members.extend(self.children.iter().map(Node::delta_us));
        sort::sort_by(&mut members, |a, b| b.abs().total_cmp(&a.abs()));
        let few: f64 = members.iter().take(FEW).sum();
        let against: f64 =
            ops.iter().map(|(_, op)| op.delta_us_per_step).filter(|delta| delta * total < 0.0).sum::<f64>().abs();
        let is_one = members.len() > FEW && (few / total) < MOST_OF_IT;
        if ops.len() < LEAST_TOGETHER || !is_one || against > MOST_AGAINST * total.abs() {
            return self.add_members(&path, entries);
        }
        sort::sort_by(&mut ops, |a, b| b.1.delta_us_per_step.abs().total_cmp(&a.1.delta_us_per_step.abs()));
        entries.push(Entry::Scope { path, ops: ops.into_iter().map(|(at, _)| at).collect() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(ops: &[(&str, f64)]) -> Vec<String> {
        let change = |&(path, delta): &(&str, f64)| Change {
            framework_op: Some(path.to_owned()),
            delta_us_per_step: delta,
            ..Change::default()
        };
        let changes: Vec<Change> = ops.iter().map(change).collect();
        let all: Vec<usize> = (0..changes.len()).collect();
        let shown = |entry| match entry {
            Entry::Op(at) => ops[at].0.rsplit('/').next().unwrap().to_owned(),
            Entry::Scope { path, ops } => format!("{path}: {}", ops.len()),
        };
        entries(&changes, &all).into_iter().map(shown).collect()
    }

    #[test]
    fn few_ops_are_listed_individually() {
        assert_eq!(listed(&[("jit(f)/layer_1/mlp/dot.2", 300.0)]), ["dot.2"]);
        assert_eq!(listed(&[("layer_1/attn/dot.1", 150.0), ("layer_1/mlp/dot.2", 150.0)]), ["dot.1", "dot.2"]);
        // One op makes up most of the change. The other ops of its scope are still listed.
        let mut ops = vec![("l/mlp/dot", 300.0)];
        ops.extend([("l/mlp/add", 10.0); 4]);
        assert_eq!(listed(&ops)[0], "dot");
    }

    #[test]
    fn many_ops_that_change_alike_are_one_scope() {
        let mut ops = vec![("jit(f)/layer_0/attn/add", 5.0), ("jit(f)/layer_1/attn/mul", 5.0)];
        ops.extend([("jit(f)/layer_2/attn/sub", 5.0); 6]);
        ops.extend([("jit(f)/layer_2/mlp/gelu", 13.0); 20]);
        assert_eq!(listed(&ops), ["layer_*/attn: 8", "layer_*/mlp: 20"]);
    }

    #[test]
    fn ops_that_change_in_the_opposite_direction_are_separate() {
        let mut ops = vec![("l/attn/add", 5.0); 6];
        ops.push(("l/attn/dot", -20.0));
        assert_eq!(listed(&ops).len(), 7);
    }
}
