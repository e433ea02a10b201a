//! Device memory profiles (`jax.profiler.save_device_memory_profile`), which are pprof `Profile` messages: the memory on each
//! device by line of Python code. A profile contains the arrays and programs alive at one moment. A profile lacks the temporary
//! values of a running program.
//!
//! ```text
//! Profile   1 sample_type*  2 sample*  4 location*  5 function*  6 string_table*
//! Sample    1 location_id*  2 value*  3 label*      values in the order of the sample types: count, bytes
//! Label     1 key  2 str                            kind: buffer, executable; device: cuda:0
//! ```

use std::collections::BTreeMap;

use base::source_line;
use prost::Message;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

use crate::messages::messages;
use crate::problems::{MOST_BYTES, Problem, Problems};

/// A frame of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Name of the function. Empty if the file does not name the function.
    pub function: String,
    /// File of the function.
    pub file: String,
    /// Line in the file. Zero if unknown.
    pub line: i64,
}

impl Frame {
    /// Returns `file:line`. For an installed package, the path starts at the package.
    pub fn place(&self) -> String {
        match self.line {
            0 => short_file(&self.file).to_owned(),
            line => format!("{}:{line}", short_file(&self.file)),
        }
    }
}

/// Index of a frame in [`HeapProfile::frames`].
pub type FrameIndex = usize;

/// Memory allocated by one call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapSample {
    /// Call stack, innermost frame first.
    pub stack: Vec<FrameIndex>,
    /// Number of arrays or programs.
    pub count: i64,
    /// Bytes of the arrays or programs on the device.
    pub bytes: i64,
    /// `buffer` or `executable`.
    pub kind: String,
    /// Device, such as `cuda:0`. Empty for programs.
    pub device: String,
}

/// A device memory profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapProfile {
    /// Distinct frames of the profile.
    pub frames: Vec<Frame>,
    /// Samples of the profile, in the order of the file.
    pub samples: Vec<HeapSample>,
    /// Parts that were unreadable.
    pub problems: Problems,
}

/// Key by which samples are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapKey {
    /// Line of the program and its function: see [`HeapProfile::own_frame`].
    Line,
    /// Call stack, outermost frame first.
    Stack,
    /// `buffer` or `executable`.
    Kind,
    /// Device. Empty for executables.
    Device,
}

/// Memory of the samples with one key, in a profile and in an earlier profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapSums {
    /// Texts of the key.
    pub key: Vec<String>,
    /// Memory in the later profile.
    pub now: HeapSum,
    /// Memory in the earlier profile. Zero without an earlier profile.
    pub before: HeapSum,
}

/// Number of arrays and programs, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSum {
    /// Arrays and programs.
    pub count: i64,
    /// Bytes of the arrays and programs.
    pub bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

impl HeapProfile {
    /// Reads a decompressed pprof `Profile`. Unreadable parts are left out and counted.
    pub fn read(profile: &[u8]) -> HeapProfile {
        let mut found = HeapProfile::default();
        let parts = messages(profile, &mut found.problems);
        let of = |number: u32| parts.iter().filter(move |part| part.0 == number).map(|part| part.1);
        let texts: Vec<String> = of(6).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        let text =
            |index: i64| usize::try_from(index).ok().and_then(|index| texts.get(index)).map_or("", String::as_str);
        let types: Vec<ValueType> = of(1).filter_map(|message| found.decode(message)).collect();
        let place = |unit: &str| types.iter().position(|it| text(it.unit) == unit);
        // JAX writes the sample types `allocations/count` and `space/bytes`. Go's tool accepts them in any order.
        let (count, bytes) = (place("count").unwrap_or(0), place("bytes").unwrap_or(1));
        let mut functions: FxHashMap<u64, Function> = FxHashMap::default();
        for message in of(5) {
            let Some(function) = found.decode::<Function>(message) else { continue };
            match functions.entry(function.id) {
                Entry::Vacant(place) => drop(place.insert(function)),
                Entry::Occupied(_) => found.problems.add(Problem::RepeatedId),
            }
        }
        let mut locations: FxHashMap<u64, Vec<FrameIndex>> = FxHashMap::default();
        let mut known: FxHashMap<(u64, i64), FrameIndex> = FxHashMap::default();
        for location in of(4) {
            let Some(location) = found.decode::<Location>(location) else { continue };
            if locations.contains_key(&location.id) {
                found.problems.add(Problem::RepeatedId);
                continue;
            }
            let frames = location.line.iter().map(|line| {
                *known.entry((line.function_id, line.line)).or_insert_with(|| {
                    let function = functions.get(&line.function_id);
                    let name = |of: fn(&Function) -> i64| function.map_or("", |function| text(of(function))).to_owned();
                    found.frames.push(Frame {
                        function: name(|it| it.name),
                        file: name(|it| it.filename),
                        line: line.line,
                    });
                    found.frames.len() - 1
                })
            });
            locations.insert(location.id, frames.collect());
        }
        let (mut all_counts, mut all_bytes) = (0, 0);
        for message in of(2) {
            let Some(sample) = found.decode::<Sample>(message) else { continue };
            let stack = sample.location_id.iter().filter_map(|id| locations.get(id)).flatten().copied().collect();
            let label =
                |key: &str| sample.label.iter().find(|label| text(label.key) == key).map_or("", |it| text(it.str));
            let value = |at: usize| sample.value.get(at).copied().unwrap_or(0);
            let (kind, device) = (label("kind").to_owned(), label("device").to_owned());
            let count = found.added(value(count), &mut all_counts);
            let bytes = found.added(value(bytes), &mut all_bytes);
            found.samples.push(HeapSample { stack, count, bytes, kind, device });
        }
        found
    }

