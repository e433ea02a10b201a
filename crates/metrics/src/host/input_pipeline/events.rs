//! Reads the events of input pipelines: the ops, and the times when threads work in these ops.

use rustc_hash::FxHashMap;

use super::InputOp;
use crate::device::devices::Devices;
use crate::device::self_time::SelfTime;
use crate::host::host_threads::{HostRole, feeding};
use crate::host::host_waits::{is_users, shown};
use base::{Ps, sort};
use facts::host_spans::{self, HostWork, is_frame};
use facts::input_stages::{self, InputStage, StageOfName};
use trace::{Args, EventColumn, EventKind, Interval, LineEvents, LineKind, StrId, Trace};

const CALL: &str = "InstantiatedCapturedFunction::";
/// Name of the events that TensorFlow's executor records while it runs a function.
const EXECUTED: &str = "ExecutorState::Process";

/// A part of an op's self time on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Host of the thread.
    pub host: u16,
    /// Index of the op.
    pub op: usize,
    /// Index of the thread's line.
    pub line: u32,
    /// The time.
    pub time: Interval,
    /// True if the op's function runs on another thread.
    pub is_function: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Meaning {
    /// The events do not belong to any pipeline.
    #[default]
    None,
    /// An op of a pipeline.
    Op(StageOfName),
    /// An event (`PrefetchProduce`) on a thread of tf.data that works for the op with this name. The name comes from
    /// the iterators inside the event.
    Produce(StrId),
    /// A range or function of the user, which is an op if it is inside a pipeline. `stage` follows from the name of the
    /// range. If `alone` is true, the range is an op even outside of pipelines.
    Range { stage: Option<InputStage>, alone: bool },
}

/// Ops of all hosts, and the times when the threads of each host work in these ops.
pub(super) struct Events {
    pub ops: Vec<InputOp>,
    pub segments: Vec<Segment>,
}

type Key = (StrId, StrId, InputStage);

struct Reader<'a> {
    trace: &'a Trace,
    ops: Vec<InputOp>,
    index: FxHashMap<Key, usize>,
    segments: Vec<Segment>,
    /// Op of each run of a TensorFlow function. The key is the host and the number of the run.
    functions: FxHashMap<(u16, i64), usize>,
    /// Outermost ops on threads that feed no device.
    fed: Vec<usize>,
}

impl Events {
    /// Reads the pipelines of all hosts. Returns `None` if there are no pipelines.
    pub(super) fn new(trace: &Trace, devices: &Devices, window: &impl Fn(u16) -> Interval) -> Option<Events> {
        let feeding = feeding(trace, devices);
        let meanings = meanings(trace, &feeding)?;
        let mut has_ops = vec![false; trace.lines.len()];
        for (kind, meaning) in trace.events.kinds().iter().zip(&meanings) {
            if matches!(meaning, Meaning::Op(_) | Meaning::Range { alone: true, .. }) {
                has_ops.get_mut(kind.line.index()).into_iter().for_each(|slot| *slot = true);
            }
        }
        let mut reader = Reader {
            trace,
            ops: Vec::new(),
            index: FxHashMap::default(),
            segments: Vec::new(),
            functions: FxHashMap::default(),
            fed: Vec::new(),
        };
        let lines = trace.lines.iter().zip(devices.by_line.events.iter()).zip(0u32..);
        for (((line, events), at), feeds) in lines.zip(feeding).filter(|(((_, events), _), _)| !events.is_empty()) {
            if has_ops.get(at as usize) == Some(&true) {
                let host = trace.plane_of(line).map_or(0, |plane| plane.host);
                reader.read(events, (host, at, feeds), &meanings, window(host));
            }
        }
        reader.add_functions();
        reader.relate();
        Some(reader.finish(window))
    }
}

