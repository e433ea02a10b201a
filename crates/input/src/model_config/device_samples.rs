//! Samples of the power, the clocks and the temperature of GPUs, which `_power.py` in `python/crossprof` takes during a
//! capture.
//!
//! The samples become counters of the devices, on the trace's time axis. The limits of power and clock become stats of
//! the devices.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use base::Ps;
use trace::{CounterTrack, PlaneId, PlaneKind, Platform, StatValue, Trace};

/// Names of the values of a sample in the sidecar, each with the name of the counter in `crates/facts/src/meters.csv`.
const COUNTERS: [(&str, &str); 5] = [
    ("power_w", "Power (W)"),
    ("sm_clock_mhz", "SM clock (MHz)"),
    ("memory_clock_mhz", "Memory clock (MHz)"),
    ("temperature_c", "Temperature (C)"),
    ("memory_used_bytes", "Memory used (bytes)"),
];
/// Name of the value whose bits encode the reasons for a lower clock.
const REASONS: &str = "clock_reasons";
/// Bits of NVML's `nvmlClocksEventReasons`, without the reasons that lower the clock of an idle GPU.
const REASON_BITS: [(u64, &str); 6] = [
    (0x04, "Clock limit: power cap"),
    (0x08, "Clock limit: hardware slowdown"),
    (0x10, "Clock limit: synchronised boost"),
    (0x20, "Clock limit: temperature (driver)"),
    (0x40, "Clock limit: temperature (hardware)"),
    (0x80, "Clock limit: power brake"),
];
/// Names of a device's limits in the sidecar. The stats of the device's plane have the same names.
const LIMITS: [&str; 2] = ["power_limit_w", "sm_clock_limit_mhz"];

/// Samples of one GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceSamples {
    /// Number of the device in the trace.
    device: u32,
    /// Unix times of the samples in nanoseconds, ascending.
    times_unix_ns: Vec<i64>,
    /// Name and values of each counter.
    counters: Vec<(String, Vec<f64>)>,
    /// Name and value of each limit.
    limits: Vec<(String, f64)>,
}

/// Reads the samples in the `capture` notes. Leaves out devices with damaged samples.
pub(super) fn read(capture: &Map<String, Value>) -> Vec<DeviceSamples> {
    let Some(samples) = capture.get("device_samples") else { return Vec::new() };
    let start_ns = samples.get("start_unix_ns").and_then(Value::as_i64);
    let devices = samples.get("devices").and_then(Value::as_array).into_iter().flatten();
    devices.filter_map(|device| of_device(device, start_ns?)).collect()
}

fn of_device(device: &Value, start_ns: i64) -> Option<DeviceSamples> {
    let times = device.get("times_us")?.as_array()?.iter();
    let times_unix_ns: Vec<i64> = times
        .map(|time| time.as_i64()?.checked_mul(1000)?.checked_add(start_ns))
        .collect::<Option<Vec<i64>>>()
        .filter(|times| times.is_sorted())?;
    let column = |name: &str| {
        let values: Vec<f64> = device.get(name)?.as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?;
        (values.len() == times_unix_ns.len()).then_some(values)
    };
    let named = |&(name, counter): &(&str, &str)| Some((counter.to_owned(), column(name)?));
    let mut counters: Vec<(String, Vec<f64>)> = COUNTERS.iter().filter_map(named).collect();
    let reasons = column(REASONS).unwrap_or_default();
    for (bit, counter) in REASON_BITS {
        let values: Vec<f64> = reasons.iter().map(|&bits| f64::from(u8::from(bits as u64 & bit != 0))).collect();
        // Reasons that never occur would only fill the timeline.
        if values.iter().any(|&value| value > 0.0) {
            counters.push((counter.to_owned(), values));
        }
    }
    let limit = |name: &&str| Some(((*name).to_owned(), device.get(*name)?.as_f64()?));
    Some(DeviceSamples {
        device: u32::try_from(device.get("device")?.as_u64()?).ok()?,
        times_unix_ns,
        counters,
        limits: LIMITS.iter().filter_map(limit).collect(),
    })
}

/// Adds the samples to the devices in the trace of one host. Does nothing if the trace does not contain the time of the
/// capture.
pub(super) fn add(samples: &[DeviceSamples], trace: &mut Trace) {
    let Some(zero_ns) = trace.capture.zero_unix_ns() else { return };
    for device in samples {
        let kind = PlaneKind::Device { platform: Platform::Gpu, ordinal: device.device };
        let Some(index) = trace.planes.iter().position(|plane| plane.kind == kind) else { continue };
        let time = |unix_ns: &i64| unix_ns.checked_sub(zero_ns)?.checked_mul(1000).map(Ps::new);
        let Some(times) = device.times_unix_ns.iter().map(time).collect::<Option<Vec<Ps>>>() else { continue };
        for (name, value) in &device.limits {
            let name = trace.strings.intern(name);
            if let Some(plane) = trace.planes.get_mut(index) {
                plane.stats.push((name, StatValue::Double(*value)));
            }
        }
        let Some(plane) = trace.plane_id(index) else { continue };
        add_tracks(device, plane, &times, trace);
    }
}

fn add_tracks(device: &DeviceSamples, plane: PlaneId, times: &[Ps], trace: &mut Trace) {
    for (name, values) in &device.counters {
        let name = trace.strings.intern(name);
        trace.counters.push(CounterTrack { plane, name, times: times.to_vec(), values: values.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trace::TraceBuilder;

    #[test]
    fn samples_become_counters_on_the_time_axis_of_the_capture() {
        let notes = json!({"device_samples": {"source": "NVML", "start_unix_ns": 1_700_000_000_000_001_000i64, "devices": [
            {"device": 1, "times_us": [0, 20], "power_w": [100.5, 700.0], "clock_reasons": [1, 0x44], "sm_clock_mhz": [1980],
             "power_limit_w": 700.0},
            {"device": 0, "times_us": [20, 0], "power_w": [1, 2]}
        ]}});
        let samples = read(notes.as_object().unwrap());
        assert_eq!(samples.len(), 1, "times that decrease");
        let mut b = TraceBuilder::new();
        for device in 0..2 {
            let line = b.line(&format!("/device:GPU:{device}"), "Stream #1(Compute)");
            b.event(line, "k", 0, 10);
        }
        let mut trace = b.build();
        add(&samples, &mut trace);
        assert!(trace.counters.is_empty(), "the time of the capture is unknown");
        trace.capture.start_unix_ns = Some(1_700_000_000_000_000_000);
        add(&samples, &mut trace);
        let found: Vec<_> = trace
            .counters
            .iter()
            .map(|track| (track.plane.index(), trace.text(track.name), track.times[1].as_ps(), track.values.clone()))
            .collect();
        assert_eq!(
            found,
            [
                (1, "Power (W)", 21_000_000, vec![100.5, 700.0]),
                (1, "Clock limit: power cap", 21_000_000, vec![0.0, 1.0]),
                (1, "Clock limit: temperature (hardware)", 21_000_000, vec![0.0, 1.0]),
            ]
        );
        assert_eq!(trace.plane_stat(&trace.planes[1], "power_limit_w"), Some(StatValue::Double(700.0)));
    }
}
