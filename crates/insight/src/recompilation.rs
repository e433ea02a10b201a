//! XLA compiles programs after the first step.
//!
//! The rule fires if XLA compiles after the second step has started. The measure is the union of compile spans from the start
//! of the second step to the end of the last step, as a share of that time. Severity: note for any compilation, warning from 1
//! %, critical from 20 % (ours: steps of a steady run compile nothing). Confidence: high. Remedy: use
//! `jax_explain_cache_misses` to find the reason, and fix the shapes.
//!
//! The message compares the arguments of programs that were compiled from the same function: first their number, then
//! their shapes and types. If the arguments are the same, something else differs (a static argument, a constant, a new
//! function object). If the programs differ only in a constant, the message lists the values of this constant. If the
//! programs differ only in the shape of the result (`x[:n]` outside of `jax.jit`), the message lists these shapes. The
//! message names the functions that are compiled most often, with their number of compilations per step and the source
//! line of their longest op. The names come from compiler passes or, if the capture contains none, from calls of
//! compiled functions on the host (`PjitFunction(f)`). If a recompiled program is a `jax.lax` loop or branch that runs
//! outside `jax.jit`, the title names this loop or branch, because JAX reuses such a program only if its body is the
//! same function object. If the compiler ran kernels on the devices to choose the fastest (autotuning), the message
//! states the time of these kernels. The rule is skipped if there are no host events or fewer than two steps.

use super::changed_arguments;
use super::draft::Draft;
use super::host_side::HostSide;
use super::numbers::{Numbers, code_line, shown};
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{AUTOTUNING, HostWork, compiled_functions, compiled_modules, host_spans};
use report::{Confidence, FindingSeverity, View};
use trace::{Framework, Interval, IntervalSet};

pub(super) static RULE: Rule =
    Rule { id: "recompilation", title: "Compilation between steps", ..Rule::checked_by(check) };

/// Minimum share for a warning, relative to the time from the second step's start to the last step's end.
const WARNING_PERCENT: f64 = 1.0;
/// Minimum share for a critical finding.
const CRITICAL_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (steps, devices) = (&numbers.context.analysis.steps, &numbers.context.analysis.devices);
    if numbers.trace.framework == Framework::PyTorch {
        return Verdict::Irrelevant;
    }
    if devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    // The first step may compile, because every function compiles on its first call.
    let later = steps.windows.iter().filter_map(|row| {
        let mut windows = row.iter().flatten().map(|window| window.interval);
        windows.next()?;
        windows.next().map(|second| (second.start, windows.next_back().unwrap_or(second).end))
    });
    let (start, end) = later.fold((Ps::MAX, Ps::new(i64::MIN)), |all, it| (all.0.min(it.0), all.1.max(it.1)));
    if start >= end {
        return numbers.lacks_steps("fewer than two steps are known.");
    }
    if numbers.profile.compilation.as_ref().is_none_or(|it| it.num_compilation_events == 0) {
        return Verdict::Fine;
    }
    let spans = host_spans(numbers.trace, devices, HostWork::Compile);
    let inside = spans.union.clip(Interval::new(start, end));
    let share = 100.0 * inside.length().as_ps() as f64 / (end - start).as_ps() as f64;
    if inside.is_empty() {
        return Verdict::Fine;
    }
    let modules = compiled(numbers, &inside);
    let severity = match share {
        share if share >= CRITICAL_PERCENT => FindingSeverity::Critical,
        share if share >= WARNING_PERCENT => FindingSeverity::Warning,
        _ => FindingSeverity::Note,
    };
    let touched = steps_of(numbers, &inside);
    let message = format!(
        "XLA compiles for {} of the {} after the first step ({}): {}{}{}.{}{}",
        format::time_us(inside.length().as_us()),
        format::time_us((end - start).as_us()),
        format::percent(share),
        times(inside.parts().len() as u64),
        of_functions(numbers, &modules, touched.len() as u64),
        in_steps(&touched),
        autotuning(numbers),
        why(numbers, &modules),
    );
    let eager = eager_loop(numbers, &modules);
    let title = match &eager {
        Some((call, _)) => {
            format!("A loop outside of {} ({call}) is compiled while steps run", numbers.words().compiler)
        }
        None => "Programs are compiled while steps run".to_owned(),
    };
    let remedy = match &eager {
        Some((_, place)) => format!(
            "Compile {} with one {}, created once outside of the loop over steps. Then the loop in it is traced and \
             compiled only once. Otherwise, define the body function once, outside of all functions, and pass the \
             values that it needs in the loop state.",
            place.as_deref().unwrap_or("the function that calls it"),
            numbers.words().compiler
        ),
        None if !modules.is_empty() && modules.iter().all(|it| changed_arguments::are_equal(numbers, &it.module)) => {
            format!(
                "Create functions, optimizers and other static objects once, and call {} once, outside the loop. Pass numbers that \
                 change, such as a learning rate, as arrays (an optimizer schedule, optax.inject_hyperparams) instead of static \
                 arguments or closures. {}",
                numbers.words().compiler,
                numbers.words().why_compiled
            )
        }
        None if modules.len() >= SEVERAL => format!(
            "Put the operations that are compiled into one function with {}, and give its arguments fixed shapes: pad \
             them (also the last batch) and mask the padding, instead of taking slices whose length changes (x[:n]). \
             {}",
            numbers.words().compiler,
            numbers.words().why_compiled
        ),
        None => format!(
            "Pad inputs to a fixed shape or to a few lengths (buckets), also the last batch. Pass changing numbers as arrays instead \
             of static arguments, and call {} once, outside the loop. {}",
            numbers.words().compiler,
            numbers.words().why_compiled
        ),
    };
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&remedy)
        .passed(
            "recompilation_percent",
            share,
            if share >= CRITICAL_PERCENT { CRITICAL_PERCENT } else { WARNING_PERCENT },
        )
        .evidence("recompilation_us", inside.length().as_us())
        .at_stake(share)
        .link(View::Steps, "")
        .fires()
}

