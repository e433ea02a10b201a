//! Devices wait for input, and the host spends most of the input time on preparing it.

use super::draft::Draft;
use super::numbers::Numbers;
use super::waiting::input_times_us;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "host_processing", title: "Input time goes to preparing batches", check };

/// Share of the input time from which the finding is a note (XProf, host-processing suggestion: 50 %).
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
        "Reading and preparing input takes {} of the time that host threads spend on input ({}). Transferring it to the devices \
         takes the rest ({}).",
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
        .link("steps", "")
        .fires()
}
