//! Each step calls many small compiled functions.
//!
//! JAX only: each step calls at least 30 compiled functions per host from Python (ours: a loop with a jitted step calls
//! only a few). Such calls are `PjitFunction(...)` events on host threads, excluding nested calls. The impact is the
//! share of the windows during which devices are idle within a streak of such calls. A streak has at least 10 calls on
//! one thread, and each call begins at most 1 ms after the previous one ends (ours). Idle time during calls that
//! compile is excluded, because launches do not cause it. The rule does not fire if the excluded time is longer than
//! the other idle time, and the other idle time is below the limit for a warning. Severity: note, warning from 10 %
//! (JAX guide, overheads), critical from 50 %. Confidence: high. Remedy: put one `jax.jit` around these functions. The
//! rule is skipped if there are no host events or no steps.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::host_side::HostSide;
use super::limits::OVERHEAD_PERCENT;
use super::merge::MOST;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format, sort};
use metrics::{CompiledCalls, compiled_calls};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "many_programs",
    title: "Many small programs per step",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

/// Minimum number of calls of compiled functions per step. We chose this limit because a loop with a jitted step calls
/// only a few.
const FEWEST_CALLS: f64 = 30.0;
/// Compiled functions that an index expression on an array calls. Code that calls `jax.lax.dynamic_slice` itself calls none of them.
const INDEXING: [&str; 4] = ["squeeze", "gather", "_gather", "_take"];
/// Functions of Python's and PyTorch's protocols that return samples and batches of data.
const LOADING: [&str; 4] = ["__getitem__", "__next__", "__iter__", "collate_fn"];
/// Number of functions that the message names.
const MOST_NAMED: usize = 4;

/// Calls of compiled functions, if there are many.
struct ManyCalls {
    found: CompiledCalls,
    /// Calls per step per host.
    calls: f64,
    steps: f64,
    /// Share of the window during which devices wait for the next call, percent.
    idle: f64,
    /// Share of the window during which devices are idle while a call compiles, percent.
    compiling: f64,
}

/// Counts the calls of compiled functions.
///
/// # Errors
///
/// Returns a verdict if the calls cannot be counted, or if they are few.
fn many_calls(numbers: &Numbers<'_>) -> Result<ManyCalls, Verdict> {
    let steps = numbers.steps_of_jax_calls()?;
    let found = compiled_calls(numbers.trace, &numbers.context.analysis.devices);
    let calls = found.calls as f64 / steps / found.hosts.max(1) as f64;
    if calls < FEWEST_CALLS || found.window.as_ps() == 0 {
        return Err(Verdict::Fine);
    }
    let share = |time: Ps| 100.0 * time.as_ps() as f64 / found.window.as_ps() as f64;
    let (idle, compiling) = (share(found.idle), share(found.compiling));
    if idle < OVERHEAD_PERCENT.good && compiling > idle {
        return Err(Verdict::Fine);
    }
    Ok(ManyCalls { found, calls, steps, idle, compiling })
}

