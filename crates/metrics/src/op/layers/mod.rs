//! Adds up the ops by layer of the model, phase of the training step, or source line.
//!
//! ```text
//! layer        jit_train_step > layer_* > attention > dot_general        numbered layers together
//! each-layer   jit_train_step > layer_3 > attention > dot_general        each layer alone
//! phase        backward > layer_* > attention > dot_general
//! source       model.py > attend > model.py:42
//! ```
//!
//! A layer is a name scope of the framework path. Transformations are left out, so that the forward and the backward pass of a
//! layer are one layer. The last level is the primitive.

mod members;
mod memory;
mod section;

#[cfg(test)]
mod tests;

pub use members::Members;
pub(crate) use section::section;

use rustc_hash::FxHashMap;

use crate::op::collectives::Collectives;
use crate::op::ops::{Op, Ops, Text, WorkTime};
use base::framework_path::{layered, primitive, scopes};
use base::{Ps, sort};

use report::Phase;
use trace::{Trace, in_blocks};

/// Criterion by which [`Layers`] groups ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerGrouping {
    /// Program, then name scopes. Layers that differ only by their number are one layer.
    Layer,
    /// Program, then name scopes.
    EachLayer,
    /// Phase of the training step, then name scopes without numbers.
    Phase,
    /// Source file, function and line.
    Source,
}

impl LayerGrouping {
    /// All groupings, the default first.
    pub const ALL: [LayerGrouping; 4] =
        [LayerGrouping::Layer, LayerGrouping::EachLayer, LayerGrouping::Phase, LayerGrouping::Source];

    /// Returns the key in the command line and in URLs.
    pub fn key(self) -> &'static str {
        match self {
            LayerGrouping::Layer => "layer",
            LayerGrouping::EachLayer => "each-layer",
            LayerGrouping::Phase => "phase",
            LayerGrouping::Source => "source",
        }
    }

    /// Returns the grouping with this key, or the first grouping for any other text.
    pub fn from_key(key: &str) -> LayerGrouping {
        LayerGrouping::ALL.into_iter().find(|grouping| grouping.key() == key).unwrap_or(LayerGrouping::Layer)
    }
}

/// Name of the layer of ops whose path has no name scope.
pub const NO_SCOPE: &str = "no name scope";
/// Name of the layer of ops without a path.
pub const NO_PATH: &str = "no framework op";

/// A layer: the sums over its ops, including the ops of the layers inside it.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Name of the layer, without the names of its enclosing layers.
    pub name: String,
    /// Index of the enclosing layer, which is always smaller than the layer's own index. `None` for the run.
    pub parent: Option<u32>,
    /// Depth in the tree, 0 for the run.
    pub depth: u32,
    /// Number of ops, as listed in the table of ops.
    pub ops: u64,
    /// Number of executions of the ops.
    pub executions: u64,
    /// Self time of the ops.
    pub self_time: Ps,
    /// Sum of the durations of the ops.
    pub total: Ps,
    /// Self time by phase, in the order of [`Phase::ALL`].
    pub by_phase: [Ps; Phase::ALL.len()],
    /// Self time of fusions that contain ops of several phases.
    pub mixed: Ps,
    /// Sum of the known FLOPs. `None` if no FLOPs are known.
    pub flops: Option<f64>,
    /// Sum of the known bytes. `None` if no bytes are known.
    pub bytes: Option<f64>,
    /// Time during which the FLOPs were done and the bytes were moved.
    pub work_time: WorkTime,
    /// Self time by limiting resource, for ops whose limiting resource is known.
    pub by_bound: Vec<(&'static str, Ps)>,
    /// Time during which a collective of the layer runs and its device computes nothing. `None` if the layer has no
    /// collective.
    pub exposed: Option<Ps>,
    /// Layers that this layer stands for. `None` if the layer's path contains no number.
    pub members: Option<Members>,
}

