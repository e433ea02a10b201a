//! The visible nodes and edges of a tree: units and closed groups, inside the frames of opened groups.

use hlo::{InstructionIndex, Module};

use crate::flow::{self, Choices};
use crate::numbers::Numbers;
use crate::selection::{Omitted, Selection};
use crate::source::Source;
use crate::tree::{Child, Tree};

/// Maximum number of operand edges that one instruction may have through hidden tuples.
const MOST_FLOWS: usize = 4_096;

/// A visible node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Path of the unit or group.
    pub id: String,
    /// Name of the instruction or group.
    pub label: String,
    /// The instruction, or the first of several matching instructions. `None` for groups of scopes.
    pub instruction: Option<InstructionIndex>,
    /// Frame that contains the node.
    pub parent: Option<u32>,
    /// True for an opened group, which is drawn as a frame around its nodes.
    pub is_open: bool,
    /// True if the node can be opened.
    pub opens: bool,
    /// Number of layers that the node merges, or of matching instructions that it stands for.
    pub copies: u32,
    /// Number of instructions inside the node.
    pub instructions: u32,
    /// Number of edges from one of the merged layers to another. These edges are not drawn.
    pub carried: u32,
    /// Numbers of the node, summed over all instructions that it stands for.
    pub numbers: Numbers,
    /// Constants that are written into the node: `operand 1 = 0.5`.
    pub constants: Vec<String>,
    /// Neighbours that are not drawn.
    pub omitted: Omitted,
    /// True for the instruction in the middle of a neighbourhood.
    pub is_centre: bool,
    /// True for the instruction that returns the computation's result.
    pub is_root: bool,
}

/// An edge between two visible nodes. An edge begins or ends at a frame only if no data flows through the nodes inside
/// the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the node that produces the data.
    pub from: u32,
    /// Index of the node that uses the data.
    pub to: u32,
    /// Number of operands that the edge stands for.
    pub count: u32,
}

/// Visible nodes and edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visible {
    /// Nodes. A frame precedes the nodes inside it.
    pub nodes: Vec<Node>,
    /// Edges, sorted.
    pub edges: Vec<Edge>,
}

impl Visible {
    /// Lists the visible nodes and edges of a tree.
    pub fn new(source: Source<'_>, selection: &Selection, tree: &Tree) -> Visible {
        let mut places = Places { of_group: vec![None; tree.groups.len()], of_unit: vec![None; tree.units.len()] };
        let mut visible = Visible::default();
        visible.list(source, selection, tree, &mut places);
        places.inherit(tree);
        visible.connect(source, selection, tree, &places);
        visible
    }

    /// Lists the visible nodes, outermost first.
    fn list(&mut self, source: Source<'_>, selection: &Selection, tree: &Tree, places: &mut Places) {
        let mut pending: Vec<(Child, Option<u32>)> = vec![(Child::Group(0), None)];
        while let Some((child, parent)) = pending.pop() {
            let at = self.nodes.len() as u32;
            match child {
                Child::Group(index) => {
                    let Some(group) = tree.groups.get(index as usize) else { continue };
                    let mut inside = parent;
                    if index > 0 {
                        self.nodes.push(Node {
                            id: group.id.clone(),
                            label: group.label.clone(),
                            instruction: group.call,
                            parent,
                            is_open: group.is_open,
                            opens: true,
                            copies: group.layers,
                            instructions: group.instructions,
                            numbers: group.numbers.clone(),
                            is_centre: group.call.is_some() && group.call == selection.centre,
                            ..Node::default()
                        });
                        if let Some(place) = places.of_group.get_mut(index as usize) {
                            *place = Some(at);
                        }
                        inside = Some(at);
                    }
                    if group.is_open {
                        pending.extend(group.children.iter().rev().map(|&child| (child, inside)));
                    }
                }
                Child::Unit(index) => {
                    let Some(unit) = tree.units.get(index as usize) else { continue };
                    if let Some(frame) = unit.opened {
                        pending.push((Child::Group(frame), parent));
                        continue;
                    }
                    let Some(&first) = unit.members.first() else { continue };
                    let Some(instruction) = source.module.at(first) else { continue };
                    let root = source.module.computation(instruction.computation).and_then(|it| it.root);
                    self.nodes.push(Node {
                        id: unit.id.clone(),
                        label: instruction.name.clone(),
                        instruction: Some(first),
                        parent,
                        opens: !instruction.called.is_empty(),
                        copies: unit.members.len() as u32,
                        instructions: unit.members.len() as u32,
                        numbers: unit.numbers.clone(),
                        constants: constants(source.module, source.choices, first),
                        omitted: selection.omitted.get(&first).copied().unwrap_or_default(),
                        is_centre: selection.centre == Some(first),
                        is_root: root == Some(first),
                        ..Node::default()
                    });
                    if let Some(place) = places.of_unit.get_mut(index as usize) {
                        *place = Some(at);
                    }
                }
            }
        }
    }