/// Returns true if calls of many small programs explain most of the time that devices wait for the host
/// (`host_bound_percent`). The calls do not explain the wait if the host reads results between them, because each read
/// waits for the devices.
pub(super) fn explains(numbers: &Numbers<'_>, host_bound_percent: f64) -> bool {
    let reads = || numbers.host_side().is_some_and(HostSide::waits_for_devices);
    many_calls(numbers).is_ok_and(|calls| calls.idle >= MOST * host_bound_percent) && !reads()
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ManyCalls { found, calls, steps, idle, compiling } = match many_calls(numbers) {
        Ok(calls) => calls,
        Err(verdict) => return verdict,
    };
    let (severity, limit) = match idle {
        idle if idle >= OVERHEAD_PERCENT.bad => (FindingSeverity::Critical, OVERHEAD_PERCENT.bad),
        idle if idle >= OVERHEAD_PERCENT.good => (FindingSeverity::Warning, OVERHEAD_PERCENT.good),
        _ => (FindingSeverity::Note, 0.0),
    };
    let per_step = |count: u64| format::count((count as f64 / steps / found.hosts.max(1) as f64).round() as u64);
    let first = found.functions.iter().take(MOST_NAMED);
    let named: Vec<String> = first.map(|(name, count)| format!("{} ({})", shown(name), per_step(*count))).collect();
    let others = found.functions.len().saturating_sub(MOST_NAMED);
    let others =
        if others > 0 { format!(" and {} more functions", format::count(others as u64)) } else { String::new() };
    // During compilation, the host is in the function that compiles.
    let host = numbers.host_side().filter(|_| idle >= compiling);
    // An annotation has no file and line.
    let in_words = |place: String| if place.ends_with(')') { format!("the function {place}") } else { place };
    let outer = host.and_then(HostSide::place).map(in_words);
    let inner = host.and_then(|host| host.innermost(|file| has_ops(numbers, file)));
    let meanwhile = match (&outer, &inner) {
        (Some(outer), Some((_, inner, percent))) => format!(
            " Meanwhile the host is in {outer}, and spends {} of that time in {inner}.",
            format::percent(*percent)
        ),
        (Some(outer), None) => format!(" Meanwhile the host is in {outer}."),
        (None, _) => String::new(),
    };
    let loads = inner.as_ref().is_some_and(|(name, ..)| LOADING.contains(name));
    let place = inner.map(|(_, place, _)| place).or(outer);
    let message = format!(
        "Each step calls {} compiled functions from Python: {}{others}. An operation on arrays outside of {} is such a call: it \
         launches its own program, which reads and writes whole arrays. Devices are idle for {} of the time, waiting for the next of \
         these calls.{}",
        per_step(found.calls),
        named.join(", "),
        numbers.words().compiler,
        format::percent(idle),
        meanwhile
    );
    let lines = lines(numbers, &found.functions, steps * found.hosts.max(1) as f64);
    let message =
        if lines.is_empty() { message } else { format!("{message} Most of these programs come from {lines}.") };
    let place = place.unwrap_or_default();
    let what = match place.as_str() {
        "" => "the code that makes these calls".to_owned(),
        place => format!("the code in {place}"),
    };
    let indexes = found.functions.iter().take(MOST_NAMED).any(|(name, _)| INDEXING.contains(&name.as_str()));
    let indexing = if indexes {
        "Indexing an array in Python launches such programs (dynamic_slice, squeeze): read the array once with jax.device_get, and \
         index the NumPy array. "
    } else {
        ""
    };
    let compiler = numbers.words().compiler;
    // A program with a backward pass shows that the training step is already compiled.
    let such_as = if numbers.trains() == Some(true) { "" } else { ", such as the whole optimizer update" };
    let advice = if loads {
        format!(
            "Compute with NumPy in {place}: it prepares single samples, and each JAX operation there launches a \
             program. Or process the whole batch in one function under {compiler} (jax.vmap). Prepare the next batch \
             in another thread or process while the step runs."
        )
    } else {
        format!(
            "{indexing}Compile {what} with one {compiler}{such_as}. For arrays of the same shape, use jax.vmap or jax.lax.scan \
             instead of a Python loop."
        )
    };
    let title = format!("Each step launches {} small programs", per_step(found.calls));
    let draft = Draft::new(severity, Confidence::High, &title, message).remedy(&advice).passed(
        "calls_per_step",
        calls,
        FEWEST_CALLS,
    );
    let draft =
        if limit > 0.0 { draft.passed("idle_percent", idle, limit) } else { draft.evidence("idle_percent", idle) };
    draft.at_stake(idle).link(View::Steps, "").fires()
}

/// Returns true if device ops come from source lines of a file with this name. Library files are excluded.
fn has_ops(numbers: &Numbers<'_>, file: &str) -> bool {
    let ops = &numbers.context.analysis.ops;
    let mut sources = ops.rows.iter().filter_map(|op| ops.text(numbers.trace, op.source).rsplit_once(':'));
    sources.any(|(path, _)| path.rsplit('/').next() == Some(file))
}

