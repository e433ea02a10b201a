//! The file cannot know FLOPs, bytes and instructions.

use super::draft::Draft;
use super::numbers::Numbers;
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
    // A TPU's ops carry their costs themselves, with or without the program.
    let has_costs = (0..trace.args.len())
        .filter_map(|index| trace.args.set(index))
        .any(|args| args.flops.is_some() || args.bytes_accessed.is_some());
    if !trace.hlo.is_empty() || (trace.format == Some(SourceFormat::XPlane) && has_costs) {
        return Verdict::Fine;
    }
    let (message, remedy) = if trace.format == Some(SourceFormat::ChromeJson) {
        (
            "This is the JSON trace, an export that leaves out the compiled programs, the device's peaks and memory events: \
             it has no FLOP/s, roofline, shapes or replica groups.",
            "Open the *.xplane.pb in the same folder.",
        )
    } else {
        (
            "The profile embeds no compiled program (HLO), so it has no FLOP/s, roofline, shapes or replica groups.",
            "Capture with the JAX profiler and ProfileOptions.enable_hlo_proto left on, as it is by default.",
        )
    };
    Draft::new(FindingSeverity::Note, Confidence::High, "FLOP/s and shapes are not in this file", message.to_owned())
        .remedy(remedy)
        .evidence("hlo_modules", trace.hlo.len() as f64)
        .link("roofline", "")
        .fires()
}
