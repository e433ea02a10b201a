//! The tracks that no profiler records: steps, what each device does and why it is idle, and the name scopes of its ops.
//!
//! ```text
//! ops       [dot.1 )[add.2)[dot.3)   [dot.4)       paths jit(f)/attn/dot, jit(f)/attn/add, jit(f)/mlp/dot, jit(f)/mlp/dot
//! scopes    [jit(f)              )   [jit(f))      self time of the ops: it adds up to the tables of ops
//!           [attn         )[mlp  )   [mlp   )
//! ```

use base::{Ps, framework_path};
use metrics::{Context, for_each_self_interval};
use trace::{ArgsId, Event, EventId, Interval, Line, LineId, LineKind, Plane, PlaneId, StrId, Trace};

/// Names of the tracks, each with its definition.
pub const STEPS: (&str, &str) =
    ("Steps", "Each step of this device as the tables count it, from its start to the next step's.");
/// See [`STEPS`].
pub const PARTS: (&str, &str) = (
    "Busy and idle by cause",
    "What the device does at each instant, the first of: computation, communication, copies; inside steps also why it is idle. The causes of one gap follow each other in the order of the legend. It adds up to the step breakdown.",
);
/// See [`STEPS`].
pub const SCOPES: (&str, &str) = (
    "Name scopes",
    "The self time of the ops of a line by the path that the framework gives them, one level below the other; without the primitive at the end.",
);
/// See [`STEPS`].
pub const INSTANTS: (&str, &str) = ("Instants", "The moments without a duration that the file holds.");

/// The definition of a derived line.
pub fn definition(name: &str) -> Option<&'static str> {
    let known = [STEPS, PARTS, SCOPES, INSTANTS].into_iter().find(|(title, _)| name.starts_with(title));
    known.map(|(_, definition)| definition)
}

/// The derived events, on planes of the same indices as those that they are derived of.
pub(crate) fn trace(context: Context<'_>) -> Trace {
    let whole = context.captured_trace();
    let mut derived = Derived { trace: Trace::default(), planes: Vec::new() };
    for plane in &whole.planes {
        let name = derived.trace.strings.intern(whole.text(plane.name));
        let plane = Plane { name, kind: plane.kind, host: plane.host, ..Plane::default() };
        derived.planes.extend(derived.trace.add_plane(plane));
    }
    derived.steps(context);
    derived.parts(context);
    derived.scopes(context);
    derived.instants(whole);
    derived.trace
}

struct Derived {
    trace: Trace,
    planes: Vec<PlaneId>,
}

impl Derived {
    fn line(&mut self, plane: usize, name: &str) -> Option<LineId> {
        let plane = *self.planes.get(plane)?;
        let name = self.trace.strings.intern(name);
        self.trace.add_line(Line { plane, name, kind: LineKind::default(), ..Line::default() })
    }

    fn event(&mut self, line: LineId, name: StrId, time: Interval) -> Option<EventId> {
        let duration = time.length();
        self.trace.events.push(Event { line, name, start: time.start, duration, args: ArgsId::NONE })
    }

    /// Of each device, else of the first host.
    fn steps(&mut self, context: Context<'_>) {
        let (steps, captured) = (&context.analysis.steps, &context.analysis.captured);
        for (index, windows) in steps.windows.iter().enumerate() {
            let host = || context.captured_trace().planes.iter().position(|plane| plane.kind == trace::PlaneKind::Host);
            let Some(plane) = captured.used.get(index).map(|device| device.plane).or_else(host) else { continue };
            if windows.iter().all(Option::is_none) {
                continue;
            }
            let Some(line) = self.line(plane, STEPS.0) else { return };
            for (step, window) in windows.iter().enumerate() {
                let Some(window) = window else { continue };
                let name = steps.names.get(step).and_then(Option::as_deref);
                let name = name.map_or_else(|| format!("step {step}"), |name| format!("step {name}"));
                let name = self.trace.strings.intern(&name);
                self.event(line, name, window.interval);
            }
        }
    }

