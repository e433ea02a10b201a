//! In a run that trains, a program without gradients takes much of the time.
//!
//! One program computes gradients (the path of an op shows a backward pass). Another program runs a model but computes
//! no gradients, because it evaluates or samples. A program runs a model if the paths of its ops show that it spends at
//! least 10 % of its time in products. Severity: note if the second program takes at least 20 % of the op time, warning
//! from 50 %, critical from 80 % (ours). Confidence: medium, because sampling may be the purpose of the run
//! (reinforcement learning). The message states how often the second program runs for each run of the training program.
//! Remedy: evaluate less often. The rule is not reported if the paths of ops are unknown.

use super::draft::{Draft, equals};
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::training_pass;
use base::{Ps, format};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    id: "evaluation",
    title: "A program that computes no gradients takes most of the time",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum share of the op time for a note. We chose this limit because a validation after each epoch takes a few
/// percent.
const NOTE_PERCENT: f64 = 20.0;
/// Minimum share of the op time for a warning. Evaluation then takes longer than training.
const WARNING_PERCENT: f64 = 50.0;
/// Minimum share of the op time for a critical finding. Training is then a small part of the run.
const CRITICAL_PERCENT: f64 = 80.0;

struct Program<'a> {
    name: &'a str,
    time: Ps,
    /// For each number of executions on a device, the number of ops with that many executions.
    executions: BTreeMap<u64, u64>,
    /// Time of the ops whose paths contain a matrix product or convolution.
    products: Ps,
    trains: bool,
}

/// Operations that occur in every model but not in an optimizer update.
const PRODUCTS: [&str; 2] = ["dot_general", "conv_general_dilated"];
/// A program runs a model if products take at least this share of its time. We chose this limit because the share is
/// much larger in every model.
const PRODUCT_SHARE: f64 = 0.1;

impl Program<'_> {
    /// Returns true if the program runs a model, unlike a program that updates parameters.
    fn runs_a_model(&self) -> bool {
        self.products.as_ps() as f64 >= PRODUCT_SHARE * self.time.as_ps() as f64
    }

    /// Returns how often the program ran on a device. An op in a loop runs more often than the program, and an op in a
    /// branch less often, but most ops run once.
    fn runs(&self) -> u64 {
        self.executions.iter().max_by_key(|(_, ops)| **ops).map_or(0, |(&runs, _)| runs)
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let programs = programs(numbers);
    let Some(trains) = programs.iter().filter(|it| it.trains).max_by_key(|it| it.time) else {
        return Verdict::Irrelevant;
    };
    let others = programs.iter().filter(|it| !it.trains && it.runs_a_model());
    let Some(other) = others.max_by_key(|it| it.time) else { return Verdict::Fine };
    let share = numbers.op_percent(other.time);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let (severity, limit) = match share {
        share if share >= CRITICAL_PERCENT => (FindingSeverity::Critical, CRITICAL_PERCENT),
        share if share >= WARNING_PERCENT => (FindingSeverity::Warning, WARNING_PERCENT),
        _ => (FindingSeverity::Note, NOTE_PERCENT),
    };
    let runs = match (other.runs(), trains.runs()) {
        (others, runs @ 1..) if others >= runs => {
            // In a capture of whole steps, this ratio is a whole number.
            let times = match others % runs {
                0 => format::count(others / runs),
                _ => format!("about {}", format::number(others as f64 / runs as f64)),
            };
            format!(" It runs {times} times for each run of {}.", shown(trains.name))
        }
        _ => String::new(),
    };
    let message = format!(
        "{}, which computes no gradients, takes {} of the op time, and {}, which trains, takes {}.{runs}{}",
        shown(other.name),
        format::percent(share),
        shown(trains.name),
        format::percent(numbers.op_percent(trains.time)),
        numbers.host_meanwhile()
    );
    let title = format!("{}, which does not train, takes {} of the op time", shown(other.name), format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "If it evaluates the model, run it every n-th step or epoch, or on fewer batches. If it produces training data, run it on \
             other devices or while the training program runs.",
        )
        .passed("without_gradients_percent", share, limit)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_module", other.name))
        .fires()
}

/// Returns the programs that ran, by name.
fn programs<'a>(numbers: &'a Numbers<'_>) -> Vec<Program<'a>> {
    let ops = &numbers.context.analysis.ops;
    let text = |text| ops.text(numbers.trace, text);
    let mut programs: Vec<Program<'a>> = Vec::new();
    for op in ops.rows.iter().filter(|op| !op.module.is_empty()) {
        let name = text(op.module);
        let place = programs.iter().position(|it| it.name == name).unwrap_or_else(|| {
            programs.push(Program {
                name,
                time: Ps::ZERO,
                executions: BTreeMap::new(),
                products: Ps::ZERO,
                trains: false,
            });
            programs.len() - 1
        });
        let Some(program) = programs.get_mut(place) else { continue };
        add(program, op, text(op.framework_path));
    }
    programs
}

fn add(program: &mut Program<'_>, op: &Op, path: &str) {
    program.time += op.self_time;
    if PRODUCTS.iter().any(|product| path.contains(product)) {
        program.products += op.self_time;
    }
    program.trains |= matches!(training_pass(path), Some("backward" | "recomputed"));
    *program.executions.entry(op.executions / u64::from(op.devices.max(1))).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use report::FindingSeverity::{Critical, Note, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. Each step trains once and evaluates three times.
    fn steps(evaluation: i64, path: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let texts = [path, "jit(eval_step)/mlp/dot_general", "jit_train_step", "jit_eval_step"];
            let [trains, evaluates, train_step, eval_step] = texts.map(|it| b.trace_mut().strings.intern(it));
            b.event(line, "dot.1", at, 999 - evaluation)
                .args(|args| (args.tf_op, args.hlo_module) = (trains, train_step));
            for run in 0..3 {
                let start = at + 999 - evaluation + run * evaluation / 3;
                b.event(line, "dot.2", start, evaluation / 3).args(|args| {
                    (args.tf_op, args.hlo_module) = (evaluates, eval_step);
                });
            }
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let backward = "jit(train_step)/transpose(jvp(mlp))/dot_general";
        let found = finding(steps(600, backward), &RULE);
        assert_eq!(found.severity, Warning);
        assert_eq!(found.title, "jit_eval_step, which does not train, takes 60.1 % of the op time");
        assert!(found.message.contains("It runs 3 times for each run of jit_train_step."), "{}", found.message);
        assert_eq!(finding(steps(840, backward), &RULE).severity, Critical);
        assert_eq!(finding(steps(300, backward), &RULE).severity, Note);
        fine(steps(150, backward), &RULE);
        // Nothing trains.
        assert_eq!(says(steps(600, "jit(train_step)/mlp/dot_general"), &RULE), Verdict::Irrelevant);
    }
}
