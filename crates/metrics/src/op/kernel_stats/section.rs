//! Builds the report's section of kernel statistics.

use super::{KernelRow, KernelStats, Occurrences};
use crate::op::ops::Text;
use base::{Ps, sort};
use report::{DataTypeTime, KernelFamilyTime, KernelStatistic, KernelStatistics};
use trace::{Platform, Trace};

const TOP: usize = 50;

/// Builds the section. Returns `None` if nothing ran.
pub(crate) fn section(trace: &Trace, stats: &KernelStats) -> Option<KernelStatistics> {
    let all = stats.all.as_ref()?;
    let matrix = stats.matrix.time.as_us();
    let on_gpu = stats.platform == Some(Platform::Gpu);
    Some(KernelStatistics {
        count: all.count,
        total_time_us: all.total.as_us(),
        avg_time_us: all.mean_us(),
        short_count: all.short,
        distinct_count: stats.kernels.len() as u64,
        matrix_time_us: on_gpu.then_some(matrix),
        tensor_core_percent: (matrix > 0.0).then(|| 100.0 * stats.matrix_on_tensor_cores.time.as_us() / matrix),
        occupancy_percent: stats.mean_occupancy_percent,
        without_op_count: stats.without_op.count,
        without_op_time_us: stats.without_op.time.as_us(),
        graph_with_op_count: stats.graph_with_op.count,
        graph_without_op_count: stats.graph_without_op.count,
        graph_without_op_time_us: stats.graph_without_op.time.as_us(),
        families: stats
            .families
            .iter()
            .map(|(family, sum)| KernelFamilyTime {
                family: family.label().to_owned(),
                count: sum.count,
                time_us: sum.time.as_us(),
            })
            .collect(),
        data_types: data_types(stats, all.total),
        top: stats.kernels.iter().take(TOP).map(|kernel| row(trace, stats, kernel)).collect(),
    })
}

/// Returns the time of each data type, longest first. The time of kernels without a known type is last.
fn data_types(stats: &KernelStats, all: Ps) -> Vec<DataTypeTime> {
    let mut sums: Vec<(Option<&str>, Ps)> = Vec::new();
    for kernel in &stats.kernels {
        let time = kernel.occurrences.total;
        match sums.iter_mut().find(|(data_type, _)| *data_type == kernel.data_type) {
            Some((_, sum)) => *sum += time,
            None => sums.push((kernel.data_type, time)),
        }
    }
    sort::sort_by(&mut sums, |a, b| a.0.is_none().cmp(&b.0.is_none()).then(b.1.cmp(&a.1)).then(a.0.cmp(&b.0)));
    let percent = |time: Ps| if all > Ps::ZERO { 100.0 * time.as_ps() as f64 / all.as_ps() as f64 } else { 0.0 };
    let entry = |&(data_type, time): &(Option<&str>, Ps)| DataTypeTime {
        data_type: data_type.unwrap_or("unknown").to_owned(),
        time_us: time.as_us(),
        percent: percent(time),
    };
    sums.iter().map(entry).collect()
}

fn row(trace: &Trace, stats: &KernelStats, kernel: &KernelRow) -> KernelStatistic {
    let text = |text: Text| Some(stats.text(trace, text).to_owned()).filter(|text| !text.is_empty());
    let of: &Occurrences = &kernel.occurrences;
    KernelStatistic {
        kernel_name: stats.text(trace, kernel.name).to_owned(),
        op_name: text(kernel.op_name),
        hlo_op_name: text(kernel.hlo_op),
        family: kernel.family.label().to_owned(),
        grid_dim: text(kernel.grid),
        block_dim: text(kernel.block),
        registers_per_thread: kernel.shape.registers_per_thread,
        shmem_bytes: kernel.shape.shared_bytes(),
        occupancy_pct: kernel.shape.occupancy_percent,
        is_op_tensor_core_eligible: kernel.tensor_core_eligible,
        is_kernel_using_tensor_core: kernel.uses_tensor_core,
        data_type: kernel.data_type.map(str::to_owned),
        occurrences: of.count,
        total_duration_us: of.total.as_us(),
        min_duration_us: of.min.as_us(),
        max_duration_us: of.max.as_us(),
        launch_delay_us: of.delay_mean_us(),
    }
}