/// States how much device time the compiler took to choose kernels, as a sentence that starts with a space. Empty if
/// the compiler took no device time.
fn autotuning(numbers: &Numbers<'_>) -> String {
    let ops = &numbers.context.analysis.ops;
    let tuning = ops.rows.iter().filter(|op| ops.text(numbers.trace, op.category) == AUTOTUNING);
    let time: Ps = tuning.map(|op| op.self_time).sum();
    if time <= Ps::ZERO {
        return String::new();
    }
    format!(
        " To choose kernels, the compiler ran candidates on the devices for {}, {} of the op time (autotuning).",
        format::time_us(time.as_us()),
        format::percent(numbers.op_percent(time))
    )
}

/// Maximum number of functions whose programs are compared.
const MOST_EXPLAINED: usize = 2;
/// Minimum number of compiled functions for the advice to combine them. We chose this limit because operations outside
/// of `jax.jit` are compiled one by one.
const SEVERAL: usize = 3;
/// Number of functions and steps that a sentence names.
const MOST_NAMED: usize = 5;

/// Names of the programs that JAX compiles for loops and branches outside of `jax.jit`, with the functions that create them.
/// JAX names such a program after its primitive.
const EAGER_LOOPS: [(&str, &str); 3] = [
    ("jit_scan", "jax.lax.scan or fori_loop"),
    ("jit_while", "jax.lax.while_loop or fori_loop"),
    ("jit_cond", "jax.lax.cond or switch"),
];

/// Returns the call and the place of a loop or branch outside of `jax.jit` whose programs have the same arguments. The place is
/// the user's function that the host is in for most of the idle time, if the capture shows this function.
fn eager_loop(numbers: &Numbers<'_>, modules: &[Compiled]) -> Option<(&'static str, Option<String>)> {
    let is_compiled = |(module, _): &&(&str, &str)| {
        modules.iter().any(|it| it.module == *module) && changed_arguments::are_equal(numbers, module)
    };
    let (_, call) = EAGER_LOOPS.iter().find(is_compiled)?;
    Some((call, numbers.host_side().and_then(HostSide::place)))
}

