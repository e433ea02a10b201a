//! Computes how much the times of an op must differ to exceed the noise.
//!
//! If a side has several captures, the noise is the variation among these captures. If each side has one capture, the noise is
//! the variation of the steps in both captures, corrected for correlated steps ([`difference`](super::difference)). A
//! comparison makes hundreds of these tests at once, so each test uses a level of 99.9 %.

use super::difference::{Inflation, of_values};
use super::subject::CaptureTimes;
use super::t_quantile::t_quantile_9995;
use super::{Level, Subject};
use report::StepOps;

/// Noise of the ops of two runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpNoise {
    /// Time of each listed op in each capture of a side. Empty for a side with one capture.
    times: [CaptureTimes; 2],
    /// Number of counted steps on each side, if each side is one capture and both have at least two
    /// steps.
    steps: Option<[f64; 2]>,
    inflation: Inflation,
}

impl OpNoise {
    /// Reads the noise of the ops of both runs.
    pub(crate) fn new(subjects: [&Subject; 2], ops: [&StepOps; 2]) -> OpNoise {
        let levels = subjects.map(|it| Level::typical(&it.profile));
        let steps = match (&levels, subjects.iter().all(|it| it.group.is_empty())) {
            ([Some(ours), Some(theirs)], true) => Some([ours.steps as f64, theirs.steps as f64]),
            _ => None,
        };
        let [(ours, our_ops), (theirs, their_ops)] = [(subjects[0], ops[0]), (subjects[1], ops[1])];
        OpNoise {
            times: [ours.op_times(our_ops), theirs.op_times(their_ops)],
            steps: steps.filter(|steps| steps.iter().all(|count| *count >= 2.0)),
            inflation: Inflation::of(levels.iter().flatten()),
        }
    }

    /// Returns the difference that a group of ops must exceed, in microseconds. Returns `None` if the noise is unknown.
    /// `group` contains the positions of the group's ops on each side, and `stddevs_us` the variation of each side from
    /// step to step.
    pub(crate) fn margin_us(&self, group: &[Vec<usize>; 2], stddevs_us: [Option<f64>; 2]) -> Option<f64> {
        let of_side = |(times, group): (&CaptureTimes, &Vec<usize>)| -> Vec<f64> {
            let of_capture = |capture: &Vec<f64>| group.iter().filter_map(|&at| capture.get(at)).sum();
            times.iter().map(of_capture).collect()
        };
        let [ours, theirs] = [of_side((&self.times[0], &group[0])), of_side((&self.times[1], &group[1]))];
        let (error, df) = of_values(&ours, &theirs).or_else(|| self.of_steps(stddevs_us))?;
        Some(t_quantile_9995(df) * error).filter(|margin| margin.is_finite())
    }

    /// Returns the standard error and the degrees of freedom, from the steps of one capture per side. A side without the op has
    /// no variation.
    fn of_steps(&self, stddevs_us: [Option<f64>; 2]) -> Option<(f64, f64)> {
        let ([our_steps, their_steps], [ours, theirs]) = (self.steps?, stddevs_us);
        let (ours, theirs) = (ours?, theirs?);
        let [our_variance, their_variance] = [ours * ours / our_steps, theirs * theirs / their_steps];
        let variance = our_variance + their_variance;
        let df = variance * variance
            / (our_variance * our_variance / (our_steps - 1.0) + their_variance * their_variance / (their_steps - 1.0));
        let df = if df.is_finite() { df } else { our_steps + their_steps - 2.0 };
        Some(((variance * self.inflation.of_variance).sqrt(), (df * self.inflation.of_freedom).max(1.0)))
    }
}
