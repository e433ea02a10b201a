//! Finds ops, name scopes and events of a run by name, for the command palette.

use base::format::{counted, percent, printable, shorten, time_us};
use base::{Ps, framework_path};
use metrics::{Context, Text, Texts};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use timeline::EventRef;
use trace::{EventId, Interval, StrId, Trace, in_blocks};

use document::Link;
use report::View;
use table::Filter;

/// Maximum number of results of one kind.
const MOST: usize = 8;
/// Maximum number of characters of a name that are shown.
const LONGEST: usize = 160;

/// Kind of a search result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FoundKind {
    /// An op. Selecting an op opens the pane with its details.
    Op,
    /// A name scope. Selecting a scope lists its ops.
    Scope,
    /// An event of the timeline, for example a kernel. Selecting it selects the longest event of that
    /// name.
    Event,
}

impl FoundKind {
    /// Returns the word before the name.
    pub fn label(self) -> &'static str {
        match self {
            FoundKind::Op => "Op",
            FoundKind::Scope => "Scope",
            FoundKind::Event => "Event",
        }
    }
}

/// Search result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Kind of the result.
    pub kind: FoundKind,
    /// Name of the result.
    pub name: String,
    /// Amount, for example time or count.
    pub note: String,
    /// Link to the result.
    pub link: Link,
}

/// Finds names that contain every word of `text`. For each kind, returns the names with the most time.
pub fn search(context: Context<'_>, text: &str) -> Vec<Found> {
    // Quoting every word prevents a colon from making a condition.
    let words: Vec<String> = text.split_whitespace().map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
    let filter = Filter::parse(&words.join(" "));
    if filter.is_empty() {
        return Vec::new();
    }
    let (ops_trace, events_trace) = (context.trace(), context.captured_trace());
    let in_ops =
        Passing { trace: ops_trace, texts: filter.passing_texts(&context.analysis.ops.texts.tables(ops_trace)) };
    let mut found = Vec::new();
    if in_ops.texts.contains(&true) {
        found.extend(ops(context, &in_ops));
        found.extend(scopes(context, &filter, &in_ops));
    }
    // The two traces are the same if the window covers all events.
    let of_events =
        (!std::ptr::eq(ops_trace, events_trace)).then(|| filter.passing_texts(&[events_trace.strings.parts()]));
    found.extend(events(context, of_events.as_ref().unwrap_or(&in_ops.texts)));
    found
}

/// The texts of ops that pass the filter. Each text is tested once, although millions of ops may share it.
struct Passing<'t> {
    trace: &'t Trace,
    /// True for texts that pass, by [number](Texts::number).
    texts: Vec<bool>,
}

impl Passing<'_> {
    fn has(&self, text: Text) -> bool {
        self.texts.get(Texts::number(self.trace, text) as usize) == Some(&true)
    }
}

fn shown(name: &str) -> String {
    shorten(&printable(name), LONGEST)
}

/// Finds ops, which are sorted by self time.
fn ops(context: Context<'_>, passing: &Passing) -> Vec<Found> {
    let (ops, trace) = (&context.analysis.ops, context.trace());
    let mut names: FxHashSet<&str> = FxHashSet::default();
    let mut found = Vec::new();
    for op in &ops.rows {
        if !passing.has(op.name) {
            continue;
        }
        let name = ops.text(trace, op.name);
        if !names.insert(name) {
            continue;
        }
        let Some(link) = Link::equal(View::Ops, "hlo_op_name", name) else { continue };
        let share = share(op.self_time, ops.op_time);
        let note = format!("{} of self time, {share}", time_us(op.self_time.as_us()));
        found.push(Found { kind: FoundKind::Op, name: shown(name), note, link });
        if found.len() == MOST {
            break;
        }
    }
    found
}

fn share(part: Ps, whole: Ps) -> String {
    percent(if whole > Ps::ZERO { 100.0 * part.as_ps() as f64 / whole.as_ps() as f64 } else { 0.0 })
}

