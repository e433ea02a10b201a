//! Reads the hardware counters of devices: single readings of a chip's counters, and counters over time (power, clock
//! rates, utilisation of units).

use std::collections::BTreeMap;

use crate::device::devices::{Device, Devices};
use crate::profile::metadata::device_model;
use base::Ps;
use facts::meters::{self, Meter, MeterForm};
use facts::{devices as known_devices, hlo_categories, tpu_units};
use report::{Hardware, KernelUnitStats, MeterStats, Step, UnitStats};
use trace::{CounterTrack, EventColumn, EventId, Interval, IntervalSet, LineId, Plane, PlaneKind, StatValue, Trace};

/// Reading of one hardware counter of a chip.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Event of the reading.
    pub event: EventId,
    /// Line of the event. Each time the profiler reads all counters, it writes a separate line.
    pub line: LineId,
    /// Index of the chip's plane.
    pub plane: usize,
    /// Number of the chip.
    pub chip: u64,
    /// Value of the counter.
    pub value: i64,
}

/// Returns the readings of all devices, in file order. The name of a reading's event is the name of the counter.
pub fn readings(trace: &Trace) -> impl Iterator<Item = Reading> + '_ {
    trace.events.column(EventColumn::CounterValue).iter().filter_map(|(event, value)| {
        let line = trace.events.get(event)?.line;
        let plane = trace.lines.get(line.index())?.plane.index();
        let chip = chip(trace, trace.planes.get(plane)?)?;
        Some(Reading { event, line, plane, chip, value })
    })
}

/// Returns the number that the file gives to a chip, or the number in the name of its plane. `None` if the plane is not a
/// device.
fn chip(trace: &Trace, plane: &Plane) -> Option<u64> {
    numbered(trace, plane, "global_chip_id").or_else(|| device_number(trace, plane))
}

/// Returns the number of a device on its host. `None` if the plane is not a device.
fn device_number(trace: &Trace, plane: &Plane) -> Option<u64> {
    let PlaneKind::Device { ordinal, .. } = plane.kind else { return None };
    numbered(trace, plane, "device_id").or(Some(u64::from(ordinal)))
}

