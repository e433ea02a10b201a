//! The input pipeline that devices wait for works, rather than copies.

use super::draft::Draft;
use super::numbers::Numbers;
use super::waiting::input_times_us;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "host_processing", title: "Input time is spent on the host's work", check };

/// Share of the input time (XProf, host-processing suggestion: 50 %).
const NOTE_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (processing, transfer) = match input_times_us(numbers) {
        Ok(times) => times,
        Err(verdict) => return verdict,
    };
    let share = 100.0 * processing / (processing + transfer);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Of the time that host threads spend on input, {} goes to reading and preparing it ({}) and the rest to handing it to the \
         devices ({}).",
        format::percent(share),
        format::time_us(processing),
        format::time_us(transfer)
    );
    // A span that waits for something else looks like one that works.
    Draft::new(FindingSeverity::Note, Confidence::Medium, "The input pipeline's own work is what devices wait for", message)
        .remedy(
            "Do less per batch on the host and more of it at once: cache decoded samples, vectorise the mapping function, move \
             augmentation to the device, raise the number of workers, read larger files in parallel.",
        )
        .passed("host_processing_percent", share, NOTE_PERCENT)
        .evidence("input_processing_us", processing)
        .evidence("input_transfer_us", transfer)
        .link("steps", "")
        .fires()
}
