//! Measures the time of one kind of work on the host: the union of its spans over all threads of all hosts.
//!
//! ```text
//! python     [---- backend_compile ----)         [-- backend_compile --)
//! pool thread    [- Compiler::Compile -)
//!                  [passes)[ emit )
//! union      [-------------------------)         [---------------------)      2 outermost spans
//! ```
//!
//! Spans nest on their thread and across threads (the compiler's pool works while its caller waits), so a sum would include the
//! same work several times.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::device::devices::{Devices, interval};
use base::{Ps, sort};
use facts::host_spans;
use trace::{Event, Interval, IntervalSet, LineKind, Trace};

pub use facts::host_spans::HostWork;

/// The spans of one kind of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSpans {
    /// Times when any host thread does this work.
    pub union: IntervalSet,
    /// Starts of the spans that are not inside another span.
    pub outermost: Vec<Ps>,
}

/// Finds the spans of `work` on the host lines of `trace`.
pub fn host_spans(trace: &Trace, devices: &Devices, work: HostWork) -> HostSpans {
    let mut spans: Vec<Interval> = Vec::new();
    for_each_named(trace, devices, &|name| host_spans::is(work, name), &mut |event| spans.push(interval(event)));
    sort::sort_by_key(&mut spans, |span: &Interval| (span.start, Reverse(span.end)));
    let mut latest = None;
    let outermost = spans.iter().filter(|span| {
        let outer = latest.is_none_or(|end| span.end > end);
        latest = latest.max(Some(span.end));
        outer
    });
    HostSpans { outermost: outermost.map(|span| span.start).collect(), union: IntervalSet::union_of(spans) }
}

/// Returns the names of the modules whose compilation begins in `within`. A span of an XLA compiler pass contains the
/// pass's name, followed by the module's name in parentheses (`HLO passes after layout assignment (jit_f)`). The result
/// is empty if the trace has no span of a compiler pass.
pub fn compiled_modules(trace: &Trace, devices: &Devices, within: &IntervalSet) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    let is_pass = |name: &str| module_of_pass(name).is_some();
    for_each_named(trace, devices, &is_pass, &mut |event| {
        let module = module_of_pass(trace.text(event.name)).filter(|_| within.contains(event.start));
        modules.extend(module.map(str::to_owned));
    });
    modules
}

/// A function whose calls compile programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledFunction {
    /// Name of the module that the function is compiled to (`jit_f`).
    pub module: String,
    /// Number of compilations.
    pub count: u64,
    first: Ps,
}

/// Counts the compilations of each function. Each part of `within` is a compilation, and belongs to the innermost call
/// of a compiled function (`PjitFunction(f)`) that contains the start of the compilation. The functions are sorted by
/// count, largest first, then by time. The result is empty if the trace has no call of a compiled function. Parts of
/// `within` outside of all calls are ignored.
pub fn compiled_functions(trace: &Trace, devices: &Devices, within: &IntervalSet) -> Vec<CompiledFunction> {
    let parts = within.parts();
    let mut calls: Vec<Option<(Ps, &str)>> = vec![None; parts.len()];
    for_each_named(trace, devices, &|name| function_of_call(name).is_some(), &mut |event| {
        let (call, Some(function)) = (interval(event), function_of_call(trace.text(event.name))) else { return };
        let first = parts.partition_point(|part| part.start < call.start);
        let started = parts.iter().zip(&mut calls).skip(first).take_while(|(part, _)| part.start < call.end);
        for (_, innermost) in started {
            if innermost.is_none_or(|(length, _)| call.length() < length) {
                *innermost = Some((call.length(), function));
            }
        }
    });
    let mut found: Vec<CompiledFunction> = Vec::new();
    for (part, function) in parts.iter().zip(calls).filter_map(|(part, call)| Some((part, call?.1))) {
        let module = format!("jit_{function}");
        match found.iter_mut().find(|it| it.module == module) {
            Some(it) => it.count += 1,
            None => found.push(CompiledFunction { module, count: 1, first: part.start }),
        }
    }
    sort::sort_by_key(&mut found, |it: &CompiledFunction| (Reverse(it.count), it.first));
    found
}

fn function_of_call(name: &str) -> Option<&str> {
    name.strip_prefix("PjitFunction(")?.strip_suffix(')').filter(|function| !function.is_empty())
}

