//! Compares groups of captures by their typical steps alone, because a store of thousands of captures keeps the typical
//! steps and not the profiles. The statistics are the same as for a comparison of profiles: [`Difference`] tests the
//! groups, and the algorithm for trends finds the changes.

use super::StepTimeVerdict;
use super::difference::{Difference, of_values};
use super::level::Level;
use super::noise::of_levels;
use super::t_quantile::t_quantile_9995;
use super::trend::changes_and_outliers;

/// Difference between the typical steps of two groups of captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupDifference {
    /// Mean of the typical steps of the later group, in microseconds.
    pub ours_us: f64,
    /// Mean of the typical steps of the earlier group, in microseconds.
    pub theirs_us: f64,
    /// Half the width of the 95 % confidence interval of the difference, in microseconds. `None` if the noise is unknown.
    pub margin_us: Option<f64>,
    /// Smallest difference that captures like these would prove in four out of five attempts (80 % power), in
    /// microseconds.
    pub least_provable_us: Option<f64>,
    /// Verdict on the later group.
    pub verdict: StepTimeVerdict,
}

/// Compares the captures of two groups. `threshold` is the smallest relevant difference, relative to the smaller mean. Returns
/// `None` if a group has no captures.
pub fn compare_groups(ours: &[Level], theirs: &[Level], threshold: f64) -> Option<GroupDifference> {
    let found = Difference::of_levels(ours, theirs)?;
    Some(GroupDifference {
        ours_us: found.ours_us,
        theirs_us: found.theirs_us,
        margin_us: found.margin_us(),
        least_provable_us: found.least_provable_us(),
        verdict: found.verdict(threshold),
    })
}

/// Changes in a series of captures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelChanges {
    /// Indices of the captures that begin a new level, in order.
    pub firsts: Vec<usize>,
    /// Indices of captures that differ from their neighbours on both sides. These outliers belong to no level.
    pub outliers: Vec<usize>,
}

/// Returns the changes in a series of captures, which must be sorted by time.
pub fn level_changes(levels: &[Level]) -> LevelChanges {
    let samples: Vec<_> = levels.iter().filter_map(|level| of_levels(std::slice::from_ref(level))).collect();
    if samples.len() != levels.len() {
        return LevelChanges::default();
    }
    let (firsts, outliers) = changes_and_outliers(&samples);
    LevelChanges { firsts, outliers }
}

/// Returns the difference that the means of two groups of values must exceed. A comparison makes hundreds of these tests, one
/// for each op, so each test uses a level of 99.9 %. Returns `None` if each group has one value.
pub fn value_margin(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let (error, df) = of_values(ours, theirs).filter(|_| !ours.is_empty() && !theirs.is_empty())?;
    Some(t_quantile_9995(df) * error).filter(|margin| margin.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(values: &[f64]) -> Vec<Level> {
        values
            .iter()
            .map(|&us| Level { us, steps: 20, variance_us2: Some(1e-6), degrees_of_freedom: 9.0, correlation: None })
            .collect()
    }

    #[test]
    fn groups_are_tested_as_a_comparison_tests_them() {
        let (ours, theirs) = (levels(&[10.6, 10.5, 10.8]), levels(&[10.0, 10.2, 9.9]));
        let found = compare_groups(&ours, &theirs, 0.01).unwrap();
        let truth = Difference::of_levels(&ours, &theirs).unwrap();
        assert_eq!(found.verdict, StepTimeVerdict::Slower);
        assert_eq!((found.margin_us, found.least_provable_us), (truth.margin_us(), truth.least_provable_us()));
        assert_eq!(compare_groups(&theirs, &ours, 0.01).unwrap().verdict, StepTimeVerdict::Faster);
        assert_eq!(compare_groups(&[], &theirs, 0.01), None);
        // scipy.stats.t.ppf(0.9995, 4) = 8.610; pooled standard error 0.12472.
        let margin = value_margin(&[10.6, 10.5, 10.8], &[10.0, 10.2, 9.9]).unwrap();
        assert!((margin - 8.610 * 0.124_722).abs() < 1e-3, "{margin}");
        assert_eq!((value_margin(&[1.0], &[2.0]), value_margin(&[], &[1.0, 2.0, 3.0])), (None, None));
    }

    #[test]
    fn changes_are_numbered_in_the_whole_series() {
        // The outlier at 2 belongs to no level, and the numbers after it stay.
        let series = [10.0, 10.01, 14.0, 9.99, 10.0, 10.02, 11.0, 11.01, 10.99];
        let found = level_changes(&levels(&series));
        assert_eq!(found, LevelChanges { firsts: vec![6], outliers: vec![2] });
        assert_eq!(level_changes(&[]), LevelChanges::default());
    }
}
