//! Finds the device ops that a compiler runs while it compiles.
//!
//! XLA's GPU compiler launches several candidates for a kernel to choose the fastest, and clears and compares their
//! buffers (autotuning). These kernels are not part of the program. The host call that launched an autotuning kernel is
//! on a thread of the compiler's pool, or inside a compile span on its own thread:
//!
//! ```text
//! python     [------- backend_compile -------)      [Execute)
//! pool thread    [launch)  [launch)
//! stream             [candidate) [candidate)             [kernel of the program)
//! ```
//!
//! Ops that a compiler runs have the category [`AUTOTUNING`] instead of the category that their names determine. All
//! ops with the same name and argument set have the same category. If the program launches more ops with the same name
//! and argument set than the compiler does, these ops keep their own category.

use rustc_hash::FxHashMap;

use crate::device::devices::{Devices, interval};
use crate::host::host_threads::HostRole;
use crate::host::host_work::HostWork;
use crate::host::launches::{CallIndex, each_launched_op};
use facts::host_spans;
use trace::{ArgsId, Interval, IntervalSet, LineKind, Platform, StrId, Trace};

/// Category of ops that a compiler runs while it compiles.
pub const AUTOTUNING: &str = "autotuning";

/// Sets the category of the ops that a compiler ran. `devices` cover the whole capture, and `calls` contains the
/// capture's launch calls.
pub(crate) fn mark(trace: &Trace, devices: &Devices, calls: &CallIndex) {
    if devices.platform != Some(Platform::Gpu) || calls.is_empty() {
        return;
    }
    let threads = Threads::of(trace, devices);
    if threads.pools.iter().all(|is_pool| !is_pool) && threads.spans.is_empty() {
        return;
    }
    // Number of launches of each op by compilers, and by other code.
    let mut counts: FxHashMap<(StrId, ArgsId), [u64; 2]> = FxHashMap::default();
    each_launched_op(trace, devices, calls, |op, call| {
        let Some(event) = trace.events.get(call.event) else { return };
        let of = usize::from(!threads.compile(event.line.index(), &event));
        if let Some(count) = counts.entry((op.event.name, op.event.args)).or_default().get_mut(of) {
            *count += 1;
        }
    });
    let found = counts.into_iter().filter(|(_, [compilers, others])| compilers > others);
    devices.recognised.set(found.map(|(op, _)| op), AUTOTUNING);
}

struct Threads {
    /// True for each line that is a thread of a compiler's pool.
    pools: Vec<bool>,
    /// Compile spans of the other lines.
    spans: FxHashMap<usize, IntervalSet>,
}

impl Threads {
    fn of(trace: &Trace, devices: &Devices) -> Threads {
        let is_pool = |line: &trace::Line| {
            line.kind == LineKind::Host && HostRole::of_thread(trace.text(line.name)) == HostRole::Compile
        };
        let mut spans: FxHashMap<usize, Vec<Interval>> = FxHashMap::default();
        let compiles = |name: &str| host_spans::is(HostWork::Compile, name);
        crate::host::host_work::for_each_named(trace, devices, &compiles, &mut |event| {
            spans.entry(event.line.index()).or_default().push(interval(event));
        });
        Threads {
            pools: trace.lines.iter().map(is_pool).collect(),
            spans: spans.into_iter().map(|(line, spans)| (line, IntervalSet::union_of(spans))).collect(),
        }
    }

    /// Returns true if `event`, which is on the line with index `line`, belongs to a compiler.
    fn compile(&self, line: usize, event: &trace::Event) -> bool {
        self.pools.get(line) == Some(&true) || self.spans.get(&line).is_some_and(|spans| spans.contains(event.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::launches::calls_of;
    use trace::TraceBuilder;

    #[test]
    fn ops_that_a_compiler_launches_have_their_own_category() {
        let mut b = TraceBuilder::new();
        let mut id = 0;
        let mut launch = |b: &mut TraceBuilder, thread: &str, name: &str, at: i64| {
            id += 1;
            let host = b.line("/host:CPU", thread);
            b.event(host, "cuLaunchKernel", at, 1).correlation(id);
            let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
            b.event(stream, name, at + 2, 5).correlation(id);
        };
        let python = b.line("/host:CPU", "python3");
        b.event(python, "backend_compile_and_load", 0, 100);
        launch(&mut b, "python3", "DelayKernel", 10);
        launch(&mut b, "tf_pjrt_compile_thread_pool/7", "RedzoneAllocatorKernelImpl", 20);
        launch(&mut b, "tf_pjrt_compile_thread_pool/7", "wrapped_sine", 30);
        launch(&mut b, "python3", "wrapped_sine", 200);
        launch(&mut b, "python3", "input_reduce_fusion", 210);
        let trace = b.build();
        let devices = Devices::of(&trace);
        mark(&trace, &devices, &calls_of(&trace, &devices));
        let of_stream = trace.events.kinds().iter().filter(|kind| trace.text(kind.name) != "cuLaunchKernel");
        let mut found: Vec<(&str, &str)> = of_stream
            .filter(|kind| trace.lines[kind.line.index()].kind == LineKind::DeviceOps)
            .map(|kind| (trace.text(kind.name), devices.category(&trace, kind.name, kind.args)))
            .collect();
        found.sort_unstable();
        let expected = [
            ("DelayKernel", AUTOTUNING),
            ("RedzoneAllocatorKernelImpl", AUTOTUNING),
            ("input_reduce_fusion", "reduction"),
            ("wrapped_sine", "elementwise"),
        ];
        assert_eq!(found, expected);
    }
}