    fn parts(&mut self, context: Context<'_>) {
        let analysis = context.analysis;
        let bands = analysis.step_breakdown.bands(
            context.captured_trace(),
            &analysis.captured,
            &analysis.hosts,
            &analysis.calls,
        );
        for (device, bands) in analysis.captured.used.iter().zip(bands) {
            let Some(line) = self.line(device.plane, PARTS.0) else { return };
            for (interval, part) in bands {
                let name = self.trace.strings.intern(part.title());
                self.event(line, name, interval);
            }
        }
    }

    /// One line for each line of a device with ops that have a path.
    fn scopes(&mut self, context: Context<'_>) {
        let whole = context.captured_trace();
        let kinds = whole.events.kinds();
        // The scopes of each kind, as names of this trace.
        let paths: Vec<Vec<StrId>> = kinds.iter().map(|kind| self.path(whole, kind.args)).collect();
        for device in &context.analysis.captured.used {
            let mut open: Vec<(LineId, Flame)> = Vec::new();
            for_each_self_interval(whole, device, |op, interval| {
                let kind = device.ops.get(op).and_then(|&id| whole.events.kind(id)).unwrap_or(u32::MAX) as usize;
                let Some((kind, path)) = kinds.get(kind).zip(paths.get(kind)).filter(|(_, path)| !path.is_empty())
                else {
                    return;
                };
                let known = open.iter().position(|(of, _)| *of == kind.line);
                let at = known.or_else(|| {
                    let of = whole.lines.get(kind.line.index()).map_or("", |line| whole.text(line.name));
                    let name = if of.is_empty() { SCOPES.0.to_owned() } else { format!("{} of {of}", SCOPES.0) };
                    let line = self.line(device.plane, &name)?;
                    open.push((kind.line, Flame { line, open: Vec::new(), end: Ps::ZERO }));
                    Some(open.len() - 1)
                });
                if let Some((_, flame)) = at.and_then(|at| open.get_mut(at)) {
                    flame.add(self, path, interval);
                }
            });
            for (_, mut flame) in open {
                flame.close(self, 0);
            }
        }
    }

    fn path(&mut self, whole: &Trace, args: ArgsId) -> Vec<StrId> {
        let path = whole.args.set(args.index()).map_or("", |args| whole.text(args.tf_op));
        let mut names: Vec<StrId> =
            framework_path::segments(path).map(|segment| self.trace.strings.intern(segment)).collect();
        // The primitive is the op itself.
        names.pop();
        names
    }

    fn instants(&mut self, whole: &Trace) {
        let mut lines: Vec<(usize, LineId)> = Vec::new();
        for instant in &whole.instants {
            let plane = match instant.scope {
                trace::InstantScope::Line(line) => whole.lines.get(line.index()).map_or(0, |line| line.plane.index()),
                trace::InstantScope::Plane(plane) => plane.index(),
                trace::InstantScope::Trace => 0,
            };
            let line = match lines.iter().find(|(of, _)| *of == plane) {
                Some((_, line)) => *line,
                None => {
                    let Some(line) = self.line(plane, INSTANTS.0) else { return };
                    lines.push((plane, line));
                    line
                }
            };
            let name = self.trace.strings.intern(whole.text(instant.name));
            self.event(line, name, Interval::new(instant.time, instant.time));
        }
    }
}

/// The scopes of a line that are open, outermost first: each goes on while the ops that touch share its name.
struct Flame {
    line: LineId,
    open: Vec<(StrId, EventId, Ps)>,
    end: Ps,
}

impl Flame {
    fn add(&mut self, derived: &mut Derived, path: &[StrId], time: Interval) {
        let same = self.open.iter().zip(path).take_while(|((name, ..), next)| name == *next).count();
        let touches = time.start == self.end;
        self.close(derived, if touches { same } else { 0 });
        for &name in path.iter().skip(self.open.len()) {
            // Given its end when it closes: an outer scope comes before what is nested in it.
            let Some(id) = derived.event(self.line, name, Interval::new(time.start, time.start)) else { return };
            self.open.push((name, id, time.start));
        }
        self.end = time.end;
    }

    /// Closes all but the first so many.
    fn close(&mut self, derived: &mut Derived, keep: usize) {
        for (_, id, start) in self.open.drain(keep.min(self.open.len())..) {
            derived.trace.events.set_duration(id, self.end - start);
        }
    }
}