/// States why programs were compiled, as sentences that start with a space.
fn why(numbers: &Numbers<'_>, modules: &[Compiled]) -> String {
    if let Some((call, place)) = eager_loop(numbers, modules) {
        let place = place.map_or(String::new(), |place| format!(" in {place}"));
        return format!(
            " The code calls {call} outside of {}{place}. The arguments have the same shapes and data types each \
             time, so the body function must be a new object: a closure or a lambda that each call defines again. JAX \
             then traces and compiles the loop again.",
            numbers.words().compiler
        );
    }
    let differences = modules.iter().map(|it| changed_arguments::sentence(numbers, &it.module));
    let differences: String = differences.filter(|text| !text.is_empty()).take(MOST_EXPLAINED).collect();
    if differences.is_empty() {
        " New shapes, data types or static arguments cause a recompilation.".to_owned()
    } else {
        differences
    }
}

/// A module that is compiled while steps run.
struct Compiled {
    module: String,
    /// Number of compilations. `None` if unknown.
    count: Option<u64>,
}

/// Returns the modules that are compiled in `inside`, most compilations first. The names come from compiler passes or,
/// if there are none, from calls of compiled functions.
fn compiled(numbers: &Numbers<'_>, inside: &IntervalSet) -> Vec<Compiled> {
    let (trace, devices) = (numbers.trace, &numbers.context.analysis.devices);
    let mut names = compiled_modules(trace, devices, inside);
    let by_pass = !names.is_empty();
    let mut found: Vec<Compiled> = Vec::new();
    for function in compiled_functions(trace, devices, inside) {
        if !by_pass || names.remove(&function.module) {
            found.push(Compiled { module: function.module, count: Some(function.count) });
        }
    }
    found.extend(names.into_iter().map(|module| Compiled { module, count: None }));
    found
}

/// Lists modules: ` (once per step: jit_f, longest op at train.py:23)`. Adds the number of compilations of each module,
/// unless all modules have the same number, and the source line of the module's longest op, if the trace contains this
/// line.
fn of_functions(numbers: &Numbers<'_>, modules: &[Compiled], steps: u64) -> String {
    let (trace, analysis) = (numbers.trace, &numbers.context.analysis);
    let source = |module: &str| {
        let of_module = analysis.ops.rows.iter().filter(|op| analysis.ops.text(trace, op.module) == module);
        of_module.map(|op| analysis.ops.text(trace, op.source)).find(|source| !source.is_empty())
    };
    let first = modules.first().and_then(|it| it.count);
    let common = first.filter(|_| modules.iter().all(|it| it.count == first)).map(|count| often(count, steps));
    let named = modules.iter().map(|it| {
        let name = shown(&it.module);
        let count = it.count.filter(|_| common.is_none());
        let count = count.map_or(String::new(), |count| format!(" {}", often(count, steps)));
        match source(&it.module) {
            Some(source) => {
                format!("{name}{count}, longest op at {}", code_line(source))
            }
            None => format!("{name}{count}"),
        }
    });
    let named: Vec<String> = named.collect();
    let each = match common {
        Some(often) if modules.len() > 1 => format!("each {often}: "),
        Some(often) => format!("{often}: "),
        None => String::new(),
    };
    if named.is_empty() { String::new() } else { format!(" ({each}{})", listed(&named, "; ")) }
}

/// Formats how often compilations occur in some steps: `once per step`, `8 times per step`, `3 times`.
fn often(count: u64, steps: u64) -> String {
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{} times", format::count(count)) };
    let per_step = count.checked_div(steps).filter(|_| steps > 1 && count.is_multiple_of(steps) && count > 0);
    per_step.map_or_else(|| times(count), |per_step| format!("{} per step", times(per_step)))
}