impl Layer {
    fn add(&mut self, op: &Op, bound: Option<&'static str>) {
        self.ops += 1;
        self.executions += op.executions;
        self.self_time += op.self_time;
        self.total += op.total;
        if let Some(time) = self.by_phase.get_mut(op.phase as usize) {
            *time += op.self_time;
        }
        if op.is_mixed {
            self.mixed += op.self_time;
        }
        // The cost of a wait duplicates the cost of the op that started the work.
        let counts = !op.is_left_out();
        self.work_time.add(op, counts);
        if counts {
            add_known(&mut self.flops, op.flops);
            add_known(&mut self.bytes, op.bytes);
        }
        if let Some(bound) = bound {
            self.add_bound(bound, op.self_time);
        }
    }

    fn add_all(&mut self, inner: &Layer) {
        self.ops += inner.ops;
        self.executions += inner.executions;
        self.self_time += inner.self_time;
        self.total += inner.total;
        self.mixed += inner.mixed;
        self.by_phase.iter_mut().zip(inner.by_phase).for_each(|(sum, part)| *sum += part);
        add_known(&mut self.flops, inner.flops);
        add_known(&mut self.bytes, inner.bytes);
        self.work_time.add_all(inner.work_time);
        inner.by_bound.iter().for_each(|&(bound, time)| self.add_bound(bound, time));
        if let Some(exposed) = inner.exposed {
            *self.exposed.get_or_insert_default() += exposed;
        }
    }

    fn add_bound(&mut self, bound: &'static str, time: Ps) {
        match self.by_bound.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, sum)) => *sum += time,
            None => self.by_bound.push((bound, time)),
        }
    }

    /// Returns the resource that limits the ops with the most time, or `None` if no limiting resource is known.
    pub fn bound_by(&self) -> Option<&'static str> {
        self.by_bound.iter().max_by_key(|(bound, time)| (*time, std::cmp::Reverse(*bound))).map(|(bound, _)| *bound)
    }

    /// Returns the self time in one phase.
    pub fn in_phase(&self, phase: Phase) -> Ps {
        self.by_phase.get(phase as usize).copied().unwrap_or_default()
    }
}

fn add_known(sum: &mut Option<f64>, part: Option<f64>) {
    if let Some(part) = part {
        *sum = Some(sum.unwrap_or(0.0) + part);
    }
}

/// The layers of a run. Parents come before their children, and the children of a layer are sorted by descending time.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The layers. The first entry is the run.
    pub rows: Vec<Layer>,
}

pub(crate) type BoundOf<'b> = &'b dyn Fn(&Op) -> Option<&'static str>;

impl Layers {
    /// Groups the ops of a run.
    pub fn new(
        trace: &Trace,
        ops: &Ops,
        collectives: &Collectives,
        grouping: LayerGrouping,
        bound: BoundOf<'_>,
    ) -> Layers {
        let mut builder = Builder::new();
        let exposed = exposed(ops, collectives);
        // Many ops share their path, so each path is parsed once, and the trees receive the sums of the paths.
        let mut known: FxHashMap<Key, usize> = FxHashMap::default();
        let mut sums: Vec<(Place, Layer)> = Vec::new();
        let mut row = 0;
        in_blocks(&ops.rows, |op| {
            let at = *known.entry(key(op, grouping)).or_insert_with(|| {
                sums.push((builder.place(path(trace, ops, op, grouping)), Layer::default()));
                sums.len() - 1
            });
            if let Some((_, sum)) = sums.get_mut(at) {
                sum.add(op, bound(op));
                if let Some(exposed) = exposed.get(&row) {
                    *sum.exposed.get_or_insert_default() += *exposed;
                }
            }
            row += 1;
        });
        sums.iter().for_each(|(place, sum)| builder.add(*place, sum));
        builder.finish(grouping)
    }

    /// Returns the names from the program down to the layer, joined with `/`.
    pub fn path(&self, at: usize) -> String {
        let mut names = Vec::new();
        let mut next = self.rows.get(at);
        while let Some(layer) = next.filter(|layer| layer.parent.is_some()) {
            names.push(layer.name.as_str());
            next = layer.parent.and_then(|parent| self.rows.get(parent as usize));
        }
        names.reverse();
        names.join("/")
    }

