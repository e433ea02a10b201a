//! Many short kernels that leave the device waiting for the next launch.

use super::draft::{Draft, lacks};
use super::numbers::{Numbers, SHORT};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::{Framework, in_blocks};

/// The rule.
pub(super) const RULE: Rule =
    Rule { id: "many_small_kernels", title: "Many small kernels, with launch gaps between them", check };

/// Fewer short kernels on a device are not "many" (ours).
const FEWEST: usize = 50;
/// Short kernels are the rule, not the exception, from this share on (ours).
const SHORT_SHARE_PERCENT: f64 = 50.0;
/// Idle share in gaps below 0.1 ms from which they matter (ours: the guide counts small kernels alone, but kernels that
/// follow each other without a gap cost nothing for being small).
const WARNING_PERCENT: f64 = 10.0;
/// From this share on launching is most of what happens (ours).
const CRITICAL_PERCENT: f64 = 30.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        // TPU ops are sequenced on the chip and CPU ops are calls: neither is launched one by one by the host.
        return Verdict::Irrelevant;
    }
    let Some(gaps) = numbers.short_gap_percent() else { return lacks("no kernel ran.") };
    let devices = &numbers.context.analysis.devices.used;
    let (mut kernels, mut short) = (0_usize, 0_usize);
    for device in devices {
        in_blocks(&device.ops, |&id| {
            let Some((_, duration)) = numbers.trace.events.time(id) else { return };
            kernels += 1;
            short += usize::from(duration < SHORT);
        });
    }
    let share = 100.0 * short as f64 / kernels.max(1) as f64;
    if short < FEWEST.saturating_mul(devices.len()) || share < SHORT_SHARE_PERCENT || gaps < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = gaps >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let programs = numbers.profile.compilation.as_ref().and_then(|it| it.num_xla_modules).unwrap_or(0);
    let message = format!(
        "{} of {} kernels are shorter than 0.1 ms, and gaps shorter than 0.1 ms between them take {} of the time: the \
         devices finish a kernel before the next one is launched.{}",
        format::count(short as u64),
        format::count(kernels as u64),
        format::percent(gaps),
        if programs > 1 {
            format!(" They belong to {} compiled programs.", format::count(programs))
        } else {
            String::new()
        }
    );
    Draft::new(severity, Confidence::High, "Many small kernels leave the device waiting for launches", message)
        .remedy(match numbers.trace.framework {
            Framework::PyTorch => {
                "Put more of the program into one torch.compile (mode=\"reduce-overhead\" replays CUDA graphs)."
            }
            Framework::TensorFlow => {
                "Put more of the program into one tf.function(jit_compile=True), with tf.while_loop instead of Python loops."
            }
            Framework::Jax | Framework::Unknown => {
                "Put more of the program into one jax.jit so that XLA fuses it (operations called one by one from Python are one \
                 program each), use jax.lax.scan instead of Python loops, and let XLA launch whole graphs: \
                 XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN,CUSTOM_CALL."
            }
        })
        .passed("short_gap_percent", gaps, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .passed("short_kernel_percent", share, SHORT_SHARE_PERCENT)
        .evidence("short_kernels", short as f64)
        .at_stake(gaps)
        .link("kernels", "avg_duration_us<100")
        .fires()
}
