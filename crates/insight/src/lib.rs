//! Findings: causes of lost time or memory in a run, each with its cost, evidence and remedy.
//!
//! Each rule has its own file. A rule has the same id in code, tests, docs/findings.md and URLs.
//!
//! A rule uses measured numbers only. If a number is missing, the rule returns [`Verdict::NotChecked`] rather than "fine".
//! If a number has more than one interpretation, the finding has a lower confidence.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod above_peak;
mod activations_dominate;
mod array_reads;
mod async_copy_wait;
mod attention_scores;
mod avoidable_collectives;
mod awkward_fft;
mod barrier_cores;
mod batched_loop;
mod bf16_in_fp32;
mod changed_arguments;
mod collective_bound;
mod colliding_scatter;
mod compilation;
mod compile_time;
mod compute_bound;
mod conversions;
mod converted_in_loop;
mod converted_weights;
mod copied_arguments;
mod cut;
mod cut_capture;
mod data_loading;
mod data_shuffle;
mod data_transfer;
mod dcn_stalls;
mod debug_print;
mod decompositions;
mod delayed_tokens;
mod dense_experts;
mod derivative_matrix;
mod device_clock_skew;
mod dominant_op;
mod draft;
mod dropped_events;
mod evaluation;
mod expert_imbalance;
mod few_microbatches;
mod float64;
mod frozen_gradients;
mod gap;
mod gather_scatter;
mod gathered_batch;
mod gathered_edges;
mod gathered_sum;
mod gathered_weights;
mod gradient_synchronization;
mod grouped_convolution;
mod heap_growth;
mod host_arguments;
mod host_executed_ops;
mod host_overhead;
mod host_processing;
mod host_side;
mod idle_gaps;
pub mod idle_rules;
mod idle_time;
mod impossible_step_count;
mod impossible_throughput;
mod input_bound;
pub mod input_limit;
mod large_constants;
mod large_memory_transfers;
pub mod limits;
mod long_steps;
mod loop_state;
mod low_device_utilization;
mod low_flop_rate;
mod low_memory_bandwidth;
mod low_occupancy;
mod lowered_clock;
mod many_programs;
mod many_small_kernels;
mod masked_scores;
mod memory;
mod memory_bound;
mod memory_fragmentation;
mod merge;
mod module_graphs;
mod mostly_unused_result;
mod near_memory_limit;
mod no_device_ops;
mod no_hlo;
mod numbers;
mod one_hot_lookup;
mod out_of_memory;
mod outside_window;
mod padded_buffers;
mod padded_rows;
mod pairwise_reduction;
mod per_example_gradients;
mod pipeline_bubbles;
mod preallocated_memory;
mod product_order;
mod product_precision;
mod products_in_loop;
mod profiler_overhead;
mod python_threads;
mod random_draws;
mod random_numbers;
mod recompilation;
mod reduced_in_loop;
mod rematerialization;
mod renewed_iterator;
mod reordered_arguments;
mod repeated_gradients;
mod replicated_parameters;
mod replicated_products;
mod replicated_work;
mod reverse_jacobian;
mod rewritten_state;
mod rule;
mod sampling_over_all_classes;
mod sequential_loop;
mod short_mean_kernel;
mod single_step;
mod sliced_arguments;
mod slowed_by_tracing;
mod small_collectives;
mod small_micro_batches;
mod sorting;
mod sparse_core;
mod sparse_core_offload;
mod step_time_variation;
mod straggler_device;
mod tensor_core_idle;
mod tensor_cores_unused;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_programs;
mod undonated_arguments;
mod uneven_devices;
mod uneven_layers;
mod unfused_attention;
mod unfused_data_formatting;
mod unhidden_collectives;
mod unused_visible_devices;
mod waiting;
mod warm_up_in_window;
mod while_loop_overhead;
mod whole_table_update;

use numbers::Numbers;
pub use rule::{Needs, Rule};

use base::sort;
use metrics::{Context, Examined, analyse};
use report::{Confidence, Finding, FindingSeverity, View};
use run::{Run, Settings};

