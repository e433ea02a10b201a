//! Drawing random numbers takes much of the time.
//!
//! Ops that draw random numbers take at least 10 % of the window (JAX guide, overheads). An op draws random numbers if
//! its path contains a sampling function of `jax.random` (`jit(_bernoulli)`, `threefry2x32`, `random_bits`). If a loop
//! has such a path, the ops inside it are included, and so are copies of the loop's state. A fusion is included if at
//! least half of its instructions have such a path (our limit: the other instructions use the numbers). Severity:
//! warning, critical from 50 %. Confidence: high. Remedy: use the faster generator `rbg`, and draw smaller masks. The
//! rule is skipped if no op has a path.

use std::collections::BTreeSet;

use super::draft::{Draft, equals, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::random_draws::{Drawn, Draws, RBG, sampler, words};
use super::{Needs, Rule, Verdict, sampling_over_all_classes};
use base::{Ps, format, sort};
use hlo::Shape;
use metrics::{Op, OpClass};
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "random_numbers",
    title: "Random numbers take much of the time",
    needs: Needs::AllOps,
    explained_by: &[&[&sampling_over_all_classes::RULE]],
    ..Rule::checked_by(check)
};

/// Number of source lines that the message names.
const MOST_NAMED: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    let text = |text| ops.text(numbers.trace, text);
    if ops.rows.iter().all(|op| op.framework_path.is_empty()) {
        return lacks("the ops have no framework paths.");
    }
    let draws = Draws::new(numbers);
    let drawing: Vec<(&Op, &str)> = ops.rows.iter().filter_map(|op| Some((op, draws.source(numbers, op)?))).collect();
    let time = |wanted: &dyn Fn(&str) -> bool| -> Ps {
        drawing.iter().filter(|(_, source)| wanted(source)).map(|(op, _)| op.self_time).sum()
    };
    let share = numbers.op_percent(time(&|_| true));
    let lost = numbers.of_window(share);
    let computing = drawing.iter().filter(|(op, _)| op.family.class() == OpClass::Compute);
    let largest = computing.max_by_key(|(op, _)| op.self_time);
    let Some((largest, _)) = largest.filter(|_| lost >= OVERHEAD_PERCENT.good) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let sources: BTreeSet<&str> =
        drawing.iter().map(|(_, source)| *source).filter(|source| !source.is_empty()).collect();
    let mut lines: Vec<(&str, f64)> =
        sources.into_iter().map(|line| (line, numbers.op_percent(time(&|source| source == line)))).collect();
    sort::sort_by(&mut lines, |a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let named: Vec<String> = lines
        .iter()
        .take(MOST_NAMED)
        .map(|(line, percent)| format!("{} ({})", code_line(line), format::percent(*percent)))
        .collect();
    let by_line = if named.is_empty() { String::new() } else { format!(" They come from {}.", named.join(", ")) };
    let copies: Ps =
        drawing.iter().filter(|(op, _)| op.family.class() != OpClass::Compute).map(|(op, _)| op.self_time).sum();
    let copied = match numbers.op_percent(copies) {
        percent if percent >= 1.0 => {
            format!(
                " This includes {} for copying the state of loops that compute random bits.",
                format::percent(percent)
            )
        }
        _ => String::new(),
    };
    let drawn = Drawn::by(numbers, largest);
    let of_line = || {
        let mut same = drawing.iter().filter(|(op, _)| op.source == largest.source);
        same.find_map(|(op, _)| sampler(text(op.framework_path)))
    };
    let sampler = drawn.sampler.or_else(of_line);
    let function = match sampler {
        Some(name) => format!(" for {name}"),
        None => String::new(),
    };
    let source = match text(largest.source) {
        "" => String::new(),
        line => format!(" ({})", code_line(line)),
    };
    let message = format!(
        "Ops that draw random numbers take {} of the op time.{by_line} The largest, {}{source}, computes {}{function}.{copied}",
        format::percent(share),
        shown(text(largest.name)),
        drawn
            .array
            .map_or_else(|| "random numbers".to_owned(), |array| shown(&Shape::Array(array.clone()).text(false))),
    );
    let uses_rbg = drawing.iter().any(|(op, _)| words(text(op.framework_path)).any(|word| word == RBG));
    // The sort takes the time of a permutation, so another generator changes little.
    let permutes = matches!(sampler, Some("jax.random.permutation" | "jax.random.choice" | "jax.random.shuffle"));
    let generator = if uses_rbg || permutes {
        ""
    } else {
        "Use a faster generator: jax.config.update(\"jax_default_prng_impl\", \"rbg\"), or keys from jax.random.key(seed, \
         impl=\"rbg\")."
    };
    let fewer = match sampler {
        Some("jax.random.bernoulli") => {
            "Draw fewer numbers. For dropout, share a mask between dimensions (broadcast_dims of Dropout), leave out dropout on \
             attention weights, and set the dropout rate to 0 in evaluation."
        }
        Some("jax.random.gumbel") => {
            "To draw several samples from one distribution (jax.random.categorical), do not draw noise for each class and sample: \
             draw one uniform number for each sample, and search it in the cumulative probabilities (jnp.searchsorted of \
             jnp.cumsum)."
        }
        Some("jax.random.permutation" | "jax.random.choice" | "jax.random.shuffle") => {
            "To draw a few of many elements without replacement, jax.random.choice(replace=False) and permutation sort all of them. \
             Draw with replacement instead (jax.random.randint: two equal indices are rare if the array is large), draw the indices on \
             the host, or shuffle once per epoch and take slices."
        }
        _ => "Draw fewer numbers: only those that are used, in the smallest shape that can be broadcast.",
    };
    let mostly = lines.first().map_or(String::new(), |(line, _)| format!(", mostly at {}", code_line(line)));
    let title = format!("Random numbers take {} of the op time{mostly}", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(format!("{fewer} {generator}").trim_end())
        .passed("random_numbers_percent", lost, limit)
        .evidence("random_numbers_percent_of_ops", share)
        .at_stake(lost)
        .link(View::Ops, &equals("hlo_op_name", text(largest.name)))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copied_arguments;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    const LOOP: &str = "jit(f)/jvp(jit(_bernoulli))/jit(_uniform)/while";

    /// Builds steps of 1000 us with a product and a loop at this path. In the loop, a fusion and a copy of the loop's state
    /// take `each` us.
    fn steps(path: &'static str, each: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            let inner = format!("{path}/body/add");
            if at == 0 {
                let body = vec![
                    instruction("p.1", "parameter", "f32[8,64]"),
                    instruction("add.1", "add", "f32[8,64]").of(&["p.1", "p.1"]).path(&inner),
                    instruction("copy.1", "copy", "f32[8,64]").of(&["add.1"]),
                ];
                let main = vec![
                    instruction("x.1", "parameter", "f32[8,64]"),
                    instruction("while.1", "while", "f32[8,64]").of(&["x.1"]).calls(&["body"]).path(path),
                ];
                add_program(b, 7, vec![("body", body), ("main", main)]);
            }
            let line = b.line("/device:TPU:0", "XLA Ops");
            let texts = [&inner, "%copy.1 = f32[8,64]{1,0} copy(f32[8,64]{1,0} %add.1)", "jit(f)/dot", "model.py:7"];
            let [inner, copy, dot, source] = texts.map(|it| b.trace_mut().strings.intern(it));
            b.event(line, "add.1", at, each).hlo_category("loop fusion").args(|args| {
                (args.program_id, args.tf_op, args.source) = (Some(7), inner, source);
            });
            b.event(line, "copy.1", at + each, each).hlo_category("copy").args(|args| {
                (args.program_id, args.long_name) = (Some(7), copy);
            });
            op_of(b, 7, ("dot.1", "convolution"), at + 2 * each, 1000 - 2 * each);
            b.event(line, "dot.2", at + 999, 1).args(|args| args.tf_op = dot);
        })
    }

    #[test]
    fn fires_above_its_limit_and_counts_copies_of_the_loop() {
        let found = finding(steps(LOOP, 200), &RULE);
        assert_eq!(found.severity, Warning);
        assert_eq!(found.title, "Random numbers take 40.0 % of the op time, mostly at model.py:7");
        for part in ["computes f32[8,64] for jax.random.bernoulli", "This includes 20.0 % for copying the state"] {
            assert!(found.message.contains(part), "{}", found.message);
        }
        assert!(found.remedy.contains("jax_default_prng_impl"), "{}", found.remedy);
        assert_eq!(finding(steps(LOOP, 250), &RULE).severity, Critical);
        assert_eq!(finding(steps(LOOP, 50), &RULE).severity, Warning);
        fine(steps(LOOP, 49), &RULE);
    }

    #[test]
    fn the_largest_op_is_named_even_if_only_its_fused_instructions_draw() {
        let trace = tpu_steps(12, |b, at| {
            let paths = ["jit(f)/jit(_bernoulli)/lt", "jit(f)/jit(_where)/select_n"];
            if at == 0 {
                let computation = vec![
                    instruction("p.1", "parameter", "f32[8,64]"),
                    instruction("bits.1", "add", "f32[8,64]")
                        .of(&["p.1", "p.1"])
                        .path("jit(f)/jit(_bernoulli)/threefry2x32"),
                    instruction("lt.1", "compare", "pred[8,64]").of(&["bits.1", "p.1"]).path(paths[0]),
                    instruction("select.1", "select", "f32[8,64]").of(&["lt.1", "p.1", "p.1"]).path(paths[1]),
                ];
                let main = vec![
                    instruction("x.1", "parameter", "f32[8,64]"),
                    instruction("small.1", "compare", "pred[8,8]").of(&["x.1", "x.1"]).path(paths[0]),
                    instruction("large.1", "fusion", "f32[8,64]").of(&["x.1"]).calls(&["fused"]).path(paths[1]),
                ];
                add_program(b, 7, vec![("fused", computation), ("main", main)]);
            }
            let line = b.line("/device:TPU:0", "XLA Ops");
            for (name, path, source, start, length) in
                [("small.1", paths[0], "a/model.py:7", at, 100), ("large.1", paths[1], "a/model.py:8", at + 100, 300)]
            {
                let [path, source] = [path, source].map(|it| b.trace_mut().strings.intern(it));
                b.event(line, name, start, length).hlo_category("loop fusion").args(|args| {
                    (args.program_id, args.tf_op, args.source) = (Some(7), path, source);
                });
            }
            op_of(b, 7, ("dot.1", "convolution"), at + 400, 600);
        });
        let found = finding(trace, &RULE);
        assert_eq!(found.title, "Random numbers take 40.0 % of the op time, mostly at model.py:8");
        let part = "The largest, large.1 (model.py:8), computes pred[8,64] for jax.random.bernoulli";
        assert!(found.message.contains(part), "{}", found.message);
    }

    #[test]
    fn copies_in_such_a_loop_are_not_those_of_an_argument() {
        fine(steps(LOOP, 200), &copied_arguments::RULE);
        assert_eq!(finding(steps("jit(f)/scan/while", 200), &copied_arguments::RULE).severity, Warning);
    }

    #[test]
    fn other_loops_and_names_draw_nothing() {
        fine(steps("jit(f)/random_crop/while", 400), &RULE);
        fine(steps("jit(f)/layer/normal/while", 400), &RULE);
        let bare = tpu_steps(12, |b, at| op_of(b, 7, ("add.1", "loop fusion"), at, 900));
        assert!(matches!(says(bare, &RULE), Verdict::NotChecked(_)));
    }
}
