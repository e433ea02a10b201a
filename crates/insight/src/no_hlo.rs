//! The file cannot know FLOPs, bytes or instructions.

use super::draft::Draft;
use super::numbers::{Numbers, listed, shown};
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{MissingProgram, missing_programs};
use report::{Confidence, FindingSeverity};
use trace::{Framework, SourceFormat};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "no_hlo", title: "The compiled programs are not in the file", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let trace = numbers.trace;
    if numbers.platform.is_none() || trace.framework == Framework::PyTorch {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = some_missing(numbers) {
        return verdict;
    }
    // A TPU's ops carry their costs and expressions themselves, in either format, with or without the program.
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
                "This is a trace JSON, an export that leaves out the compiled programs (HLO): of its ops it holds no {absent}."
            ),
            "Open the *.xplane.pb of the same run.",
        )
    } else {
        (
            format!("The profile embeds no compiled program (HLO): of its ops it holds no {absent}."),
            numbers.words().keep_hlo,
        )
    };
    let title = format!("The file holds no {absent}");
    Draft::new(FindingSeverity::Note, Confidence::High, &title, message)
        .remedy(remedy)
        .count("hlo_modules", trace.hlo.len() as u64)
        .link(if coverage.flops { "ops" } else { "roofline" }, "")
        .fires()
}

/// Share of the op time of programs that are missing beside others from which it matters (ours).
const MISSING_PERCENT: f64 = 1.0;
/// Missing programs that a sentence names.
const MOST_NAMED: usize = 3;

/// Some programs are in the file, others that ran are not.
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
        "The file embeds no HLO for {names}, whose ops take {} of the op time. The costs, scopes, source lines, replica groups and memory of these ops \
         are those that the events state, if any.",
        format::percent(share)
    );
    let remedy = match numbers.trace.framework {
        Framework::Jax | Framework::Unknown => {
            "Capture again without compiling for the CPU in the same process during the capture (jax.jit with a CPU device or \
             backend): such a compilation can drop the programs of the accelerator from the profile."
        }
        _ => numbers.words().keep_hlo,
    };
    let title = format!("The file holds no HLO for {names}");
    let draft = Draft::new(FindingSeverity::Note, Confidence::High, &title, message)
        .remedy(remedy)
        .passed("missing_program_time_percent", share, MISSING_PERCENT)
        .count("hlo_modules", numbers.trace.hlo.len() as u64);
    Some(draft.link("ops", "").fires())
}