/// Returns the meaning of each kind of event. Returns `None` if no kind is part of an input pipeline.
fn meanings(trace: &Trace, feeding: &[bool]) -> Option<Vec<Meaning>> {
    let mut any = false;
    let mut produced: FxHashMap<(usize, &str), StrId> = FxHashMap::default();
    let mut of_kind = |kind: &EventKind| {
        let line = trace.lines.get(kind.line.index()).filter(|line| line.kind == LineKind::Host);
        let args = trace.args.get(kind.args);
        let Some(line) = line.filter(|_| args.hlo_op.is_empty()) else { return Meaning::None };
        let name = trace.text(full_name(trace, kind));
        let is_python = || HostRole::of_thread(trace.text(line.name)) == HostRole::Python;
        let found = meaning(trace, name, &args, &is_python, feeding.get(kind.line.index()) == Some(&true));
        any |= matches!(found, Meaning::Op(it) if it.stage != InputStage::Transfer || host_spans::is(HostWork::Input, name));
        if let Some(parent) = parent_path(name) {
            let named = trace.strings.find(parent).zip(input_stages::iterator(parent));
            named.into_iter().for_each(|(id, part)| {
                produced.entry((kind.line.index(), part)).or_insert(id);
            });
        }
        found
    };
    let mut found: Vec<Meaning> = trace.events.kinds().iter().map(&mut of_kind).collect();
    for (kind, meaning) in trace.events.kinds().iter().zip(&mut found).filter(|(_, it)| **it == Meaning::None) {
        let part = trace.text(kind.name).strip_suffix("Produce").filter(|part| !part.contains("::"));
        let path = part.and_then(|part| produced.get(&(kind.line.index(), part)));
        path.into_iter().for_each(|&path| *meaning = Meaning::Produce(path));
    }
    any.then_some(found)
}

/// Returns the name of an event. For a tf.data iterator, returns its long name, which contains its path
/// (`Iterator::Root::Prefetch::Map`).
fn full_name(trace: &Trace, kind: &EventKind) -> StrId {
    let long = trace.args.get(kind.args).long_name;
    if input_stages::iterator(trace.text(long)).is_some() { long } else { kind.name }
}

/// Returns the meaning of an event's name. `feeds` is true on threads that feed devices.
fn meaning(trace: &Trace, name: &str, args: &Args, is_python: &dyn Fn() -> bool, feeds: bool) -> Meaning {
    let (waits, own) = (|stage| StageOfName { stage, waits: true }, |stage| StageOfName { stage, waits: false });
    match trace.text(args.input_category) {
        "" => {}
        "read" => return Meaning::Op(own(InputStage::Read)),
        "prefetch" => return Meaning::Op(waits(InputStage::Wait)),
        "enqueue" => return Meaning::Op(own(InputStage::Enqueue)),
        // Grain labels all other stages as preprocessing.
        _ if name.contains("Batch") => return Meaning::Op(own(InputStage::Batch)),
        _ => return Meaning::Op(own(InputStage::Preprocess)),
    }
    match host_spans::work(name) {
        // tf.data's own threads, and the moments at which they pass on an element.
        Some(HostWork::Input) if name.ends_with("Produce") || name.ends_with("Consume") => Meaning::None,
        Some(HostWork::Input) => Meaning::Op(input_stages::of_name(name)),
        Some(HostWork::Transfer) if !is_frame(name) && input_stages::is_to_device(name) => {
            Meaning::Op(own(InputStage::Transfer))
        }
        None if is_users(name) && is_python() => {
            let stage = input_stages::of_range(shown(name));
            Meaning::Range { stage, alone: stage.is_some() && !feeds && !is_frame(name) }
        }
        _ => Meaning::None,
    }
}

/// Returns the name of the iterator around a tf.data iterator.
fn parent_path(name: &str) -> Option<&str> {
    input_stages::iterator(name)?;
    name.rsplit_once("::").map(|(parent, _)| parent).filter(|parent| parent.contains("::"))
}

/// Removes the parent of the first op in each cycle of ops that get their results from each other.
fn cut_circles(parents: &mut [Option<usize>]) {
    // For each op, the walk that reached the op first. A walk ends at an op that was reached before.
    let mut reached: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        while let Some(slot @ None) = reached.get_mut(at) {
            *slot = Some(start);
            let Some(parent) = parents.get(at).copied().flatten() else { break };
            at = parent;
            if reached.get(at) == Some(&Some(start)) {
                let next = |&op: &usize| parents.get(op).copied().flatten().filter(|&next| next != at);
                let first = std::iter::successors(Some(at), next).min().unwrap_or(at);
                parents.get_mut(first).into_iter().for_each(|slot| *slot = None);
            }
        }
    }
}

