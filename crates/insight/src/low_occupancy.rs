//! Kernels leave most threads of the GPU's multiprocessors unused.
//!
//! GPU only: elementwise, reduction and other arithmetic kernels with an occupancy below 50 % (JAX guide) take at least
//! 10 % of the kernel time (ours). Matrix products, convolutions and attention are excluded, because they keep their
//! tiles in registers. Kernels that the compiler runs during compilation are excluded too. Severity: note. Confidence:
//! low, because the occupancy is the maximum that the launch allows, not a measurement. The rule is skipped if no
//! kernel has a known occupancy (AMD's profiler writes 0).

use super::draft::{Draft, equals, lacks};
use super::limits::{OCCUPANCY_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{KernelRow, OpFamily};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "low_occupancy", title: "Kernels with low occupancy", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        return Verdict::Irrelevant;
    }
    let stats = &numbers.context.analysis.kernel_stats;
    let Some(all) = &stats.all else { return lacks("no kernel ran.") };
    if stats.kernels.iter().all(|kernel| kernel.shape.occupancy_percent.is_none()) {
        return numbers.lacks_in_json("the file does not contain the kernels' occupancy.");
    }
    let low = || stats.kernels.iter().filter(|kernel| is_low(kernel));
    let time: Ps = low().map(|kernel| kernel.occurrences.total).sum();
    let share = if all.total > Ps::ZERO { 100.0 * time.as_ps() as f64 / all.total.as_ps() as f64 } else { 0.0 };
    let largest = low().max_by_key(|kernel| kernel.occurrences.total);
    let Some(largest) = largest.filter(|_| share >= OVERHEAD_PERCENT.good) else { return Verdict::Fine };
    let message = format!(
        "Kernels that use less than half of the multiprocessors' threads take {} of the kernel time. The largest is \
         {} with an occupancy of {}.",
        format::percent(share),
        format::printable(&format::shorten(stats.text(numbers.trace, largest.short_name), 60)),
        format::optional_percent(largest.shape.occupancy_percent)
    );
    Draft::new(FindingSeverity::Note, Confidence::Low, "Kernels have low occupancy", message)
        .remedy(
            "In your own kernels, use fewer registers and less shared memory per block, or launch more blocks. For \
             compiler-generated kernels, use larger shapes. Low occupancy costs nothing if memory or the matrix \
             units are the limit.",
        )
        .passed("low_occupancy_percent", share, OVERHEAD_PERCENT.good)
        .passed("occupancy_pct", largest.shape.occupancy_percent.unwrap_or(0.0), OCCUPANCY_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(View::Kernels, &equals("kernel_name", stats.text(numbers.trace, largest.name)))
        .fires()
}

/// Returns true if a kernel's occupancy is low and may cost time. Products, convolutions and attention keep their tiles in
/// registers and run best at low occupancy. Threads do not limit copies and communication.
fn is_low(kernel: &KernelRow) -> bool {
    let arithmetic = matches!(kernel.family, OpFamily::Elementwise | OpFamily::Reduction | OpFamily::OtherCompute);
    arithmetic
        && !kernel.is_autotuning
        && kernel.shape.occupancy_percent.is_some_and(|occupancy| occupancy < OCCUPANCY_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HGEMM, autotuning, finding, fine, gpu_steps};
    use report::FindingSeverity::Note;

    #[test]
    fn fires_above_its_limit() {
        let trace = |name: &'static str, occupancy: &'static str, length: i64| {
            gpu_steps(12, move |b, at| {
                let details =
                    b.trace_mut().strings.intern(&format!("regs:32 grid:8,1,1 block:128,1,1 occ_pct:{occupancy}"));
                let full = b.trace_mut().strings.intern("regs:32 grid:8,1,1 block:128,1,1 occ_pct:100");
                let line = b.line("/device:GPU:0", "Stream #7(Compute)");
                b.event(line, name, at, length).args(|args| args.kernel_details = details);
                b.event(line, "input_reduce_fusion", at + length, 1000 - length)
                    .args(|args| args.kernel_details = full);
            })
        };
        assert_eq!(finding(trace("loop_add_fusion", "49", 110), &RULE).severity, Note);
        fine(trace("loop_add_fusion", "50", 110), &RULE);
        fine(trace("loop_add_fusion", "49", 90), &RULE);
        fine(trace(HGEMM, "13", 500), &RULE);
    }

    #[test]
    fn kernels_of_the_compiler_do_not_count() {
        fine(autotuning(550), &RULE);
    }
}
