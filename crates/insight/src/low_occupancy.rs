//! Kernels leave most threads of the GPU's multiprocessors unused.

use super::draft::{Draft, equals, lacks};
use super::limits::OCCUPANCY_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{KernelRow, OpFamily};
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "low_occupancy", title: "Kernels with low occupancy", check };

/// Share of the kernel time in such kernels from which the rule fires (ours: the JAX guide's limit for overheads).
const NOTE_PERCENT: f64 = 10.0;

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
    let Some(largest) = largest.filter(|_| share >= NOTE_PERCENT) else { return Verdict::Fine };
    let message = format!(
        "Kernels that fill less than half of the multiprocessors' threads take {} of the kernel time. The largest is {} with an \
         occupancy of {}.",
        format::percent(share),
        format::printable(&format::shorten(stats.text(numbers.trace, largest.short_name), 60)),
        format::optional_percent(largest.shape.occupancy_percent)
    );
    Draft::new(FindingSeverity::Note, Confidence::Low, "Kernels have low occupancy", message)
        .remedy(
            "In your own kernels, use fewer registers and less shared memory per block, or more blocks. For compiler-generated \
             kernels, use larger shapes. Low occupancy costs nothing if memory or the matrix units are the limit.",
        )
        .passed("low_occupancy_percent", share, NOTE_PERCENT)
        .passed("occupancy_pct", largest.shape.occupancy_percent.unwrap_or(0.0), OCCUPANCY_PERCENT)
        .at_stake(numbers.of_window(share))
        .link("kernels", &equals("kernel_name", stats.text(numbers.trace, largest.name)))
        .fires()
}

/// Returns true if a kernel's occupancy is low and may cost time. Products, convolutions and attention keep their tiles in
/// registers and run best at low occupancy. Threads do not limit copies and communication.
fn is_low(kernel: &KernelRow) -> bool {
    let arithmetic = matches!(kernel.family, OpFamily::Elementwise | OpFamily::Reduction | OpFamily::OtherCompute);
    arithmetic && kernel.shape.occupancy_percent.is_some_and(|occupancy| occupancy < OCCUPANCY_PERCENT)
}
