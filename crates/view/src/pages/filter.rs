//! A filter that was made on one page and holds on all: what of it is about a table, and what that table has no column for.
//!
//! A condition on a column that a table lacks would leave none of its rows, and say nothing about them. Such a condition is set
//! aside and named beside the table. What is no table's column is a plain word, and searched for.

use crate::table::{Column, has_column};

/// Keys of the columns of all tables, and of what only one page filters by ([`pair`]).
const KEYS: &str = "activity actual_busy_time_us after algbw_gb_per_sec algorithm answer argument asynchronous \
    avg_device_us avg_duration_us avg_host_us avg_launch_delay_us avg_self_time_us avg_time_us avg_us \
    bandwidth_gb_per_sec barrier_us before between block_dim bottleneck_operational_intensity bound_by \
    busbw_gb_per_sec busy_percent busy_self_time_percent busy_time_us busy_us byte_offset bytes bytes_accessed \
    bytes_per_device call call_site calls category channel_id cmem_read_bw_gibps cmem_read_operational_intensity \
    cmem_write_bw_gibps cmem_write_operational_intensity code communication_overlap_percent communication_us \
    compile_us compiles compute_efficiency_percent compute_us confidence copies cost_source count counted \
    cumulative_total_self_time_percent d2d_us d2h_us data_movement_us data_type depth \
    device_cumulative_total_self_time_percent device_name device_ops device_total_self_time_percent device_type \
    devices direction dma_stall_percent duration_us dynamic_shmem_bytes evidence executions exposed_time_us family \
    file flops flops_utilization_percent framework_op gb_per_sec gpu_tensorcore_utilization_percent grid_dim \
    group_size h2d_us hbm_bw_gibps hbm_operational_intensity hlo_module hlo_module_id hlo_op_expression hlo_op_name \
    hlo_rematerialization host host_bound_us host_busy_us host_op_name id idle_us in_graph index infeed_outfeed_us \
    input_bound_us is_kernel_using_tensor_core is_op_tensor_core_eligible judgement kernel_count kernel_name \
    kernel_wait_us kind known_cost_percent launch_delay_outliers launch_delay_us launches max_duration_us max_gap_us \
    max_host_us max_launch_delay_us max_mem_bw_utilization_percent max_time_us max_us measured_flop_rate_gflops \
    measured_memory_bw_gibps measured_on median_launch_delay_us message metric min_duration_us min_time_us min_us \
    model_flop_rate_gflops module name num_devices num_events num_hlo_ops num_kernels num_lines num_ops number \
    occupancy_pct occurrences op_name op_type operation operational_intensity optimal_flop_rate_gflops other_idle_us \
    p2p_us p95_launch_delay_us parallelism parent_time_percent part partial path peak_data_type \
    peak_flop_rate_gflops percent placement private_memory_bytes program program_id protocol question rank reason \
    registers_per_thread remedy replica_groups role roofline_efficiency_percent runs_on runtime_outliers \
    self_time_percent self_time_us severity shape sharding shmem_bytes short_kernels short_name sized_count \
    source_info source_memory split start_us static_shmem_bytes step target_memory tf_op_name thread_name threads \
    time_at_stake_percent time_percent time_us title top_span total_bytes total_device_us total_duration_us \
    total_gaps total_host_us total_kernel_time_us total_self_time_percent total_self_time_us \
    total_time_in_percentage total_time_per_core_us total_time_us total_us track transfer_overlap_percent \
    transfer_time_us transfer_us type utilization_percent value view vmem_read_bw_gibps \
    vmem_read_operational_intensity vmem_write_bw_gibps vmem_write_operational_intensity wait_time_us wait_us \
    warm_up wasted_time_us whole_bytes";

/// A filter as a table takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The terms that are about it.
    pub filter: String,
    /// Columns that it lacks, each once.
    pub lacking: Vec<String>,
}

/// What of `filter` is about a table with these columns.
pub fn applied(filter: &str, columns: &[Column]) -> Applied {
    let mut kept: Vec<&str> = Vec::new();
    let mut lacking: Vec<String> = Vec::new();
    for term in terms(filter) {
        match column_of(term).filter(|key| !has_column(columns, key)) {
            Some(key) if lacking.contains(&key) => {}
            Some(key) => lacking.push(key),
            None => kept.push(term),
        }
    }
    Applied { filter: kept.join(" "), lacking }
}

