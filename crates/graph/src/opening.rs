//! Opens groups until everything that the user wants to see is visible.

use hlo::InstructionIndex;
use rustc_hash::FxHashSet;

use crate::selection::Selection;
use crate::source::Source;
use crate::tree::Tree;
use crate::visible::Visible;

/// Maximum number of rounds. Each round opens one more level.
const MOST_ROUNDS: usize = 64;

/// Groups that are opened even if their ids are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Only the groups that contain this instruction. `None` opens no group.
    Around(Option<InstructionIndex>),
    /// All groups, but no instruction that calls computations.
    Groups,
    /// All groups and calling instructions.
    All,
}

/// Returns the visible nodes of a selection and their tree. `opened` contains the ids of opened groups and calling
/// instructions. Stops opening groups when there are more than `most_nodes` nodes.
pub fn open(
    source: Source<'_>,
    selection: &Selection,
    mut opened: FxHashSet<String>,
    opens: Opens,
    most_nodes: usize,
) -> (Tree, Visible) {
    let mut tree = Tree::new(source, selection, &opened);
    if let Opens::Around(op) = opens {
        let around: Vec<String> = op.map(|op| tree.groups_around(op)).unwrap_or_default();
        if around.iter().any(|id| opened.insert(id.clone())) {
            tree = Tree::new(source, selection, &opened);
        }
        let visible = Visible::new(source, selection, &tree);
        return (tree, visible);
    }
    let mut visible = Visible::new(source, selection, &tree);
    for _ in 0..MOST_ROUNDS {
        let closed = visible.nodes.iter().filter(|node| node.opens && !node.is_open);
        let is_wanted = |is_call: bool| opens == Opens::All || !is_call;
        let more: Vec<String> =
            closed.filter(|node| is_wanted(node.instruction.is_some())).map(|node| node.id.clone()).collect();
        if more.is_empty() || visible.nodes.len() > most_nodes {
            break;
        }
        opened.extend(more);
        tree = Tree::new(source, selection, &opened);
        visible = Visible::new(source, selection, &tree);
    }
    (tree, visible)
}
