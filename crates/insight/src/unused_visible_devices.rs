//! The program does not use all devices of the host.
//!
//! The profile contains devices that ran no op, although they belong to the run's platform. Severity: warning, even for
//! a single device. Confidence: medium, because other programs may use these devices.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use metrics::{Devices, is_amd};
use report::{Confidence, FindingSeverity, View};
use trace::{Framework, Platform};

pub(super) static RULE: Rule =
    Rule { id: "unused_visible_devices", title: "Devices are unused", needs: Needs::Whole, ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices;
    let Devices { used, platform, .. } = devices;
    let Some(platform) = platform else {
        return lacks("no device op ran. Capture while the program runs on the device.");
    };
    let (num_visible, unused) = (devices.num_visible(), devices.unused.len() as u64);
    if unused == 0 {
        return Verdict::Fine;
    }
    let message = format!(
        "{} of {} {}s in the profile ran no op during the capture. The program used {}.",
        format::count(unused),
        format::count(num_visible),
        platform.label(),
        format::count(used.len() as u64)
    );
    // Other programs may use these devices, or the user may want only one device.
    Draft::new(
        FindingSeverity::Warning,
        Confidence::Medium,
        &format!("{} of {} {}s are unused", format::count(unused), format::count(num_visible), platform.label()),
        message,
    )
    .remedy(&format!(
        "If this program should use them, split the batch over them: {}. If not, hide them with {}, so that they are not \
         counted.",
        match numbers.trace.framework {
            Framework::TensorFlow => "tf.distribute.MirroredStrategy()",
            Framework::PyTorch => "torchrun with a process per device, and DistributedDataParallel",
            Framework::Jax | Framework::Unknown =>
                "mesh = jax.make_mesh((jax.device_count(),), (\"data\",)) and jax.device_put(batch, NamedSharding(mesh, \
                 P(\"data\")))",
        },
        match platform {
            Platform::Gpu if is_amd(&numbers.profile.metadata.device_type) => "HIP_VISIBLE_DEVICES",
            Platform::Gpu => "CUDA_VISIBLE_DEVICES",
            Platform::Tpu | Platform::Cpu => "TPU_VISIBLE_CHIPS",
        }
    ))
    .passed("unused_devices", unused as f64, 1.0)
    .evidence("visible_devices", num_visible as f64)
    .link(View::Devices, "")
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, kernel};
    use report::FindingSeverity::Warning;
    use trace::{Trace, TraceBuilder};

    #[test]
    fn fires_above_its_limit() {
        let trace = |visible: usize| {
            let mut b = TraceBuilder::new();
            kernel(&mut b, "gemm", 1, 5, 100);
            for device in 0..visible {
                b.line(&format!("/device:GPU:{device}"), "Stream #7(Compute)");
            }
            b.build()
        };
        assert_eq!(finding(trace(2), &RULE).severity, Warning);
        fine(trace(1), &RULE);
        let remedy = |framework| finding(Trace { framework, ..trace(2) }, &RULE).remedy;
        assert!(remedy(Framework::Jax).contains("jax.make_mesh"));
        assert!(!remedy(Framework::TensorFlow).contains("jax") && !remedy(Framework::PyTorch).contains("jax"));
    }
}