    /// Returns the self time of ops without a name scope.
    pub fn without_scope(&self) -> Ps {
        let unnamed =
            self.rows.iter().filter(|layer| layer.depth == 2 && [NO_SCOPE, NO_PATH].contains(&layer.name.as_str()));
        unnamed.map(|layer| layer.self_time).sum()
    }
}

/// Returns the exposed time of the collectives. The key is the row in [`Ops::rows`].
fn exposed(ops: &Ops, collectives: &Collectives) -> FxHashMap<usize, Ps> {
    let mut times: FxHashMap<usize, Ps> = FxHashMap::default();
    // Only a few ops are collectives. For the many others, a failed look-up is enough.
    let mut by_kind: FxHashMap<_, Ps> = FxHashMap::default();
    for collective in &collectives.ops {
        *by_kind.entry((collective.name, collective.args)).or_default() += collective.sums.exposed;
    }
    for (kind, row) in ops.entries.iter().filter(|_| !by_kind.is_empty()) {
        if let Some(time) = by_kind.get(kind) {
            *times.entry(*row as usize).or_default() += *time;
        }
    }
    times
}

type Key = ([Text; 2], Phase);

fn key(op: &Op, grouping: LayerGrouping) -> Key {
    match grouping {
        LayerGrouping::Layer | LayerGrouping::EachLayer => ([op.module, op.framework_path], Phase::Other),
        LayerGrouping::Phase => ([Text::default(), op.framework_path], op.phase),
        LayerGrouping::Source => ([op.source, op.function], Phase::Other),
    }
}

/// Returns the names of an op's layers, outermost first.
fn path(trace: &Trace, ops: &Ops, op: &Op, grouping: LayerGrouping) -> Vec<String> {
    let text = |text: Text| ops.text(trace, text);
    match grouping {
        LayerGrouping::Source => of_source(text(op.source), text(op.function)),
        LayerGrouping::Phase => of_path(op.phase.key(), text(op.framework_path)),
        _ => of_path(program_name(text(op.module)), text(op.framework_path)),
    }
}

fn program_name(module: &str) -> &str {
    module.split('(').next().filter(|module| !module.is_empty()).unwrap_or("no program")
}

/// Returns the names of the layers of a source line: file, function and line.
fn of_source(source: &str, function: &str) -> Vec<String> {
    let Some((file, line)) = source.rsplit_once(':') else {
        return vec![if source.is_empty() { "unknown source" } else { source }.to_owned()];
    };
    let short = file.rsplit('/').next().unwrap_or(file);
    let function = Some(function.to_owned()).filter(|function| !function.is_empty());
    [Some(file.to_owned()), function, Some(format!("{short}:{line}"))].into_iter().flatten().collect()
}

/// Returns the names of the layers of a framework path: `outer`, the name scopes, and the primitive.
fn of_path(outer: &str, path: &str) -> Vec<String> {
    let mut names = vec![outer.to_owned()];
    if path.trim_end_matches(':').is_empty() {
        names.push(NO_PATH.to_owned());
        return names;
    }
    names.extend(scopes(path).into_iter().take(MAX_DEPTH).map(str::to_owned));
    if names.len() == 1 {
        names.push(NO_SCOPE.to_owned());
    }
    names.extend(primitive(path).map(str::to_owned));
    names
}

/// Returns true if the name at this level of a path is a name scope. `names` is the number of names in the path. The first name
/// is a program or phase. The last name is a primitive, whose number is not a layer number.
fn is_scope(level: usize, names: usize) -> bool {
    level > 0 && level + 1 < names
}

/// Maximum number of scopes that are distinguished. No real model nests so deeply. The limit guards against synthetic paths.
const MAX_DEPTH: usize = 40;

/// Place of a path: the merged layer, and the individual layer.
#[derive(Clone, Copy)]
struct Place {
    merged: u32,
    alone: u32,
}

