//! The file lacks the compiled programs, and therefore FLOPs, bytes or instructions.
//!
//! The file embeds no compiled program, and at least one of FLOPs, bytes, shapes and replica groups is missing for all
//! ops. TPU ops contain all four, even in a trace JSON. The finding names the missing values. Severity: note.
//! Confidence: high. Remedy: open the xplane of the same run, or make a capture that keeps the programs. The rule is
//! not reported for PyTorch.
//!
//! If the file embeds some programs but not all that ran, the finding names the missing programs.
//! `missing_program_time_percent` is the share of the op time that the ops of the missing programs take. Severity: note
//! from 1 % (ours). Confidence: high. Remedy for JAX: do not compile for the CPU in the process that captures, because
//! that can drop the accelerator's programs (jax#37533).

use super::draft::Draft;
use super::numbers::{Numbers, listed, shown};
use super::{Rule, Verdict, cut_capture};
use base::{Ps, format};
use metrics::{MissingProgram, missing_programs};
use report::{Confidence, FindingSeverity, View};
use trace::{Framework, SourceFormat};

pub(super) static RULE: Rule = Rule {
    id: "no_hlo",
    title: "The compiled programs are not in the file",
    explained_by: &[&[&cut_capture::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let trace = numbers.trace;
    if numbers.platform.is_none() || trace.framework == Framework::PyTorch {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = some_missing(numbers) {
        return verdict;
    }
    // TPU events contain their costs and expressions, in either format, with or without the program.
    let coverage = numbers.context.coverage();
    let parts = [
        (coverage.flops, "FLOPs"),
        (coverage.bytes, "bytes"),
        (coverage.expression, "shapes"),
        (coverage.expression, "replica groups"),
    ];
    let absent: Vec<&str> = parts.into_iter().filter(|(known, _)| !known).map(|(_, what)| what).collect();
    if !trace.hlo.is_empty() || absent.is_empty() {
        return Verdict::Fine;
    }
    let absent = listed(&absent, "or");
    let (message, remedy) = if trace.format == Some(SourceFormat::ChromeJson) {
        (
            format!(
                "The file is a trace JSON, an export without the compiled programs (HLO), so its ops have no {absent}."
            ),
            "Open the *.xplane.pb of the same run.",
        )
    } else {
        (
            format!("The profile embeds no compiled program (HLO), so its ops have no {absent}."),
            numbers.words().keep_hlo,
        )
    };
    let title = format!("The file contains no {absent}");
    Draft::new(FindingSeverity::Note, Confidence::High, &title, message)
        .remedy(remedy)
        .count("hlo_modules", trace.hlo.len() as u64)
        .link(if coverage.flops { View::Ops } else { View::Roofline }, "")
        .fires()
}

/// If the file contains other programs, the rule fires if the missing programs take at least this share of the op time.
const MISSING_PERCENT: f64 = 1.0;
/// Number of missing programs that a sentence names.
const MOST_NAMED: usize = 3;

/// Checks if the file lacks programs that ran, although it contains others.
fn some_missing(numbers: &Numbers<'_>) -> Option<Verdict> {
    let missing = missing_programs(numbers.trace, &numbers.context.analysis.ops);
    let share = numbers.op_percent(missing.iter().map(|program| program.self_time).sum::<Ps>());
    if share < MISSING_PERCENT {
        return None;
    }
    let name = |program: &MissingProgram| match program.name.as_str() {
        "" => "a program without a name".to_owned(),
        name => shown(name),
    };
    let mut names: Vec<String> = missing.iter().take(MOST_NAMED).map(name).collect();
    if missing.len() > MOST_NAMED {
        names.push(format!("{} others", missing.len() - MOST_NAMED));
    }
    let names = listed(&names.iter().map(String::as_str).collect::<Vec<_>>(), "and");
    let message = format!(
        "The file embeds no HLO for {names}, whose ops take {} of the op time. These ops have only the costs, scopes, source \
         lines, replica groups and memory that their events contain, if any.",
        format::percent(share)
    );
    let remedy = match numbers.trace.framework {
        Framework::Jax | Framework::Unknown => {
            "Capture again, and compile nothing for the CPU (jax.jit with a CPU device or backend) in the same process during \
             the capture: such a compilation can drop the accelerator's programs from the profile."
        }
        _ => numbers.words().keep_hlo,
    };
    let title = format!("The file contains no HLO for {names}");
    let draft = Draft::new(FindingSeverity::Note, Confidence::High, &title, message)
        .remedy(remedy)
        .passed("missing_program_time_percent", share, MISSING_PERCENT)
        .count("hlo_modules", numbers.trace.hlo.len() as u64);
    Some(draft.link(View::Ops, "").fires())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound, tpu_steps};
    use report::FindingSeverity::Note;
    use trace::HloProto;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(host_bound(900), &RULE).severity, Note);
        let mut with = host_bound(900);
        with.hlo.push(HloProto::default());
        fine(with, &RULE);
        // In both formats, TPU ops contain the costs that other files contain only in the program.
        let costs = |text: &'static str| {
            let mut trace = tpu_steps(12, move |b, at| {
                let long_name = b.trace_mut().strings.intern(text);
                let line = b.line("/device:TPU:0", "XLA Ops");
                b.event(line, "fusion.1", at, 900).hlo_category("loop fusion").args(|args| {
                    (args.flops, args.bytes_accessed, args.long_name) = (Some(5), Some(5), long_name);
                });
            });
            trace.format = Some(SourceFormat::ChromeJson);
            trace
        };
        fine(costs("%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p)"), &RULE);
        assert_eq!(finding(costs(""), &RULE).title, "The file contains no shapes or replica groups");
    }
}
