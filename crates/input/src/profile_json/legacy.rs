//! Converts the shapes A to D of 1.0.0 documents to the current schema, field by field.

use serde_json::Value;

use super::section::{Notes, Section};
use super::utilization;
use base::{Warning, WarningCode, sort};
use report::{
    Compilation, DeviceStats, Gaps, IoOperations, Kernel, KernelCategory, Kernels, MemoryOperations, Metadata,
    ModelConfig, MultiDevice, PROFILER_VERSION, ParameterCounts, SCHEMA_VERSION, SourceFormat, StepTiming, Throughput,
    TimelineAnalysis, UnifiedProfile,
};

/// Converts a document. Missing fields stay absent, and unusual values add notes.
pub(super) fn convert(document: &Value, notes: &mut Notes) -> UnifiedProfile {
    let (mut profile, warnings) = {
        let root = Section::root(document, notes);
        let step_timing = step_timing(&root.section("step_timing"));
        let multi_device = multi_device(&root.section("multi_device"));
        let mut profile = UnifiedProfile {
            metadata: metadata(&root.section("metadata")),
            model_config: model_config(&root.section("model_config")),
            parameter_counts: parameter_counts(&root.section("parameter_counts")),
            throughput: throughput(&root.section("throughput"), &step_timing),
            compute_utilization: None,
            layer_freezing: None,
            serving: None,
            kernels: kernels(&root.section("kernels")),
            memory_operations: memory_operations(&root.section("memory_operations")),
            timeline_analysis: timeline_analysis(&root.section("timeline_analysis")),
            compilation: compilation(&root.section("compilation")),
            io_operations: io_operations(&root.section("io_operations")),
            input_pipeline: None,
            window: None,
            steps: vec![],
            step_breakdown: None,
            roofline: None,
            kernel_statistics: None,
            memory: None,
            launches: None,
            warnings: vec![],
            not_measured: vec![],
            communication: None,
            megascale: None,
            pipeline: None,
            experts: None,
            goodput: None,
            step_ops: None,
            programs: vec![],
            host_activity: None,
            tracing: None,
            hardware: None,
            other_devices: Vec::new(),
            op_statistics: None,
            layers: None,
            findings: vec![],
            provenance: vec![],
            step_timing,
            multi_device,
        };
        let utilization = utilization::convert(&root, &profile.step_timing, profile.multi_device.as_ref());
        let mut warnings = vec![Warning::new(
            WarningCode::ProfileConverted,
            "A 1.0.0 tool wrote this profile, and crossprof converted it. Its numbers follow that tool's definitions, which \
             count host events and nested ops differently.",
        )];
        if let Some(converted) = utilization {
            profile.compute_utilization = converted.section;
            profile.not_measured.extend(converted.not_measured);
            warnings.extend(converted.warnings);
        }
        if profile.timeline_analysis.is_some() {
            warnings.push(Warning::new(
                WarningCode::ProfileGapBuckets,
                "The 1.0.0 tools count gaps under 100 us in gaps_under_10us and gaps of 100 to 1000 us in gaps_10_100us.",
            ));
        }
        (profile, warnings)
    };
    utilization::add_warnings(notes, warnings);
    notes.summarise(document);
    profile.metadata.schema_version = Some(SCHEMA_VERSION.to_owned());
    profile
}

fn metadata(section: &Section<'_>) -> Metadata {
    let text = |key| section.text(key).unwrap_or_else(|| "Unknown".to_owned());
    // Reads this field, so that it is not reported as unread.
    let _ = section.text("profiler_version");
    Metadata {
        timestamp: section.text("timestamp"),
        platform: text("platform"),
        device_type: text("device_type"),
        trace_file: section.text("trace_file").unwrap_or_default(),
        framework: text("framework"),
        num_devices: section.count("num_devices").unwrap_or(0),
        profiler_version: PROFILER_VERSION.to_owned(),
        experiment_name: section.text("experiment_name"),
        config_name: section.text("config_name"),
        source_format: Some(SourceFormat::UnifiedProfile.label().to_owned()),
        ..Metadata::default()
    }
}

