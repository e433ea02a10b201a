//! Computes work per second from the mean step time and the user's batch size.

use crate::step::steps::StepsTogether;
use report::{ModelConfig, StepTiming, Throughput};

/// Maximum number of samples or tokens per step. A larger value is treated as a typing error.
const MOST_PER_STEP: u64 = 1 << 53;

/// Builds the throughput section. Steps per second need only the step time. Samples and tokens per second need the
/// batch size, which no trace contains. `num_devices` is the number of devices in use. If devices run one after
/// another, no step processes the whole batch, so samples and tokens per second are unknown. If devices do not run
/// their steps together, `all_devices` is the rate at which all devices finish steps.
pub fn throughput(timing: &StepTiming, model: &ModelConfig, num_devices: u64, all_devices: Option<f64>) -> Throughput {
    let Some(step_us) = timing.avg_step_time_us.filter(|us| us.is_finite() && *us > 0.0) else {
        return Throughput::default();
    };
    let per_second = 1e6 / step_us;
    let one_batch = timing.devices_in_step.as_deref() != Some(StepsTogether::OneAfterAnother.label());
    let batch = model.batch_size.filter(|size| (1..=MOST_PER_STEP).contains(size) && one_batch);
    let samples = batch.map(|size| size as f64 * per_second);
    let length = model.seq_length.filter(|&length| {
        length > 0 && batch.and_then(|size| size.checked_mul(length)).is_some_and(|tokens| tokens <= MOST_PER_STEP)
    });
    let tokens = samples.zip(length).map(|(it, length)| it * length as f64);
    let per_device = |all: Option<f64>| all.filter(|_| num_devices > 0).map(|all| all / num_devices as f64);
    Throughput {
        tokens_per_sec: tokens,
        samples_per_sec: samples,
        steps_per_sec: Some(per_second),
        ms_per_step: Some(step_us / 1e3),
        tokens_per_sec_per_device: per_device(tokens),
        samples_per_sec_per_device: per_device(samples),
        all_devices_steps_per_sec: all_devices,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(avg_step_time_us: Option<f64>) -> StepTiming {
        StepTiming { avg_step_time_us, ..StepTiming::default() }
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a / b - 1.0).abs() < 1e-12)
    }

    /// The step time and the batch come from the documented 1.0.0 example. The samples per second are 16 / 0.0826 s by
    /// definition.
    #[test]
    fn tokens_and_samples_follow_from_batch_and_length() {
        let model = ModelConfig { batch_size: Some(16), seq_length: Some(128), ..ModelConfig::default() };
        let found = throughput(&timing(Some(82_600.0)), &model, 4, None);
        assert!(close(found.samples_per_sec, 193.704_600_484_261_5));
        assert!(close(found.tokens_per_sec, 24_794.188_861_985_47));
        assert!(close(found.tokens_per_sec_per_device, 6_198.547_215_496_368));
        assert!(close(found.steps_per_sec, 12.106_537_530_266_344));
        assert!(close(found.ms_per_step, 82.6));
    }

    #[test]
    fn what_is_unknown_is_absent() {
        let found = throughput(&timing(Some(1000.0)), &ModelConfig::default(), 4, None);
        assert_eq!((found.steps_per_sec, found.tokens_per_sec, found.samples_per_sec), (Some(1000.0), None, None));
        let model = ModelConfig { batch_size: Some(8), ..ModelConfig::default() };
        let found = throughput(&timing(Some(1000.0)), &model, 0, None);
        assert_eq!((found.samples_per_sec, found.samples_per_sec_per_device), (Some(8000.0), None));
        assert_eq!(found.tokens_per_sec, None);
        assert_eq!(throughput(&timing(None), &model, 1, None), Throughput::default());
        // If devices run one after another, it is unknown to which device the batch belongs.
        let apart = StepTiming { devices_in_step: Some("one_after_another".to_owned()), ..timing(Some(1000.0)) };
        let found = throughput(&apart, &model, 2, Some(900.0));
        assert_eq!((found.steps_per_sec, found.all_devices_steps_per_sec), (Some(1000.0), Some(900.0)));
        assert_eq!(found.samples_per_sec, None);
    }

    #[test]
    fn more_tokens_than_any_data_set_has_are_no_measurement() {
        let of = |batch_size, seq_length| {
            let model =
                ModelConfig { batch_size: Some(batch_size), seq_length: Some(seq_length), ..ModelConfig::default() };
            let found = throughput(&timing(Some(1e6)), &model, 1, None);
            (found.samples_per_sec, found.tokens_per_sec)
        };
        assert_eq!(of(1 << 20, 1 << 33), (Some(1_048_576.0), Some(9_007_199_254_740_992.0)));
        assert_eq!(of(1 << 20, (1 << 33) + 1), (Some(1_048_576.0), None));
        assert_eq!(of(u64::MAX, u64::MAX), (None, None));
    }
}
