//! A program converts its weights to a narrower type each time it runs.
//!
//! In a run that does not train, ops read arguments in a wider floating-point type (float32) only to convert them to a narrower
//! one (bfloat16). Weights keep their values, so one conversion before the first run is enough. An argument is treated as a
//! weight if it has at least 1 MiB and if the program returns neither the argument nor a new value of it (caches and other
//! state change). At least three arguments of the program must meet these conditions (all limits are ours: the inputs of a
//! model are one or two arrays). The program must run at least twice.
//!
//! The cost of an op that only converts is its whole time. The cost of any other op is the time that it would save by
//! reading narrower weights. The estimate is the op's time multiplied by the share of its bytes that it would save. The
//! estimate is at most the time to read the saved bytes at the peak bandwidth. Severity: warning from 10 % of the op
//! time (JAX guide, overheads), critical from 50 %, or a note if the cost is less than 10 % of the window. Confidence:
//! medium, because the capture does not show whether all runs receive the same arguments. Remedy: convert the weights
//! once. The rule is skipped if the compiled program is missing. The rule is not reported for a run that trains,
//! because the optimizer updates the wider weights in each step.

use std::collections::{BTreeMap, BTreeSet};

use super::conversions::{Conversion, conversions, executions, runs, type_name};
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Module, Outcome, arguments};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "converted_weights",
    title: "Weights are converted to a narrower type on every execution",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of arguments that a program converts. We chose this limit because the inputs of a model are one or
/// two arrays.
const FEWEST_ARGUMENTS: usize = 3;
/// Minimum number of runs of the program. We chose this limit because a program that runs once may exist only to
/// convert the weights.
const FEWEST_RUNS: u64 = 2;

struct Converted<'a> {
    conversions: Vec<Conversion<'a>>,
    arguments: usize,
    runs: u64,
}

impl Converted<'_> {
    fn avoidable(&self) -> Ps {
        self.conversions.iter().map(|it| it.avoidable).sum()
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    if numbers.trains() != Some(false) {
        return Verdict::Irrelevant;
    }
    let modules = numbers.programs();
    let found = modules.filter_map(|(id, module)| of_program(numbers, id, module));
    let Some(found) = found.max_by_key(Converted::avoidable) else { return Verdict::Fine };
    let share = numbers.op_percent(found.avoidable());
    let Some(largest) = found.conversions.iter().max_by_key(|it| it.op.self_time) else { return Verdict::Fine };
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let (wide, narrow) = (type_name(largest.types.0), type_name(largest.types.1));
    let per_run = |bytes: fn(&Conversion<'_>) -> f64| {
        let all: f64 = found.conversions.iter().map(|it| bytes(it) * executions(it.op) as f64).sum();
        format::bytes((all / found.runs as f64) as u64)
    };
    let devices = u64::from(largest.op.devices.max(1));
    let time = found.avoidable().as_us() / (found.runs * devices) as f64;
    let message = format!(
        "The program converts {} arguments from {wide} to {narrow} on every execution. The ops that read them take {} of the \
         op time; the largest is {}. They read {} per execution in {wide}. With arguments in {narrow}, they would read {} \
         less. This would save about {} per execution.",
        format::count(found.arguments as u64),
        format::percent(numbers.op_percent(time_of_ops(&found.conversions))),
        numbers.op_with_source(largest.op),
        per_run(|it| it.read_bytes),
        per_run(|it| it.saved_bytes),
        format::time_us(time)
    );
    let title = format!(
        "Converting weights to {narrow} on every execution costs about {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(&remedy(numbers.trace.framework, wide, narrow))
        .passed("converted_weights_percent", share, limit)
        .evidence("converting_ops_percent", numbers.op_percent(time_of_ops(&found.conversions)))
        .count("converted_arguments", found.arguments as u64)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.op.name)))
        .fires()
}

fn remedy(framework: Framework, wide: &str, narrow: &str) -> String {
    let example = match framework {
        Framework::Jax | Framework::Unknown => {
            format!(": params = jax.tree.map(lambda w: w.astype(jnp.{narrow}), params)")
        }
        Framework::TensorFlow | Framework::PyTorch => format!(", for example by loading the model in {narrow}"),
    };
    format!(
        "Convert the weights once, outside of the compiled function{example}. Do not keep the {wide} copy on the device."
    )
}

/// Returns the time of the ops that convert. An op that converts several arguments is counted once.
fn time_of_ops(conversions: &[Conversion<'_>]) -> Ps {
    let ops: BTreeMap<&str, &Op> = conversions.iter().map(|it| (it.instruction.name.as_str(), it.op)).collect();
    ops.values().map(|op| op.self_time).sum()
}

fn of_program<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Option<Converted<'a>> {
    let runs = runs(numbers, id, module);
    let all = arguments(module);
    let kept: BTreeSet<i64> = all.iter().filter(|it| it.outcome == Outcome::NotReturned).map(|it| it.number).collect();
    let number = |it: &Conversion<'_>| weight(module, it).filter(|number| kept.contains(number));
    let mut conversions = conversions(numbers, id, module);
    conversions.retain(|it| number(it).is_some());
    let arguments = conversions.iter().filter_map(number).collect::<BTreeSet<i64>>().len();
    let is_of_weights = arguments >= FEWEST_ARGUMENTS && runs >= FEWEST_RUNS;
    is_of_weights.then_some(Converted { conversions, arguments, runs })
}

