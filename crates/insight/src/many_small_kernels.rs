//! Devices wait for launches between many short kernels.
//!
//! GPU only: each device has at least 50 kernels shorter than 0.1 ms (JAX guide), and such kernels are at least half of all
//! kernels. Idle gaps shorter than 0.1 ms take at least 10 % of the active spans (`short_gap_percent`, critical from 30 %). The
//! two limits for gaps are ours: a small kernel costs nothing if the next one follows at once, as with CUDA graphs. Kernels
//! that the compiler runs during compilation are excluded. Confidence: high. Remedy: use a larger `jax.jit`, or command
//! buffers.

use super::draft::{Draft, lacks};
use super::limits::{BOTTLENECK_PERCENT, OVERHEAD_PERCENT, SHORT_KERNEL_US};
use super::numbers::{Numbers, SHORT};
use super::{Needs, Rule, Verdict, sequential_loop};
use base::format;
use metrics::AUTOTUNING;
use report::{Confidence, FindingSeverity, View};
use trace::{Framework, in_blocks};

pub(super) static RULE: Rule = Rule {
    id: "many_small_kernels",
    title: "Many small kernels with launch gaps between them",
    needs: Needs::AllOps,
    explained_by: &[&[&sequential_loop::RULE]],
    ..Rule::checked_by(check)
};

/// Minimum number of short kernels on a device.
const FEWEST: usize = 50;
/// The rule fires if at least this share of the kernels is short. Short kernels are then the norm.
const SHORT_SHARE_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        // The host does not launch the ops of a TPU or CPU one by one: a TPU sequences them on the chip, and CPU ops are
        // function calls.
        return Verdict::Irrelevant;
    }
    let Some(gaps) = numbers.short_gap_percent() else { return lacks("no kernel ran.") };
    let devices = &numbers.context.analysis.devices.used;
    let (mut kernels, mut short) = (0_usize, 0_usize);
    // The compiler runs candidate kernels that are not part of the program.
    let kinds = numbers.trace.events.kinds();
    let mut known: Vec<Option<bool>> = vec![None; kinds.len()];
    let mut is_autotuning = |kind: usize| {
        let (Some(of), Some(known)) = (kinds.get(kind), known.get_mut(kind)) else { return false };
        let devices = &numbers.context.analysis.devices;
        *known.get_or_insert_with(|| devices.category(numbers.trace, of.name, of.args) == AUTOTUNING)
    };
    for device in devices {
        in_blocks(&device.ops, |&id| {
            let Some((kind, interval)) = numbers.trace.events.kind_and_time(id) else { return };
            if is_autotuning(kind) {
                return;
            }
            let duration = interval.length();
            kernels += 1;
            short += usize::from(duration < SHORT);
        });
    }
    let share = 100.0 * short as f64 / kernels.max(1) as f64;
    if short < FEWEST.saturating_mul(devices.len()) || share < SHORT_SHARE_PERCENT || gaps < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = gaps >= BOTTLENECK_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let programs = numbers.profile.compilation.as_ref().and_then(|it| it.num_xla_modules).unwrap_or(0);
    let message = format!(
        "Gaps shorter than 0.1 ms between kernels take {} of the time: the devices finish a kernel before the host launches the \
         next one. {} of {} kernels are shorter than 0.1 ms.{}",
        format::percent(gaps),
        format::count(short as u64),
        format::count(kernels as u64),
        if programs > 1 {
            format!(" They belong to {} compiled programs.", format::count(programs))
        } else {
            String::new()
        }
    );
    Draft::new(severity, Confidence::High, "Devices wait for launches between many small kernels", message)
        .remedy(match numbers.trace.framework {
            Framework::PyTorch => {
                "Compile more of the program with one torch.compile (mode=\"reduce-overhead\" replays CUDA graphs)."
            }
            Framework::TensorFlow => {
                "Compile more of the program with one tf.function(jit_compile=True), and use tf.while_loop instead of Python \
                 loops."
            }
            Framework::Jax | Framework::Unknown => {
                "Compile more of the program with one jax.jit so that XLA fuses it (each operation called from Python is a \
                 program of its own), use jax.lax.scan instead of Python loops, and let XLA launch whole graphs: \
                 XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN,CUSTOM_CALL."
            }
        })
        .passed("short_gap_percent", gaps, if critical { BOTTLENECK_PERCENT } else { OVERHEAD_PERCENT.good })
        .passed("short_kernel_percent", share, SHORT_SHARE_PERCENT)
        .evidence("short_kernels", short as f64)
        .at_stake(gaps)
        .link(View::Kernels, &format!("avg_duration_us<{SHORT_KERNEL_US}"))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{autotuning, finding, fine, small_kernels};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(small_kernels(60, 50, 10), &RULE).severity, Warning);
        assert_eq!(finding(small_kernels(60, 50, 50), &RULE).severity, Critical);
        fine(small_kernels(60, 50, 5), &RULE);
        fine(small_kernels(49, 50, 10), &RULE);
        fine(small_kernels(60, 100, 50), &RULE);
    }

    #[test]
    fn kernels_of_the_compiler_do_not_count() {
        fine(autotuning(550), &RULE);
    }
}
