//! Exports a range of a capture as a Chrome trace, which Perfetto, XProf and crossprof can open.
//!
//! ```text
//! {"displayTimeUnit":"ns","traceEvents":[
//! {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:TPU:0"}},
//! {"ph":"X","pid":1,"tid":3,"ts":12.5,"dur":0.000001,"name":"fusion.1","args":{"hlo_op":"fusion.1"}},
//! ...
//! ]}
//! ```
//!
//! Times are measured from the start of the capture, in microseconds with all digits of a picosecond. If an event
//! crosses an edge of the range, only the part of the event inside the range is written. An argument contains the full
//! duration of the event. An argument has the name that Chrome traces use for it or, if there is no such name, its name
//! in xplanes.

use std::fmt::Write as _;

use base::Ps;
use base::home::shared;
use rustc_hash::FxHashSet;
use timeline::Source;
use trace::{
    EventId, EventKind, FlowBinding, FlowRole, Framework, Holds, InstantScope, Interval, Line, LineId, NumberArg,
    PlaneId, StatValue, TextArg, Trace,
};

/// Number of bytes in a chunk of the output.
const CHUNK: usize = 1 << 20;

/// Writes the range in chunks to `out`. If `lines` is given, includes only these lines. Times are measured from `zero`.
pub fn write(source: Source<'_>, zero: Ps, range: Interval, chosen: Option<&[LineId]>, out: &mut dyn FnMut(&str)) {
    let trace = source.trace;
    let (text, threads) = (String::new(), threads(trace));
    let mut writer = Writer { trace, zero, range, chosen, text, threads, is_first: true, out };
    writer.text.push_str("{\"displayTimeUnit\":\"ns\",");
    // From these fields, readers recognise the framework that wrote a trace.
    writer.text.push_str(match trace.framework {
        Framework::Jax | Framework::TensorFlow => "\"metadata\":{\"highres-ticks\":true},",
        Framework::PyTorch => "\"schemaVersion\":1,",
        Framework::Unknown => "",
    });
    writer.text.push_str("\"traceEvents\":[");
    writer.names();
    let fragments: Vec<String> = trace.events.kinds().iter().map(|kind| fragment(trace, kind)).collect();
    for (line, events) in trace.line_ids().zip(&source.by_line.events).filter(|(line, _)| is_chosen(chosen, line)) {
        trace.for_each_on_thread_at(events, 0..events.len(), |id, kind, time| {
            if let Some(fragment) = fragments.get(kind) {
                writer.event(line, id, time, fragment);
            }
        });
    }
    writer.marks();
    writer.text.push_str("\n]}\n");
    writer.hand_over();
}

struct Writer<'a> {
    trace: &'a Trace,
    zero: Ps,
    range: Interval,
    chosen: Option<&'a [LineId]>,
    text: String,
    threads: Vec<i64>,
    is_first: bool,
    out: &'a mut dyn FnMut(&str),
}

