//! The input that devices wait for is held up on its way to them.

use super::draft::Draft;
use super::numbers::Numbers;
use super::waiting::input_times_us;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "data_transfer", title: "Input time is spent on copies", check };

/// Share of the input time (XProf, data-transfer suggestion: 30 %).
const NOTE_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (processing, transfer) = match input_times_us(numbers) {
        Ok(times) => times,
        Err(verdict) => return verdict,
    };
    let share = 100.0 * transfer / (processing + transfer);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let message = format!(
        "Of the time that host threads spend on input, {} ({}) goes to handing it to the devices.",
        format::percent(share),
        format::time_us(transfer)
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "Handing input to the devices takes long", message)
        .remedy(
            "Copy ahead and in one piece: the whole batch of the next step while this one runs, smaller types (uint8 images, \
             bfloat16), and in each process only its own shard.",
        )
        .passed("data_transfer_percent", share, NOTE_PERCENT)
        .evidence("input_transfer_us", transfer)
        .evidence("input_processing_us", processing)
        .link("steps", "")
        .fires()
}