fn model_config(section: &Section<'_>) -> ModelConfig {
    ModelConfig {
        model_dims: section.known_count("model_dims"),
        num_layers: section.known_count("num_layers"),
        num_heads: section.known_count("num_heads"),
        batch_size: section.known_count("batch_size"),
        seq_length: section.known_count("seq_length"),
        vocab_size: section.known_count("vocab_size"),
        ffn_hidden_dims: section.known_count("ffn_hidden_dims"),
        num_items: section.known_count("num_items"),
        num_clusters: section.known_count("num_clusters"),
        item_embedding_dim: section.known_count("item_embedding_dim"),
        pretrained_model: section.text("pretrained_model"),
        ..ModelConfig::default()
    }
}

fn parameter_counts(section: &Section<'_>) -> Option<ParameterCounts> {
    let (trainable, frozen) = (section.count("trainable_params"), section.count("frozen_params"));
    let has_frozen_layers = section.flag("has_frozen_layers");
    Some(ParameterCounts {
        total_params: section.known_count("total_params")?,
        trainable_params: trainable,
        frozen_params: frozen,
        has_frozen_layers: has_frozen_layers.unwrap_or(frozen.is_some_and(|frozen| frozen > 0)),
        active_params: None,
        source: None,
    })
}

fn step_timing(section: &Section<'_>) -> StepTiming {
    let num_steps = section.count("num_steps").unwrap_or(0);
    let avg_step_time_us = section.known("avg_step_time_us");
    // The example in the documentation has no total.
    let total = section.positive("total_time_us").or(avg_step_time_us.map(|avg| avg * num_steps as f64));
    StepTiming {
        num_steps,
        total_time_us: total.unwrap_or(0.0),
        avg_step_time_us,
        total_kernels: section.count("total_kernels").unwrap_or(0),
        kernels_per_step: section.positive("kernels_per_step"),
        step_count_source: section.text("step_count_source").unwrap_or_else(|| "unknown".to_owned()),
        ..StepTiming::default()
    }
}

fn throughput(section: &Section<'_>, steps: &StepTiming) -> Throughput {
    let milliseconds = section.known("ms_per_step").or(steps.avg_step_time_us.map(|us| us / 1e3));
    Throughput {
        tokens_per_sec: section.known("tokens_per_sec"),
        samples_per_sec: section.known("samples_per_sec"),
        // Without a model, the tools omit these two values, although the values do not depend on a model.
        steps_per_sec: section.known("steps_per_sec").or(milliseconds.map(|ms| 1e3 / ms)),
        ms_per_step: milliseconds,
        tokens_per_sec_per_device: section.known("tokens_per_sec_per_device"),
        samples_per_sec_per_device: section.known("samples_per_sec_per_device"),
        all_devices_steps_per_sec: None,
    }
}

fn kernels(section: &Section<'_>) -> Kernels {
    let top_kernels = section.list("top_kernels").into_iter().filter_map(|kernel| {
        let total_us = kernel.positive("total_us")?;
        let count = kernel.count("count")?;
        Some(Kernel {
            name: kernel.text("name")?,
            category: kernel.text("category").unwrap_or_else(|| "Other".to_owned()),
            total_us,
            count,
            avg_us: kernel.positive("avg_us").unwrap_or(if count > 0 { total_us / count as f64 } else { 0.0 }),
            min_us: None,
            max_us: None,
            percent: None,
            framework_op: None,
        })
    });
    let top_kernels = top_kernels.collect();
    let categories = section.section("kernels_by_category").entries().into_iter().filter_map(|(name, category)| {
        // The tools write one name and read the other.
        let (a, b) = (category.positive("time_us"), category.positive("total_time_us"));
        let time_us = a.or(b)?;
        let count = category.count("count").unwrap_or(0);
        Some((name, KernelCategory { time_us, total_time_us: Some(time_us), count, percent: None }))
    });
    Kernels { top_kernels, kernels_by_category: sort::map(categories) }
}

