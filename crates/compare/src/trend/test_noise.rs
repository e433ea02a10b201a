//! Series of step times with a known noise, for tests.

use super::super::noise::Sample;

/// Noise around 0 with a standard deviation of 1, nearly normal: the sum of twelve numbers from a
/// linear congruential generator.
pub(super) struct Noise(pub u64);

impl Noise {
    pub(super) fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// A run with one step.
pub(super) fn sample(mean_us: f64) -> Sample {
    Sample { count: 1, mean_us, stddev_us: 0.0 }
}
