//! Reads the ops of a step from a profile. Earlier versions wrote profiles without these ops. For such a profile,
//! derives them from the kernels of the whole capture.

use std::borrow::Cow;

use report::{StepKernel, StepOp, StepOps, UnifiedProfile, WindowKind};

/// Returns the ops of a step. If the profile lacks the section `step_ops`, spreads its top kernels evenly over steps
/// and devices. Returns `None` if the profile's steps are unknown, or if it lists no kernels.
pub(crate) fn ops(profile: &UnifiedProfile) -> Option<Cow<'_, StepOps>> {
    if let Some(ops) = &profile.step_ops {
        return Some(Cow::Borrowed(ops));
    }
    let device_steps = device_steps(profile)?;
    let kernels = &profile.kernels.top_kernels;
    let per_step = |total: f64| total / device_steps as f64;
    let of_all: f64 = profile.kernels.kernels_by_category.values().map(|it| it.time_us).sum();
    let listed: f64 = kernels.iter().map(|it| it.total_us).sum();
    (!kernels.is_empty()).then(|| {
        let op = |kernel: &report::Kernel| StepOp {
            name: kernel.name.clone(),
            family: kernel.category.clone(),
            framework_op: kernel.framework_op.clone(),
            self_time_us: per_step(kernel.total_us),
            occurrences: per_step(kernel.count as f64),
            ..StepOp::default()
        };
        Cow::Owned(StepOps {
            device_steps,
            op_time_us: per_step(of_all.max(listed)),
            // If the list is incomplete, there is at least one more op than listed. The total time of the unlisted ops is
            // known.
            num_ops: kernels.len() as u64 + u64::from(of_all > listed),
            ops: kernels.iter().map(op).collect(),
            kernels: Vec::<StepKernel>::new(),
            ..StepOps::default()
        })
    })
}

/// Returns class, time in microseconds and count, per step per device.
pub(crate) fn families(profile: &UnifiedProfile) -> Vec<(String, f64, f64)> {
    if let Some(ops) = &profile.step_ops {
        return ops.families.iter().map(|it| (it.family.clone(), it.self_time_us, it.occurrences)).collect();
    }
    let Some(device_steps) = device_steps(profile) else { return Vec::new() };
    let per_step = |total: f64| total / device_steps as f64;
    let categories = profile.kernels.kernels_by_category.iter();
    categories.map(|(name, it)| (name.clone(), per_step(it.time_us), per_step(it.count as f64))).collect()
}

/// Returns the window that a profile's times refer to: steps, or active spans if the steps are
/// unknown.
pub(crate) fn window(profile: &UnifiedProfile) -> &str {
    let told = profile.step_breakdown.as_ref().map(|it| it.window.as_str());
    let has_steps = profile.step_timing.avg_step_time_us.is_some();
    let known = if has_steps { WindowKind::Steps } else { WindowKind::ActiveSpan };
    // Steps that the user defines are treated as steps.
    let is_given = told.and_then(WindowKind::named) == Some(WindowKind::GivenSteps);
    let told = told.map(|window| if is_given { WindowKind::Steps.label() } else { window });
    told.filter(|window| !window.is_empty()).unwrap_or(known.label())
}

fn device_steps(profile: &UnifiedProfile) -> Option<u64> {
    let product = profile.step_timing.num_steps.checked_mul(profile.metadata.num_devices.max(1))?;
    Some(product).filter(|&product| product > 0)
}
