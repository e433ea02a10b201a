//! Reads a file's metadata: `M` events (names of processes and threads), and the keys that Kineto writes next to the
//! event list.
//!
//! Uses `process_name`, `thread_name`, `process_labels`, `process_sort_index` and `thread_sort_index`. The plane of the
//! process also gets `process_labels` and `process_sort_index` as its stats `labels` and `sort_index`. A thread exists
//! if the file has an event or a name for it. A `thread_sort_index` alone does not create a thread. If a process or
//! thread has several names, the last one is used.

use serde_json::Value;

use super::args::{ArgField, ArgKey};
use super::event::RawEvent;
use super::number;
use super::store::Store;
use trace::{EventStat, StatValue, StrId};

/// Values of the keys next to the event list.
#[derive(Clone, Debug, Default)]
pub(super) struct TopLevel {
    /// True if Kineto wrote the file.
    pub is_kineto: bool,
    /// True if XLA's writer (JAX, TensorFlow) wrote the file: `metadata` contains `highres-ticks`.
    pub is_xla: bool,
    /// Kineto's `baseTimeNanoseconds`: the Unix time at which the file's times are 0.
    pub base_time_ns: Option<i64>,
    /// Kineto's `deviceProperties`.
    pub devices: Vec<DeviceProperties>,
    /// Properties of the run, such as its rank.
    pub stats: Vec<(&'static str, i64)>,
}

/// Properties of one device, as Kineto recorded them.
#[derive(Clone, Debug)]
pub(super) struct DeviceProperties {
    pub ordinal: i64,
    pub name: Option<String>,
    /// Number of threads in a warp or wave.
    pub wave: Option<i64>,
    /// Stats under the names that xplane files use.
    pub stats: Vec<(&'static str, i64)>,
}

/// Returns true for top-level keys that [`TopLevel::read`] understands.
pub(super) fn is_known_key(key: &[u8]) -> bool {
    [&b"schemaVersion"[..], b"metadata", b"deviceProperties", b"baseTimeNanoseconds", b"distributedInfo"].contains(&key)
}

impl TopLevel {
    /// Reads the value of a known key. Ignores a value with an unexpected shape.
    pub(super) fn read(&mut self, key: &[u8], json: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(json) else { return };
        match key {
            b"schemaVersion" => self.is_kineto = true,
            b"metadata" => self.is_xla |= value.get("highres-ticks").is_some(),
            b"baseTimeNanoseconds" => {
                self.is_kineto = true;
                self.base_time_ns = value.as_i64();
            }
            b"deviceProperties" => {
                let devices = value.as_array().map(Vec::as_slice).unwrap_or_default();
                self.devices = devices.iter().filter_map(device_properties).collect();
            }
            b"distributedInfo" => self.stats = integers(&value, &[("rank", "rank"), ("world_size", "world_size")]),
            _ => {}
        }
    }
}

fn device_properties(value: &Value) -> Option<DeviceProperties> {
    let stats = [
        ("totalGlobalMem", "memory_size"),
        ("computeMajor", "compute_cap_major"),
        ("computeMinor", "compute_cap_minor"),
        ("numSms", "core_count"),
    ];
    Some(DeviceProperties {
        ordinal: value.get("id")?.as_i64()?,
        name: value.get("name").and_then(Value::as_str).map(str::to_owned),
        wave: value.get("warpSize").and_then(Value::as_i64),
        stats: integers(value, &stats),
    })
}

fn integers(value: &Value, keys: &[(&str, &'static str)]) -> Vec<(&'static str, i64)> {
    keys.iter().filter_map(|&(key, stat)| Some((stat, value.get(key)?.as_i64()?))).collect()
}

impl Store {
    /// Reads an `M` event.
    pub(super) fn metadata(&mut self, event: &RawEvent, buf: &[u8]) {
        if event.repeats.is_some() {
            self.reparse_args(event, buf);
        }
        let wanted = match event.name.bytes(buf) {
            b"process_name" | b"thread_name" => ArgKey::Stat(EventStat::Name),
            b"process_labels" => ArgKey::Labels,
            b"process_sort_index" | b"thread_sort_index" => ArgKey::SortIndex,
            _ => return,
        };
        let Some(&ArgField { value, .. }) = self.fields.iter().rfind(|field| field.key == wanted) else { return };
        let pid = self.id(event.pid, buf);
        if event.name.bytes(buf) == b"thread_sort_index" {
            let tid = self.id(event.tid, buf);
            self.marks.orders.extend(number::id(value.bytes(buf)).map(|order| (pid, tid, order)));
            return;
        }
        let plane = self.plane(pid);
        match wanted {
            ArgKey::Stat(_) => {
                let name = self.intern(value, buf);
                if name.is_empty() {
                    return;
                }
                if event.name.bytes(buf) == b"thread_name" {
                    let tid = self.id(event.tid, buf);
                    let line = self.line(pid, tid);
                    self.trace.lines.get_mut(line.index()).into_iter().for_each(|line| line.name = name);
                } else {
                    self.trace.planes.get_mut(plane.index()).into_iter().for_each(|plane| plane.name = name);
                }
            }
            ArgKey::Labels => {
                let labels = self.intern(value, buf);
                self.set_stat(plane.index(), "labels", StatValue::Text(labels));
            }
            _ => {
                let Some(index) = number::id(value.bytes(buf)) else { return };
                self.set_stat(plane.index(), "sort_index", StatValue::Int(index));
                self.trace.planes.get_mut(plane.index()).into_iter().for_each(|plane| plane.order = Some(index));
            }
        }
    }

    /// Sets or replaces a stat of a plane.
    pub(super) fn set_stat(&mut self, plane: usize, name: &str, value: StatValue) {
        let name: StrId = self.trace.strings.intern(name);
        let Some(plane) = self.trace.planes.get_mut(plane) else { return };
        match plane.stats.iter_mut().find(|(key, _)| *key == name) {
            Some(stat) => stat.1 = value,
            None => plane.stats.push((name, value)),
        }
    }
}
