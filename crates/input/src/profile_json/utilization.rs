//! Converts device utilisation from documents that define it in different ways.
//!
//! In the current schema, values are per step per device. Busy time and the remaining time of the step add up to the
//! step time, and the share is busy time divided by step time. The values in 1.0.0 documents depend on the shape of the
//! document:
//!
//! ```text
//! A, as documented    59500 + 23100 = 82600 = avg_step_time_us        per step: kept
//! A, as its code does kernel_time_us + overhead_time_us = total_time_us, kernel time summed over devices and nested
//!                     ops: per step after division; not a share if above 100 %
//! B to D              busy + idle = the devices' span: per step after division
//! ```

use super::section::{Notes, Section};
use base::{Warning, WarningCode};
use report::{ComputeUtilization, MultiDevice, NotMeasured, StepTiming};

/// Maximum relative difference between times that are treated as equal. Times differ slightly because tools round them.
const SAME: f64 = 0.01;

/// Values that a document contains about device utilisation.
struct Reported {
    percent: Option<f64>,
    busy_us: Option<f64>,
    rest_us: Option<f64>,
    concurrency: Option<f64>,
}

/// Result of the conversion.
pub(super) struct Converted {
    /// The section, if it can be derived from the document.
    pub section: Option<ComputeUtilization>,
    /// The reason why the section cannot be derived from the document.
    pub not_measured: Option<NotMeasured>,
    /// Warnings about the conversion.
    pub warnings: Vec<Warning>,
}

/// Derives `compute_utilization` from the document's section about device utilisation. Returns `None` if there is no
/// such section.
pub(super) fn convert(root: &Section<'_>, steps: &StepTiming, devices: Option<&MultiDevice>) -> Option<Converted> {
    let (a, b) = (root.section("compute_utilization"), root.section("timeline_coverage"));
    let mut warnings = Vec::new();
    let reported = if a.exists() {
        Reported {
            percent: a.number("compute_util_percent"),
            busy_us: a.number("kernel_time_us"),
            rest_us: a.number("overhead_time_us"),
            concurrency: a.positive("avg_concurrent_kernels"),
        }
    } else if b.exists() {
        warnings.push(Warning::new(
            WarningCode::ProfileTimelineCoverage,
            "The file's \"timeline_coverage\" was read as compute_utilization (the share of time during which a \
             device runs at least one op).",
        ));
        Reported {
            percent: b.number("timeline_coverage_percent"),
            busy_us: b.number("kernel_time_us"),
            rest_us: b.number("idle_time_us"),
            concurrency: b.positive("avg_concurrent_kernels"),
        }
    } else {
        return None;
    };
    Some(from_reported(&reported, steps, devices, warnings))
}

