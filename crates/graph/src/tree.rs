//! Tree of groups over selected instructions, built level by level.
//!
//! ```text
//! Selection --labels--> concrete groups        one per scope, as the program names them: layer_0, layer_1, ...
//!                            | merge
//!                            v
//!                        Tree: groups and units    layer_* (24): similar layers are one group, their instructions one unit
//! ```
//!
//! An instruction that calls computations is a unit that can be opened. The contents of such a unit are built only when
//! the unit is opened.

use hlo::{ComputationIndex, InstructionIndex};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::concrete::{Concrete, Copies};
use crate::numbers::Numbers;
use crate::selection::{self, Selection};
use crate::source::Source;

/// Maximum number of children of a group. If there are more, consecutive children are combined into groups.
pub const MOST_CHILDREN: usize = 200;

/// Maximum depth of opened calls. Real programs nest only a few calls, but the calls of a cyclic program never end.
const MOST_CALLS: usize = 32;

/// A group of units and other groups.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Path of the group. The path is unique, and always the same for the same program. Empty for the outermost group.
    pub id: String,
    /// Name of the group.
    pub label: String,
    /// Group that contains this group.
    pub parent: Option<u32>,
    /// Groups and units directly inside the group, in the order of their first instructions.
    pub children: Vec<Child>,
    /// Number of layers that the group merges. 1 for other groups.
    pub layers: u32,
    /// Number of instructions inside the group. Excludes instructions in calls that are not opened.
    pub instructions: u32,
    /// Sums of the numbers of all instructions inside the group.
    pub numbers: Numbers,
    /// True if the children are shown.
    pub is_open: bool,
    /// If the group is an opened call, the calling instruction that it replaces.
    pub call: Option<InstructionIndex>,
}

/// A child of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// Index of a group.
    Group(u32),
    /// Index of a unit.
    Unit(u32),
}

/// Instructions that are drawn as one node: a single instruction, or matching instructions of several layers.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Path of the unit: the path of the group, then the name of the first instruction with `%`.
    pub id: String,
    /// The instructions. The first one gives the unit its name.
    pub members: Vec<InstructionIndex>,
    /// Group that directly contains the unit.
    pub group: u32,
    /// Sums of the numbers of the members and of the computations that they call.
    pub numbers: Numbers,
    /// Group that replaces the unit, if the unit is opened.
    pub opened: Option<u32>,
    /// Levels of the computations that the opened unit calls, in call order.
    pub levels: Vec<u32>,
}

/// A drawn computation.
#[derive(Clone, Debug)]
pub struct Level {
    /// Index of the computation.
    pub computation: ComputationIndex,
    /// First instruction of the computation.
    first: InstructionIndex,
    /// Unit of each instruction of the computation, or `u32::MAX`.
    units: Vec<u32>,
    /// For each instruction in merged layers, the group that merges the layers and the number of the instruction's
    /// layer. Empty if no group merges layers.
    copies: Copies,
}

impl Level {
    /// Returns the unit of an instruction, or `None` if it is not drawn.
    pub fn unit(&self, index: InstructionIndex) -> Option<u32> {
        self.units.get(index.checked_sub(self.first)? as usize).copied().filter(|&unit| unit != u32::MAX)
    }

    /// Returns the group of layers that contains an instruction, and the number of its layer in this group.
    pub fn copy(&self, index: InstructionIndex) -> Option<(u32, u32)> {
        self.copies.get(&index).copied()
    }
}

/// Groups and units.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Groups. The first is the outermost group. A group follows the group that contains it.
    pub groups: Vec<Group>,
    /// Units.
    pub units: Vec<Unit>,
    /// Drawn computations. The computation of the selection is first.
    pub levels: Vec<Level>,
}

impl Tree {
    /// Builds the tree of a selection. `opened` contains the ids of opened groups and units. Unknown ids are ignored.
    pub fn new(source: Source<'_>, selection: &Selection, opened: &FxHashSet<String>) -> Tree {
        let mut tree = Tree::default();
        tree.groups.push(Group { layers: 1, is_open: true, ..Group::default() });
        tree.add_level(source, selection, 0);
        let mut depths = FxHashMap::default();
        let mut at = 0;
        // Units of opened calls are appended, so this loop also visits them.
        while at < tree.units.len() && !opened.is_empty() {
            let depth = depths.get(&at).copied().unwrap_or(0);
            let is_opened = tree.units.get(at).is_some_and(|unit| opened.contains(&unit.id));
            if is_opened && depth < MOST_CALLS {
                let before = tree.units.len();
                tree.open(source, at as u32);
                depths.extend((before..tree.units.len()).map(|unit| (unit, depth + 1)));
            }
            at += 1;
        }
        for group in tree.groups.iter_mut().skip(1) {
            group.is_open |= opened.contains(&group.id);
        }
        tree
    }

