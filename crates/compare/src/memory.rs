//! What fills the memory of the runs: their peaks, by class, and the buffers that one has and the other lacks.

use std::collections::BTreeMap;

use super::Subject;
use base::sort;
use report::{Memory, MemoryBuffers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Buffers of one run that are listed.
const MOST_BUFFERS: usize = 20;

/// What fills the memory of each run. Lists have one entry per run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryComparison {
    /// The peak of each run's fullest device; where no device is known, of its largest program.
    pub peak_bytes: Vec<Option<u64>>,
    /// The peak of each run's fullest device, of its capacity.
    pub peak_percent: Vec<Option<f64>>,
    /// The largest program of each run, whose classes and buffers these are.
    pub programs: Vec<Option<String>>,
    /// Bytes at the peak of these programs by class, those with the largest difference first.
    pub classes: Vec<MemoryClassChange>,
    /// Buffers that came or went against the baseline, those with most bytes first.
    pub buffers: Vec<MemoryBuffersChange>,
}

/// A class in all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryClassChange {
    /// The class, as `memory.programs[].by_class[].class` of the profile.
    pub class: String,
    /// Bytes; 0 where a run has none of it.
    pub bytes: Vec<u64>,
}

/// Buffers of one class, scope and shape that one of two runs has more of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBuffersChange {
    /// Index of the run.
    pub run: u32,
    /// Class of the buffers.
    pub class: String,
    /// Scope of the buffers; empty where unknown.
    pub scope: String,
    /// Type and shape; empty where unknown.
    pub shape: String,
    /// Buffers more than in the baseline; less than 0 where there are fewer.
    pub count_change: i64,
    /// Bytes more than in the baseline; less than 0 where there are fewer.
    pub bytes_change: i64,
}

/// The memory of all runs; `None` unless two of them know theirs.
pub(super) fn memory(subjects: &[Subject], baseline: usize) -> Option<MemoryComparison> {
    let of = |subject: &Subject| subject.profile.memory.clone().unwrap_or_default();
    let sections: Vec<Memory> = subjects.iter().map(of).collect();
    let peak_bytes: Vec<Option<u64>> = sections.iter().map(peak).collect();
    if peak_bytes.iter().flatten().count() < 2 {
        return None;
    }
    let percents = |section: &Memory| {
        let known = section.devices.iter().filter_map(|device| device.peak_percent);
        known.reduce(f64::max)
    };
    Some(MemoryComparison {
        peak_percent: sections.iter().map(percents).collect(),
        programs: sections.iter().map(|it| it.programs.first().map(|program| program.module.clone())).collect(),
        classes: classes(&sections),
        buffers: buffers(&sections, baseline),
        peak_bytes,
    })
}

/// The most bytes that a device uses, else that a program needs.
fn peak(section: &Memory) -> Option<u64> {
    let of_devices = section.devices.iter().filter_map(|device| device.peak_bytes).max();
    of_devices.or_else(|| section.programs.iter().map(|program| program.peak_heap_bytes).max())
}

fn classes(sections: &[Memory]) -> Vec<MemoryClassChange> {
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (run, section) in sections.iter().enumerate() {
        for class in section.programs.iter().take(1).flat_map(|program| &program.by_class) {
            let bytes = found.entry(&class.class).or_insert_with(|| vec![0; sections.len()]);
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

/// The buffers of a run's largest program, by class, scope and shape: `(count, bytes)`.
fn grouped(section: &Memory) -> BTreeMap<(&str, &str, &str), (i64, i64)> {
    let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let own = section.programs.iter().take(1).flat_map(|program| &program.buffers);
    let entry = |it: &'_ MemoryBuffers| (whole(it.count), whole(it.bytes));
    sort::map(own.map(|it| ((it.class.as_str(), it.scope.as_str(), it.shape.as_str()), entry(it))))
}

fn buffers(sections: &[Memory], baseline: usize) -> Vec<MemoryBuffersChange> {
    let Some(base) = sections.get(baseline).filter(|it| !it.programs.is_empty()).map(grouped) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let others = sections.iter().enumerate().filter(|(run, it)| *run != baseline && !it.programs.is_empty());
    for (run, section) in others {
        let own = grouped(section);
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
        let device =
            DeviceMemory { peak_bytes: Some(peak + 1), peak_percent: Some(peak as f64), ..DeviceMemory::default() };
        let memory = Some(Memory { devices: vec![device], programs: vec![program] });
        Subject::new(UnifiedProfile { memory, ..UnifiedProfile::default() })
    }

    #[test]
    fn what_came_and_went_is_listed() {
        let before = subject(100, &[("first", 2, 20), ("second", 1, 10)]);
        let after = subject(60, &[("first", 2, 20), ("third", 1, 5)]);
        let found = memory(&[before.clone(), after], 0).unwrap();
        assert_eq!((found.peak_bytes, found.peak_percent), (vec![Some(101), Some(61)], vec![Some(100.0), Some(60.0)]));
        assert_eq!(found.classes, [MemoryClassChange { class: "activation".to_owned(), bytes: vec![50, 30] }]);
        let changes: Vec<_> =
            found.buffers.iter().map(|it| (it.scope.as_str(), it.count_change, it.bytes_change)).collect();
        assert_eq!(changes, [("second", -1, -10), ("third", 1, 5)]);
        let nothing = Subject::new(UnifiedProfile::default());
        assert_eq!(memory(&[before, nothing], 0), None, "only one run knows its memory");
    }
}
