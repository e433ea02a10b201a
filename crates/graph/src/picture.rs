//! Pictures of programs for an interactive surface: the user's request, and the nodes and edges that the surface draws.

use base::Ps;
use hlo::{ComputationIndex, InstructionIndex, Module};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::critical::critical_path;
use crate::drawing::{Drawn, draw};
use crate::flow::{Choices, Users};
use crate::opening::{Opens, open};
use crate::selection::{Selection, neighbourhood, whole};
use crate::source::{Grouping, Source};
use crate::svg::{middle, path};
use crate::tree::Tree;
use crate::visible::Visible;

/// Maximum number of nodes of a picture. A picture with more nodes is neither readable nor quick to draw.
const MOST_NODES: usize = 1_500;

/// A part of a program, and the way to draw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Name of the instruction in the middle. `None` for a whole computation.
    pub op: Option<String>,
    /// Name of the computation, if `op` is `None`. `None` means the entry computation.
    pub computation: Option<String>,
    /// Number of steps from `op` to the farthest operands and users. `None` draws the whole computation of `op`.
    pub radius: Option<u32>,
    /// Kind of groups.
    pub grouping: Grouping,
    /// Kinds of instructions that are left out.
    pub choices: Choices,
    /// Ids of opened groups and calling instructions.
    pub opened: Vec<String>,
}

/// A node of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureNode {
    /// Path of the node. [`Look::opened`] lists such paths.
    pub id: String,
    /// Name of the node's instruction. `None` for a group of scopes.
    pub name: Option<String>,
    /// Place, text and class of the node.
    pub drawn: Drawn,
    /// True for an opened group, which is a frame around its nodes.
    pub is_open: bool,
    /// True if the node can be opened.
    pub opens: bool,
    /// True for the instruction in the middle.
    pub is_centre: bool,
    /// True for the node that returns the computation's result.
    pub is_root: bool,
    /// True if the critical path passes through the node.
    pub is_critical: bool,
}

/// An edge of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureEdge {
    /// Index of the node that produces the data.
    pub from: u32,
    /// Index of the node that uses the data.
    pub to: u32,
    /// Number of operands that the edge stands for.
    pub count: u32,
    /// Path data for an SVG.
    pub path: String,
    /// Place where the number of operands is written.
    pub label: (f64, f64),
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Name of the drawn computation.
    pub computation: String,
    /// True for the entry computation.
    pub is_entry: bool,
    /// Names of the instructions that call the computation.
    pub callers: Vec<String>,
    /// Name of the requested op, if the program has no such instruction. The picture then shows the entry computation.
    pub missing: Option<String>,
    /// Width and height in pixels.
    pub size: (f64, f64),
    /// Nodes. A frame precedes the nodes inside it.
    pub nodes: Vec<PictureNode>,
    /// Edges.
    pub edges: Vec<PictureEdge>,
    /// Time of the computation's critical path, and total time of the computation's instructions. `None` if no time was
    /// measured.
    pub critical: Option<(Ps, Ps)>,
}

/// The selected part of a program, with its opened groups.
pub(crate) struct Part {
    pub selection: Selection,
    pub tree: Tree,
    pub visible: Visible,
}

/// Selects the part that `look` requests, and opens its groups.
///
/// # Errors
///
/// Returns a sentence if the program has no such instruction or computation, or if the picture would be too large.
pub(crate) fn select(source: Source<'_>, users: &Users, look: &Look) -> Result<Part, String> {
    let module = source.module;
    let op = look.op.as_deref().map(|name| instruction(module, name)).transpose()?;
    let computation = match (op, &look.computation) {
        (Some(op), _) => module.at(op).map(|it| it.computation),
        (None, Some(name)) => Some(computation(module, name)?),
        (None, None) => module.entry_index(),
    };
    let computation =
        computation.ok_or("This program names no entry computation, probably because its file is cut.")?;
    let (selection, opens) = match (op, look.radius) {
        (Some(op), Some(radius)) => (neighbourhood(module, users, op, radius, look.choices), Opens::Groups),
        _ => {
            let mut all = whole(module, computation, look.choices);
            all.centre = op;
            if let Some(op) = op
                && let Err(place) = all.instructions.binary_search(&op)
            {
                all.instructions.insert(place, op);
            }
            (all, Opens::Around(op))
        }
    };
    let opened: FxHashSet<String> = look.opened.iter().cloned().collect();
    let (tree, visible) = open(source, &selection, opened, opens, MOST_NODES);
    if visible.nodes.len() > MOST_NODES {
        return Err(format!(
            "This picture has {} nodes, and at most {MOST_NODES} are drawn. Choose a smaller radius, or close groups.",
            base::format::count(visible.nodes.len() as u64)
        ));
    }
    Ok(Part { selection, tree, visible })
}

