//! Tests whether the steps of two runs differ, and computes the smallest difference that the test
//! could prove.
//!
//! With one capture per side, the result is about these two captures, and the noise is the noise of their steps
//! ([`Level`]). But the level of every capture also depends on clocks, placement, memory and other programs on the
//! machine. A single capture does not reveal these effects. Only several captures per side show whether the *programs*
//! differ. The noise is then the variation among the captures of one side.
//!
//! ```text
//! main   10.0    10.2    9.9        s = 0.15 within the sides
//! new         10.6    10.5   10.8   difference 0.60, standard error s * sqrt(1/3 + 1/3), 4 degrees of freedom
//! ```
//!
//! The test assumes that both sides vary equally (Student's t with a pooled variance), because both run on the same
//! machine, and two or three captures could not distinguish two variances. The noise is never assumed to be smaller
//! than the variation of the steps alone.

use super::level::{Correlation, Level};
use super::t_quantile::{NORMAL_80, t_quantile_975};
use super::{ComparisonBasis, StepTimeVerdict, Subject};
use report::UnifiedProfile;

/// Default threshold: smaller relative differences do not matter to users.
pub const DEFAULT_THRESHOLD: f64 = 0.01;

/// A comparison is unstable if its smallest provable difference exceeds the threshold by this factor.
const UNSTABLE_THRESHOLDS: f64 = 5.0;

/// Factor by which a difference must exceed Student's limit. The noise of a capture is estimated from a few steps, and
/// one number does not fully describe how the steps depend on each other. With this factor, at most one in twenty pairs
/// of captures of the same program is reported as different. The factor works for independent steps, for correlated
/// steps, and for captures with different levels.
const CAUTION: f64 = 1.17;

/// Upper limit of the correlation. In a short capture, a larger correlation cannot be distinguished from a drift, and
/// intervals would become unbounded.
const MOST_CORRELATION: f64 = 0.7;

/// Difference between two means, with its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    /// Typical or mean step of the run, in microseconds.
    pub ours_us: f64,
    /// Typical or mean step of the baseline, in microseconds.
    pub theirs_us: f64,
    /// Source of the noise estimate.
    pub basis: ComparisonBasis,
    /// Standard error of the difference and its degrees of freedom. `None` if unknown.
    pub noise: Option<(f64, f64)>,
}

impl Difference {
    /// Compares the levels of the captures of both sides. Returns `None` if a side has no captures.
    pub(crate) fn of_levels(ours: &[Level], theirs: &[Level]) -> Option<Difference> {
        let us = |levels: &[Level]| levels.iter().map(|level| level.us).collect::<Vec<_>>();
        let (our_values, their_values) = (us(ours), us(theirs));
        let between = of_values(&our_values, &their_values);
        let within = of_steps(ours, theirs);
        let noise = match (between, within) {
            (Some((between, df)), Some((within, _))) => Some((between.max(within), df)),
            (Some(between), None) => Some(between),
            (None, within) => within,
        };
        let basis = match (between, within) {
            (Some(_), _) => ComparisonBasis::Captures,
            (None, Some(_)) => ComparisonBasis::Steps,
            (None, None) => ComparisonBasis::None,
        };
        let found = Difference { ours_us: mean(&our_values)?, theirs_us: mean(&their_values)?, basis, noise };
        // Times of a damaged profile may have no finite sum.
        let noise = noise.filter(|_| found.least_provable_us().is_some_and(f64::is_finite));
        Some(Difference { noise, ..found }).filter(|it| it.delta_us().is_finite())
    }

    /// Returns the run's time minus the baseline's, in microseconds.
    pub(crate) fn delta_us(&self) -> f64 {
        self.ours_us - self.theirs_us
    }

    /// Returns half the width of the 95 % confidence interval, in microseconds.
    pub(crate) fn margin_us(&self) -> Option<f64> {
        self.noise.map(|(error, df)| CAUTION * t_quantile_975(df) * error)
    }

    /// Returns the smallest difference that captures like these would prove in four out of five attempts (80 % power),
    /// in microseconds.
    pub(crate) fn least_provable_us(&self) -> Option<f64> {
        self.noise.map(|(error, df)| (CAUTION * t_quantile_975(df) + NORMAL_80) * error)
    }

