//! The file cannot know FLOPs, bytes or instructions.

use super::draft::Draft;
use super::numbers::{Numbers, listed};
use super::{Rule, Verdict};
use report::{Confidence, FindingSeverity};
use trace::{Framework, SourceFormat};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "no_hlo", title: "The compiled programs are not in the file", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let trace = numbers.trace;
    if numbers.platform.is_none() || trace.framework == Framework::PyTorch {
        return Verdict::Irrelevant;
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
