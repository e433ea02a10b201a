//! Compares the memory of runs: their peaks, the peaks by class, and the buffers that only one run has.

use std::collections::BTreeMap;

use super::{MemoryLineChange, Subject, live_memory};
use base::sort;
use report::{Memory, MemoryBuffers, MemoryClass, ProgramMemory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of buffers that are listed for one run.
const MOST_BUFFERS: usize = 20;

/// Memory of each run. Lists have one entry per run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryComparison {
    /// Peak of the fullest device of each run. If no device is known, this is the peak of the largest program.
    pub peak_bytes: Vec<Option<u64>>,
    /// Peak of the fullest device of each run, in percent of its capacity.
    pub peak_percent: Vec<Option<f64>>,
    /// Program that runs at the peak of the fullest device of each run. The buffers belong to this program. If no
    /// device is known, this is the largest program.
    pub programs: Vec<Option<String>>,
    /// Bytes at the peak by class, sorted by difference, largest first. The classes of a run add up to the run's
    /// `peak_bytes` if the file records the contents of the memory.
    pub classes: Vec<MemoryClassChange>,
    /// Buffers that were added or removed compared with the baseline, sorted by bytes, largest first.
    pub buffers: Vec<MemoryBuffersChange>,
    /// Live memory of each run over all its devices, if the run has a device memory profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live_bytes: Vec<Option<u64>>,
    /// Lines of code that hold more or less live memory than in the baseline, the largest change first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<MemoryLineChange>,
}

/// One class of memory in all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryClassChange {
    /// Class, with the same values as `memory.devices[].by_class[].class` in the profile.
    pub class: String,
    /// Bytes in each run. 0 if a run has none in this class.
    pub bytes: Vec<u64>,
}

/// Buffers of one class, scope and shape whose number or size changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBuffersChange {
    /// Index of the run.
    pub run: u32,
    /// Class of the buffers.
    pub class: String,
    /// Scope of the buffers. Empty if unknown.
    pub scope: String,
    /// Type and shape. Empty if unknown.
    pub shape: String,
    /// Change in the number of buffers, compared with the baseline. Negative if there are fewer.
    pub count_change: i64,
    /// Change in bytes, compared with the baseline. Negative if there are fewer.
    pub bytes_change: i64,
}

/// Compares the memory of all runs. Returns `None` if fewer than two runs record their memory.
pub(super) fn memory(subjects: &[Subject], baseline: usize) -> Option<MemoryComparison> {
    let of = |subject: &Subject| subject.profile.memory.clone().unwrap_or_default();
    let sections: Vec<Memory> = subjects.iter().map(of).collect();
    let peaks: Vec<Peak<'_>> = sections.iter().map(Peak::of).collect();
    let peak_bytes: Vec<Option<u64>> = peaks.iter().map(|peak| peak.bytes).collect();
    let live_bytes = live_memory::live_bytes(&sections);
    let are_known = |bytes: &[Option<u64>]| bytes.iter().flatten().count() >= 2;
    if !are_known(&peak_bytes) && !are_known(&live_bytes) {
        return None;
    }
    Some(MemoryComparison {
        peak_percent: peaks.iter().map(|peak| peak.percent).collect(),
        programs: peaks.iter().map(|peak| peak.program.map(str::to_owned)).collect(),
        classes: classes(&peaks),
        buffers: buffers(&peaks, baseline),
        lines: live_memory::lines(&sections, baseline),
        live_bytes: if are_known(&live_bytes) { live_bytes } else { Vec::new() },
        peak_bytes,
    })
}

/// Peak memory of one run, with its contents.
#[derive(Clone, Copy, Debug, Default)]
struct Peak<'a> {
    bytes: Option<u64>,
    percent: Option<f64>,
    program: Option<&'a str>,
    classes: &'a [MemoryClass],
    /// Buffers of the program. `None` if the profile does not list them.
    buffers: Option<&'a [MemoryBuffers]>,
}

