//! Builds the section `memory.live` of the report: the contents of a device memory profile.

use memory::{HeapKey, HeapProfile, HeapSums};
use report::{LiveMemory, LiveMemoryKind, LiveMemoryLine};

use memory::share;

/// Maximum number of source lines that the section lists. Nearly every program has fewer lines, so that two profiles
/// can be compared completely.
const MOST_LINES: usize = 1_000;
/// Maximum number of source lines for which the section contains the call stack. A stack may take kilobytes.
const MOST_STACKS: usize = 50;

/// Builds the section. Returns `None` for a profile without samples.
pub(super) fn live(profile: &HeapProfile) -> Option<LiveMemory> {
    if profile.samples.is_empty() {
        return None;
    }
    let kinds = sorted(profile, HeapKey::Kind);
    let total_bytes = kinds.iter().fold(0u64, |total, sums| total.saturating_add(unsigned(sums.now.bytes)));
    let kinds = kinds.into_iter().map(|sums| LiveMemoryKind {
        count: unsigned(sums.now.count),
        bytes: unsigned(sums.now.bytes),
        percent: share(unsigned(sums.now.bytes), total_bytes),
        kind: sums.key.into_iter().next().unwrap_or_default(),
    });
    let lines_of_samples: Vec<Vec<String>> =
        profile.samples.iter().map(|sample| profile.key_of(sample, HeapKey::Line)).collect();
    let largest_stack = |line: &[String]| {
        // A profile has one sample per call stack, kind and device.
        let samples = profile.samples.iter().zip(&lines_of_samples).filter(|(_, key)| key.as_slice() == line);
        let (largest, _) = samples.max_by_key(|(sample, _)| sample.bytes)?;
        profile.key_of(largest, HeapKey::Stack).into_iter().next()
    };
    let lines = sorted(profile, HeapKey::Line).into_iter().take(MOST_LINES).enumerate().map(|(at, sums)| {
        let stack = if at < MOST_STACKS { largest_stack(&sums.key) } else { None }.unwrap_or_default();
        let mut key = sums.key.into_iter();
        LiveMemoryLine {
            line: key.next().unwrap_or_default(),
            function: key.next().unwrap_or_default(),
            count: unsigned(sums.now.count),
            bytes: unsigned(sums.now.bytes),
            percent: share(unsigned(sums.now.bytes), total_bytes),
            stack,
        }
    });
    Some(LiveMemory { total_bytes, kinds: kinds.collect(), lines: lines.collect() })
}

fn sorted(profile: &HeapProfile, key: HeapKey) -> Vec<HeapSums> {
    let mut sums = profile.sums(key, None);
    base::sort::sort_by(&mut sums, |a, b| b.now.bytes.cmp(&a.now.bytes));
    sums
}

/// Converts a signed value from the file. A negative size is invalid and becomes 0.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