/// Returns the index of the argument that is converted. `None` if the program computes the array.
fn weight(module: &Module, conversion: &Conversion<'_>) -> Option<i64> {
    let origin = conversion.origin;
    let is_argument = origin.is("parameter") && module.entry_index() == Some(origin.computation);
    origin.attributes().parameter_number.filter(|_| is_argument)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{Instruction, add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. In each step, `weights` ops take `time` us together. Each of these ops converts one
    /// weight of the shape `shape`.
    fn steps(weights: usize, shape: &'static str, time: i64, path: &'static str) -> Trace {
        const NAMES: [(&str, &str); 3] = [("w.1", "convert.1"), ("w.2", "convert.2"), ("w.3", "convert.3")];
        tpu_steps(12, move |b, at| {
            let names = || NAMES.iter().take(weights);
            if at == 0 {
                let narrow: &'static str = Box::leak(shape.replace("f32", "bf16").into_boxed_str());
                let mut main: Vec<Instruction> = Vec::new();
                for (number, (name, convert)) in names().enumerate() {
                    main.push(instruction(name, "parameter", shape).int(9, number as i64));
                    main.push(instruction(convert, "convert", narrow).of(&[name]));
                }
                main.push(instruction("dot.9", "dot", "f32[8,8]").of(&["convert.1"]).path(path));
                add_program(b, 7, vec![("main", main)]);
            }
            let each = time / weights as i64;
            for (number, (_, convert)) in names().enumerate() {
                op_of(b, 7, (convert, "convert"), at + number as i64 * each, each);
            }
            op_of(b, 7, ("dot.9", "convolution"), at + time, 1000 - time);
        })
    }

    const FORWARD: &str = "jit(f)/mlp/dot_general";

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(3, "f32[1024,256]", 300, FORWARD), &RULE);
        let title = "Converting weights to bfloat16 on every execution costs about 30.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(
            found.message.starts_with("The program converts 3 arguments from float32 to bfloat16 on every execution."),
            "{}",
            found.message
        );
        assert!(found.message.contains("They read 3.00 MiB per execution in float32"), "{}", found.message);
        assert!(
            found.message.contains("1.50 MiB less. This would save about 300 µs per execution."),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(3, "f32[1024,256]", 600, FORWARD), &RULE).severity, Critical);
        assert_eq!(finding(steps(3, "f32[1024,256]", 102, FORWARD), &RULE).severity, Warning);
        fine(steps(3, "f32[1024,256]", 99, FORWARD), &RULE);
        // Arrays that are small, or fewer than three, are not treated as weights.
        fine(steps(3, "f32[1024,255]", 300, FORWARD), &RULE);
        fine(steps(2, "f32[1024,256]", 300, FORWARD), &RULE);
        // The arrays already have the type.
        fine(steps(3, "s32[1024,256]", 300, FORWARD), &RULE);
    }

    /// Builds steps of 1000 us: three products that convert their weights take 900 us. With `also_reads`, they also add
    /// the wider weights.
    fn fused(also_reads: bool) -> Trace {
        let products = [("f.1", "w.1", "p.1"), ("f.2", "w.2", "p.2"), ("f.3", "w.3", "p.3")];
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let mut computations = Vec::new();
                let mut main = vec![instruction("x.9", "parameter", "bf16[8,1024]").int(9, 3)];
                for (number, (fusion, weight, computation)) in products.into_iter().enumerate() {
                    let names =
                        [["a.1", "a.2", "a.3"], ["b.1", "b.2", "b.3"], ["c.1", "c.2", "c.3"], ["d.1", "d.2", "d.3"]];
                    let [wide, x, narrow, dot] = names.map(|of| of[number]);
                    let mut inner = vec![
                        instruction(wide, "parameter", "f32[1024,256]"),
                        instruction(x, "parameter", "bf16[8,1024]").int(9, 1),
                        instruction(narrow, "convert", "bf16[1024,256]").of(&[wide]),
                    ];
                    if also_reads {
                        inner.push(instruction(["e.1", "e.2", "e.3"][number], "negate", "f32[1024,256]").of(&[wide]));
                    }
                    inner.push(instruction(dot, "dot", "bf16[8,256]").of(&[x, narrow]));
                    computations.push((computation, inner));
                    main.push(instruction(weight, "parameter", "f32[1024,256]").int(9, number as i64));
                    let call = instruction(fusion, "fusion", "bf16[8,256]").of(&[weight, "x.9"]);
                    main.push(call.calls(&[computation]).path(FORWARD));
                }
                main.push(instruction("tanh.9", "tanh", "bf16[8,256]").of(&["f.1"]));
                computations.push(("main", main));
                add_program(b, 7, computations);
            }
            for (number, (fusion, ..)) in products.into_iter().enumerate() {
                // bfloat16 would save half of the bytes of each product.
                let line = b.line("/device:TPU:0", "XLA Ops");
                let op = b.event(line, fusion, at + number as i64 * 300, 300).hlo_category("convolution fusion");
                op.hlo_module("jit_f").args(|args| (args.program_id, args.bytes_accessed) = (Some(7), Some(1 << 20)));
            }
            op_of(b, 7, ("tanh.9", "loop fusion"), at + 900, 100);
        })
    }

    #[test]
    fn a_product_that_converts_its_weights_saves_the_bytes() {
        let found = finding(fused(false), &RULE);
        let title = "Converting weights to bfloat16 on every execution costs about 45.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(found.message.contains("take 90.0 % of the op time; the largest is f."), "{}", found.message);
        assert!(found.message.contains("They read 3.00 MiB per execution in float32"), "{}", found.message);
        fine(fused(true), &RULE);
    }

    #[test]
    fn training_converts_in_each_step() {
        let backward = "jit(f)/transpose(jvp(mlp))/dot_general";
        assert_eq!(says(steps(3, "f32[1024,256]", 300, backward), &RULE), Verdict::Irrelevant);
    }
}