/// The term `key=1-2` of a filter, as its two numbers, and the filter without it.
pub fn pair(filter: &str, key: &str) -> (Option<(u32, u32)>, String) {
    let of = |term: &&str| {
        let (from, to) = term.strip_prefix(key)?.strip_prefix('=')?.trim_matches('"').split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    };
    let (own, others): (Vec<&str>, Vec<&str>) = terms(filter).partition(|term| of(term).is_some());
    (own.last().and_then(of), others.join(" "))
}

/// The terms of a filter that are about this column.
pub fn terms_on(filter: &str, key: &str) -> String {
    let is_about = |term: &&str| {
        let term = term.strip_prefix('-').unwrap_or(term);
        term.strip_prefix(key).is_some_and(|rest| rest.len() > 1 && rest.starts_with([':', '=', '<', '>']))
    };
    terms(filter).filter(is_about).collect::<Vec<_>>().join(" ")
}

/// The terms as they were typed. Spaces within quotes part nothing.
fn terms(filter: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let terms = filter.split(move |c: char| {
        inside ^= c == '"';
        c.is_whitespace() && !inside
    });
    terms.filter(|term| !term.is_empty())
}

/// The column that a term is about, where any table has one of that name.
fn column_of(term: &str) -> Option<String> {
    let term = term.strip_prefix('-').unwrap_or(term);
    let (key, value) = term.split_at(term.find([':', '=', '<', '>'])?);
    let key = key.to_ascii_lowercase();
    (value.len() > 1 && KEYS.split_whitespace().any(|known| known == key)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Unit;
    use crate::tables::{self, TableName};
    use metrics::{Analysis, Context, Run, Settings};

    fn columns(keys: &[&'static str]) -> Vec<Column> {
        keys.iter().map(|&key| Column { key, title: key, unit: Unit::Text }).collect()
    }

    #[test]
    fn a_condition_on_a_column_that_is_not_there_is_set_aside() {
        let steps = columns(&["step", "device_name"]);
        let of = |filter: &str| applied(filter, &steps);
        assert_eq!(of("step=3"), Applied { filter: "step=3".into(), lacking: vec![] });
        let found = of("Hlo_Op_Name=\"fusion 1\" -copy step>2 -hlo_op_name:x occurrences>10");
        assert_eq!(found.filter, "-copy step>2");
        assert_eq!(found.lacking, ["hlo_op_name", "occurrences"]);
    }

    #[test]
    fn what_is_no_column_of_any_table_stays_a_word() {
        for filter in ["layer:3", "\"step=3 of 4\"", "dims={1}", "step=", "fusion", "a \"b", "=x"] {
            assert_eq!(applied(filter, &columns(&["name"])).filter, filter);
        }
    }

    #[test]
    fn a_column_of_the_same_meaning_is_there() {
        assert!(applied("hlo_op_name=a program_id=1", &columns(&["operation", "hlo_module_id"])).lacking.is_empty());
        assert!(applied("hlo_op_name=a", &columns(&["kernel_name"])).lacking.is_empty());
    }

    #[test]
    fn a_pair_is_told_from_the_rest() {
        assert_eq!(pair("kind=x between=3-15 -a", "between"), (Some((3, 15)), "kind=x -a".into()));
        assert_eq!(pair("between=3 between=a-b betweens=1-2", "between").0, None);
        assert_eq!(pair("", "between"), (None, String::new()));
    }

    #[test]
    fn all_columns_are_known() {
        let run = Run::default();
        let analysis = Analysis::new(&run, &Settings::default());
        let context = Context { run: &run, analysis: &analysis };
        for name in TableName::ALL {
            for variant in ["", "kind", "run", "apart"] {
                for column in tables::rows(&context, name, variant).columns() {
                    let known = KEYS.split_whitespace().any(|key| key == column.key);
                    assert!(known, "{}: {}", name.key(), column.key);
                }
            }
        }
    }
}
