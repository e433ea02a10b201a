//! Stores the texts of a tree's nodes as columns of numbers, so that filters and sorting over all nodes are fast.

use rustc_hash::FxHashMap;

use super::tree::OpTree;
use super::{Ops, Texts};
use trace::{Strings, Trace, in_blocks};

/// A text of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeText {
    /// Name of the node.
    Name,
    /// Category of the node's op.
    Category,
    /// Name of the node's op.
    Op,
    /// Names from the root down to the node. For an op, the names down to its group.
    Path,
}

/// The columns, with one entry per node.
#[derive(Clone, Debug, Default)]
pub struct TreeColumns {
    /// Names and paths of groups that are not among the ops' texts. The numbers of these texts start after the numbers
    /// of the ops' texts.
    texts: Strings,
    columns: [Vec<u32>; 4],
}

impl TreeColumns {
    /// Builds the columns of a tree of these ops.
    pub fn new(trace: &Trace, ops: &Ops, tree: &OpTree) -> TreeColumns {
        let first = ops.texts.count(trace);
        let mut kept = TreeColumns::default();
        kept.columns.iter_mut().for_each(|numbers| numbers.reserve_exact(tree.nodes.len()));
        // Stores only the paths of groups, because there are far fewer groups than ops.
        let mut known: FxHashMap<u32, String> = FxHashMap::default();
        let mut next = 0;
        in_blocks(&tree.nodes, |node| {
            let at = next;
            next += 1;
            let TreeColumns { texts, columns: [names, categories, op_names, paths] } = &mut kept;
            if let Some(op) = node.op.and_then(|op| ops.rows.get(op as usize)) {
                let above = node.parent.and_then(|parent| paths.get(parent as usize).copied());
                names.push(Texts::number(trace, op.name));
                categories.push(Texts::number(trace, op.category));
                op_names.push(Texts::number(trace, op.name));
                return paths.push(above.unwrap_or_default());
            }
            let mut number = |text: &str| match ops.texts.find(trace, text) {
                Some(known) => Texts::number(trace, known),
                None => first.saturating_add(texts.intern(text).index() as u32),
            };
            let above = node.parent.and_then(|parent| known.get(&parent)).filter(|above| !above.is_empty());
            let path = above.map_or_else(|| node.name.clone(), |above| format!("{above}/{}", node.name));
            names.push(number(&node.name));
            categories.push(0);
            op_names.push(0);
            paths.push(number(&path));
            known.insert(at, path);
        });
        kept
    }

    /// Returns the number of this text for each node.
    pub fn column(&self, text: NodeText) -> &[u32] {
        self.columns.get(text as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the concatenated texts that are not among the ops' texts, and the offset at which each text ends.
    pub fn table(&self) -> (&str, &[usize]) {
        self.texts.parts()
    }
}
