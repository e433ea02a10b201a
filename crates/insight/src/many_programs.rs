//! Each step calls many small compiled functions.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::host_side::HostSide;
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::{format, sort};
use metrics::compiled_calls;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "many_programs", title: "Many small programs per step", check };

/// Fewest calls of compiled functions per step that are many (ours: a loop with a jitted step calls a few).
const FEWEST_CALLS: f64 = 30.0;
/// Share of the window in which devices are idle between the calls, from which the finding is a warning (the JAX guide's limit for
/// overheads is 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// Share from which the finding is critical (ours: most of the time).
const CRITICAL_PERCENT: f64 = 50.0;
/// Functions that an index expression on an array calls.
const INDEXING: [&str; 6] = ["dynamic_slice", "slice", "squeeze", "gather", "_gather", "_take"];
/// Number of functions that the message names.
const MOST_NAMED: usize = 4;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let steps = match numbers.steps_of_jax_calls() {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let found = compiled_calls(numbers.trace, &numbers.context.analysis.devices);
    let calls = found.calls as f64 / steps / found.hosts.max(1) as f64;
    if calls < FEWEST_CALLS || found.window.as_ps() == 0 {
        return Verdict::Fine;
    }
    let idle = 100.0 * found.idle.as_ps() as f64 / found.window.as_ps() as f64;
    let (severity, limit) = match idle {
        CRITICAL_PERCENT.. => (FindingSeverity::Critical, CRITICAL_PERCENT),
        WARNING_PERCENT.. => (FindingSeverity::Warning, WARNING_PERCENT),
        _ => (FindingSeverity::Note, 0.0),
    };
    let per_step = |count: u64| format::count((count as f64 / steps / found.hosts.max(1) as f64).round() as u64);
    let first = found.functions.iter().take(MOST_NAMED);
    let named: Vec<String> = first.map(|(name, count)| format!("{} ({})", shown(name), per_step(*count))).collect();
    let others = found.functions.len().saturating_sub(MOST_NAMED);
    let others =
        if others > 0 { format!(" and {} more functions", format::count(others as u64)) } else { String::new() };
    let place = numbers.host_side().and_then(HostSide::place);
    let message = format!(
        "Each step calls {} compiled functions from Python: {}{others}. An operation on arrays outside of {} is such a call: it \
         launches its own program, which reads and writes whole arrays. Devices are idle for {} of the time, waiting for the next of \
         these calls.{}",
        per_step(found.calls),
        named.join(", "),
        numbers.words().compiler,
        format::percent(idle),
        place.as_ref().map_or(String::new(), |place| format!(" Meanwhile the host is in {place}."))
    );
    let lines = lines(numbers, &found.functions);
    let message =
        if lines.is_empty() { message } else { format!("{message} Most of these programs are from {lines}.") };
    let what =
        place.map_or_else(|| "the code that makes these calls".to_owned(), |place| format!("the code in {place}"));
    let indexes = found.functions.iter().take(MOST_NAMED).any(|(name, _)| INDEXING.contains(&name.as_str()));
    let indexing = if indexes {
        "Indexing an array in Python launches such programs (dynamic_slice, squeeze): read the array once with jax.device_get, and \
         index the NumPy array. "
    } else {
        ""
    };
    let draft = Draft::new(severity, Confidence::High, &format!("Each step launches {} small programs", per_step(found.calls)), message)
        .remedy(&format!(
            "{indexing}Compile {what} with one {}, such as the whole update of the optimizer. For arrays of the same shape, use jax.vmap or \
             jax.lax.scan instead of a Python loop.",
            numbers.words().compiler
        ))
        .passed("calls_per_step", calls, FEWEST_CALLS);
    let draft =
        if limit > 0.0 { draft.passed("idle_percent", idle, limit) } else { draft.evidence("idle_percent", idle) };
    draft.at_stake(idle).link("steps", "").fires()
}

/// Lists the source lines of the ops with most executions among the programs of these functions: `train.py:23, train.py:24`. Empty
/// if the trace has no source lines.
fn lines(numbers: &Numbers<'_>, functions: &[(String, u64)]) -> String {
    let (ops, trace) = (&numbers.context.analysis.ops, numbers.trace);
    let is_small = |module: &str| {
        let name = module.strip_prefix("jit_").unwrap_or(module);
        functions.iter().any(|(function, _)| function == name)
    };
    let mut by_line: BTreeMap<&str, u64> = BTreeMap::new();
    for op in ops.rows.iter().filter(|op| is_small(ops.text(trace, op.module))) {
        *by_line.entry(ops.text(trace, op.source)).or_default() += op.executions;
    }
    by_line.remove("");
    let mut lines: Vec<(&str, u64)> = by_line.into_iter().collect();
    sort::sort_by(&mut lines, |a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let named = lines.iter().take(MOST_NAMED).map(|(line, _)| shown(line.rsplit('/').next().unwrap_or(line)));
    named.collect::<Vec<_>>().join(", ")
}
