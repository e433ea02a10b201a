//! The input that devices wait for is held up on its way to them.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "data_transfer", title: "Input time is spent on copies", check };

/// Share of the input time (XProf, data-transfer suggestion: 30 %).
const NOTE_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(waits) = numbers.input_wait_percent() else {
        return lacks("too few device ops ran to tell whether the devices wait for input. Capture several steps.");
    };
    if !waits.bound() {
        return Verdict::Fine;
    }
    let Some((processing, transfer)) = numbers.input_time_us() else {
        return lacks("the capture holds no host events. Capture with ProfileOptions.host_tracer_level of at least 1.");
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
            "Copy ahead and in one piece: jax.device_put of the whole batch for the next step while this one runs, smaller types \
             (uint8 images, bfloat16), each process only its own shard (jax.make_array_from_process_local_data).",
        )
        .passed("data_transfer_percent", share, NOTE_PERCENT)
        .evidence("input_transfer_us", transfer)
        .evidence("input_processing_us", processing)
        .link("steps", "")
        .fires()
}