impl<'a> Peak<'a> {
    /// Returns the peak of the device that uses the most bytes. If no device is known, returns the peak of the program that
    /// needs the most bytes.
    fn of(section: &'a Memory) -> Peak<'a> {
        // The order is reversed, so that the first of several identical peaks is used.
        let fullest = section.devices.iter().rev().filter(|it| it.peak_bytes.is_some()).max_by_key(|it| it.peak_bytes);
        let Some(device) = fullest else {
            return section
                .programs
                .iter()
                .rev()
                .max_by_key(|it| it.peak_heap_bytes)
                .map(Peak::of_program)
                .unwrap_or_default();
        };
        let program = device.program.as_deref();
        let listed = section.programs.iter().find(|it| Some(it.module.as_str()) == program);
        Peak {
            bytes: device.peak_bytes,
            percent: device.peak_percent,
            program,
            classes: &device.by_class,
            buffers: listed.map(|it| it.buffers.as_slice()),
        }
    }

    fn of_program(program: &'a ProgramMemory) -> Peak<'a> {
        Peak {
            bytes: Some(program.peak_heap_bytes),
            percent: None,
            program: Some(&program.module),
            classes: &program.by_class,
            buffers: Some(&program.buffers),
        }
    }
}

fn classes(peaks: &[Peak<'_>]) -> Vec<MemoryClassChange> {
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (run, peak) in peaks.iter().enumerate() {
        for class in peak.classes {
            let bytes = found.entry(&class.class).or_insert_with(|| vec![0; peaks.len()]);
            if let Some(bytes) = bytes.get_mut(run) {
                *bytes = class.bytes;
            }
        }
    }
    let mut found: Vec<MemoryClassChange> =
        found.into_iter().map(|(class, bytes)| MemoryClassChange { class: class.to_owned(), bytes }).collect();
    let spread = |it: &MemoryClassChange| {
        it.bytes.iter().max().copied().unwrap_or(0) - it.bytes.iter().min().copied().unwrap_or(0)
    };
    sort::sort_by(&mut found, |a, b| spread(b).cmp(&spread(a)).then_with(|| a.class.cmp(&b.class)));
    found
}

/// Groups buffers by class, scope and shape, with `(count, bytes)`.
fn grouped(buffers: &[MemoryBuffers]) -> BTreeMap<(&str, &str, &str), (i64, i64)> {
    let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let entry = |it: &'_ MemoryBuffers| (whole(it.count), whole(it.bytes));
    sort::map(buffers.iter().map(|it| ((it.class.as_str(), it.scope.as_str(), it.shape.as_str()), entry(it))))
}

fn buffers(peaks: &[Peak<'_>], baseline: usize) -> Vec<MemoryBuffersChange> {
    let Some(base) = peaks.get(baseline).and_then(|it| it.buffers).map(grouped) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let others = peaks.iter().enumerate().filter(|(run, _)| *run != baseline);
    for (run, buffers) in others.filter_map(|(run, peak)| Some((run, peak.buffers?))) {
        let own = grouped(buffers);
        let keys = sort::set(own.keys().chain(base.keys()).copied());
        let mut found: Vec<MemoryBuffersChange> = keys
            .into_iter()
            .map(|key| {
                let [ours, theirs] = [&own, &base].map(|of| of.get(&key).copied().unwrap_or_default());
                let (class, scope, shape) = key;
                MemoryBuffersChange {
                    run: u32::try_from(run).unwrap_or(u32::MAX),
                    class: class.to_owned(),
                    scope: scope.to_owned(),
                    shape: shape.to_owned(),
                    count_change: ours.0.saturating_sub(theirs.0),
                    bytes_change: ours.1.saturating_sub(theirs.1),
                }
            })
            .filter(|change| change.count_change != 0 || change.bytes_change != 0)
            .collect();
        sort::sort_by(&mut found, |a, b| b.bytes_change.unsigned_abs().cmp(&a.bytes_change.unsigned_abs()));
        found.truncate(MOST_BUFFERS);
        all.append(&mut found);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{DeviceMemory, MemoryClass, ProgramMemory, UnifiedProfile};

    fn subject(peak: u64, activations: &[(&str, u64, u64)]) -> Subject {
        let class = MemoryClass { class: "activation".to_owned(), bytes: peak / 2, percent: 50.0 };
        let buffers = activations.iter().map(|&(scope, count, bytes)| MemoryBuffers {
            class: "activation".to_owned(),
            scope: scope.to_owned(),
            shape: "f32[8]".to_owned(),
            count,
            bytes,
        });
        let program = ProgramMemory {
            module: "jit_f(1)".to_owned(),
            peak_heap_bytes: peak,
            by_class: vec![class],
            buffers: buffers.collect(),
            ..ProgramMemory::default()
        };
        let by_class = [("activation", peak / 2), ("outside the program", peak - peak / 2)]
            .map(|(class, bytes)| MemoryClass { class: class.to_owned(), bytes, percent: 50.0 });
        let device = DeviceMemory {
            peak_bytes: Some(peak),
            peak_percent: Some(peak as f64),
            program: Some("jit_f(1)".to_owned()),
            by_class: by_class.to_vec(),
            ..DeviceMemory::default()
        };
        // Larger than any program that ran on the device.
        let other = ProgramMemory { module: "jit_g(2)".to_owned(), peak_heap_bytes: 10 * peak, ..program.clone() };
        let memory = Some(Memory { devices: vec![device], programs: vec![other, program], live: None });
        Subject::new(UnifiedProfile { memory, ..UnifiedProfile::default() })
    }

    #[test]
    fn added_and_removed_buffers_are_listed() {
        let before = subject(100, &[("first", 2, 20), ("second", 1, 10)]);
        let after = subject(60, &[("first", 2, 20), ("third", 1, 5)]);
        let found = memory(&[before.clone(), after], 0).unwrap();
        let percents = vec![Some(100.0), Some(60.0)];
        assert_eq!((&found.peak_bytes, &found.peak_percent), (&vec![Some(100), Some(60)], &percents));
        assert_eq!(found.programs, [Some("jit_f(1)".to_owned()), Some("jit_f(1)".to_owned())]);
        let classes = [("activation", [50, 30]), ("outside the program", [50, 30])]
            .map(|(class, bytes)| MemoryClassChange { class: class.to_owned(), bytes: bytes.to_vec() });
        assert_eq!(found.classes, classes);
        let changes: Vec<_> =
            found.buffers.iter().map(|it| (it.scope.as_str(), it.count_change, it.bytes_change)).collect();
        assert_eq!(changes, [("second", -1, -10), ("third", 1, 5)]);
        let nothing = Subject::new(UnifiedProfile::default());
        assert_eq!(memory(&[before, nothing], 0), None, "only one run knows its memory");
    }
}