    /// Adds the edges.
    fn connect(&mut self, source: Source<'_>, selection: &Selection, tree: &Tree, places: &Places) {
        let module = source.module;
        let mut pairs: Vec<u64> = Vec::new();
        let (mut flowing, mut from, mut to) = (Vec::new(), Vec::new(), Vec::new());
        for (at, level) in (0..).zip(&tree.levels) {
            let Some(computation) = module.computation(level.computation) else { continue };
            for (index, instruction) in computation.instructions.clone().zip(module.instructions_of(computation)) {
                let Some(unit) = level.unit(index) else { continue };
                for (place, &operand) in instruction.operands.iter().enumerate() {
                    flowing.clear();
                    flow::sources(module, source.choices, selection.centre, operand, &mut flowing);
                    for &producer in flowing.iter().take(MOST_FLOWS) {
                        let Some(producing) = level.unit(producer) else { continue };
                        let crosses = match (level.copy(producer), level.copy(index)) {
                            (Some((group, a)), Some((same, b))) if group == same && a != b => Some(group),
                            _ => None,
                        };
                        if let Some(node) = crosses.and_then(|group| places.group(group)) {
                            if let Some(node) = self.nodes.get_mut(node as usize) {
                                node.carried += 1;
                            }
                            continue;
                        }
                        from.clear();
                        to.clear();
                        results(source, tree, (at, producing), &mut from);
                        to.extend(parameter(source, tree, unit, place));
                        for &a in &from {
                            for &b in &to {
                                if let (Some(a), Some(b)) = (places.unit(a), places.unit(b))
                                    && a != b
                                {
                                    pairs.push(u64::from(a) << 32 | u64::from(b));
                                }
                            }
                        }
                    }
                }
            }
        }
        pairs.sort_unstable();
        self.edges = pairs
            .chunk_by(|a, b| a == b)
            .filter_map(|same| {
                let pair = *same.first()?;
                Some(Edge { from: (pair >> 32) as u32, to: pair as u32, count: same.len() as u32 })
            })
            .collect();
        self.drop_edges_to_own_frames();
    }

    /// Drops edges between a frame and a node inside it, because they carry no information.
    fn drop_edges_to_own_frames(&mut self) {
        let nodes = &self.nodes;
        let contains = |frame: u32, inner: u32| {
            let mut at = nodes.get(inner as usize).and_then(|node| node.parent);
            while let Some(parent) = at {
                if parent == frame {
                    return true;
                }
                at = nodes.get(parent as usize).and_then(|node| node.parent);
            }
            false
        };
        self.edges.retain(|edge| !contains(edge.from, edge.to) && !contains(edge.to, edge.from));
    }
}

/// Index of the visible node for each group and unit.
struct Places {
    of_group: Vec<Option<u32>>,
    of_unit: Vec<Option<u32>>,
}