/// Result of checking a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The rule applies.
    Fires(Box<Finding>),
    /// The rule was checked and does not apply.
    Fine,
    /// The rule has no meaning for this kind of run (a rule about GPU kernels on a TPU). The rule is not reported.
    Irrelevant,
    /// The rule lacks an input. The sentence names the input and tells the user how to capture it.
    NotChecked(String),
}

/// A group of rules, with its heading in docs/findings.md.
pub struct Chapter {
    /// Heading of the group.
    pub title: &'static str,
    /// Rules in the order of their headings.
    pub rules: &'static [&'static Rule],
}

/// All rules, in the order of docs/findings.md.
pub static CHAPTERS: &[Chapter] = &[
    Chapter {
        title: "Time in which devices wait",
        rules: &[
            &data_loading::RULE,
            &renewed_iterator::RULE,
            &input_bound::RULE,
            &host_processing::RULE,
            &data_transfer::RULE,
            &host_arguments::RULE,
            &host_overhead::RULE,
            &many_programs::RULE,
            &module_graphs::RULE,
            &many_small_kernels::RULE,
            &python_threads::RULE,
            &compilation::RULE,
            &recompilation::RULE,
            &compile_time::RULE,
            &low_device_utilization::RULE,
            &tensor_core_idle::RULE,
            &idle_gaps::RULE,
            &short_mean_kernel::RULE,
            &debug_print::RULE,
            &host_executed_ops::RULE,
            &barrier_cores::RULE,
            &pipeline_bubbles::RULE,
            &expert_imbalance::RULE,
        ],
    },
    Chapter { title: "Copies", rules: &[&async_copy_wait::RULE, &large_memory_transfers::RULE] },
    Chapter {
        title: "Communication",
        rules: &[
            &few_microbatches::RULE,
            &gathered_batch::RULE,
            &gathered_edges::RULE,
            &gathered_sum::RULE,
            &gathered_weights::RULE,
            &reduced_in_loop::RULE,
            &small_collectives::RULE,
            &gradient_synchronization::RULE,
            &dcn_stalls::RULE,
            &unhidden_collectives::RULE,
            &collective_bound::RULE,
        ],
    },
    Chapter {
        title: "Ops",
        rules: &[
            &dominant_op::RULE,
            &evaluation::RULE,
            &repeated_gradients::RULE,
            &frozen_gradients::RULE,
            &random_numbers::RULE,
            &sampling_over_all_classes::RULE,
            &mostly_unused_result::RULE,
            &unfused_data_formatting::RULE,
            &copied_arguments::RULE,
            &sliced_arguments::RULE,
            &reordered_arguments::RULE,
            &rewritten_state::RULE,
            &data_shuffle::RULE,
            &sorting::RULE,
            &gather_scatter::RULE,
            &one_hot_lookup::RULE,
            &pairwise_reduction::RULE,
            &colliding_scatter::RULE,
            &per_example_gradients::RULE,
            &reverse_jacobian::RULE,
            &product_order::RULE,
            &whole_table_update::RULE,
            &dense_experts::RULE,
            &padded_rows::RULE,
            &masked_scores::RULE,
            &unfused_attention::RULE,
            &products_in_loop::RULE,
            &replicated_products::RULE,
            &batched_loop::RULE,
            &small_micro_batches::RULE,
            &converted_weights::RULE,
            &converted_in_loop::RULE,
            &while_loop_overhead::RULE,
            &sequential_loop::RULE,
            &derivative_matrix::RULE,
            &decompositions::RULE,
            &awkward_fft::RULE,
            &grouped_convolution::RULE,
            &low_flop_rate::RULE,
            &low_memory_bandwidth::RULE,
            &memory_bound::RULE,
            &compute_bound::RULE,
            &rematerialization::RULE,
            &float64::RULE,
            &bf16_in_fp32::RULE,
            &tensor_cores_unused::RULE,
            &low_occupancy::RULE,
            &uneven_layers::RULE,
        ],
    },
    Chapter {
        title: "Devices",
        rules: &[
            &sparse_core::RULE,
            &sparse_core_offload::RULE,
            &out_of_memory::RULE,
            &near_memory_limit::RULE,
            &activations_dominate::RULE,
            &undonated_arguments::RULE,
            &padded_buffers::RULE,
            &memory_fragmentation::RULE,
            &large_constants::RULE,
            &replicated_parameters::RULE,
            &heap_growth::RULE,
            &preallocated_memory::RULE,
            &unused_visible_devices::RULE,
            &replicated_work::RULE,
            &uneven_devices::RULE,
            &straggler_device::RULE,
            &device_clock_skew::RULE,
            &lowered_clock::RULE,
            &step_time_variation::RULE,
            &delayed_tokens::RULE,
        ],
    },
    Chapter {
        title: "Numbers that cannot be right",
        rules: &[&impossible_throughput::RULE, &impossible_step_count::RULE, &above_peak::RULE],
    },
    Chapter {
        title: "Faults of the capture",
        rules: &[
            &dropped_events::RULE,
            &cut_capture::RULE,
            &warm_up_in_window::RULE,
            &outside_window::RULE,
            &single_step::RULE,
            &profiler_overhead::RULE,
            &slowed_by_tracing::RULE,
            &no_hlo::RULE,
            &no_device_ops::RULE,
        ],
    },
];