/// Finds the scopes of ops by the last part of their names.
fn scopes(context: Context<'_>, filter: &Filter, passing: &Passing) -> Vec<Found> {
    let (ops, trace) = (&context.analysis.ops, context.trace());
    let mut paths: FxHashMap<Text, Ps> = FxHashMap::default();
    in_blocks(&ops.rows, |op| {
        if passing.has(op.framework_path) {
            *paths.entry(op.framework_path).or_default() += op.self_time;
        }
    });
    let mut times: FxHashMap<&str, Ps> = FxHashMap::default();
    for (text, time) in paths {
        let path = ops.text(trace, text);
        let mut end = 0;
        let mut segments = framework_path::segments(path).peekable();
        while let Some(segment) = segments.next() {
            // The last part is the op itself.
            let found = path.get(end..).and_then(|rest| rest.find(segment)).filter(|_| segments.peek().is_some());
            let Some(at) = found else { break };
            end += at + segment.len();
            if filter.passes_texts(&[segment]) {
                *times.entry(path.get(..end).unwrap_or_default()).or_default() += time;
            }
        }
    }
    let mut all: Vec<(&str, Ps)> = times.into_iter().collect();
    base::sort::sort_by(&mut all, |a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let scope = |(path, time): (&str, Ps)| {
        let link = (!path.contains('"')).then(|| Link::to(View::Ops, &format!("tf_op_name:\"{path}/\"")))?;
        let note = format!("{} of self time, {}", time_us(time.as_us()), share(time, ops.op_time));
        Some(Found { kind: FoundKind::Scope, name: shown(path), note, link })
    };
    all.into_iter().filter_map(scope).take(MOST).collect()
}

/// Finds names of events, each with its longest event. `passing` has an entry for each text of the trace.
fn events(context: Context<'_>, passing: &[bool]) -> Vec<Found> {
    let trace = context.captured_trace();
    let kinds = trace.events.kinds();
    // Each event is looked up by the number of its kind.
    let mut slots: Vec<Option<u32>> = vec![None; passing.len()];
    let mut sums: Vec<Sum> = Vec::new();
    let mut slot_of = |name: StrId| {
        let slot = slots.get_mut(name.index()).filter(|_| passing.get(name.index()) == Some(&true))?;
        Some(*slot.get_or_insert_with(|| {
            sums.push(Sum { name, time: Ps::ZERO, count: 0, longest: None });
            sums.len() as u32 - 1
        }))
    };
    let of_kind: Vec<Option<u32>> = kinds.iter().map(|kind| slot_of(kind.name)).collect();
    if sums.is_empty() {
        return Vec::new();
    }
    trace.events.for_each_time(trace.events.ids(), |id, kind, time| {
        let slot = of_kind.get(kind).copied().flatten();
        if let Some(sum) = slot.and_then(|slot| sums.get_mut(slot as usize)) {
            sum.time += time.length();
            sum.count += 1;
            if sum.longest.is_none_or(|(_, longest)| time.length() > longest.length()) {
                sum.longest = Some((id, time));
            }
        }
    });
    sums.retain(|sum| sum.count > 0);
    base::sort::first_by(&mut sums, MOST, |a, b| b.time.cmp(&a.time).then(a.name.index().cmp(&b.name.index())));
    let origin = context.analysis.captured.capture.map_or(Ps::ZERO, |capture| capture.start);
    let event = |sum: &Sum| {
        let (id, time) = sum.longest?;
        let from_zero = |at: Ps| (at - origin).as_ps();
        let link = Link {
            event: Some(EventRef::captured(id).key()),
            around_ps: Some((from_zero(time.start), from_zero(time.end))),
            ..Link::to(View::Timeline, "")
        };
        let note = format!("{}, longest {}", counted(sum.count, "event"), time_us(time.length().as_us()));
        Some(Found { kind: FoundKind::Event, name: shown(trace.text(sum.name)), note, link })
    };
    sums.iter().filter_map(event).collect()
}

/// Sum over all events of one name.
struct Sum {
    name: StrId,
    time: Ps,
    count: u64,
    longest: Option<(EventId, Interval)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::analyse;
    use run::{Run, Settings, WindowChoice};
    use trace::TraceBuilder;

    fn found(text: &str) -> Vec<Found> {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion.1", 0, 10).hlo_category("loop fusion").tf_op("jit(f)/Attention/dot/mul");
        b.event(ops, "fusion.1", 20, 30).hlo_category("loop fusion").tf_op("jit(f)/Attention/dot/mul");
        b.event(ops, "copy.2", 60, 5).hlo_category("copy").tf_op("jit(f)/mlp/copy");
        let host = b.line("/host:CPU", "python");
        b.event(host, "next batch: 3", 0, 50);
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings { window: WindowChoice::All, ..Settings::default() });
        search(examined.context(&run), text)
    }

    #[test]
    fn ops_scopes_and_events_are_found_by_name() {
        let fusion = found("FUSION");
        let kinds: Vec<_> = fusion.iter().map(|it| (it.kind, it.name.as_str())).collect();
        assert_eq!(kinds, [(FoundKind::Op, "fusion.1"), (FoundKind::Event, "fusion.1")]);
        assert_eq!(fusion[0].link, Link::to(View::Ops, "hlo_op_name=\"fusion.1\""));
        assert_eq!(fusion[1].note, "2 events, longest 30.0 µs");
        assert_eq!((fusion[1].link.view, fusion[1].link.around_ps), (View::Timeline, Some((20_000_000, 50_000_000))));
        assert!(fusion[1].link.event.is_some());
        let scope = found("attention");
        assert_eq!((scope.len(), scope[0].kind, scope[0].name.as_str()), (1, FoundKind::Scope, "jit(f)/Attention"));
        assert_eq!(scope[0].link, Link::to(View::Ops, "tf_op_name:\"jit(f)/Attention/\""));
        assert_eq!(found("batch: 3").len(), 1, "a colon is part of a name");
        assert!(found("").is_empty() && found("fusion zzz").is_empty());
    }

    /// Names with the most time come first, even if only some of the names match. The search also finds events outside the
    /// window.
    #[test]
    fn of_many_names_those_with_the_most_time_are_found() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for at in 0..3_000 {
            let path = format!("jit(f)/Layer_{}/mul", at % 10);
            b.event(line, &format!("op.{at}"), 1000 * at, 1 + at % 100).hlo_category("loop fusion").tf_op(&path);
        }
        let run = Run { trace: b.build(), ..Run::default() };
        // The range cuts an op, so the events outside the range are in another trace.
        for window in [WindowChoice::All, WindowChoice::Range { from_us: 99_050.0, to_us: 2_000_000.0 }] {
            let examined = analyse(&run, &Settings { window, ..Settings::default() });
            let of = |text: &str, kind: FoundKind| {
                let found = search(examined.context(&run), text).into_iter().filter(|it| it.kind == kind);
                found.map(|it| it.name).collect::<Vec<_>>()
            };
            let longest = [99, 199, 299, 399, 499, 599, 699, 799].map(|at| format!("op.{at}"));
            assert_eq!(of("OP. 99", FoundKind::Event), longest);
            assert_eq!(of("layer_9", FoundKind::Scope), ["jit(f)/Layer_9"]);
            assert_eq!(of("op.1500", FoundKind::Op), ["op.1500"]);
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for at in 0..50 {
            b.event(line, &format!("fusion.{at}"), 10 * at, 5).hlo_category("loop fusion");
        }
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        assert_eq!(search(examined.context(&run), "fusion").len(), 2 * MOST);
    }
}
