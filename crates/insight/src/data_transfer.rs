//! Devices wait for input, and the host spends much of its input time on transfers.
//!
//! Devices wait for input for at least 10 % of the window. The measure is the share of the host's input time that goes to
//! transferring batches to the devices: `100 * transfer / (input + transfer)`. Severity: note from 30 % (XProf,
//! data-transfer-bound). Confidence: medium. Remedy: copy ahead of time, in one call, and in smaller data types.

use super::draft::Draft;
use super::numbers::Numbers;
use super::waiting::input_times_us;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "data_transfer", title: "Transfers take much of the input time", ..Rule::checked_by(check) };

/// Minimum share of the input time for a note (XProf, data-transfer suggestion: 30 %).
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
    Draft::new(
        FindingSeverity::Note,
        Confidence::Medium,
        "Transferring input to the devices takes a long time",
        message,
    )
    .remedy(
        "Copy the whole next batch at once while the current step runs, use smaller types (uint8 images, \
             bfloat16), and let each process copy only its own shard.",
    )
    .passed("data_transfer_percent", share, NOTE_PERCENT)
    .evidence("input_transfer_us", transfer)
    .evidence("input_processing_us", processing)
    .link(View::Steps, "")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, with_transfers};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(with_transfers(180), &RULE).severity, Note);
        fine(with_transfers(170), &RULE);
    }
}