/// Returns the steps that overlap compilation: their names in the trace, else their numbers from 0.
fn steps_of(numbers: &Numbers<'_>, inside: &IntervalSet) -> Vec<String> {
    let steps = &numbers.context.analysis.steps;
    let touches = |step: usize| {
        let mut windows = steps.windows.iter().filter_map(|row| row.get(step).copied().flatten());
        windows.any(|window| inside.length_within(window.interval) > Ps::ZERO)
    };
    let touched = (0..steps.names.len()).filter(|&step| touches(step));
    let name = |step: usize| steps.names.get(step).cloned().flatten().unwrap_or_else(|| step.to_string());
    touched.map(|step| shown(&name(step))).collect()
}

/// Lists the steps that overlap compilation: `, in steps 5, 6, 7`.
fn in_steps(names: &[String]) -> String {
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        1 => " and in 1 more step".to_owned(),
        more => format!(" and in {} more steps", format::count(more as u64)),
    };
    match names {
        [] => String::new(),
        [name] => format!(", in step {name}"),
        _ => format!(", in steps {}{more}", names.get(..MOST_NAMED).unwrap_or(names).join(", ")),
    }
}

/// Joins the first names, and adds the number of the others.
fn listed(names: &[String], separator: &str) -> String {
    let first: Vec<&str> = names.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {} more", format::count(more as u64)),
    };
    format!("{}{more}", first.join(separator))
}