    /// Returns true if the difference exceeds the noise, even if it is small. If the noise is unknown, returns true if the
    /// difference exceeds `threshold`.
    pub(crate) fn is_proven(&self, threshold: f64) -> bool {
        match self.margin_us() {
            Some(margin) => self.delta_us().abs() > margin,
            None => self.is_large(threshold),
        }
    }

    /// Returns true if the difference is at least `threshold` times the smaller mean.
    pub(crate) fn is_large(&self, threshold: f64) -> bool {
        self.delta_us().abs() >= threshold * self.ours_us.min(self.theirs_us)
    }

    /// Returns the verdict. Returns `Faster` or `Slower` only if the difference is both proven and large.
    pub(crate) fn verdict(&self, threshold: f64) -> StepTimeVerdict {
        let delta = self.delta_us();
        let limit = threshold * self.ours_us.min(self.theirs_us);
        let is_sharp = self.margin_us().is_none_or(|margin| margin <= 2.0 * limit);
        let is_unstable = self.basis == ComparisonBasis::Captures
            && self.least_provable_us().is_some_and(|least| least > UNSTABLE_THRESHOLDS * limit);
        match (self.is_proven(threshold), self.is_large(threshold)) {
            _ if delta == 0.0 => StepTimeVerdict::Equal,
            (true, true) if delta < 0.0 => StepTimeVerdict::Faster,
            (true, true) => StepTimeVerdict::Slower,
            (true, false) => StepTimeVerdict::Same,
            (false, false) if is_sharp => StepTimeVerdict::Same,
            (false, _) if is_unstable => StepTimeVerdict::Unstable,
            (false, _) => StepTimeVerdict::WithinNoise,
        }
    }
}

/// Compares two sides by the result of `level` for each capture. Returns `None` if `level` returns `None` for any capture.
pub(crate) fn between(
    ours: &Subject,
    theirs: &Subject,
    level: impl Fn(&UnifiedProfile) -> Option<Level>,
) -> Option<Difference> {
    let levels = |side: &Subject| side.captures().iter().map(&level).collect::<Option<Vec<Level>>>();
    Difference::of_levels(&levels(ours)?, &levels(theirs)?)
}

/// Returns true if the typical steps of two captures differ beyond the noise. Returns `None` if the steps of either capture are
/// unknown.
pub(crate) fn differ(one: &UnifiedProfile, other: &UnifiedProfile) -> Option<bool> {
    let found = Difference::of_levels(&[Level::typical(one)?], &[Level::typical(other)?])?;
    Some(found.is_proven(DEFAULT_THRESHOLD))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the standard error of the difference between two means and its degrees of freedom, from the variation of the values
/// within each side. Returns `None` if each side has one value.
pub(crate) fn of_values(ours: &[f64], theirs: &[f64]) -> Option<(f64, f64)> {
    let df = (ours.len() + theirs.len()).checked_sub(2).filter(|&df| df > 0)? as f64;
    let squares = |values: &[f64]| {
        let mean = mean(values)?;
        Some(values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>())
    };
    let variance = (squares(ours)? + squares(theirs)?) / df;
    let shares = 1.0 / ours.len() as f64 + 1.0 / theirs.len() as f64;
    Some(((variance * shares).sqrt(), df))
}

/// Returns the standard error and the degrees of freedom, from the steps of each capture. Returns
/// `None` if a capture has fewer than two steps.
fn of_steps(ours: &[Level], theirs: &[Level]) -> Option<(f64, f64)> {
    let Inflation { of_variance: inflation, of_freedom } = Inflation::of(ours.iter().chain(theirs));
    let of_side = |levels: &[Level]| {
        let variances: Option<Vec<f64>> = levels.iter().map(|level| of_capture(level, inflation)).collect();
        let count = levels.len() as f64;
        let df: f64 = levels.iter().map(|level| level.degrees_of_freedom).sum();
        Some((variances?.iter().sum::<f64>() / (count * count), df))
    };
    let ((ours, our_df), (theirs, their_df)) = (of_side(ours)?, of_side(theirs)?);
    let both = ours + theirs;
    // Welch-Satterthwaite.
    let df =
        if both > 0.0 { both * both / (ours * ours / our_df + theirs * theirs / their_df) } else { our_df + their_df };
    Some((both.sqrt(), (df * of_freedom).max(1.0)))
}

/// Effect of correlated steps on the noise of their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inflation {
    /// Factor on the variance of the mean, relative to independent steps.
    pub of_variance: f64,
    /// Factor on the degrees of freedom, relative to independent steps.
    pub of_freedom: f64,
}

