//! Devices wait for input, and the host spends most of its input time on preparing batches.
//!
//! Devices wait for input for at least 10 % of the window (idle or in infeed). The measure is
//! `host_processing_percent = 100 * input / (input + transfer)`. `input` and `transfer` are the times that host threads
//! spend in these roles ([metrics.md](metrics.md), host threads). Severity: note from 50 % (XProf,
//! host-processing-bound). Confidence: medium, because waiting and working spans look alike. Remedy: parallelise
//! preprocessing, cache its results, or make it cheaper. The rule is skipped if there are no host events.

use super::draft::Draft;
use super::numbers::Numbers;
use super::waiting::input_times_us;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "host_processing",
    title: "Preparing batches takes most of the input time",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

/// Minimum share of the input time for a note (XProf, host-processing suggestion: 50 %).
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
        "Reading and preparing input takes {} of the time that host threads spend on input ({}). Transferring this \
         input to the devices takes the rest ({}).",
        format::percent(share),
        format::time_us(processing),
        format::time_us(transfer)
    );
    // A span that waits for something else cannot be distinguished from one that works.
    Draft::new(FindingSeverity::Note, Confidence::Medium, "Devices wait while the host prepares input", message)
        .remedy(
            "Do less work per batch on the host, and do it in parallel: cache decoded samples, vectorise the mapping function, \
             move augmentation to the device, use more workers, and read larger files in parallel.",
        )
        .passed("host_processing_percent", share, NOTE_PERCENT)
        .evidence("input_processing_us", processing)
        .evidence("input_transfer_us", transfer)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound, with_transfers};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(with_transfers(285), &RULE).severity, Note);
        fine(with_transfers(295), &RULE);
        fine(host_bound(400), &RULE);
    }
}
