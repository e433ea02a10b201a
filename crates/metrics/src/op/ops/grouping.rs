//! Builds the groups of ops that an op profile shows.

use rustc_hash::FxHashMap;

use super::{Op, Ops, Text};
use base::framework_path;
use trace::{Trace, in_blocks};

/// Criterion by which ops are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Program, then category.
    Program,
    /// Category.
    Category,
    /// The framework's name scopes (`jax.named_scope`, functions, primitives).
    Scope,
    /// Source file, then line.
    Source,
}

impl Grouping {
    /// All groupings.
    pub const ALL: [Grouping; 4] = [Grouping::Program, Grouping::Category, Grouping::Scope, Grouping::Source];

    /// Returns the key in the command line and in URLs.
    pub fn key(self) -> &'static str {
        match self {
            Grouping::Program => "program",
            Grouping::Category => "category",
            Grouping::Scope => "scope",
            Grouping::Source => "source",
        }
    }

    /// Returns the grouping with this key, or the first grouping for any other text.
    pub fn from_key(key: &str) -> Grouping {
        Grouping::ALL.into_iter().find(|grouping| grouping.key() == key).unwrap_or(Grouping::Program)
    }
}

/// A group of ops. The first group is the run, which contains all other groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Index of the enclosing group, which is always smaller than the group's own index. `None` for the run.
    pub parent: Option<u32>,
    /// Depth in the tree, 0 for the run.
    pub depth: u32,
}

/// The groups of all ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The groups, in the order of their first ops.
    pub groups: Vec<Group>,
    /// The innermost group of each op, with one entry per row of [`Ops::rows`].
    pub of_row: Vec<u32>,
}

impl Groups {
    /// Groups the ops.
    pub fn new(trace: &Trace, ops: &Ops, grouping: Grouping) -> Groups {
        let run = Group { name: "run".to_owned(), parent: None, depth: 0 };
        let mut builder = Builder { groups: vec![run], index: FxHashMap::default() };
        let copies = duplicates(ops);
        // Many ops share their groups, so each path is built once.
        let mut known: FxHashMap<[Text; 3], u32> = FxHashMap::default();
        let mut of_row = Vec::with_capacity(ops.rows.len());
        in_blocks(&ops.rows, |op| {
            let mut at = *known.entry(group(op, grouping)).or_insert_with(|| {
                path(trace, ops, op, grouping).iter().fold(0, |parent, name| builder.child(parent, name))
            });
            let original = if op.deduplicated_name.is_empty() { op.name } else { op.deduplicated_name };
            if !copies.is_empty() && copies.get(&(op.program_id, original)).is_some_and(|&count| count > 1) {
                at = builder.child(at, &format!("{} and its duplicates", ops.text(trace, original)));
            }
            of_row.push(at);
        });
        Groups { groups: builder.groups, of_row }
    }
}

struct Builder {
    groups: Vec<Group>,
    index: FxHashMap<(u32, String), u32>,
}

impl Builder {
    fn child(&mut self, parent: u32, name: &str) -> u32 {
        if let Some(&known) = self.index.get(&(parent, name.to_owned())) {
            return known;
        }
        let depth = self.groups.get(parent as usize).map_or(0, |group| group.depth) + 1;
        self.groups.push(Group { name: name.to_owned(), parent: Some(parent), depth });
        let at = u32::try_from(self.groups.len() - 1).unwrap_or(u32::MAX);
        self.index.insert((parent, name.to_owned()), at);
        at
    }
}

/// Returns the texts that determine the group of an op.
fn group(op: &Op, grouping: Grouping) -> [Text; 3] {
    let none = Text::default();
    match grouping {
        Grouping::Program => [op.program, op.module, op.category],
        Grouping::Category => [op.category, none, none],
        Grouping::Scope => [op.framework_path, none, none],
        Grouping::Source => [op.source, none, none],
    }
}

/// Counts the copies of each op by program and name, including the original.
fn duplicates(ops: &Ops) -> FxHashMap<(Option<i64>, Text), u32> {
    let mut counts = FxHashMap::default();
    for op in ops.rows.iter().filter(|op| !op.deduplicated_name.is_empty()) {
        *counts.entry((op.program_id, op.deduplicated_name)).or_insert(1) += 1;
    }
    counts
}

/// Returns the names of an op's groups, outermost first.
fn path(trace: &Trace, ops: &Ops, op: &Op, grouping: Grouping) -> Vec<String> {
    let text = |text: Text| ops.text(trace, text);
    match grouping {
        Grouping::Program => vec![program(trace, ops, op), text(op.category).to_owned()],
        Grouping::Category => vec![text(op.category).to_owned()],
        Grouping::Scope => scopes(text(op.framework_path)),
        Grouping::Source => match text(op.source).rsplit_once(':') {
            Some((file, line)) => vec![file.to_owned(), format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))],
            None if op.source.is_empty() => vec!["unknown source".to_owned()],
            None => vec![text(op.source).to_owned()],
        },
    }
}

/// Formats a program as XProf does: `jit_train(7)`.
fn program(trace: &Trace, ops: &Ops, op: &Op) -> String {
    match (ops.text(trace, op.module), ops.text(trace, op.program)) {
        ("", "") => "no program".to_owned(),
        ("", id) => format!("program {id}"),
        (module, "") => module.to_owned(),
        (module, _) if module.contains('(') => module.to_owned(),
        (module, id) => format!("{module}({id})"),
    }
}

/// Returns the name scopes of a framework path. A slash inside parentheses belongs to the name: `jvp(a/b)`.
///
/// Keeps the parts that only show that a function was compiled (`jit(main)`, `jit(train)/jit(main)`), because they
/// distinguish programs.
fn scopes(path: &str) -> Vec<String> {
    let scopes: Vec<String> = framework_path::segments(path).take(MAX_DEPTH).map(str::to_owned).collect();
    if scopes.is_empty() { vec!["no framework op".to_owned()] } else { scopes }
}

/// Maximum depth of scopes. All deeper scopes together form a single node. No real program nests so deeply. The limit
/// guards against synthetic paths.
const MAX_DEPTH: usize = 40;