impl Default for Inflation {
    fn default() -> Inflation {
        Inflation { of_variance: 1.0, of_freedom: 1.0 }
    }
}

impl Inflation {
    /// Computes the inflation from the pooled correlation of the steps in all captures.
    pub(crate) fn of<'l>(levels: impl Iterator<Item = &'l Level>) -> Inflation {
        let correlation = correlation(levels);
        // The correlation of squared steps is the square of the correlation of the steps.
        let square = correlation * correlation;
        Inflation {
            of_variance: (1.0 + correlation) / (1.0 - correlation),
            of_freedom: (1.0 - square) / (1.0 + square),
        }
    }
}

/// Returns how strongly a step predicts the next step, from 0 to [`MOST_CORRELATION`]. This correlation is a property of the
/// machine, so all captures are pooled. In a short capture, consecutive steps pull the mean towards them, so the correlation is
/// underestimated.
fn correlation<'l>(levels: impl Iterator<Item = &'l Level>) -> f64 {
    let known: Vec<Correlation> = levels.filter_map(|level| level.correlation).collect();
    let sum = |value: fn(&Correlation) -> f64| known.iter().map(value).sum::<f64>();
    let (products, squares, steps) = (sum(|it| it.products), sum(|it| it.squares), sum(|it| it.steps));
    let count = steps / known.len() as f64;
    let correlation = (count * products / squares + 1.0) / (count - 3.0);
    if correlation.is_finite() { correlation.clamp(0.0, MOST_CORRELATION) } else { 0.0 }
}