fn from_reported(
    reported: &Reported,
    steps: &StepTiming,
    devices: Option<&MultiDevice>,
    mut warnings: Vec<Warning>,
) -> Converted {
    let shown = |percent: Option<f64>| percent.map_or("no share".to_owned(), |percent| format!("{percent:.1} %"));
    let impossible = reported.percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent))
        || reported.busy_us.is_some_and(|busy| busy < 0.0)
        || reported.rest_us.is_some_and(|rest| rest < 0.0);
    if impossible {
        let section = from_devices(devices, steps);
        let instead = match section {
            Some(_) => "It was replaced by the mean of the devices' own busy shares.",
            None => "It was skipped.",
        };
        warnings.push(Warning::new(
            WarningCode::ProfileUtilizationImpossible,
            format!(
                "The file contains a device utilisation of {}: a sum over overlapping ops or devices, and not a share of time. \
                 {instead}",
                shown(reported.percent)
            ),
        ));
        let not_measured = section.is_none().then(|| NotMeasured {
            field: "compute_utilization".to_owned(),
            reason: format!("The imported file contains {}, which is not a share of time.", shown(reported.percent)),
            remedy: Some("Analyse the original trace.".to_owned()),
        });
        return Converted { section, not_measured, warnings };
    }
    let (Some(busy), Some(rest)) = (reported.busy_us, reported.rest_us) else {
        return from_share(reported, steps, warnings);
    };
    let window = busy + rest;
    let step = steps.avg_step_time_us;
    let num_steps = steps.num_steps;
    let is_per_step = step.is_some_and(|step| same(window, step));
    let (divisor, name) = match step {
        Some(_) if is_per_step => (1.0, "steps"),
        // The values cover a window that is longer than a step.
        Some(step) if num_steps > 1 && window > step => (num_steps as f64, "steps"),
        Some(_) => (1.0, "steps"),
        None => (1.0, "active_span"),
    };
    if divisor > 1.0 {
        warnings.push(Warning::new(
            WarningCode::ProfileUtilizationPerStep,
            format!(
                "The file's kernel time ({busy:.0} us) and the time without kernels ({rest:.0} us) cover the whole \
                 capture. Both were divided by its {num_steps} steps."
            ),
        ));
    }
    let (busy, rest) = (busy / divisor, rest / divisor);
    if step.is_some_and(|step| !same(busy + rest, step)) {
        warnings.push(Warning::new(
            WarningCode::ProfileUtilizationSum,
            "Kernel time and overhead do not add up to the mean step time. The values in the file were kept."
                .to_owned(),
        ));
    }
    let share = if busy + rest > 0.0 { Some(100.0 * busy / (busy + rest)) } else { None };
    let section = reported.percent.or(share).map(|percent| ComputeUtilization {
        compute_util_percent: percent,
        kernel_time_us: busy,
        overhead_time_us: rest,
        window: Some(name.to_owned()),
        avg_concurrent_kernels: reported.concurrency,
    });
    Converted { section, not_measured: None, warnings }
}

/// Converts a document that contains a share but no times. The times follow from the step time, if it is known.
fn from_share(reported: &Reported, steps: &StepTiming, warnings: Vec<Warning>) -> Converted {
    let section = reported.percent.zip(steps.avg_step_time_us).map(|(percent, step)| ComputeUtilization {
        compute_util_percent: percent,
        kernel_time_us: step * percent / 100.0,
        overhead_time_us: step * (100.0 - percent) / 100.0,
        window: Some("steps".to_owned()),
        avg_concurrent_kernels: reported.concurrency,
    });
    let not_measured = section.is_none().then(|| NotMeasured {
        field: "compute_utilization".to_owned(),
        reason: "The imported file contains neither kernel time nor step time.".to_owned(),
        remedy: None,
    });
    Converted { section, not_measured, warnings }
}

/// Computes the mean utilisation of the devices. The utilisation of a device follows from its busy time (a union of
/// intervals) and its span. The result is per step if the number of steps is known.
fn from_devices(devices: Option<&MultiDevice>, steps: &StepTiming) -> Option<ComputeUtilization> {
    let devices = &devices?.device_stats;
    let count = devices.len() as f64;
    let busy: f64 = devices.iter().map(|device| device.actual_busy_time_us).sum();
    let span: f64 = devices.iter().map(|device| device.total_time_us).sum();
    let plausible = devices.iter().all(|device| device.actual_busy_time_us <= device.total_time_us);
    if !plausible || span <= 0.0 {
        return None;
    }
    let per_step = if steps.num_steps > 0 { steps.num_steps as f64 } else { 1.0 };
    Some(ComputeUtilization {
        compute_util_percent: 100.0 * busy / span,
        kernel_time_us: busy / count / per_step,
        overhead_time_us: (span - busy) / count / per_step,
        window: Some("active_span".to_owned()),
        avg_concurrent_kernels: None,
    })
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

pub(super) fn add_warnings(notes: &mut Notes, warnings: Vec<Warning>) {
    warnings.into_iter().for_each(|warning| notes.push(warning));
}
