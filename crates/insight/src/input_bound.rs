//! TPU cores wait in infeed.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "input_bound", title: "Cores wait in infeed", check };

/// Share of the step (XProf, input-bound suggestion: infeed above 10 % of the step time).
const WARNING_PERCENT: f64 = 10.0;
/// From this share on input is most of what there is to win (ours).
const CRITICAL_PERCENT: f64 = 40.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_tpu() {
        return Verdict::Irrelevant;
    }
    let Some(window) = numbers.window() else { return lacks("too few device ops ran. Capture several steps.") };
    let share = numbers.category_percent(&|name| name == "infeed") * window.busy_percent / 100.0;
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let message = format!(
        "Infeed ops take {} of {} ({}): the cores have run out of input and wait for the host.{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        numbers.host_meanwhile()
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Cores wait in infeed {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!(
        "Make the input pipeline faster: batches prepared in parallel and ahead ({}), decoded and cached data, larger files read in \
         parallel, less work per sample on the host.",
        numbers.words().loader
    ))
    .passed("infeed_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
    .at_stake(share)
    .link("ops", "category=infeed")
    .fires()
}
