//! The tests of the library and the command line, built as one program. Each file is a module: `cargo nextest run steps::`
//! runs the tests of one file.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

#[cfg(unix)]
mod action;
mod arguments;
mod arrivals;
mod bad_input;
mod causes;
mod check;
mod cli;
#[cfg(unix)]
mod cli_files;
mod collective_truths;
mod compare_cli;
mod comparison;
mod copies;
mod cpu_truths;
mod decoding;
mod device_clocks;
mod event_arguments;
mod examples;
mod findings;
mod golden;
mod graph_kernels;
mod h100_truths;
mod hardware_counters;
mod heap;
mod hlo_cli;
mod hlo_difference;
mod hlo_fixtures;
mod hlo_module_alone;
mod hlo_text;
mod hlo_truths;
mod host_only;
mod input_pipeline;
mod inputs_of_others;
mod json;
mod json_and_xplane;
mod kernel_truths;
mod large_file;
mod launched_steps;
mod layer_comparison;
mod layer_freezing;
mod layering;
mod losses_and_causes;
mod memory_cli;
mod memory_errors;
mod memory_page;
mod memory_profile;
mod memory_section;
mod memory_viewer;
mod memory_what_if;
mod metrics_docs;
mod metrics_properties;
mod missing_events;
mod one_step_time;
mod one_value;
mod ops_of_real_traces;
mod overview_links;
mod program_identity;
mod program_memory;
mod promises;
mod properties;
mod pytorch_captures;
mod readme;
mod real_profiles;
mod roofline_truths;
mod schema;
mod serving;
mod seven_steps;
mod source_lines;
mod step_breakdown;
mod steps;
mod timeline_cli;
mod timeline_derived;
mod timeline_export;
mod timeline_hand;
mod timeline_links;
mod timeline_steps;
mod timeline_tables;
mod truths;
#[cfg(feature = "view")]
mod view;
#[cfg(all(feature = "view", target_os = "linux"))]
mod view_limits;
mod warnings;
mod windows;
mod work_and_names;
mod xprof_framework_ops;
mod xprof_host_ops;
mod xprof_overview;
mod xprof_tables;
