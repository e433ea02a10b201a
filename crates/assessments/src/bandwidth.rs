//! Judges the memory bandwidth that a program reaches, but only if memory limits the program and the costs of most ops
//! are known.

use base::format;
use insight::limits::BANDWIDTH_PERCENT;
use metrics::is_amd;
use metrics::roofline;
use report::{Kernels, Level, Metadata, TopOp, UnifiedProfile};
use trace::{Framework, SourceFormat};

/// A low utilisation is judged only if ops with a known cost take at least this share of the op time (our limit).
const COUNTED: f64 = 0.95;
/// The bandwidth is judged if memory-bound ops take more than this percentage of the measured time (our limit).
const MEMORY_BOUND_PERCENT: f64 = 50.0;

/// Returns the self time of ops that only wait for asynchronous work (`copy-done`, `all-gather-done`), as a share of the self
/// time of all ops, from 0 to 1. A device that waits for copies or for other devices is busy but does no work, so only the
/// remaining time is judged.
pub fn waiting_share(kernels: &Kernels) -> f64 {
    let time = |wanted: fn(&str) -> bool| -> f64 {
        kernels.kernels_by_category.iter().filter(|(name, _)| wanted(name)).map(|(_, category)| category.time_us).sum()
    };
    let all = time(|_| true);
    if all > 0.0 { time(|name| name.ends_with("-done")) / all } else { 0.0 }
}

/// Returns the percentage of the measured time, including idle time, that memory-bound ops take. Covers the ops that
/// the profile lists, except ops that only wait.
pub fn memory_bound_percent(profile: &UnifiedProfile) -> Option<f64> {
    let ops = profile.op_statistics.as_ref()?;
    let is_bound =
        |op: &&TopOp| op.bound_by.as_deref() == Some(roofline::Level::Hbm.label()) && !op.category.ends_with("-done");
    let bound: f64 = ops.top_ops.iter().filter(is_bound).map(|op| op.self_time_us).sum();
    let listed: f64 = ops.top_ops.iter().map(|op| op.self_time_us).sum();
    let busy = (ops.op_time_us / ops.device_time_us).min(1.0);
    Some(100.0 * busy * bound / listed).filter(|percent| percent.is_finite())
}

/// Judges the memory bandwidth that a program reaches, or returns the reason why it is not judged. A program that is
/// not memory-bound does not need the full bandwidth. If costs are missing (`counted`, 0 to 1, is the known share), the
/// percentage is a lower bound.
pub(crate) fn level(percent: f64, memory_bound_percent: f64, counted: f64) -> Result<Level, String> {
    let level = BANDWIDTH_PERCENT.judge(percent);
    if level == Level::Good {
        Ok(level)
    } else if memory_bound_percent < MEMORY_BOUND_PERCENT {
        Err(format!(
            "Not judged, because memory-bound ops take only {} of the measured time.",
            format::percent(memory_bound_percent)
        ))
    } else if counted < COUNTED {
        Err(format!(
            "This is a lower bound, because costs are known for only {} of the op time.",
            format::percent(100.0 * counted)
        ))
    } else {
        Ok(level)
    }
}

/// Explains why a GPU profile has no occupancy.
pub fn no_occupancy(metadata: &Metadata) -> &'static str {
    let is_json = metadata.source_format() == Some(SourceFormat::ChromeJson);
    match metadata.framework() {
        Framework::PyTorch => {
            "PyTorch estimates occupancy from the number of thread blocks alone. crossprof does not use this estimate."
        }
        _ if is_amd(&metadata.device_type) => "Traces of AMD GPUs do not record occupancy.",
        _ if is_json => "The trace does not record occupancy. The xplane file next to a trace JSON may contain it.",
        _ => "The trace does not record occupancy.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::OpStatistics;

    /// The JAX guide sets these limits in its table of key performance indicators: above 60 %, 40 to 60 %, below 40 %.
    #[test]
    fn memory_bandwidth_is_judged_by_the_limits_of_the_guide() {
        let of = |percent| level(percent, 50.0, 1.0).ok();
        assert_eq!(
            [60.1, 60.0, 40.0, 39.9].map(of),
            [Some(Level::Good), Some(Level::Warning), Some(Level::Warning), Some(Level::Bad)]
        );
        // Programs that are not memory-bound do not need the bandwidth. Ops with an unknown cost may have moved bytes too.
        assert!(level(30.0, 49.9, 1.0).is_err() && level(30.0, 100.0, 0.75).is_err());
        assert_eq!((level(70.0, 0.0, 1.0), level(70.0, 100.0, 0.75)), (Ok(Level::Good), Ok(Level::Good)));
    }

    /// One device is measured for 200 µs: it is idle for 100 µs, memory-bound for 60 µs, compute-bound for 30 µs, and
    /// waits for a copy for 10 µs.
    #[test]
    fn memory_bound_time_is_a_share_of_the_measured_time() {
        let op = |category: &str, bound_by: &str, self_time_us: f64| TopOp {
            category: category.to_owned(),
            bound_by: Some(bound_by.to_owned()),
            self_time_us,
            ..TopOp::default()
        };
        let ops = vec![op("fusion", "HBM", 60.0), op("dot", "Compute", 30.0), op("copy-done", "HBM", 10.0)];
        let section =
            OpStatistics { device_time_us: 200.0, op_time_us: 100.0, top_ops: ops, ..OpStatistics::default() };
        let mut profile = report::example::profile();
        profile.op_statistics = Some(section);
        assert_eq!(memory_bound_percent(&profile), Some(30.0));
        profile.op_statistics = Some(OpStatistics::default());
        assert_eq!(memory_bound_percent(&profile), None);
    }
}