/// Returns all rules, in the order of docs/findings.md.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    CHAPTERS.iter().flat_map(|chapter| chapter.rules.iter().copied())
}

/// Measures a run and checks all rules.
pub fn examine(run: &Run, settings: &Settings) -> Examined {
    let examined = analyse(run, settings);
    let findings = findings(&examined.context(run));
    examined.with_findings(findings)
}

/// A finding, with the rule that reported it.
struct Fired {
    rule: &'static Rule,
    finding: Finding,
}

/// Checks all rules and returns the findings, sorted by severity, then by impact, then in the order of the rules. Omits
/// findings that another finding explains; see `merge`.
pub fn findings(context: &Context<'_>) -> Vec<Finding> {
    let numbers = Numbers::new(context);
    let (mut fired, mut lacking) = (Vec::new(), Vec::new());
    for rule in rules() {
        match cut::checked(&numbers, rule) {
            Verdict::Fires(finding) => {
                let finding = Finding { id: rule.id.to_owned(), ..with_available_view(&numbers, *finding) };
                fired.push(Fired { rule, finding });
            }
            Verdict::Fine | Verdict::Irrelevant => {}
            Verdict::NotChecked(sentence) => lacking.push(not_checked(rule, &sentence)),
        }
    }
    merge::merge(&mut fired);
    // One finding explains why the rules about devices cannot be checked. Forty more findings would hide it.
    if fired.iter().any(|it| *it.rule == no_device_ops::RULE) {
        lacking.clear();
    }
    let mut findings: Vec<Finding> = fired.into_iter().map(|it| it.finding).collect();
    sort::sort_by(&mut findings, |a, b| {
        let impact = |finding: &Finding| finding.time_at_stake_percent.unwrap_or(0.0);
        b.severity.cmp(&a.severity).then_with(|| impact(b).total_cmp(&impact(a)))
    });
    findings.extend(lacking);
    findings
}

/// If steps are unknown, replaces a link to the Steps page with a link to the Devices page, because the Steps page is
/// then empty.
fn with_available_view(numbers: &Numbers<'_>, mut finding: Finding) -> Finding {
    if finding.view == Some(View::Steps) && !numbers.context.analysis.step_breakdown.has_steps {
        (finding.view, finding.filter) = (Some(View::Devices), None);
    }
    finding
}

fn not_checked(rule: &Rule, lacking: &str) -> Finding {
    Finding {
        id: rule.id.to_owned(),
        severity: FindingSeverity::NotChecked,
        confidence: Confidence::High,
        title: rule.title.to_owned(),
        message: format!("Not checked: {lacking}"),
        remedy: String::new(),
        evidence: Vec::new(),
        time_at_stake_percent: None,
        view: None,
        filter: None,
    }
}

/// Checks one rule. Returns `None` if no rule has this id. For tests. Unlike [`findings`], this function does not merge
/// findings.
pub fn verdict(context: &Context<'_>, id: &str) -> Option<Verdict> {
    let rule = rules().find(|rule| rule.id == id)?;
    Some(cut::checked(&Numbers::new(context), rule))
}