impl Writer<'_> {
    /// Passes the text so far to `out`. At this point, the text must end with a complete event.
    fn hand_over(&mut self) {
        (self.out)(&shared(std::mem::take(&mut self.text)));
    }

    /// Writes the start of an event, with its phase, its process and possibly its thread. The caller must write the
    /// closing brace.
    fn begin(&mut self, phase: &str, plane: Option<PlaneId>, line: Option<LineId>) {
        if self.text.len() >= CHUNK {
            self.hand_over();
        }
        self.text.push_str(if std::mem::take(&mut self.is_first) { "\n{\"ph\":\"" } else { ",\n{\"ph\":\"" });
        self.text.push_str(phase);
        self.text.push('"');
        let of_line = line.and_then(|line| self.trace.lines.get(line.index()));
        if let Some(plane) = plane.or(of_line.map(|line| line.plane)) {
            self.put(format_args!(",\"pid\":{}", plane.index() + 1));
        }
        if let Some(thread) = line.and_then(|line| self.threads.get(line.index())).copied() {
            self.put(format_args!(",\"tid\":{thread}"));
        }
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Fails only if memory runs out.
        let _ = self.text.write_fmt(arguments);
    }

    fn time(&mut self, time: Ps) {
        self.text.push_str(",\"ts\":");
        microseconds(&mut self.text, time - self.zero);
    }

    fn name(&mut self, name: &str) {
        self.text.push_str(",\"name\":");
        quoted(&mut self.text, name);
    }

    /// Writes the names of processes and threads, and the order in which viewers show them.
    fn names(&mut self) {
        let (trace, chosen) = (self.trace, self.chosen);
        let mut metadata = |plane, line, name: &str, key: &str, value: &dyn Fn(&mut String)| {
            self.begin("M", plane, line);
            self.name(name);
            self.put(format_args!(",\"args\":{{\"{key}\":"));
            value(&mut self.text);
            self.text.push_str("}}");
        };
        let number = |number: i64| move |text: &mut String| text.push_str(&number.to_string());
        let mut named: FxHashSet<PlaneId> = FxHashSet::default();
        for (line, of) in trace.line_ids().zip(&trace.lines).filter(|(line, _)| is_chosen(chosen, line)) {
            let (id, Some(plane)) = (Some(of.plane), trace.plane_of(of)) else { continue };
            if named.insert(of.plane) {
                metadata(id, None, "process_name", "name", &|text| quoted(text, trace.text(plane.name)));
                if let Some(order) = plane.order {
                    metadata(id, None, "process_sort_index", "sort_index", &number(order));
                }
                let label = match trace.plane_stat(plane, "labels") {
                    Some(StatValue::Text(label)) => Some(trace.text(label)),
                    _ => trace.hosts.get(plane.host as usize).map(String::as_str).filter(|_| trace.hosts.len() > 1),
                };
                if let Some(label) = label {
                    metadata(id, None, "process_labels", "labels", &|text| quoted(text, label));
                }
            }
            metadata(None, Some(line), "thread_name", "name", &|text| quoted(text, trace.text(of.name)));
            if let Some(order) = of.order {
                metadata(None, Some(line), "thread_sort_index", "sort_index", &number(order));
            }
        }
    }

    fn event(&mut self, line: LineId, id: EventId, time: Interval, fragment: &str) {
        let Some(inside) = self.inside(time) else { return };
        self.begin("X", None, Some(line));
        self.time(inside.start);
        self.text.push_str(",\"dur\":");
        microseconds(&mut self.text, inside.length());
        self.text.push_str(fragment);
        let mut between = if fragment.contains(",\"args\":{") { "," } else { ",\"args\":{" };
        for (column, value) in self.trace.events.values(id).iter() {
            let value = match column.holds() {
                Holds::Microseconds => value / 1_000_000,
                _ => value,
            };
            let key = key(column.json_keys(), column.xplane_stats());
            self.put(format_args!("{between}\"{key}\":{value}"));
            between = ",";
        }
        if inside != time {
            self.put(format_args!("{between}\"whole_duration_us\":"));
            microseconds(&mut self.text, time.length());
            between = ",";
        }
        self.text.push_str(if between == "," { "}}" } else { "}" });
    }

    fn inside(&self, time: Interval) -> Option<Interval> {
        let range = self.range;
        let (start, end) = (time.start.max(range.start), time.end.min(range.end));
        let is_inside = start < end || time.length() == Ps::ZERO && start == end;
        is_inside.then(|| Interval::new(start, end))
    }

    /// Writes counters, instants and flows.
    fn marks(&mut self) {
        let (trace, range, chosen) = (self.trace, self.range, self.chosen);
        let is_inside = |time: Ps| range.start <= time && time <= range.end;
        for track in trace.counters.iter().filter(|_| chosen.is_none()) {
            // The value at the start of the range.
            let first = track.times.partition_point(|time| *time <= range.start).saturating_sub(1);
            let samples = track.times.iter().zip(&track.values).skip(first);
            for (time, value) in samples.take_while(|(time, _)| **time <= range.end) {
                self.begin("C", Some(track.plane), None);
                self.time((*time).max(range.start));
                self.name(trace.text(track.name));
                self.put(format_args!(",\"args\":{{\"value\":{value}}}}}"));
            }
        }
        for instant in trace.instants.iter().filter(|it| is_inside(it.time)) {
            let is_of = |line: Option<LineId>| chosen.is_none() || line.is_some_and(|it| is_chosen(chosen, &it));
            let (scope, plane, line) = match instant.scope {
                InstantScope::Trace => ("g", None, None),
                InstantScope::Plane(plane) => ("p", Some(plane), None),
                InstantScope::Line(line) => ("t", None, Some(line)),
            };
            if !is_of(line) {
                continue;
            }
            self.begin("i", plane, line);
            self.time(instant.time);
            self.name(trace.text(instant.name));
            self.put(format_args!(",\"s\":\"{scope}\"}}"));
        }
        // Omits flows with only one end inside the range, because the other end would be missing.
        let inside = || trace.flows.iter().filter(|it| is_inside(it.time) && is_chosen(chosen, &it.line));
        let starts: FxHashSet<u32> = inside().filter(|it| it.role == FlowRole::Start).map(|it| it.flow).collect();
        let ends: FxHashSet<u32> = inside().filter(|it| it.role == FlowRole::End).map(|it| it.flow).collect();
        for point in inside().filter(|it| starts.contains(&it.flow) && ends.contains(&it.flow)) {
            let phase = match point.role {
                FlowRole::Start => "s",
                FlowRole::Step => "t",
                FlowRole::End => "f",
            };
            self.begin(phase, None, Some(point.line));
            self.time(point.time);
            self.name(trace.text(point.name));
            self.put(format_args!(",\"cat\":\"flow\",\"id\":{}", point.flow));
            let is_enclosing = point.role == FlowRole::End && point.binding == FlowBinding::Enclosing;
            self.text.push_str(if is_enclosing { ",\"bp\":\"e\"}" } else { "}" });
        }
    }
}

