//! Devices wait for input, and the host spends much of the input time on transfers.

use super::draft::Draft;
use super::numbers::Numbers;
use super::waiting::input_times_us;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "data_transfer", title: "Input time goes to transfers", check };

/// Share of the input time from which the finding is a note (XProf, data-transfer suggestion: 30 %).
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
        "Transferring input to the devices takes {} ({}) of the time that host threads spend on input.",
        format::percent(share),
        format::time_us(transfer)
    );
    Draft::new(FindingSeverity::Note, Confidence::Medium, "Transferring input to the devices takes long", message)
        .remedy(
            "Copy the whole next batch at once while the current step runs, use smaller types (uint8 images, bfloat16), and copy \
             only its own shard in each process.",
        )
        .passed("data_transfer_percent", share, NOTE_PERCENT)
        .evidence("input_transfer_us", transfer)
        .evidence("input_processing_us", processing)
        .link("steps", "")
        .fires()
}