struct Builder {
    merged: Tree,
    alone: Tree,
    merged_of: Vec<u32>,
}

#[derive(Default)]
struct Tree {
    layers: Vec<Layer>,
    index: FxHashMap<(u32, String), u32>,
}

impl Tree {
    fn new() -> Tree {
        Tree { layers: vec![Layer { name: "run".to_owned(), ..Layer::default() }], index: FxHashMap::default() }
    }

    fn child(&mut self, parent: u32, name: &str) -> u32 {
        let key = (parent, name.to_owned());
        if let Some(&known) = self.index.get(&key) {
            return known;
        }
        let depth = self.layers.get(parent as usize).map_or(0, |layer| layer.depth) + 1;
        self.layers.push(Layer { name: name.to_owned(), parent: Some(parent), depth, ..Layer::default() });
        let at = u32::try_from(self.layers.len() - 1).unwrap_or(u32::MAX);
        self.index.insert(key, at);
        at
    }

    fn add(&mut self, at: u32, sum: &Layer) {
        if let Some(layer) = self.layers.get_mut(at as usize) {
            layer.add_all(sum);
        }
    }

    /// Adds the sums of each layer to its enclosing layer.
    fn add_up(&mut self) {
        for at in (1..self.layers.len()).rev() {
            let (above, below) = self.layers.split_at_mut(at);
            let Some(layer) = below.first() else { continue };
            if let Some(parent) = layer.parent.and_then(|parent| above.get_mut(parent as usize)) {
                parent.add_all(layer);
            }
        }
    }

    /// Sorts siblings by time and lays the tree out depth first.
    fn sorted(self) -> Layers {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.layers.len()];
        for (at, layer) in (0u32..).zip(&self.layers) {
            if let Some(siblings) = layer.parent.and_then(|parent| children.get_mut(parent as usize)) {
                siblings.push(at);
            }
        }
        let key = |at: u32| self.layers.get(at as usize).map(|it| (std::cmp::Reverse(it.self_time), it.name.as_str()));
        for siblings in &mut children {
            sort::sort_by(siblings, |&a, &b| key(a).cmp(&key(b)));
        }
        let mut rows = Vec::with_capacity(self.layers.len());
        let mut stack: Vec<(u32, Option<u32>)> = vec![(0, None)];
        while let Some((at, parent)) = stack.pop() {
            let Some(layer) = self.layers.get(at as usize) else { continue };
            let place = u32::try_from(rows.len()).ok();
            rows.push(Layer { parent, ..layer.clone() });
            // The stack is last in, first out, so children are pushed in reverse.
            stack.extend(children.get(at as usize).into_iter().flatten().rev().map(|&child| (child, place)));
        }
        Layers { rows }
    }
}

impl Builder {
    fn new() -> Builder {
        Builder { merged: Tree::new(), alone: Tree::new(), merged_of: vec![0] }
    }

    fn place(&mut self, names: Vec<String>) -> Place {
        let mut place = Place { merged: 0, alone: 0 };
        for (level, name) in names.iter().enumerate() {
            let merged = if is_scope(level, names.len()) { layered(name) } else { name.clone() };
            place.merged = self.merged.child(place.merged, &merged);
            place.alone = self.alone.child(place.alone, name);
            if self.merged_of.len() == place.alone as usize {
                self.merged_of.push(place.merged);
            }
        }
        place
    }

    fn add(&mut self, place: Place, sum: &Layer) {
        self.merged.add(place.merged, sum);
        self.alone.add(place.alone, sum);
    }

    fn finish(mut self, grouping: LayerGrouping) -> Layers {
        self.alone.add_up();
        if matches!(grouping, LayerGrouping::EachLayer | LayerGrouping::Source) {
            return self.alone.sorted();
        }
        self.merged.add_up();
        if grouping == LayerGrouping::Layer {
            members::find(&mut self.merged.layers, &self.alone.layers, &self.merged_of);
        }
        self.merged.sorted()
    }
}
