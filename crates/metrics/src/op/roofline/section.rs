//! Builds the roofline section of the report.

use super::{Level, Peaks, Roofline};
use crate::op::ops::rate;
use crate::step::window::WindowKind;
use base::{Warning, WarningCode, format, sort};
use facts::Arithmetic;

/// Builds the section `roofline` of the report. Returns `None` if the peaks are unknown. `window` is the window that
/// the numbers cover.
pub fn section(roofline: &Roofline, window: WindowKind) -> Option<report::Roofline> {
    let peaks = roofline.peaks.as_ref()?;
    let kinds = Arithmetic::ALL.into_iter();
    let known = &roofline.utilization;
    Some(report::Roofline {
        device: peaks.device.clone(),
        device_key: peaks.facts.map(|facts| facts.key.to_owned()),
        peak_source: peaks.rates_source.label().to_owned(),
        peak_tflops: sort::map(kinds.filter_map(|kind| Some((kind.label().to_owned(), peaks.rates.get(kind)? / 1e12)))),
        memory_levels: levels(peaks),
        interconnect_gb_per_s: peaks.interconnect_bytes_per_second.map(|speed| speed / 1e9),
        xprof_peak_gflops: peaks.xprof_flops_per_second.map(|peak| peak / 1e9),
        program: program(roofline),
        known_flops_time_percent: roofline.known_time_percent,
        unknown_custom_call_time_percent: roofline.unknown_custom_call_percent,
        window: (known.mfu.is_ok() || known.hfu.is_ok()).then(|| window.label().to_owned()),
        mfu_percent: known.mfu.ok(),
        hfu_percent: known.hfu.ok(),
        matrix_unit_utilization_percent: roofline.counters[0],
        hbm_utilization_percent: roofline.counters[1],
    })
}

/// If custom calls take more than this share of the ops' self time, in percent, a warning states that MFU leaves out
/// their cost. We chose this limit.
const UNKNOWN_CALLS_PERCENT: f64 = 5.0;

/// Returns the warnings about peaks and costs.
pub fn warnings(roofline: &Roofline) -> Vec<Warning> {
    roofline.peaks.as_ref().and_then(assumption).into_iter().chain(missing_costs(roofline)).collect()
}

/// Returns a warning that names the assumed product, if several products have the name in the profile.
fn assumption(peaks: &Peaks) -> Option<Warning> {
    let assumed = peaks.facts.filter(|_| !peaks.others.is_empty())?;
    let message = format!(
        "The profile does not name the exact product of its devices. crossprof uses the peaks of the {}, but the \
         devices may also be the {}.",
        assumed.label,
        peaks.others.join(" or the ")
    );
    Some(Warning::new(WarningCode::DeviceAssumed, message))
}

/// Returns a warning about missing costs, if custom calls without an estimate take much of the time.
fn missing_costs(roofline: &Roofline) -> Option<Warning> {
    let calls = roofline.unknown_custom_call_percent.filter(|&share| share >= UNKNOWN_CALLS_PERCENT)?;
    let counted = roofline.known_time_percent.unwrap_or(0.0);
    let message = format!(
        "Custom calls with unknown FLOPs and bytes take {} of the op time. MFU and HFU cover {} of the op time. \
         The roofline, rates and utilisation leave these calls out.",
        format::percent(calls),
        format::percent(counted)
    );
    let remedy = "Give the kernel an estimate: pallas_call(..., cost_estimate=pl.CostEstimate(flops=..., \
        bytes_accessed=..., transcendentals=...)).";
    Some(Warning::new(WarningCode::CustomCallsWithoutCost, message).with_remedy(remedy))
}

fn levels(peaks: &Peaks) -> Vec<report::MemoryLevel> {
    let level = |level: Level| {
        let bandwidth = peaks.level(level)?;
        Some(report::MemoryLevel {
            level: level.label().to_owned(),
            gb_per_s: bandwidth.bytes_per_second / 1e9,
            source: bandwidth.source.label().to_owned(),
            ridge_point: peaks.highest().and_then(|(_, peak)| peaks.ridge_point(level, peak)),
        })
    };
    Level::ALL.into_iter().filter_map(level).collect()
}

fn program(roofline: &Roofline) -> Option<report::ProgramPoint> {
    let work = &roofline.program;
    let point = roofline.program_point().filter(|_| work.flops.is_some() || work.bytes.is_some())?;
    Some(report::ProgramPoint {
        gflops: point.flop_rate.map(|rate| rate / 1e9),
        hbm_bandwidth_percent: roofline.hbm_share().map(|share| 100.0 * share),
        peak_gflops: point.peak_flop_rate.map(|rate| rate / 1e9),
        hbm_gibps: work
            .level(Level::Hbm)
            .and_then(|bytes| rate(bytes, work.time))
            .map(|rate| rate / (1u64 << 30) as f64),
        hbm_operational_intensity: work.level_intensity(Level::Hbm),
        bound_by: point.bound_by.label().to_owned(),
        roofline_efficiency_percent: point.roofline_efficiency.map(|share| 100.0 * share),
    })
}
