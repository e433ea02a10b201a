//! Extracts the part of a comparison that answers one question. The runs, the answer and the
//! fairness checks are always kept.
//!
//! | focus | numbers | lists |
//! |---|---|---|
//! | throughput | rates, step times, work per joule and dollar | scaling, trend |
//! | kernels | how busy the devices are, kernels, tensor cores, idle gaps | classes, ops, kernels, programs, communication |
//! | timing | step times and their parts, how busy the devices are, compilation, input | parts, causes, layers, scaling, trend |

use super::{ComparedMetric, Comparison};

/// Question that the reader asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// Work per second.
    Throughput,
    /// Kernels and ops on the devices.
    Kernels,
    /// Duration of a step and its causes.
    Timing,
    /// Everything.
    All,
}

impl Focus {
    /// Returns the sections of the unified profile whose numbers are shown, or `None` for all.
    fn sections(self) -> Option<&'static [&'static str]> {
        match self {
            Focus::Throughput => Some(&["throughput", "step_time", "step_timing", "efficiency"]),
            Focus::Kernels => Some(&[
                "compute_utilization",
                "kernel_statistics",
                "kernels",
                "multi_device",
                "roofline",
                "timeline_analysis",
                "communication",
                "step_timing.kernels_per_step",
            ]),
            Focus::Timing => Some(&[
                "step_time",
                "step_timing",
                "step_breakdown",
                "compute_utilization",
                "timeline_analysis",
                "compilation",
                "io_operations",
            ]),
            Focus::All => None,
        }
    }
}

impl Comparison {
    /// Returns the part of the comparison that belongs to `focus`.
    pub fn focused(&self, focus: Focus) -> Comparison {
        let mut part = self.clone();
        let Some(sections) = focus.sections() else { return part };
        let is_shown = |metric: &ComparedMetric| {
            sections.iter().any(|section| {
                metric.metric.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        part.metrics.retain(is_shown);
        part.platform_metrics.retain(is_shown);
        if focus != Focus::Kernels {
            part.categories.clear();
            part.ops.clear();
            part.kernels.clear();
            part.collectives.clear();
            part.matching.clear();
            part.programs.clear();
        }
        if focus != Focus::Timing {
            part.waterfall.clear();
            part.causes.clear();
            part.layers.clear();
        }
        if focus == Focus::Kernels {
            part.scaling = None;
            part.trend = None;
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Subject, compare};
    use super::*;

    /// Compares the example run with a copy whose steps take twice as long.
    fn comparison() -> Comparison {
        let profile = report::example::profile();
        let mut slower = profile.clone();
        slower.step_timing.avg_step_time_us = profile.step_timing.avg_step_time_us.map(|time| 2.0 * time);
        compare(&[Subject::new(profile), Subject::new(slower)], &Options::default())
    }

    #[test]
    fn each_focus_keeps_its_parts() {
        let whole = comparison();
        assert_eq!(whole.focused(Focus::All), whole);
        let paths = |focus| {
            let part = whole.focused(focus);
            assert_eq!((&part.summary, &part.fairness, &part.runs), (&whole.summary, &whole.fairness, &whole.runs));
            part.metrics.iter().map(|metric| metric.metric.clone()).collect::<Vec<_>>()
        };
        let has = |paths: &[String], path: &str| paths.iter().any(|it| it == path);
        let (rates, kernels, times) = (paths(Focus::Throughput), paths(Focus::Kernels), paths(Focus::Timing));
        for (path, shown) in [
            ("step_time.typical_us", [true, false, true]),
            ("throughput.steps_per_sec", [true, false, false]),
            ("compute_utilization.compute_util_percent", [false, true, true]),
            ("step_timing.kernels_per_step", [true, true, true]),
        ] {
            assert_eq!([&rates, &kernels, &times].map(|paths| has(paths, path)), shown, "{path}");
        }
        assert!(whole.focused(Focus::Timing).ops.is_empty() && whole.focused(Focus::Kernels).causes.is_empty());
    }
}