impl Reader<'_> {
    /// Returns the index of an op, and adds the op if it is new.
    fn op(&mut self, name: StrId, detail: StrId, stage: StageOfName) -> usize {
        let next = self.ops.len();
        *self.index.entry((name, detail, stage.stage)).or_insert_with(|| {
            self.ops.push(InputOp {
                name,
                detail,
                stage: stage.stage,
                waits: stage.waits,
                has_functions: false,
                parent: None,
                count: 0,
                total: Ps::ZERO,
                self_time: Ps::ZERO,
                threads: 0,
                busy_percent: 0.0,
            });
            next
        })
    }

    fn read(
        &mut self,
        events: &LineEvents,
        (host, at, feeds): (u16, u32, bool),
        meanings: &[Meaning],
        window: Interval,
    ) {
        let (trace, mut own) = (self.trace, SelfTime::default());
        let mut open: Vec<(usize, Ps)> = Vec::new();
        let mut parts: Vec<(usize, Interval)> = Vec::new();
        let mut give = |op: usize, time: Interval| parts.extend((op != usize::MAX).then_some((op, time)));
        trace.for_each_on_thread_at(events, 0..events.len(), |id, kind, time| {
            while open.pop_if(|(_, end)| *end <= time.start).is_some() {}
            let outer = open.last().map(|&(op, _)| op);
            let meaning = meanings.get(kind).copied().unwrap_or_default();
            let known = trace.events.kinds().get(kind);
            let is = |kind: &EventKind, prefix| trace.text(kind.name).starts_with(prefix);
            let found = known.and_then(|kind| self.op_of(kind, meaning, outer, time));
            if let Some(outer) = outer.filter(|_| found.is_none() && known.is_some_and(|it| is(it, CALL))) {
                let number = trace.events.column(EventColumn::FunctionId).get(id);
                number.into_iter().for_each(|number| _ = self.functions.insert((host, number), outer));
            }
            let Some(op) = found else { return };
            let Some(slot) = self.ops.get_mut(op) else { return };
            match outer {
                Some(outer) if outer != op => slot.parent = slot.parent.or(Some(outer)),
                None if !feeds => self.fed.push(op),
                _ => {}
            }
            let inside = time.clip(window).map_or(Ps::ZERO, Interval::length);
            let starts_inside = time.start >= window.start && time.start <= window.end;
            open.push((op, time.end));
            // The time of tf.data's own thread is measured by the iterators inside the event.
            if matches!(meaning, Meaning::Produce(_)) {
                own.start(usize::MAX, time, &mut give);
                return;
            }
            if inside > Ps::ZERO || starts_inside {
                slot.count += 1;
                slot.total += inside;
            }
            own.start(op, time, &mut give);
        });
        own.finish(&mut give);
        let segment = |(op, time)| Segment { host, op, line: at, time, is_function: false };
        self.segments.extend(parts.into_iter().map(segment));
    }

    /// Returns the op that an event belongs to. `outer` is the op around the event.
    fn op_of(&mut self, kind: &EventKind, meaning: Meaning, outer: Option<usize>, time: Interval) -> Option<usize> {
        let args = self.trace.args.get(kind.args);
        let detail = if args.input_dataset.is_empty() { args.input_stage } else { args.input_dataset };
        match meaning {
            Meaning::None => None,
            Meaning::Op(stage) => Some(self.op(full_name(self.trace, kind), detail, stage)),
            Meaning::Produce(path) => {
                let stage = input_stages::of_name(self.trace.text(path));
                Some(self.op(path, StrId::EMPTY, stage))
            }
            Meaning::Range { stage, alone } => {
                let outer = outer.and_then(|outer| self.ops.get(outer));
                // Spans of the runtime inside an iterator have no special names.
                let inside = outer.filter(|op| {
                    time.length() > Ps::ZERO && input_stages::iterator(self.trace.text(op.name)).is_none()
                });
                let inherited = || inside.map(|op| if op.waits { InputStage::Other } else { op.stage });
                let found = stage.filter(|_| alone || inside.is_some()).or_else(inherited)?;
                Some(self.op(kind.name, StrId::EMPTY, StageOfName { stage: found, waits: false }))
            }
        }
    }

    /// Adds the work of ops whose functions run on other threads.
    fn add_functions(&mut self) {
        if self.functions.is_empty() {
            return;
        }
        let trace = self.trace;
        let mut found = Vec::new();
        trace.events.column(EventColumn::FunctionId).for_each(|id, number| {
            let Some(event) = trace.events.get(id).filter(|event| trace.text(event.name) == EXECUTED) else { return };
            let host =
                trace.lines.get(event.line.index()).and_then(|line| trace.plane_of(line)).map_or(0, |it| it.host);
            let Some(&op) = self.functions.get(&(host, number)) else { return };
            let (line, time) = (event.line.index() as u32, Interval::new(event.start, event.end()));
            found.push(Segment { host, op, line, time, is_function: true });
        });
        sort::sort_by_key(&mut found, |it: &Segment| (it.line, it.time.start, std::cmp::Reverse(it.time.end)));
        let mut latest = (u32::MAX, Ps::ZERO);
        // Parts of a function may be nested.
        found.retain(|it| {
            let is_new = latest.0 != it.line || it.time.end > latest.1;
            if is_new {
                latest = (it.line, it.time.end);
            }
            is_new && it.time.length() > Ps::ZERO
        });
        for segment in &found {
            self.ops.get_mut(segment.op).into_iter().for_each(|op| op.has_functions = true);
        }
        self.segments.extend(found);
    }

    /// Sets the parents of ops that feed an op on another thread. tf.data and Grain record the name of the op that is
    /// fed. If no name is recorded, the op feeds the op that waits.
    fn relate(&mut self) {
        let mut is_fed = vec![false; self.ops.len()];
        for &op in &self.fed {
            is_fed.get_mut(op).into_iter().for_each(|slot| *slot = true);
        }
        let waiting = self.ops.iter().zip(&is_fed).position(|(op, is_fed)| op.waits && !is_fed);
        let mut named: FxHashMap<StrId, usize> = FxHashMap::default();
        for (op, at) in self.ops.iter().zip(0usize..) {
            named.entry(op.name).or_insert(at);
        }
        // An interleave numbers its inputs, `ParallelInterleaveV4[1]::TFRecord`.
        let find = |path: &str| {
            let unnumbered = path.rsplit_once('[').map(|(path, _)| path);
            let named = |path: &str| named.get(&self.trace.strings.find(path)?).copied();
            named(path).or_else(|| named(unnumbered?))
        };
        let parent = |(op, is_fed): (&InputOp, &bool)| {
            let of_path = parent_path(self.trace.text(op.name)).and_then(find);
            let of_thread = waiting.filter(|_| *is_fed && op.stage != InputStage::Transfer);
            of_path.or(op.parent).or(of_thread)
        };
        let mut parents: Vec<Option<usize>> = self.ops.iter().zip(&is_fed).map(parent).collect();
        cut_circles(&mut parents);
        self.ops.iter_mut().zip(parents).for_each(|(op, parent)| op.parent = parent);
    }

    /// Sums up the times in the window, and sorts the ops by self time.
    fn finish(mut self, window: &impl Fn(u16) -> Interval) -> Events {
        let mut threads: Vec<(usize, u32)> = Vec::new();
        for segment in &self.segments {
            threads.push((segment.op, segment.line));
            let inside = segment.time.clip(window(segment.host)).map_or(Ps::ZERO, Interval::length);
            if let Some(op) = self.ops.get_mut(segment.op).filter(|_| !segment.is_function) {
                op.self_time += inside;
            }
        }
        sort::sort_by(&mut threads, Ord::cmp);
        threads.dedup();
        for (op, _) in threads {
            self.ops.get_mut(op).into_iter().for_each(|op| op.threads += 1);
        }
        let mut order: Vec<usize> = (0..self.ops.len()).collect();
        let text = |at: usize| self.ops.get(at).map(|op| (self.trace.text(op.name), self.trace.text(op.detail)));
        let time = |at: usize| self.ops.get(at).map(|op| op.self_time);
        sort::sort_by(&mut order, |&a, &b| time(b).cmp(&time(a)).then_with(|| text(a).cmp(&text(b))).then(a.cmp(&b)));
        let mut place = vec![0; order.len()];
        for (to, &from) in order.iter().enumerate() {
            place.get_mut(from).into_iter().for_each(|slot| *slot = to);
        }
        let moved = |at: usize| place.get(at).copied().unwrap_or_default();
        let in_order = order.iter().filter_map(|&at| self.ops.get(at));
        let ops = in_order.map(|op| InputOp { parent: op.parent.map(moved), ..op.clone() }).collect();
        let mut segments = self.segments;
        segments.iter_mut().for_each(|segment| segment.op = moved(segment.op));
        sort::sort_by_key(&mut segments, |it: &Segment| (it.host, it.line, it.time.start));
        Events { ops, segments }
    }
}