/// Returns a count of compilations: `1 compilation`, `3 compilations`.
fn times(count: u64) -> String {
    if count == 1 { "1 compilation".to_owned() } else { format!("{} compilations", format::count(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{autotuning, compiling, finding, fine, gpu_steps, kernel};
    use crate::testing_programs::{add_named_program, instruction};
    use report::Finding;
    use report::FindingSeverity::{Critical, Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(compiling(700, 250), &RULE).severity, Critical);
        assert_eq!(finding(compiling(900, 50), &RULE).severity, Warning);
        assert_eq!(finding(compiling(900, 5), &RULE).severity, Note);
        fine(compiling(900, 0), &RULE);
        // Computed by hand: 10 later steps of 1 ms compile for 5 µs each. The last step ends with its kernel after 0.9 ms,
        // before it compiles.
        let few = finding(compiling(900, 5), &RULE).message;
        let said = "50.0 µs of the 10.9 ms after the first step (0.5 %): 10 compilations, in steps 1, 2, 3, 4, 5 and in 5 more steps.";
        assert!(few.contains(said), "{few}");
        // The first step may compile.
        let first = gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 900);
            if at == 0 {
                let python = b.line("/host:CPU", "compiler");
                b.event(python, "backend_compile", 0, 900);
            }
        });
        fine(first, &RULE);
    }

    /// Builds two programs of `module`, whose arguments have these shapes.
    fn with_programs(module: &str, shapes: [&'static str; 2]) -> Finding {
        with_constants(module, shapes, [5, 5])
    }

    /// Builds two programs of `module`, which differ in these constants.
    fn with_constants(module: &str, shapes: [&'static str; 2], constants: [i64; 2]) -> Finding {
        let mut trace = gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 300);
            let (python, compiler) = (b.line("/host:CPU", "python"), b.line("/host:CPU", "compiler"));
            b.event(python, "$main.py:15 leapfrog", at + 310, 680);
            b.event(compiler, &format!("HLO passes after scheduling ({module})"), at + 320, 650);
            if at == 0 {
                for ((id, shape), value) in (1..).zip(shapes).zip(constants) {
                    let rate = instruction("rate.1", "constant", "s32[]").value(value);
                    let main = vec![instruction("q.1", "parameter", shape), rate];
                    add_named_program(b, module, id, vec![("main", main)]);
                }
            }
        });
        trace.framework = Framework::Jax;
        finding(trace, &RULE)
    }

    #[test]
    fn a_loop_outside_of_jit_is_named() {
        let found = with_programs("jit_scan", ["f32[64]", "f32[64]"]);
        assert_eq!(found.title, "A loop outside of jax.jit (jax.lax.scan or fori_loop) is compiled while steps run");
        assert!(found.remedy.starts_with("Compile leapfrog (main.py:15) with one jax.jit"), "{}", found.remedy);
        // The reason is a difference in shape.
        assert_eq!(with_programs("jit_scan", ["f32[64]", "f32[65]"]).title, "Programs are compiled while steps run");
        assert_eq!(with_programs("jit_step", ["f32[64]", "f32[64]"]).title, "Programs are compiled while steps run");
    }

    #[test]
    fn a_constant_that_differs_is_named() {
        let found = with_constants("jit_step", ["f32[64]", "f32[64]"], [5, 7]);
        assert!(found.message.contains("They differ only in the value of a constant: 5, 7."), "{}", found.message);
        assert!(found.remedy.contains("such as a learning rate, as arrays"), "{}", found.remedy);
        assert!(!found.remedy.contains("Pad inputs"), "{}", found.remedy);
        let same = with_programs("jit_step", ["f32[64]", "f32[64]"]);
        assert!(!same.message.contains("They differ") && !same.remedy.contains("Pad inputs"), "{}", same.message);
        let shapes = with_programs("jit_step", ["f32[64]", "f32[65]"]);
        assert!(shapes.remedy.contains("Pad inputs"), "{}", shapes.remedy);
    }

    #[test]
    fn the_time_of_autotuning_is_stated() {
        // In each of the 11 steps after the first, the compiler runs kernels for 500 + 60 us.
        let text = finding(autotuning(500), &RULE).message;
        let said = "the compiler ran candidates on the devices for 6.16 ms, 96.6 % of the op time (autotuning).";
        assert!(text.contains(said), "{text}");
    }

    #[test]
    fn operations_with_changing_shapes_are_named() {
        let calls = ["PjitFunction(dynamic_slice)", "PjitFunction(top_k)", "PjitFunction(exp)"];
        let mut trace = gpu_steps(12, |b, at| {
            let line = b.line("/device:GPU:0", "Stream #7(Compute)");
            let source = b.trace_mut().strings.intern("a/rank.py:63");
            let slice =
                b.event(line, "wrapped_dynamic_slice", at + 1, 100).hlo_op("slice.1").hlo_module("jit_dynamic_slice");
            slice.args(|args| (args.program_id, args.source) = (Some(1 + at / 1000 % 2), source));
            let python = b.line("/host:CPU", "python");
            for (at, call) in (0..).map(|it| at + 200 + 200 * it).zip(calls) {
                b.event(python, call, at, 150);
                b.event(python, "backend_compile", at + 10, 130);
            }
            if at == 0 {
                for (id, shape) in [(1, "f32[321]"), (2, "f32[330]")] {
                    let parameter = || instruction("x.1", "parameter", "f32[512]");
                    let slice = instruction("slice.1", "slice", shape).of(&["x.1"]);
                    add_named_program(b, "jit_dynamic_slice", id, vec![("main", vec![parameter(), slice])]);
                    let scores = vec![instruction("x.1", "parameter", shape)];
                    add_named_program(b, "jit_top_k", id + 10, vec![("main", scores)]);
                }
                // This program did not run in the window.
                let before = vec![instruction("x.1", "parameter", "s32[5,2]")];
                add_named_program(b, "jit_dynamic_slice", 3, vec![("main", before)]);
            }
        });
        trace.framework = Framework::Jax;
        let found = finding(trace, &RULE);
        for part in [
            "33 compilations (each once per step: jit_dynamic_slice, longest op at rank.py:63; jit_top_k; jit_exp), in steps",
            "The 2 programs of jit_dynamic_slice differ in the shape of the result of f32[512] (f32[321], f32[330]).",
            "The 2 programs of jit_top_k differ in x",
        ] {
            assert!(found.message.contains(part), "{}", found.message);
        }
        assert!(found.remedy.starts_with("Put the operations that are compiled into one function"), "{}", found.remedy);
    }
}