fn numbered(trace: &Trace, plane: &Plane, name: &str) -> Option<u64> {
    match trace.plane_stat(plane, name)? {
        StatValue::Int(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// Returns the hardware section of the report, or `None` if the capture contains no hardware counters.
pub(crate) fn section(trace: &Trace, devices: &Devices) -> Option<Hardware> {
    let (units, meters) = (units(trace, devices), meters(trace, devices));
    (!units.is_empty() || !meters.is_empty()).then(|| Hardware { units, meters, kernels: kernels(trace, devices) })
}

fn units(trace: &Trace, devices: &Devices) -> Vec<UnitStats> {
    let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    // Values by counter, for each reading of each chip. If a counter has several values, the last one is used.
    let mut read: BTreeMap<(usize, LineId), (Ps, BTreeMap<u64, f64>)> = BTreeMap::new();
    for reading in readings(trace) {
        let Some(event) = trace.events.get(reading.event) else { continue };
        let id = trace.args_of(&event).counter_id.and_then(|id| u64::try_from(id).ok());
        let Some(id) = id else { continue };
        let of_line = read.entry((reading.plane, reading.line));
        let (_, values) = of_line.or_insert_with(|| (event.start, BTreeMap::new()));
        values.insert(id, reading.value as f64);
    }
    let mut units = Vec::new();
    for ((plane, line), (time, values)) in read {
        let Some(plane) = trace.planes.get(plane) else { continue };
        let model = device_model(trace, plane);
        let Some(model) = model.as_deref().and_then(known_devices::find) else { continue };
        let sample = trace.lines.get(line.index()).and_then(|line| line.id).and_then(|id| u64::try_from(id).ok());
        let host = trace.hosts.get(usize::from(plane.host)).filter(|_| trace.hosts.len() > 1);
        units.extend(tpu_units::uses(model.key, &|id| values.get(&id).copied()).into_iter().map(|used| UnitStats {
            device_name: trace.text(plane.name).to_owned(),
            host: host.cloned(),
            device: device_number(trace, plane).unwrap_or(0),
            sample: sample.unwrap_or(0),
            time_us: (time - origin).as_us(),
            node: used.node,
            name: used.name,
            achieved: used.achieved,
            peak: used.peak,
            unit: used.unit.to_owned(),
            use_percent: 100.0 * used.achieved / used.peak,
        }));
    }
    units
}

/// An interval in which a counter has a constant value.
struct Segment {
    time: Interval,
    value: f64,
}

/// Splits a counter track into intervals of constant value, on the host's clock.
fn segments(track: &CounterTrack, meter: Meter) -> Vec<Segment> {
    let samples = || track.times.iter().copied().zip(track.values.iter().copied());
    let next = track.times.iter().copied().skip(1);
    match meter.form {
        // It is unknown for how long the last sample holds.
        MeterForm::Value => samples()
            .zip(next.chain(track.times.last().map(|last| *last + Ps::new(1))))
            .map(|((start, value), end)| Segment { time: Interval::new(start, end), value })
            .collect(),
        MeterForm::Mean | MeterForm::Total => samples()
            .zip(samples().skip(1))
            .filter_map(|((start, _), (end, value))| {
                let time = Interval::new(start, end);
                let seconds = time.length().as_ps() as f64 / 1e12;
                let value = if meter.form == MeterForm::Total { value / seconds } else { value };
                (seconds > 0.0).then_some(Segment { time, value: value * scale(meter) })
            })
            .collect(),
    }
}

/// Returns the factor that converts the unit of the samples to the unit in the report.
fn scale(meter: Meter) -> f64 {
    if matches!(meter.unit, "hertz" | "cycles") { 1e-6 } else { 1.0 }
}

/// Returns the unit that the report uses for this quantity.
fn unit(meter: Meter) -> &'static str {
    match (meter.unit, meter.form) {
        ("hertz" | "cycles", _) => "megahertz",
        ("bytes", MeterForm::Total) => "bytes_per_second",
        ("instructions", _) => "instructions_per_second",
        (unit, _) => unit,
    }
}

/// Values of a counter over a period of time.
struct Values {
    samples: u64,
    mean: f64,
    min: f64,
    max: f64,
}

fn within(segments: &[Segment], window: &IntervalSet) -> Option<Values> {
    let (mut weighted, mut time) = (0.0, 0.0);
    let mut values: Option<Values> = None;
    for segment in segments {
        let length = window.length_within(segment.time).as_ps() as f64;
        if length <= 0.0 {
            continue;
        }
        (weighted, time) = (weighted + segment.value * length, time + length);
        let Values { samples, min, max, .. } =
            values.unwrap_or(Values { samples: 0, mean: 0.0, min: segment.value, max: segment.value });
        let (min, max) = (min.min(segment.value), max.max(segment.value));
        values = Some(Values { samples: samples + 1, mean: weighted / time, min, max });
    }
    values
}

fn meters(trace: &Trace, devices: &Devices) -> Vec<MeterStats> {
    let mut stats = Vec::new();
    for device in &devices.used {
        let window = device.set_to_host(&device.window);
        let first = stats.len();
        for (meter, track) in tracks(trace, device) {
            let Some(Values { samples, mean, min, max }) = within(&segments(track, meter), &window) else { continue };
            let limit = limit(trace, device, meter).filter(|limit| *limit > 0.0);
            stats.push(MeterStats {
                device_name: device.name.clone(),
                counter: trace.text(track.name).to_owned(),
                quantity: meter.quantity.to_owned(),
                unit: unit(meter).to_owned(),
                samples,
                mean,
                min,
                max,
                limit,
                mean_percent: limit.map(|limit| 100.0 * mean / limit),
            });
        }
        relate_to_clock(stats.get_mut(first..).unwrap_or_default());
    }
    stats
}

/// Returns the counters of Pallas kernels (LLO) during each custom call of a device.
fn kernels(trace: &Trace, devices: &Devices) -> Vec<KernelUnitStats> {
    let mut stats = Vec::new();
    for device in &devices.used {
        let units: Vec<_> = tracks(trace, device).filter(|(meter, _)| meter.quantity == "llo").collect();
        if units.is_empty() {
            continue;
        }
        let mut runs: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
        for event in device.ops.iter().filter_map(|&op| trace.events.get(op)) {
            if trace.text(trace.args_of(&event).hlo_category) == hlo_categories::CUSTOM_CALL {
                let time = Interval::new(device.to_host(event.start), device.to_host(event.end()));
                runs.entry(trace.text(event.name)).or_default().push(time);
            }
        }
        for (kernel, times) in runs {
            let window = IntervalSet::union_of(times);
            for &(meter, track) in &units {
                let Some(values) = within(&segments(track, meter), &window) else { continue };
                stats.push(KernelUnitStats {
                    device_name: device.name.clone(),
                    kernel: kernel.to_owned(),
                    counter: trace.text(track.name).to_owned(),
                    time_us: window.length().as_us(),
                    mean: values.mean,
                    max: values.max,
                });
            }
        }
    }
    stats
}

/// Expresses the active cycles of a device as a share of its clock rate, if the clock rate was also sampled.
fn relate_to_clock(stats: &mut [MeterStats]) {
    let Some(clock) = stats.iter().find(|it| it.quantity == "clock").map(|it| it.mean).filter(|it| *it > 0.0) else {
        return;
    };
    for active in stats.iter_mut().filter(|it| it.quantity == "sm_active") {
        (active.limit, active.mean_percent) = (Some(clock), Some(100.0 * active.mean / clock));
    }
}

/// Returns the counters of a device that have a known meaning.
fn tracks<'a>(trace: &'a Trace, device: &'a Device) -> impl Iterator<Item = (Meter, &'a CounterTrack)> {
    let own = trace.counters.iter().filter(|track| track.plane.index() == device.plane);
    own.filter_map(|track| Some((meters::find(trace.text(track.name))?, track)))
}

/// Returns the device's limit for a quantity, in the unit that the report uses.
fn limit(trace: &Trace, device: &Device, meter: Meter) -> Option<f64> {
    let plane = trace.planes.get(device.plane)?;
    let stat = |name| match trace.plane_stat(plane, name)? {
        StatValue::Int(number) => Some(number as f64),
        StatValue::Double(number) => Some(number),
        StatValue::Text(text) => trace.text(text).parse().ok(),
    };
    match meter.quantity {
        "power" => stat("power_limit_w"),
        "clock" | "sm_active" => {
            stat("sm_clock_limit_mhz").or_else(|| stat("clock_rate").map(|kilohertz| kilohertz / 1e3))
        }
        "memory_read" | "memory_write" => stat("memory_bandwidth"),
        "memory" => stat("memory_size"),
        _ => None,
    }
}

/// Sets the clock rate of each step, from samples of the devices' clock rates or of throttling.
pub(crate) fn set_clocks(trace: &Trace, devices: &Devices, steps: &mut [Step]) {
    let origin = devices.capture.map_or(Ps::ZERO, |capture| capture.start);
    // For each device, the clock rate over time, as a share of the device's highest clock rate.
    let clocks: Vec<Vec<Segment>> = devices.used.iter().filter_map(|device| relative_clock(trace, device)).collect();
    for step in steps {
        let time = |us: f64| origin + Ps::new((us * 1e6) as i64);
        let interval = Interval::new(time(step.start_us), time(step.start_us + step.duration_us));
        let window = IntervalSet::union_of([interval]);
        let means: Vec<f64> = clocks.iter().filter_map(|clock| Some(within(clock, &window)?.mean)).collect();
        step.clock_percent = crate::common::statistics::mean(&means);
    }
}

/// Returns the clock rate of a device over time, as a percentage of its highest clock rate.
fn relative_clock(trace: &Trace, device: &Device) -> Option<Vec<Segment>> {
    let found = |quantity| tracks(trace, device).find(|(meter, _)| meter.quantity == quantity);
    let scaled = |segments: Vec<Segment>, value: &dyn Fn(f64) -> f64| -> Vec<Segment> {
        segments.into_iter().map(|it| Segment { value: value(it.value), ..it }).collect()
    };
    if let Some((meter, track)) = found("clock") {
        let segments = segments(track, meter);
        let highest = segments.iter().map(|it| it.value).reduce(f64::max)?;
        let limit = limit(trace, device, meter).unwrap_or(0.0).max(highest);
        return (limit > 0.0).then(|| scaled(segments, &|clock| 100.0 * clock / limit));
    }
    let (meter, track) = found("throttling")?;
    Some(scaled(segments(track, meter), &|share| 100.0 - share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn gpu() -> (TraceBuilder, trace::PlaneId) {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.event(line, "k", 0, 100);
        let plane = b.trace_mut().lines[line.index()].plane;
        (b, plane)
    }

    fn add(b: &mut TraceBuilder, plane: trace::PlaneId, name: &str, samples: &[(i64, f64)]) {
        let name = b.trace_mut().strings.intern(name);
        let times = samples.iter().map(|(us, _)| Ps::new(us * 1_000_000)).collect();
        let values = samples.iter().map(|(_, value)| *value).collect();
        b.trace_mut().counters.push(CounterTrack { plane, name, times, values });
    }

    /// ```text
    /// us        0    10              60         100
    /// clock     |2000|1000           |2000          mean of 0..100 without the last 40: (10*2000 + 50*1000) / 60
    /// bytes          |1e6 since 0    |2e6 since 10
    /// ```
    #[test]
    fn samples_hold_until_the_next_one_and_totals_cover_the_time_before() {
        let (mut b, plane) = gpu();
        add(&mut b, plane, "SM clock (MHz)", &[(0, 2000.0), (10, 1000.0), (60, 2000.0)]);
        add(&mut b, plane, "dram__bytes_read.sum", &[(0, 9e9), (10, 1e6), (60, 2e6)]);
        add(&mut b, plane, "queue depth", &[(0, 1.0)]);
        b.plane_stat("/device:GPU:0", "clock_rate", StatValue::Int(2_000_000));
        let trace = b.build();
        let found = section(&trace, &Devices::of(&trace)).unwrap().meters;
        let [clock, bytes] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((clock.mean.round(), clock.min, clock.max, clock.limit), (1167.0, 1000.0, 2000.0, Some(2000.0)));
        assert_eq!((bytes.unit.as_str(), bytes.mean.round(), bytes.max.round()), ("bytes_per_second", 5e10, 1e11));
        let mut steps = [Step { start_us: 5.0, duration_us: 10.0, ..Step::default() }];
        set_clocks(&trace, &Devices::of(&trace), &mut steps);
        assert_eq!(steps[0].clock_percent.map(f64::round), Some(75.0));
    }

    #[test]
    fn active_cycles_are_related_to_the_clock() {
        let (mut b, plane) = gpu();
        add(&mut b, plane, "gpc__cycles_elapsed.avg", &[(0, 0.0), (100, 150_000.0)]);
        add(&mut b, plane, "sm__cycles_active.avg", &[(0, 0.0), (100, 75_000.0)]);
        let trace = b.build();
        let found = section(&trace, &Devices::of(&trace)).unwrap().meters;
        assert_eq!((found[0].unit.as_str(), found[0].mean.round()), ("megahertz", 1500.0));
        assert_eq!(found[1].mean_percent.map(f64::round), Some(50.0));
    }

    /// ```text
    /// us        0         10        20        30
    /// ops       [kernel   )[fusion  )[kernel  )
    /// MXU       |80       |5        |40             mean over the kernel's runs: 60
    /// ```
    #[test]
    fn units_are_measured_during_custom_calls() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for (name, category, start) in
            [("kernel", "custom-call", 0), ("fusion", "loop fusion", 10), ("kernel", "custom-call", 20)]
        {
            b.event(line, name, start, 10).hlo_category(category);
        }
        let plane = b.trace_mut().lines[line.index()].plane;
        add(&mut b, plane, "MXU", &[(0, 80.0), (10, 5.0), (20, 40.0), (30, 0.0)]);
        let trace = b.build();
        let found = section(&trace, &Devices::of(&trace)).unwrap().kernels;
        let [kernel] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((kernel.kernel.as_str(), kernel.time_us, kernel.mean, kernel.max), ("kernel", 20.0, 60.0, 80.0));
    }

    #[test]
    fn a_capture_without_counters_has_no_section() {
        let trace = gpu().0.build();
        assert_eq!(section(&trace, &Devices::of(&trace)), None);
    }
}
