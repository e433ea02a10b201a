//! Groups as the program names them, and the rule that merges similar layers.

use std::hash::{Hash, Hasher};

use hlo::{InstructionIndex, Module};
use rustc_hash::{FxHashMap, FxHasher};

use crate::scope;
use crate::source::{Grouping, Source};

/// For each instruction in merged layers, the group that merges the layers, and the number of the instruction's layer.
pub(crate) type Copies = FxHashMap<InstructionIndex, (u32, u32)>;

/// A concrete group.
#[derive(Default)]
struct Node<'m> {
    label: &'m str,
    children: Vec<u32>,
    items: Vec<InstructionIndex>,
    /// First instruction of the group, including instructions of the groups inside it.
    first: InstructionIndex,
}

/// Groups of a selection. The outermost group is first.
pub(crate) struct Concrete<'m> {
    module: &'m Module,
    nodes: Vec<Node<'m>>,
}

/// Concrete groups that are drawn as one group.
pub(crate) struct Merged {
    /// Label of the group: `layer_*` for several layers.
    pub label: String,
    /// The concrete groups.
    pub sources: Vec<u32>,
    /// Number of merged layers. 1 if the group merges no layers.
    pub layers: u32,
}

impl<'m> Concrete<'m> {
    /// Groups instructions by their name scopes.
    pub(crate) fn new(source: Source<'m>, instructions: &[InstructionIndex]) -> Concrete<'m> {
        let module = source.module;
        let mut nodes = vec![Node::default()];
        let mut known: FxHashMap<(u32, &'m str), u32> = FxHashMap::default();
        let mut labels = Vec::new();
        // Consecutive instructions often have the same path.
        let mut latest = ("", 0u32);
        for &index in instructions {
            let Some(instruction) = module.at(index) else { continue };
            let path = instruction.metadata.op_name.as_str();
            let mut at = latest.1;
            if path != latest.0 || latest.0.is_empty() {
                at = 0;
                labels.clear();
                if source.grouping != Grouping::Computations {
                    scope::labels(instruction, &mut labels);
                }
                for &label in &labels {
                    let next = nodes.len() as u32;
                    let child = *known.entry((at, label)).or_insert(next);
                    if child == next {
                        nodes.push(Node { label, first: index, ..Node::default() });
                        if let Some(parent) = nodes.get_mut(at as usize) {
                            parent.children.push(child);
                        }
                    }
                    at = child;
                }
                latest = (path, at);
            }
            if let Some(node) = nodes.get_mut(at as usize) {
                node.items.push(index);
            }
        }
        Concrete { module, nodes }
    }

    /// Returns the first instruction of a group that merges `sources`.
    pub(crate) fn first(&self, sources: &[u32]) -> InstructionIndex {
        let first = |&at: &u32| self.nodes.get(at as usize).map(|node| node.first);
        sources.iter().filter_map(first).min().unwrap_or_default()
    }

    /// Returns the label and index of the inner group if a group contains one group and nothing else.
    pub(crate) fn only_child(&self, at: u32) -> Option<(&'m str, u32)> {
        let node = self.nodes.get(at as usize).filter(|node| node.items.is_empty())?;
        let &[child] = node.children.as_slice() else { return None };
        // A numbered layer that is the only one keeps its own group.
        Some((self.nodes.get(child as usize)?.label, child))
    }

    /// Returns the units directly inside a group. Instructions of different layers form a unit if they have the same
    /// opcode and shape, and the same rank among the instructions of their layer with this opcode and shape.
    pub(crate) fn units(&self, sources: &[u32]) -> Vec<Vec<InstructionIndex>> {
        let items = |at: u32| self.nodes.get(at as usize).map(|node| node.items.as_slice()).unwrap_or_default();
        if let [only] = sources {
            return items(*only).iter().map(|&index| vec![index]).collect();
        }
        let mut units: Vec<Vec<InstructionIndex>> = Vec::new();
        let mut known: FxHashMap<(u64, u32), usize> = FxHashMap::default();
        for &source in sources {
            let mut occurrences: FxHashMap<u64, u32> = FxHashMap::default();
            for &index in items(source) {
                let key = self.key(0, index);
                let occurrence = occurrences.entry(key).or_default();
                let unit = *known.entry((key, *occurrence)).or_insert(units.len());
                *occurrence += 1;
                match units.get_mut(unit) {
                    Some(members) => members.push(index),
                    None => units.push(vec![index]),
                }
            }
        }
        units
    }

    /// Returns the groups directly inside a group. Merges numbered layers that have at least half of their instructions
    /// in common.
    pub(crate) fn children(&self, sources: &[u32], grouping: Grouping) -> Vec<Merged> {
        let mut by_label: Vec<(&'m str, Vec<u32>)> = Vec::new();
        let mut known: FxHashMap<&'m str, usize> = FxHashMap::default();
        for &source in sources {
            let Some(node) = self.nodes.get(source as usize) else { continue };
            for &child in &node.children {
                let Some(label) = self.nodes.get(child as usize).map(|node| node.label) else { continue };
                let place = *known.entry(label).or_insert(by_label.len());
                match by_label.get_mut(place) {
                    Some((_, children)) => children.push(child),
                    None => by_label.push((label, vec![child])),
                }
            }
        }
        // Clusters of numbered layers, by pattern. Each entry has the sorted contents of the cluster's first layer, and the
        // cluster's index in the result.
        let mut clusters: FxHashMap<String, Vec<(Vec<u64>, usize)>> = FxHashMap::default();
        let mut merged: Vec<Merged> = Vec::new();
        for (label, children) in by_label {
            let pattern = scope::numbered(label).filter(|_| grouping == Grouping::Layers).map(|(pattern, _)| pattern);
            if let Some(pattern) = pattern {
                let contents = self.contents(&children);
                let alike = clusters.entry(pattern).or_default();
                let equal = alike.iter().find(|(first, _)| is_alike(first, &contents)).map(|&(_, place)| place);
                if let Some(group) = equal.and_then(|place| merged.get_mut(place)) {
                    group.sources.extend(children);
                    group.layers += 1;
                    continue;
                }
                alike.push((contents, merged.len()));
            }
            merged.push(Merged { label: label.to_owned(), sources: children, layers: 1 });
        }
        // Two clusters of one pattern need different names, because the label is part of the id.
        for (pattern, alike) in clusters {
            let mut is_first = true;
            for (_, place) in alike {
                let Some(group) = merged.get_mut(place).filter(|group| group.layers > 1) else { continue };
                let first = std::mem::take(&mut group.label);
                group.label = if is_first { pattern.clone() } else { format!("{pattern} like {first}") };
                is_first = false;
            }
        }
        merged
    }

    /// Records the layer of every instruction of a merged group. Instructions in nested merged layers keep the outer layer.
    pub(crate) fn mark(&self, sources: &[u32], group: u32, copies: &mut Copies) {
        for (number, &source) in (0..).zip(sources) {
            let mut stack = vec![source];
            while let Some(at) = stack.pop() {
                let Some(node) = self.nodes.get(at as usize) else { continue };
                for &index in &node.items {
                    copies.entry(index).or_insert((group, number));
                }
                stack.extend(&node.children);
            }
        }
    }

    /// Returns the sorted keys of all instructions inside the groups `sources`.
    fn contents(&self, sources: &[u32]) -> Vec<u64> {
        let mut found = Vec::new();
        let mut stack: Vec<(u32, u64)> = sources.iter().map(|&source| (source, 0)).collect();
        while let Some((at, path)) = stack.pop() {
            let Some(node) = self.nodes.get(at as usize) else { continue };
            found.extend(node.items.iter().map(|&index| self.key(path, index)));
            for &child in &node.children {
                let label = self.nodes.get(child as usize).map_or("", |node| node.label);
                stack.push((child, hash(&(path, label))));
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns a hash of `path` and of the instruction's opcode and shape.
    fn key(&self, path: u64, index: InstructionIndex) -> u64 {
        let Some(instruction) = self.module.at(index) else { return path };
        let mut hasher = FxHasher::default();
        (path, instruction.opcode.as_str()).hash(&mut hasher);
        for array in instruction.shape.arrays() {
            (array.data_type, array.dimensions.as_slice()).hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns true if two sorted lists share at least half of the entries of the longer list.
fn is_alike(a: &[u64], b: &[u64]) -> bool {
    let (mut x, mut y) = (a.iter().peekable(), b.iter().peekable());
    let mut common = 0;
    while let (Some(left), Some(right)) = (x.peek(), y.peek()) {
        match left.cmp(right) {
            std::cmp::Ordering::Less => drop(x.next()),
            std::cmp::Ordering::Greater => drop(y.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                x.next();
                y.next();
            }
        }
    }
    2 * common >= a.len().max(b.len())
}