impl Places {
    /// Assigns each invisible group and unit to the closed group that contains it.
    fn inherit(&mut self, tree: &Tree) {
        // Children are reached from their parents, because a group may precede the group that contains it.
        let mut stack = vec![(0u32, None)];
        while let Some((at, outer)) = stack.pop() {
            let Some(group) = tree.groups.get(at as usize) else { continue };
            let own = self.of_group.get(at as usize).copied().flatten().or(outer);
            if let Some(place) = self.of_group.get_mut(at as usize) {
                *place = own;
            }
            for child in &group.children {
                match *child {
                    Child::Group(inner) => stack.push((inner, own)),
                    Child::Unit(index) => {
                        let opened = tree.units.get(index as usize).and_then(|unit| unit.opened);
                        stack.extend(opened.map(|frame| (frame, own)));
                        if let Some(place) = self.of_unit.get_mut(index as usize) {
                            let frame = opened.and_then(|frame| self.of_group.get(frame as usize).copied().flatten());
                            *place = place.or(frame).or(own);
                        }
                    }
                }
            }
        }
    }

    fn group(&self, group: u32) -> Option<u32> {
        self.of_group.get(group as usize).copied().flatten()
    }

    fn unit(&self, unit: u32) -> Option<u32> {
        self.of_unit.get(unit as usize).copied().flatten()
    }
}

/// Appends the units whose values a unit returns: the unit itself or, if it is opened and calls a single computation as
/// fusions do, the results of that computation.
fn results(source: Source<'_>, tree: &Tree, from: (usize, u32), out: &mut Vec<u32>) {
    let mut stack = vec![from.1];
    let mut flowing = Vec::new();
    let mut steps = 0;
    while let Some(at) = stack.pop() {
        steps += 1;
        let inner = single(tree, at).and_then(|level| {
            let root = source.module.computation(level.computation)?.root?;
            flowing.clear();
            flow::sources(source.module, source.choices, None, root, &mut flowing);
            let units: Vec<u32> = flowing.iter().filter_map(|&index| level.unit(index)).collect();
            (!units.is_empty() && steps < MOST_FLOWS).then_some(units)
        });
        match inner {
            Some(units) => stack.extend(units),
            None => out.push(at),
        }
    }
}

/// Returns the unit that receives an operand of a unit: this unit or, if it calls a computation, the matching parameter of
/// that computation.
fn parameter(source: Source<'_>, tree: &Tree, unit: u32, place: usize) -> Option<u32> {
    let mut at = unit;
    // One step is enough, because a parameter calls nothing.
    if let Some(level) = single(tree, unit)
        && let Some(computation) = source.module.computation(level.computation)
    {
        let wanted = i64::try_from(place).ok();
        let inside = computation.instructions.clone().zip(source.module.instructions_of(computation));
        let found = inside
            .filter(|(_, it)| it.is("parameter"))
            .find(|(_, it)| it.attributes().parameter_number == wanted)
            .and_then(|(index, _)| level.unit(index));
        at = found.unwrap_or(unit);
    }
    Some(at)
}

/// Returns the computation inside an opened unit, if the unit calls exactly one.
fn single(tree: &Tree, unit: u32) -> Option<&crate::tree::Level> {
    let unit = tree.units.get(unit as usize)?;
    let [only] = unit.levels.as_slice() else { return None };
    tree.levels.get(*only as usize)
}

/// Returns the constants among the operands, as text.
fn constants(module: &Module, choices: Choices, index: InstructionIndex) -> Vec<String> {
    let Some(instruction) = module.at(index).filter(|_| choices.inlines_constants) else { return Vec::new() };
    let operands = module.operands(instruction).enumerate();
    let inlined = operands.filter_map(|(number, operand)| Some((number, operand, choices.inlined(module, operand)?)));
    let text = |(number, operand, constant): (usize, &hlo::Instruction, &hlo::Instruction)| {
        let value = constant.attributes().literal.as_str();
        let shape = operand.shape.text(false);
        let value = if value.is_empty() { "{...}" } else { value };
        format!("operand {number} = {value} ({shape})")
    };
    inlined.take(8).map(text).collect()
}
