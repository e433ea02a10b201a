//! Memory in use on the devices has grown since an earlier memory profile.
//!
//! The rule compares two device memory profiles. `growth_percent` is the growth of the live bytes, relative to the
//! earlier profile. If the user gives two profiles, the first is the earlier one. In a run with a trace, the last
//! memory profile in the run's folder is compared with the first one ([docs/capture.md](capture.md#memory)). Severity:
//! note from 10 %, warning from 50 % (ours), each with at least 1 MiB. Confidence: medium, because memory may differ by
//! design between two points of a loop. The message names the source lines that grew most. If the earlier profile
//! contains more bytes, a note reports the decrease. The confidence of this note is low, because only the names of the
//! files give their order. Remedy: find the code that keeps arrays alive. The rule is skipped for a memory profile
//! without an earlier one. The rule is not reported for other files.

use std::collections::BTreeMap;

use super::draft::{Draft, lacks};
use super::memory::LEAST_BYTES;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use base::moment::{self, Moment};
use memory::HeapProfile;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "heap_growth", title: "Memory has grown since the earlier profile", ..Rule::checked_by(check) };

/// Minimum growth for a note, in percent of the earlier bytes. We chose this limit because caches with only a few
/// arrays grow less.
const NOTE_PERCENT: f64 = 10.0;
/// Minimum growth for a warning. We chose this limit because a steady program does not grow by half.
const WARNING_PERCENT: f64 = 50.0;
/// Number of source lines that the message names.
const NAMED: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let run = numbers.context.run;
    let Some(profile) = run.heap_profile.as_deref() else { return Verdict::Irrelevant };
    let Some(earlier) = &run.earlier_heap_profile else {
        return lacks(
            "there is no earlier memory profile to compare with. Call \
             jax.profiler.save_device_memory_profile(f\"memory_{step}.prof\") at regular intervals, and open two or more \
             profiles together.",
        );
    };
    let (before, after) = (HeapProfile::read(&earlier.bytes), HeapProfile::read(profile));
    let (lines_before, lines) = (by_line(&before), by_line(&after));
    let sum = |lines: &BTreeMap<String, i64>| lines.values().fold(0_i64, |sum, &bytes| sum.saturating_add(bytes));
    let (bytes_before, bytes) = (sum(&lines_before), sum(&lines));
    // The order of the profiles comes from their file names. If the names do not contain an order, the first profile may be the
    // later one.
    let is_ordered =
        earlier.name.bytes().any(|byte| byte.is_ascii_digit()) || moment::of_name(&earlier.name) != Moment::Unknown;
    let (grew, growth) = (bytes >= bytes_before, bytes.abs_diff(bytes_before));
    let (least, from, to) = if grew { (bytes_before, &lines_before, &lines) } else { (bytes, &lines, &lines_before) };
    let percent = if least > 0 { 100.0 * growth as f64 / least as f64 } else { 0.0 };
    if percent < NOTE_PERCENT || growth < LEAST_BYTES || is_ordered && !grew {
        return Verdict::Fine;
    }
    let mut grown: Vec<(i64, &String)> = to
        .iter()
        .map(|(line, &bytes)| (bytes.saturating_sub(from.get(line).copied().unwrap_or(0)), line))
        .filter(|(grown, _)| *grown > 0)
        .collect();
    base::sort::sort_by(&mut grown, |a, b| b.0.cmp(&a.0));
    let words: Vec<String> = grown
        .iter()
        .take(NAMED)
        .map(|(grown, line)| format!("{} (+{})", format::printable(line), format::bytes(grown.unsigned_abs())))
        .collect();
    let [now, before] = [bytes, bytes_before].map(|bytes| format::bytes(bytes.unsigned_abs()));
    let name = format::printable(&earlier.name);
    let words = words.join(", ");
    if !grew {
        let message =
            format!("{name} contains {before}, the later profile {now}. The difference by source line: {words}.");
        let title = format!("{name} contains {} more than the later profile", format::bytes(growth));
        return Draft::new(FindingSeverity::Note, Confidence::Low, &title, message)
            .remedy(
                "If the profiles were saved in the other order, memory grew: name them so that the order shows (memory_1.prof, \
                 memory_2.prof). \"By call stack\" on the Memory page shows which stacks differ.",
            )
            .evidence("bytes", bytes as f64)
            .evidence("bytes_before", bytes_before as f64)
            .link(View::Memory, "")
            .fires();
    }
    let message = format!("{now} are in use, compared to {before} in {name}. The growth by source line: {words}.");
    let is_bad = percent >= WARNING_PERCENT;
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::Medium,
        &format!("Memory has grown by {} since the earlier profile", format::percent(percent)),
        message,
    )
    .remedy(
        "If both profiles were saved at the same point of the loop, look for code that keeps arrays alive: a list of losses or \
         metrics (store float(loss) instead), a cache, or a closure. \"By call stack\" on the Memory page shows the stacks that \
         grew. Save a third profile to distinguish a leak from a warm-up.",
    )
    .passed("growth_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("growth_bytes", growth as f64)
    .evidence("bytes", bytes as f64)
    .evidence("bytes_before", bytes_before as f64)
    .link(View::Memory, "")
    .fires()
}

/// Sums bytes by source line of the user's program.
fn by_line(profile: &HeapProfile) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let line = profile.own_frame(sample).map_or_else(|| "unknown lines".to_owned(), |frame| frame.place());
        let sum: &mut i64 = sums.entry(line).or_default();
        *sum = sum.saturating_add(sample.bytes);
    }
    sums
}
