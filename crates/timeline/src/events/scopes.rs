//! The name scopes of ops, as a flame graph. The flame graph is computed from the ops themselves.
//!
//! ```text
//! ops       [dot.1 )[add.2)[dot.3)   [dot.4)       paths jit(f)/attn/dot, jit(f)/attn/add, jit(f)/mlp/dot, jit(f)/mlp/dot
//! scopes    [jit(f)              )   [jit(f))      the primitive at the end is the op itself
//!           [attn         )[mlp  )   [mlp   )
//! ```
//!
//! At every instant, only the innermost running op of a line is shown, so a scope is busy during the self time of its
//! ops. Source lines of ops are drawn in the same way: the lines of a file are below the file.

use base::framework_path;
use rustc_hash::FxHashMap;
use trace::{LineId, LineKind, StrId, Strings, Trace};

use crate::draw::paint::{Paint, hue};
use crate::events::coverage::{Columns, Mark, for_each_mark};
use crate::events::source::Source;

/// Maximum number of levels that are shown.
const DEEPEST: usize = 24;

/// Name and definition of the name-scope track.
const NAME_SCOPES: (&str, &str) = (
    "Name scopes",
    "Ops of a line by their framework path, with one level per scope. The primitive at the end of the path is left out. At every instant, only the innermost running op is shown, so a scope is busy during the self time of its ops.",
);
const SOURCE_LINES: (&str, &str) = (
    "Source lines",
    "Ops of a line by the source file and line that the trace records for each op. At every instant, only the innermost running op is shown, so a source line is busy during the self time of its ops.",
);

/// The property of ops that the levels of a flame graph show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flame {
    /// Scopes in the framework path of the op.
    NameScopes,
    /// Source file of the op, and the line in that file.
    SourceLines,
}

impl Flame {
    /// All properties, in the order of their tracks.
    pub const ALL: [Flame; 2] = [Flame::NameScopes, Flame::SourceLines];

    /// Returns the name of the track and its definition.
    pub fn title(self) -> (&'static str, &'static str) {
        match self {
            Flame::NameScopes => NAME_SCOPES,
            Flame::SourceLines => SOURCE_LINES,
        }
    }
}

/// The scopes of each kind of event in a trace.
#[derive(Debug, Default)]
pub struct Scopes {
    names: Strings,
    /// Colour of each name, by its index.
    paints: Vec<Paint>,
    paths: Vec<Vec<StrId>>,
    /// For each kind of event, the index of its path plus one, or 0 if the kind has no path.
    of_kinds: Vec<u32>,
    /// Depth of the deepest path of each line.
    depths: Vec<u32>,
}

/// Content of one pixel column in one level of a flame graph.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// Name of the scope.
    pub name: StrId,
    /// Share of the column's time that is busy, as a number out of 256. The share is zero if the column is idle.
    pub share: u32,
}

impl Scopes {
    /// Collects the scopes of each kind of op in a trace, if ops of that kind have a path.
    pub fn new(trace: &Trace, flame: Flame) -> Scopes {
        let mut scopes = Scopes { depths: vec![0; trace.lines.len()], ..Scopes::default() };
        let mut known: FxHashMap<[StrId; 2], u32> = FxHashMap::default();
        for kind in trace.events.kinds() {
            let line = trace.lines.get(kind.line.index()).map(|line| line.kind);
            let shows = matches!(line, Some(LineKind::DeviceOps | LineKind::Host));
            let path = trace.args.set(kind.args.index()).filter(|_| shows).map_or(0, |args| {
                let (texts, path) = match flame {
                    Flame::NameScopes => ([args.tf_op, StrId::EMPTY], trace.text(args.tf_op)),
                    Flame::SourceLines => ([args.source, args.source_stack], trace.source(args)),
                };
                *known.entry(texts).or_insert_with(|| scopes.path(path, flame))
            });
            scopes.of_kinds.push(path);
            let depth = scopes.path_of(path).len() as u32;
            if let Some(deepest) = scopes.depths.get_mut(kind.line.index()) {
                *deepest = depth.max(*deepest);
            }
        }
        scopes
    }

    /// Returns the index of a path plus one. Returns 0 for a path without scopes.
    fn path(&mut self, text: &str, flame: Flame) -> u32 {
        let names: Vec<StrId> = match (flame, text.rsplit_once(':')) {
            _ if text.is_empty() => Vec::new(),
            (Flame::NameScopes, _) => {
                let mut names: Vec<_> = framework_path::segments(text).map(|name| self.names.intern(name)).collect();
                names.pop();
                names.truncate(DEEPEST);
                names
            }
            (Flame::SourceLines, Some((file, line))) => {
                let line = format!("{}:{line}", file.rsplit('/').next().unwrap_or(file));
                vec![self.names.intern(file), self.names.intern(&line)]
            }
            (Flame::SourceLines, None) => vec![self.names.intern(text)],
        };
        if names.is_empty() {
            return 0;
        }
        for at in self.paints.len()..self.names.len() {
            let name = names.iter().find(|name| name.index() == at);
            self.paints.push(name.map_or(Paint::default(), |name| hue(self.names.get(*name))));
        }
        self.paths.push(names);
        self.paths.len() as u32
    }

    fn path_of(&self, path: u32) -> &[StrId] {
        let path = (path as usize).checked_sub(1).and_then(|path| self.paths.get(path));
        path.map_or(&[], Vec::as_slice)
    }

    /// Returns the number of levels of a line. Returns zero if the line has no ops with a path.
    pub fn depth(&self, line: LineId) -> u32 {
        self.depths.get(line.index()).copied().unwrap_or(0)
    }

    /// Returns the text of a scope.
    pub fn name(&self, name: StrId) -> &str {
        self.names.get(name)
    }

    /// Returns the colour of a scope.
    pub fn paint(&self, name: StrId) -> Paint {
        self.paints.get(name.index()).copied().unwrap_or_default()
    }

    /// For each level of a line, returns the content of each column. Inner ops are processed after outer ops and
    /// overwrite their columns. The result is correct, because a nested op covers no more than its parent.
    pub fn cells(&self, source: Source<'_>, line: LineId, columns: &Columns) -> Vec<Vec<Cell>> {
        let mut levels = vec![vec![Cell::default(); columns.len()]; self.depth(line) as usize];
        for lane in source.lanes(line) {
            for_each_mark(source.trace, lane, columns, |mark| {
                let (place, first, end, share) = match mark {
                    Mark::Whole { place, first, end } => (place, first, end, 256),
                    Mark::Part { column, busy, longest, .. } => {
                        let length = columns.time(column).map_or(1, |time| time.length().as_ps().max(1));
                        let share = i128::from(busy.as_ps()) * 256 / i128::from(length);
                        (longest, column, column + 1, (share as u32).max(1))
                    }
                };
                let kind = lane.event(place).and_then(|id| source.trace.events.kind(id));
                let path = kind.and_then(|kind| self.of_kinds.get(kind as usize)).copied().unwrap_or(0);
                for (level, &name) in levels.iter_mut().zip(self.path_of(path)) {
                    for cell in level.get_mut(first..end).into_iter().flatten() {
                        let is_deeper = share * 2 >= cell.share;
                        *cell = Cell { name: if is_deeper { name } else { cell.name }, share: share.max(cell.share) };
                    }
                }
            });
        }
        levels
    }
}
