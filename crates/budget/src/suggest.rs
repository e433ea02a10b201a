//! Suggests existing paths for a path that does not exist.

use super::path::{Path, PathPart};
use base::suggest::{distance, edit_distance, nearest};

/// Cost of a part of the path that is missing or superfluous. Users forget a section more often than they mistype two
/// letters in every part.
const PART: usize = 3;

/// Returns the paths in `known` that are nearest to `path`, if any are close. Selectors of list entries and keys of
/// maps are ignored.
pub(crate) fn paths(path: &Path, known: &[Path]) -> Vec<String> {
    let names = |path: &Path| -> Vec<Option<String>> {
        let name = |part: &PathPart| match part {
            PathPart::Key(name) => Some(Some(name.clone())),
            PathPart::EveryKey => Some(None),
            PathPart::Index(_) | PathPart::EveryEntry | PathPart::Where { .. } => None,
        };
        path.parts.iter().filter_map(name).collect()
    };
    let wanted = names(path);
    let letters: usize = wanted.iter().flatten().map(|name| name.chars().count()).sum();
    let limit = (letters / 3).clamp(3, 8);
    nearest(known.iter().map(|path| (path_distance(&wanted, &names(path)), path.to_string())).collect(), limit)
}

/// Returns the lowest cost of turning one list of names into the other by changing letters, removing names or adding
/// names. `None` matches any name.
fn path_distance(a: &[Option<String>], b: &[Option<String>]) -> usize {
    edit_distance(a, b, PART, |a, b| match (a, b) {
        (Some(a), Some(b)) => distance(a, b),
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_by_slips_of_many_kinds() {
        let known: Vec<Path> = [
            "step_timing.avg_step_time_us",
            "step_timing.min_step_time_us",
            "kernels.kernels_by_category.*.percent",
            "multi_device.device_stats[*].utilization_percent",
            "throughput.steps_per_sec",
        ]
        .iter()
        .map(|text| Path::parse(text).unwrap())
        .collect();
        for (written, meant) in [
            ("step_timing.avg_step_time", "step_timing.avg_step_time_us"),
            ("avg_step_time_us", "step_timing.avg_step_time_us"),
            ("step_timings.avg_step_tme_us", "step_timing.avg_step_time_us"),
            ("kernels.communication.percent", "kernels.kernels_by_category.*.percent"),
            ("kernels.kernels_by_category.matmul.percnt", "kernels.kernels_by_category.*.percent"),
            ("multi_device.device_stats.utilization_percent", "multi_device.device_stats[*].utilization_percent"),
            ("throughput.step_per_sec", "throughput.steps_per_sec"),
        ] {
            assert_eq!(paths(&Path::parse(written).unwrap(), &known)[0], meant, "{written}");
        }
        assert!(paths(&Path::parse("something.else").unwrap(), &known).is_empty());
    }
}