fn memory_operations(section: &Section<'_>) -> Option<MemoryOperations> {
    section.exists().then(|| MemoryOperations {
        h2d_count: section.count("h2d_count"),
        h2d_total_time_us: section.positive("h2d_total_time_us"),
        d2h_count: section.count("d2h_count"),
        d2h_total_time_us: section.positive("d2h_total_time_us"),
        d2d_count: section.count("d2d_count"),
        d2d_total_time_us: section.positive("d2d_total_time_us"),
        total_memory_ops: section.count("total_memory_ops").unwrap_or(0),
        transfers: vec![],
    })
}

fn multi_device(section: &Section<'_>) -> Option<MultiDevice> {
    if !section.exists() {
        return None;
    }
    let device_stats: Vec<DeviceStats> = section.list("device_stats").iter().filter_map(device).collect();
    let (avg_a, avg_b) = (section.percent("avg_utilization_percent"), section.percent("avg_timeline_coverage_percent"));
    let (stddev_a, stddev_b) = (section.positive("utilization_stddev"), section.positive("coverage_stddev"));
    let (range_a, range_b) = (section.positive("utilization_range"), section.positive("coverage_range"));
    Some(MultiDevice {
        num_devices: section.count("num_devices").unwrap_or(device_stats.len() as u64),
        device_stats,
        avg_utilization_percent: avg_a.or(avg_b),
        utilization_stddev: stddev_a.or(stddev_b),
        utilization_range: range_a.or(range_b),
        kernel_count_stddev: section.positive("kernel_count_stddev"),
        ..MultiDevice::default()
    })
}

/// Converts one device. Returns `None` if the device's busy share is missing.
fn device(device: &Section<'_>) -> Option<DeviceStats> {
    let (share_a, share_b) = (device.percent("utilization_percent"), device.percent("timeline_coverage_percent"));
    let (parallel_a, parallel_b) = (device.positive("parallelism"), device.positive("avg_concurrent_kernels"));
    Some(DeviceStats {
        device_name: device.text("device_name").unwrap_or_else(|| "Unknown".to_owned()),
        device_id: device.count("device_id").unwrap_or(0),
        kernel_count: device.count("kernel_count").unwrap_or(0),
        total_kernel_time_us: device.positive("total_kernel_time_us").unwrap_or(0.0),
        actual_busy_time_us: device.positive("actual_busy_time_us").unwrap_or(0.0),
        total_time_us: device.positive("total_time_us").unwrap_or(0.0),
        utilization_percent: Some(share_a.or(share_b)?),
        parallelism: parallel_a.or(parallel_b),
        ..DeviceStats::default()
    })
}

/// Returns `None` if the document lacks the share of gaps, because an unknown share is not 0 %.
fn timeline_analysis(section: &Section<'_>) -> Option<TimelineAnalysis> {
    Some(TimelineAnalysis {
        gaps: Gaps {
            total_gaps: section.count("total_gaps").unwrap_or(0),
            total_gap_time_us: section.positive("total_gap_time_us").unwrap_or(0.0),
            avg_gap_us: section.positive("avg_gap_us"),
            max_gap_us: section.positive("max_gap_us"),
            gap_time_percent: section.percent("gap_time_percent")?,
            gaps_under_10us: section.count("gaps_under_10us").unwrap_or(0),
            gaps_10_100us: section.count("gaps_10_100us").unwrap_or(0),
            gaps_100_1000us: section.count("gaps_100_1000us").unwrap_or(0),
            gaps_over_1000us: section.count("gaps_over_1000us").unwrap_or(0),
        },
        longest_gaps: vec![],
    })
}

fn compilation(section: &Section<'_>) -> Option<Compilation> {
    Some(Compilation {
        compilation_time_us: section.positive("compilation_time_us")?,
        // The tools never find any modules.
        num_xla_modules: section.known_count("num_xla_modules"),
        num_compilation_events: section.count("num_compilation_events").unwrap_or(0),
        compilation_percent: section.percent("compilation_percent").unwrap_or(0.0),
    })
}

fn io_operations(section: &Section<'_>) -> Option<IoOperations> {
    Some(IoOperations {
        io_event_count: section.count("io_event_count").unwrap_or(0),
        io_total_time_us: section.positive("io_total_time_us")?,
        io_percent: section.percent("io_percent").unwrap_or(0.0),
    })
}
