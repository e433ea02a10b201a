//! Steps that should take equally long do not.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "step_time_variation", title: "Step times vary", check };

/// Standard deviation over mean that is worth knowing (ours: a change of 5 % cannot be seen in such steps).
const NOTE_PERCENT: f64 = 5.0;
/// From this variation on time is lost (ours).
const WARNING_PERCENT: f64 = 20.0;
/// A spread of fewer steps means nothing (ours).
const FEWEST_STEPS: u64 = 5;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let timing = &numbers.profile.step_timing;
    let counted = timing.num_steps_counted.unwrap_or(0);
    let (Some(mean), Some(spread)) = (timing.avg_step_time_us, timing.stddev_step_time_us) else {
        return numbers.lacks_steps("it needs 5 to 10 complete steps.");
    };
    if counted < FEWEST_STEPS || mean <= 0.0 {
        return lacks("it needs at least 5 complete steps. Capture 5 to 10.");
    }
    let variation = 100.0 * spread / mean;
    if variation < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let lost = variation >= WARNING_PERCENT;
    let severity = if lost { FindingSeverity::Warning } else { FindingSeverity::Note };
    let (shortest, longest) = (timing.min_step_time_us.unwrap_or(mean), timing.max_step_time_us.unwrap_or(mean));
    let message = format!(
        "{} counted steps take {} on average, with a standard deviation of {} ({}); the shortest takes {}, the longest {}.",
        format::count(counted),
        format::time_us(mean),
        format::time_us(spread),
        format::percent(variation),
        format::time_us(shortest),
        format::time_us(longest)
    );
    let draft = Draft::new(severity, Confidence::High, &format!("Step times vary by {}", format::percent(variation)), message)
        .remedy(
            "Compare the longest step with a usual one on the timeline: input that was late, a garbage collection or log \
             on the host, other programs on the machine, or work that only some steps do. For a comparison of two runs, \
             capture more steps.",
        )
        .passed("variation_percent", variation, if lost { WARNING_PERCENT } else { NOTE_PERCENT })
        .evidence("stddev_step_time_us", spread);
    // What the mean would lose if every step were as short as the shortest.
    let draft = if lost { draft.at_stake(100.0 * (mean - shortest) / mean) } else { draft };
    draft.link("steps", "").fires()
}
