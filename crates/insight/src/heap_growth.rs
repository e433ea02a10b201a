//! More lives on the devices than when an earlier profile of their memory was saved.

use std::collections::BTreeMap;

use super::draft::{Draft, lacks};
use super::memory::{LEAST_BYTES, VIEW};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use memory::HeapProfile;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "heap_growth", title: "Memory grew since the profile before", check };

/// Growth in percent of what lived before (ours: caches of a few arrays stay below).
const NOTE_PERCENT: f64 = 10.0;
/// From this growth on the finding is a warning (ours: half as much again between two moments of a steady program).
const WARNING_PERCENT: f64 = 50.0;
/// Lines that are named.
const NAMED: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let run = numbers.context.run;
    let Some(profile) = run.heap_profile.as_deref() else { return Verdict::Irrelevant };
    let Some(earlier) = &run.earlier_heap_profile else {
        return lacks(
            "there is no earlier memory profile to compare with. Call jax.profiler.save_device_memory_profile(f\"memory_{step}.prof\") \
             every so many steps, and open two or more together.",
        );
    };
    let (before, after) = (HeapProfile::read(&earlier.bytes), HeapProfile::read(profile));
    let (lines_before, lines) = (by_line(&before), by_line(&after));
    let sum = |lines: &BTreeMap<String, i64>| lines.values().fold(0_i64, |sum, &bytes| sum.saturating_add(bytes));
    let (bytes_before, bytes) = (sum(&lines_before), sum(&lines));
    let growth = u64::try_from(bytes.saturating_sub(bytes_before)).unwrap_or(0);
    let percent = if bytes_before > 0 { 100.0 * growth as f64 / bytes_before as f64 } else { 0.0 };
    if percent < NOTE_PERCENT || growth < LEAST_BYTES {
        return Verdict::Fine;
    }
    let mut grown: Vec<(i64, &String)> = lines
        .iter()
        .map(|(line, &bytes)| (bytes.saturating_sub(lines_before.get(line).copied().unwrap_or(0)), line))
        .filter(|(grown, _)| *grown > 0)
        .collect();
    base::sort::sort_by(&mut grown, |a, b| b.0.cmp(&a.0));
    let words: Vec<String> = grown
        .iter()
        .take(NAMED)
        .map(|(grown, line)| format!("{} {} more", format::printable(line), format::bytes(grown.unsigned_abs())))
        .collect();
    let message = format!(
        "{} live where {} lived in {}. By line: {}.",
        format::bytes(bytes.unsigned_abs()),
        format::bytes(bytes_before.unsigned_abs()),
        format::printable(&earlier.name),
        words.join(", ")
    );
    let is_bad = percent >= WARNING_PERCENT;
    Draft::new(
        if is_bad { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::Medium,
        &format!("Memory grew by {} since the profile before", format::percent(percent)),
        message,
    )
    .remedy(
        "If both were saved at the same point of the loop, something keeps arrays: a list of losses or metrics (take float(loss)), a cache, a \
         closure. The Memory page shows under \"By call stack\" which stacks grew. A third profile tells a leak from a warm-up.",
    )
    .passed("growth_percent", percent, if is_bad { WARNING_PERCENT } else { NOTE_PERCENT })
    .evidence("growth_bytes", growth as f64)
    .evidence("bytes", bytes as f64)
    .evidence("bytes_before", bytes_before as f64)
    .link(VIEW, "")
    .fires()
}

/// Bytes by line of the user's program.
fn by_line(profile: &HeapProfile) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let line = profile.own_frame(sample).map_or_else(|| "unknown lines".to_owned(), |frame| frame.place());
        let sum: &mut i64 = sums.entry(line).or_default();
        *sum = sum.saturating_add(sample.bytes);
    }
    sums
}