fn module_of_pass(name: &str) -> Option<&str> {
    let (_, module) = name.strip_suffix(')')?.rsplit_once(" (")?;
    (host_spans::is(HostWork::Compile, name) && !module.is_empty()).then_some(module)
}

/// On host threads, visits the events that have a wanted name. Takes time linear in the number of events. Returns
/// immediately if the trace contains no wanted name.
pub fn for_each_named(trace: &Trace, devices: &Devices, wanted: &dyn Fn(&str) -> bool, visit: &mut dyn FnMut(&Event)) {
    for_each_named_on(trace, devices, wanted, &mut |_, event| visit(event));
}

/// Like [`for_each_named`], but also passes the host of each event: its index in [`Trace::hosts`].
pub(crate) fn for_each_named_on(
    trace: &Trace,
    devices: &Devices,
    wanted: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(u16, &Event),
) {
    let mut is_wanted = vec![false; trace.strings.len()];
    let mut any = false;
    for name in devices.by_line.host_names.iter().filter(|&&name| wanted(trace.text(name))) {
        if let Some(slot) = is_wanted.get_mut(name.index()) {
            (*slot, any) = (true, true);
        }
    }
    let lines = trace.lines.iter().zip(devices.by_line.events.iter());
    for (line, events) in lines.filter(|(line, _)| any && line.kind == LineKind::Host) {
        let host = trace.plane_of(line).map_or(0, |plane| plane.host);
        events.for_each(&trace.events, |_, event| {
            if is_wanted.get(event.name.index()) == Some(&true) {
                visit(host, &event);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Ps;
    use trace::TraceBuilder;

    #[test]
    fn nested_spans_count_once_across_threads() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let pool = b.line("/host:CPU", "pool/1");
        let device = b.line("/device:TPU:0", "XLA Ops");
        b.event(python, "backend_compile", 0, 100);
        b.event(pool, "TfrtTpuCompiler::Compile", 10, 80);
        b.event(pool, "XLA::TPU run hlo passes", 20, 30);
        b.event(python, "$compiler.py:3 backend_compile", 0, 500);
        b.event(python, "backend_compile", 200, 50);
        b.event(device, "backend_compile", 400, 50);
        let trace = b.build();
        let spans = host_spans(&trace, &Devices::of(&trace), HostWork::Compile);
        assert_eq!((spans.outermost.len(), spans.union.length()), (2, Ps::new(150_000_000)));
    }

    #[test]
    fn passes_name_the_module_that_is_compiled() {
        let mut b = TraceBuilder::new();
        let pool = b.line("/host:CPU", "tf_PjRtCompilerThreadPool/1");
        b.event(pool, "HLO passes after layout assignment (jit_f)", 10, 5);
        b.event(pool, "HLO passes after scheduling (jit_f)", 20, 5);
        b.event(pool, "HLO passes after scheduling (jit_later)", 200, 5);
        // This span is not a compilation.
        b.event(pool, "CommonPjRtLoadedExecutable::Execute (jit_g)", 30, 5);
        let trace = b.build();
        let us = |us: i64| Ps::new(us * 1_000_000);
        let within = IntervalSet::union_of([Interval::new(us(0), us(100))]);
        let found = compiled_modules(&trace, &Devices::of(&trace), &within);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["jit_f"]);
    }

    #[test]
    fn compilations_belong_to_the_innermost_call() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        b.event(python, "PjitFunction(step)", 0, 100);
        b.event(python, "PjitFunction(top_k)", 10, 30);
        b.event(python, "backend_compile", 12, 20);
        b.event(python, "PjitFunction(exp)", 200, 30);
        b.event(python, "backend_compile", 201, 20);
        b.event(python, "PjitFunction(top_k)", 300, 30);
        b.event(python, "backend_compile", 301, 20);
        b.event(python, "backend_compile", 400, 20);
        let trace = b.build();
        let devices = Devices::of(&trace);
        let spans = host_spans(&trace, &devices, HostWork::Compile).union;
        let found = compiled_functions(&trace, &devices, &spans);
        let counts: Vec<(&str, u64)> = found.iter().map(|it| (it.module.as_str(), it.count)).collect();
        assert_eq!(counts, [("jit_top_k", 2), ("jit_exp", 1)]);
    }
}