/// Draws the selected part.
pub(crate) fn picture(source: Source<'_>, part: &Part) -> Picture {
    let Part { selection, tree, visible } = part;
    let module = source.module;
    let drawing = draw(module, visible);
    let path_of = critical_path(module, source.measured, selection.computation);
    let critical = path_of.as_ref().map(|path| nodes_of(tree, visible, &path.instructions)).unwrap_or_default();
    let nodes = (0..).zip(visible.nodes.iter().zip(drawing.nodes));
    let nodes = nodes.map(|(index, (node, drawn))| PictureNode {
        id: node.id.clone(),
        name: node.instruction.and_then(|index| module.at(index)).map(|it| it.name.clone()),
        drawn,
        is_open: node.is_open,
        opens: node.opens,
        is_centre: node.is_centre,
        is_root: node.is_root,
        is_critical: critical.contains(&index),
    });
    let edges = visible.edges.iter().zip(&drawing.routes).filter(|(_, route)| route.len() > 1);
    let edges = edges.map(|(edge, route)| PictureEdge {
        from: edge.from,
        to: edge.to,
        count: edge.count,
        path: path(route),
        label: middle(route).unwrap_or_default(),
    });
    let calls = module.instructions().iter().filter(|it| it.called.contains(&selection.computation));
    Picture {
        computation: module.computation(selection.computation).map(|it| it.name.clone()).unwrap_or_default(),
        is_entry: module.entry_index() == Some(selection.computation),
        callers: calls.map(|it| it.name.clone()).collect(),
        size: drawing.size,
        nodes: nodes.collect(),
        edges: edges.collect(),
        critical: path_of.map(|path| (path.time, path.total)),
        missing: None,
    }
}

/// Returns the visible nodes that contain these instructions.
fn nodes_of(tree: &Tree, visible: &Visible, instructions: &[InstructionIndex]) -> FxHashSet<u32> {
    let by_id: FxHashMap<&str, u32> =
        (0..).zip(&visible.nodes).filter(|(_, node)| !node.is_open).map(|(at, node)| (node.id.as_str(), at)).collect();
    let node = |&index: &InstructionIndex| {
        let unit = tree.units.get(tree.levels.first()?.unit(index)? as usize)?;
        let around = tree.groups_around(index);
        let ids = std::iter::once(unit.id.as_str()).chain(around.iter().map(String::as_str));
        // A closed group hides the nodes inside, so at most one id is visible.
        ids.filter_map(|id| by_id.get(id).copied()).next()
    };
    instructions.iter().filter_map(node).collect()
}

/// Returns the instruction with a name.
pub(crate) fn instruction(module: &Module, name: &str) -> Result<InstructionIndex, String> {
    let found = module.instruction(name.trim_start_matches('%')).and_then(|it| module.index_of(it));
    found.ok_or_else(|| format!("This program has no instruction {}.", base::format::printable(name)))
}

/// Returns the computation with a name.
pub(crate) fn computation(module: &Module, name: &str) -> Result<ComputationIndex, String> {
    let found = (0..).zip(module.computations()).find(|(_, it)| it.name == name).map(|(index, _)| index);
    found.ok_or_else(|| format!("This program has no computation {}.", base::format::printable(name)))
}