fn is_chosen(chosen: Option<&[LineId]>, line: &LineId) -> bool {
    chosen.is_none_or(|chosen| chosen.contains(line))
}

/// Returns the thread number of each line. A line keeps its number from the file if no other line of the process has
/// the same number.
fn threads(trace: &Trace) -> Vec<i64> {
    let mut used: FxHashSet<(PlaneId, i64)> = FxHashSet::default();
    let mut next = 1;
    let mut thread = |line: &Line| match line.id.filter(|id| *id >= 0 && used.insert((line.plane, *id))) {
        Some(id) => id,
        None => loop {
            next += 1;
            if used.insert((line.plane, next)) {
                break next;
            }
        },
    };
    trace.lines.iter().map(&mut thread).collect()
}

/// Returns the text that all events of a kind share: the name, the category and the arguments, but not the closing
/// brace.
fn fragment(trace: &Trace, kind: &EventKind) -> String {
    let mut args = trace.args.get(kind.args);
    let mut text = String::from(",\"name\":");
    quoted(&mut text, trace.text(kind.name));
    let cat = std::mem::take(args.text_mut(TextArg::Cat));
    if !cat.is_empty() {
        text.push_str(",\"cat\":");
        quoted(&mut text, trace.text(cat));
    }
    let mut between = ",\"args\":{";
    for &arg in TextArg::ALL {
        let value = *args.text_mut(arg);
        let key = key(arg.json_keys(), arg.xplane_stats());
        if !value.is_empty() && !key.is_empty() {
            // Fails only if memory runs out.
            let _ = write!(text, "{between}\"{key}\":");
            quoted(&mut text, trace.text(value));
            between = ",";
        }
    }
    for &arg in NumberArg::ALL {
        if let Some(value) = *args.number_mut(arg) {
            // Fails only if memory runs out.
            let _ = write!(text, "{between}\"{}\":{value}", key(arg.json_keys(), arg.xplane_stats()));
            between = ",";
        }
    }
    text
}

/// Returns the name that Chrome traces use for an argument or, if there is no such name, the name in xplanes.
fn key<'k>(json: &[&'k [u8]], xplane: &[&'k [u8]]) -> &'k str {
    let known = json.first().or(xplane.first()).copied().unwrap_or_default();
    std::str::from_utf8(known).unwrap_or_default()
}

/// Writes a text as JSON.
fn quoted(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Writes a time in microseconds, with all digits down to a picosecond.
fn microseconds(out: &mut String, time: Ps) {
    let (ps, sign) = (time.as_ps().unsigned_abs(), if time < Ps::ZERO { "-" } else { "" });
    // Fails only if memory runs out.
    let _ = write!(out, "{sign}{}", ps / 1_000_000);
    if !ps.is_multiple_of(1_000_000) {
        let digits = format!("{:06}", ps % 1_000_000);
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_picosecond_is_lost() {
        let text = |ps: i64| {
            let mut text = String::new();
            microseconds(&mut text, Ps::new(ps));
            text
        };
        let times = [0, 1, 12_500_000, -1_500_000, i64::MAX].map(text);
        assert_eq!(times, ["0", "0.000001", "12.5", "-1.5", "9223372036854.775807"]);
    }
}