    /// Returns the ids of the groups that contain an instruction of the selection, innermost first.
    pub fn groups_around(&self, index: InstructionIndex) -> Vec<String> {
        let unit = self.levels.first().and_then(|level| level.unit(index));
        let first = unit.and_then(|unit| self.units.get(unit as usize)).map(|unit| unit.group);
        let parent = |&group: &u32| self.groups.get(group as usize).and_then(|group| group.parent);
        std::iter::successors(first, parent)
            .map(|group| self.id(group).to_owned())
            .filter(|id| !id.is_empty())
            .collect()
    }

    /// Replaces a unit that calls computations with a group that contains the instructions of these computations.
    fn open(&mut self, source: Source<'_>, at: u32) {
        let Some(unit) = self.units.get(at as usize) else { return };
        let Some(&call) = unit.members.first() else { return };
        let Some(instruction) = source.module.at(call).filter(|it| !it.called.is_empty()) else { return };
        let group = Group {
            id: unit.id.clone(),
            label: instruction.name.clone(),
            parent: Some(unit.group),
            layers: unit.members.len() as u32,
            numbers: unit.numbers.clone(),
            is_open: true,
            call: Some(call),
            ..Group::default()
        };
        let frame = self.push(group);
        let mut levels = Vec::new();
        let several = instruction.called.len() > 1;
        for &index in &instruction.called {
            let Some(computation) = source.module.computation(index) else { continue };
            let mut parent = frame;
            if several {
                let id = format!("{}/{}", self.id(frame), computation.name);
                let inner = Group {
                    id,
                    label: computation.name.clone(),
                    parent: Some(frame),
                    layers: 1,
                    is_open: true,
                    ..Group::default()
                };
                parent = self.push(inner);
                self.add_child(frame, Child::Group(parent));
            }
            let selection = selection::whole(source.module, index, source.choices);
            levels.push(self.levels.len() as u32);
            self.add_level(source, &selection, parent);
        }
        if let Some(unit) = self.units.get_mut(at as usize) {
            (unit.opened, unit.levels) = (Some(frame), levels);
        }
    }

    fn push(&mut self, group: Group) -> u32 {
        self.groups.push(group);
        self.groups.len() as u32 - 1
    }

    fn id(&self, group: u32) -> &str {
        self.groups.get(group as usize).map_or("", |group| &group.id)
    }

    fn add_child(&mut self, group: u32, child: Child) {
        if let Some(group) = self.groups.get_mut(group as usize) {
            group.children.push(child);
        }
    }