/// Lists the source lines whose ops are executed most often: `train.py:23, train.py:24`. Considers only the programs of
/// functions that are called at least twice per step. Empty if the trace has no source lines.
fn lines(numbers: &Numbers<'_>, functions: &[(String, u64)], steps: f64) -> String {
    let (ops, trace) = (&numbers.context.analysis.ops, numbers.trace);
    // The step itself may be among the functions. It has many lines, but is called once.
    let is_repeated = |count: u64| count as f64 >= 2.0 * steps;
    let is_small = |module: &str| {
        let name = module.strip_prefix("jit_").unwrap_or(module);
        functions.iter().any(|(function, count)| function == name && is_repeated(*count))
    };
    let mut by_line: BTreeMap<&str, u64> = BTreeMap::new();
    for op in ops.rows.iter().filter(|op| is_small(ops.text(trace, op.module))) {
        *by_line.entry(ops.text(trace, op.source)).or_default() += op.executions;
    }
    by_line.remove("");
    let mut lines: Vec<(&str, u64)> = by_line.into_iter().collect();
    sort::sort_by(&mut lines, |a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let named = lines.iter().take(MOST_NAMED).map(|(line, _)| code_line(line));
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Critical, Warning};
    use trace::{Framework, Trace};

    /// Builds twelve steps of 1000 us. In each step, the device first runs one long kernel, then `calls` small
    /// programs, one every 10 us.
    fn eager_steps(calls: i64) -> Trace {
        let mut trace = gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 990 - 10 * calls);
            let (python, device) = (b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #7(Compute)"));
            for call in 0..calls {
                let start = at + 995 - 10 * calls + 10 * call;
                let name = if call % 4 == 0 { "PjitFunction(sqrt)" } else { "PjitFunction(multiply)" };
                b.event(python, name, start, 4);
                b.event(device, "loop_multiply_fusion", start + 5, 2);
            }
        });
        trace.framework = Framework::Jax;
        trace
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(eager_steps(80), &RULE);
        assert_eq!(found.title, "Each step launches 80 small programs");
        assert!(
            found.message.contains("multiply (60), sqrt (20)") && found.message.contains("Devices are idle for 6"),
            "{}",
            found.message
        );
        assert_eq!((found.severity, found.view), (Critical, Some(View::Steps)));
        assert_eq!(finding(eager_steps(31), &RULE).severity, Warning);
        fine(eager_steps(29), &RULE);
    }

    /// Builds steps with 40 calls. The first call compiles for `compile` us while the device is idle.
    fn compiling(compile: i64) -> Trace {
        let mut trace = gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 990 - 8 * 40 - compile);
            let (python, device) = (b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #7(Compute)"));
            let mut now = at + 995 - 8 * 40 - compile;
            for call in 0..40 {
                let length = if call == 0 { compile } else { 1 };
                b.event(python, "PjitFunction(multiply)", now, length);
                if call == 0 {
                    b.event(python, "backend_compile", now + 1, length - 2);
                }
                b.event(device, "loop_multiply_fusion", now + length, 6);
                now += length + 7;
            }
        });
        trace.framework = Framework::Jax;
        trace
    }

    #[test]
    fn compilation_is_not_an_effect_of_launches() {
        fine(compiling(500), &RULE);
        // Devices are idle for longer during the calls around a short compilation.
        assert_eq!(finding(compiling(4), &RULE).severity, FindingSeverity::Note);
    }

    /// Builds a run with an eager data loader: its function is called inside the loop of steps, and its file is the
    /// source of ops.
    fn loading(file: &'static str) -> Trace {
        let mut trace = gpu_steps(12, |b, at| {
            let (python, device) = (b.line("/host:CPU", "python"), b.line("/device:GPU:0", "Stream #7(Compute)"));
            let source = b.trace_mut().strings.intern("/app/data.py:20");
            b.event(device, "gemm", at + 1, 200).args(|args| args.source = source);
            b.event(python, "$main.py:38 one", at + 205, 790);
            b.event(python, &format!("${file}:16 __getitem__"), at + 210, 780);
            for call in 0..40 {
                b.event(python, "PjitFunction(multiply)", at + 215 + 18 * call, 15);
            }
        });
        trace.framework = Framework::Jax;
        trace
    }

    #[test]
    fn the_function_that_loads_samples_is_named() {
        let found = finding(loading("data.py"), &RULE);
        assert!(found.message.contains("in __getitem__ (data.py:16)"), "{}", found.message);
        assert!(found.remedy.starts_with("Compute with NumPy in __getitem__ (data.py:16)"), "{}", found.remedy);
    }
}