    /// Checks a number before it is added to `sum`. Returns 0 and counts a problem if the number or the sum exceeds any
    /// possible memory.
    fn added(&mut self, value: i64, sum: &mut u64) -> i64 {
        let size = value.unsigned_abs();
        if size >= MOST_BYTES - *sum {
            self.problems.add(Problem::ImpossibleSize);
            return 0;
        }
        *sum += size;
        value
    }

    fn decode<M: Message + Default>(&mut self, message: &[u8]) -> Option<M> {
        let read = M::decode(message);
        if read.is_err() {
            self.problems.add(Problem::Unreadable);
        }
        read.ok()
    }

    /// Adds up the samples by `key`, with the sums of an `earlier` profile next to them. A key consists of one text. Only
    /// [`HeapKey::Line`] has two: the line and its function.
    pub fn sums(&self, key: HeapKey, earlier: Option<&HeapProfile>) -> Vec<HeapSums> {
        let mut found: BTreeMap<Vec<String>, HeapSums> = BTreeMap::new();
        for (profile, is_earlier) in [(Some(self), false), (earlier, true)] {
            let samples =
                profile.iter().flat_map(|profile| profile.samples.iter().map(move |sample| (profile, sample)));
            for (profile, sample) in samples {
                let key = profile.key_of(sample, key);
                let sums = found.entry(key.clone()).or_insert_with(|| HeapSums { key, ..HeapSums::default() });
                let sum = if is_earlier { &mut sums.before } else { &mut sums.now };
                sum.count = sum.count.saturating_add(sample.count);
                sum.bytes = sum.bytes.saturating_add(sample.bytes);
            }
        }
        found.into_values().collect()
    }

    /// Returns the texts of a sample's key.
    pub fn key_of(&self, sample: &HeapSample, key: HeapKey) -> Vec<String> {
        match key {
            HeapKey::Line => {
                let frame = self.own_frame(sample);
                let function = frame.map(|frame| frame.function.clone());
                vec![frame.map(Frame::place).unwrap_or_default(), function.unwrap_or_default()]
            }
            HeapKey::Stack => {
                let frames = sample.stack.iter().rev().filter_map(|&index| self.frames.get(index));
                let texts: Vec<String> =
                    frames.map(|frame| format!("{} ({})", frame.function, frame.place())).collect();
                vec![texts.join(" > ")]
            }
            HeapKey::Kind => vec![sample.kind.clone()],
            HeapKey::Device => vec![sample.device.clone()],
        }
    }

    /// Returns the frame of the user's program: the innermost frame that is not in an installed package, or the innermost frame
    /// if all frames are in packages.
    pub fn own_frame(&self, sample: &HeapSample) -> Option<&Frame> {
        let frames = || sample.stack.iter().filter_map(|&index| self.frames.get(index));
        frames().find(|frame| !source_line::is_library(&frame.file)).or_else(|| frames().next())
    }
}

/// Returns a path without the part before an installed package.
fn short_file(file: &str) -> &str {
    ["/site-packages/", "/dist-packages/"].iter().find_map(|of| Some(file.rsplit_once(of)?.1)).unwrap_or(file)
}