    /// Adds the groups and units of a selection below a group.
    fn add_level(&mut self, source: Source<'_>, selection: &Selection, below: u32) {
        let Some(computation) = source.module.computation(selection.computation) else { return };
        let range = &computation.instructions;
        let mut level = Level {
            computation: selection.computation,
            first: range.start,
            units: vec![u32::MAX; range.len()],
            copies: Copies::default(),
        };
        let concrete = Concrete::new(source, &selection.instructions);
        let first_group = self.groups.len();
        // Groups of the tree, each with the concrete groups that it stands for.
        let mut pending = vec![(below, vec![0u32])];
        while let Some((group, sources)) = pending.pop() {
            let mut children: Vec<(InstructionIndex, Child)> = Vec::new();
            for members in concrete.units(&sources) {
                let Some(&first) = members.first() else { continue };
                let name = source.module.at(first).map_or("", |it| it.name.as_str());
                let parent = self.id(group);
                let id = if parent.is_empty() { format!("%{name}") } else { format!("{parent}/%{name}") };
                let mut numbers = Numbers::default();
                for &member in &members {
                    if let Some(measured) = source.measured.whole(member) {
                        numbers.add(measured);
                    }
                    if let Some(place) = level.units.get_mut((member - range.start) as usize) {
                        *place = self.units.len() as u32;
                    }
                }
                if let ([_], Some(own)) = (members.as_slice(), source.measured.own(first)) {
                    numbers.bound_by.clone_from(&own.bound_by);
                }
                children.push((first, Child::Unit(self.units.len() as u32)));
                self.units.push(Unit { id, members, group, numbers, ..Unit::default() });
            }
            for merged in concrete.children(&sources, source.grouping) {
                let (mut label, mut sources) = (merged.label, merged.sources);
                // A group that contains only one other group is merged with it: `encoder/blocks`.
                while let [only] = sources.as_slice()
                    && let Some((inner, source)) = concrete.only_child(*only)
                {
                    label = format!("{label}/{inner}");
                    sources = vec![source];
                }
                let parent = self.id(group);
                let id = if parent.is_empty() { label.clone() } else { format!("{parent}/{label}") };
                let first = concrete.first(&sources);
                let layers = merged.layers;
                let inner = self.push(Group { id, label, parent: Some(group), layers, ..Group::default() });
                children.push((first, Child::Group(inner)));
                if layers > 1 {
                    concrete.mark(&sources, inner, &mut level.copies);
                }
                pending.push((inner, sources));
            }
            children.sort_by_key(|&(first, _)| first);
            self.split(group, children.into_iter().map(|(_, child)| child).collect());
        }
        self.levels.push(level);
        self.sum(first_group, below);
    }

    /// Sets the children of a group. If there are too many children, first combines consecutive children into groups.
    fn split(&mut self, group: u32, mut children: Vec<Child>) {
        let mut number = 0;
        while children.len() > MOST_CHILDREN {
            let parts = children.len().div_ceil(MOST_CHILDREN);
            let size = children.len().div_ceil(parts);
            let mut outer = Vec::new();
            for part in children.chunks(size) {
                number += 1;
                let label = format!("part {number}");
                let parent = self.id(group);
                let id = if parent.is_empty() { label.clone() } else { format!("{parent}/{label}") };
                let inner = Group { id, label, parent: Some(group), layers: 1, ..Group::default() };
                let inner = self.push(inner);
                for &child in part {
                    self.move_below(child, inner);
                }
                if let Some(inner) = self.groups.get_mut(inner as usize) {
                    inner.children = part.to_vec();
                }
                outer.push(Child::Group(inner));
            }
            children = outer;
        }
        if let Some(group) = self.groups.get_mut(group as usize) {
            group.children.extend(children);
        }
    }

    fn move_below(&mut self, child: Child, group: u32) {
        match child {
            Child::Unit(at) => {
                if let Some(unit) = self.units.get_mut(at as usize) {
                    unit.group = group;
                }
            }
            Child::Group(at) => {
                if let Some(child) = self.groups.get_mut(at as usize) {
                    child.parent = Some(group);
                }
            }
        }
    }

    /// Computes the sums of all groups from the index `first` on, and adds the sums to the group `below`.
    fn sum(&mut self, first: usize, below: u32) {
        // A group that was made by splitting contains groups that precede it, so the order of the list is not usable.
        let mut order: Vec<u32> = vec![below];
        let mut at = 0;
        while let Some(&group) = order.get(at) {
            let children = self.groups.get(group as usize).map(|group| group.children.as_slice()).unwrap_or_default();
            let inner = children.iter().filter_map(|child| match child {
                Child::Group(inner) if *inner as usize >= first => Some(*inner),
                _ => None,
            });
            order.extend(inner);
            at += 1;
        }
        for &at in order.iter().rev() {
            let Some(group) = self.groups.get(at as usize) else { continue };
            let is_call = group.call.is_some();
            let (mut numbers, mut instructions) = (Numbers::default(), 0);
            for child in &group.children {
                match child {
                    Child::Unit(unit) => {
                        let Some(unit) = self.units.get(*unit as usize) else { continue };
                        numbers.add(&unit.numbers);
                        instructions += unit.members.len() as u32;
                    }
                    Child::Group(inner) => {
                        let Some(inner) = self.groups.get(*inner as usize) else { continue };
                        numbers.add(&inner.numbers);
                        instructions += inner.instructions;
                    }
                }
            }
            if let Some(group) = self.groups.get_mut(at as usize) {
                group.instructions = instructions;
                // The unit of a call already has the sum over its computations.
                if !is_call {
                    group.numbers = numbers;
                }
            }
        }
    }
}