/// Returns the variance of a capture's mean if its steps are correlated. Correlated steps are closer to their own mean
/// than to the true mean, so their spread is too small as well.
fn of_capture(level: &Level, inflation: f64) -> Option<f64> {
    let steps = level.steps as f64;
    let worth = (steps / inflation).max(1.0);
    let spread = (1.0 - 1.0 / steps) / (1.0 - (1.0 / worth).min(0.75));
    level.variance_us2.map(|variance| variance * inflation * spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(us: f64, variance_us2: f64, steps: u64, correlation: Option<f64>) -> Level {
        let degrees_of_freedom = steps as f64 - 1.0;
        // Chooses sums for which the corrected correlation equals the given one.
        let count = steps as f64;
        let products = correlation.map(|it| (it * (count - 3.0) - 1.0) / count);
        let correlation = products.map(|products| Correlation { products, squares: 1.0, steps: count });
        Level { us, steps, variance_us2: Some(variance_us2), degrees_of_freedom, correlation }
    }

    fn typical(steps: &[f64]) -> Level {
        let step = |&duration_us: &f64| report::Step { duration_us, counted: true, ..Default::default() };
        let mut profile = report::UnifiedProfile { steps: steps.iter().map(step).collect(), ..Default::default() };
        profile.step_timing.avg_step_time_us = Some(steps.iter().sum::<f64>() / steps.len() as f64);
        Level::typical(&profile).unwrap()
    }

    fn near(value: f64, truth: f64) {
        assert!((value - truth).abs() < 2e-3 * truth.abs(), "{value} is not {truth}");
    }

    /// Reference: `scipy.stats.ttest_ind([10, 10.2, 9.9], [10.6, 10.5, 10.8])`: t = -4.8107, df = 4,
    /// interval -0.946 to -0.254.
    #[test]
    fn captures_are_compared_with_their_own_variation() {
        let side = |values: [f64; 3]| values.map(|us| level(us, 1e-12, 20, None));
        let found = Difference::of_levels(&side([10.0, 10.2, 9.9]), &side([10.6, 10.5, 10.8])).unwrap();
        assert_eq!(found.basis, ComparisonBasis::Captures);
        near(found.delta_us() / found.noise.unwrap().0, -4.8107);
        near(found.margin_us().unwrap(), CAUTION * 0.34628);
        assert_eq!(found.verdict(0.01), StepTimeVerdict::Faster);
    }

    /// Reference: `scipy.stats.ttest_ind(a, b, equal_var=False, trim=0.25)`: df = 7.2605, half of the
    /// interval 0.169645.
    #[test]
    fn independent_steps_are_compared_as_yuen_does() {
        let a = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 13.0, 10.1, 9.9];
        let b = [10.6, 10.4, 10.5, 10.7, 10.3, 10.5, 10.45, 10.55, 14.0];
        let [a, b] = [a, b].map(|steps| typical(&steps));
        let found = Difference::of_levels(&[a], &[b]).unwrap();
        near(found.delta_us(), -0.5);
        near(found.noise.unwrap().1, 7.2605);
        near(found.margin_us().unwrap(), CAUTION * 0.169645);
        assert_eq!((found.basis, found.verdict(0.01)), (ComparisonBasis::Steps, StepTimeVerdict::Faster));
    }

    #[test]
    fn steps_that_follow_each_other_count_as_fewer() {
        let (free, tied) = (level(10.0, 0.01, 40, Some(0.0)), level(10.0, 0.01, 40, Some(0.6)));
        let margin =
            |it: Level| Difference::of_levels(&[it], &[Level { us: 10.3, ..it }]).unwrap().margin_us().unwrap();
        // 40 correlated steps are worth 10: four times the variance, slightly more for the spread, and t
        // with fewer degrees of freedom.
        assert!((2.0..2.4).contains(&(margin(tied) / margin(free))), "{} {}", margin(tied), margin(free));
    }

    #[test]
    fn small_differences_are_ignored_and_noisy_captures_are_unstable() {
        let pair = |us: f64, variance: f64| {
            Difference::of_levels(&[level(us, variance, 20, None)], &[level(100.0, variance, 20, None)]).unwrap()
        };
        assert_eq!(pair(100.5, 1e-6).verdict(0.01), StepTimeVerdict::Same);
        assert_eq!(pair(100.5, 1e-6).verdict(0.001), StepTimeVerdict::Slower);
        assert_eq!(pair(100.0, 0.0).verdict(0.01), StepTimeVerdict::Equal);
        assert_eq!(pair(103.0, 16.0).verdict(0.01), StepTimeVerdict::WithinNoise);
        let wild = [90.0, 110.0].map(|us| level(us, 1e-6, 20, None));
        let found = Difference::of_levels(&wild, &[level(101.0, 1e-6, 20, None)]).unwrap();
        assert_eq!(found.verdict(0.01), StepTimeVerdict::Unstable);
        assert!(found.least_provable_us().unwrap() > found.margin_us().unwrap());
    }

    /// Compares 10, 12, 11, 13, 12 with 14, 15, 13, 16.
    #[test]
    fn welch_agrees_with_a_textbook() {
        let a = level(11.6, 1.3 / 5.0, 5, None);
        let b = level(14.5, (5.0 / 3.0) / 4.0, 4, None);
        let found = Difference::of_levels(&[a], &[b]).unwrap();
        // By hand: va = 1.3/5 = 0.26, vb = 1.6667/4 = 0.41667, df = 0.67667^2 / (0.26^2/4 + 0.41667^2/3) = 6.1239.
        assert!((found.noise.unwrap().1 - 6.1239).abs() < 1e-3, "{found:?}");
        // t(6.1239) is between 2.447 and 2.365; times sqrt(0.67667) = 0.8226.
        assert!((1.99..2.02).contains(&(found.margin_us().unwrap() / CAUTION)), "{found:?}");
        assert!(found.is_proven(0.01));
    }

    #[test]
    fn without_spread_any_difference_is_proven_and_without_steps_a_percent() {
        let exact = |us: f64| level(us, 0.0, 5, None);
        let bare = |us: f64| Level { variance_us2: None, ..level(us, 0.0, 1, None) };
        let proven = |a: Level, b: Level| Difference::of_levels(&[a], &[b]).unwrap().is_proven(0.01);
        assert!(proven(exact(100.0), exact(100.001)));
        assert!(!proven(exact(100.0), exact(100.0)));
        assert!(!proven(bare(100.0), exact(100.9)));
        assert!(proven(bare(100.0), bare(101.1)));
    }

    #[test]
    fn without_spread_the_threshold_decides() {
        let bare = |us: f64| Level { variance_us2: None, ..level(us, 0.0, 1, None) };
        let found = |us: f64| Difference::of_levels(&[bare(us)], &[bare(100.0)]).unwrap();
        assert_eq!(found(101.1).verdict(0.01), StepTimeVerdict::Slower);
        assert_eq!((found(100.9).verdict(0.01), found(100.9).basis), (StepTimeVerdict::Same, ComparisonBasis::None));
    }
}
