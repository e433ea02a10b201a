use serde_json::json;

use super::*;
use report::{SCHEMA_VERSION, StepTiming};

/// Reads a document with a single run and returns this run.
fn read_profile(text: &[u8], path: &str) -> Result<UnifiedProfile, Error> {
    let mut profiles = read_profiles(text, path)?;
    assert_eq!((profiles.runs.len(), profiles.warnings.len()), (1, 0));
    assert_eq!(profiles.runs[0].name, None);
    Ok(profiles.runs.remove(0).profile)
}

fn read(document: Value) -> UnifiedProfile {
    read_profile(document.to_string().as_bytes(), "p.json").expect("a profile")
}

fn codes(profile: &UnifiedProfile) -> Vec<&str> {
    profile.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

fn message<'a>(profile: &'a UnifiedProfile, code: &str) -> &'a str {
    profile.warnings.iter().find(|warning| warning.code == code).map_or("", |warning| &warning.message)
}

/// Returns the example from the documentation of the 1.0.0 tools.
fn documented() -> Value {
    json!({
        "metadata": {"timestamp": "2025-01-01T00:00:00", "platform": "TPU", "device_type": "TPU v4-8", "framework": "Flax",
            "num_devices": 1},
        "model_config": {"model_dims": 2048, "num_layers": 18, "batch_size": 16, "seq_length": 128,
            "pretrained_model": "google/gemma-2b"},
        "parameter_counts": {"total_params": 2_500_000_000u64, "trainable_params": 3_500_000, "frozen_params": 2_496_500_000u64},
        "step_timing": {"num_steps": 5, "avg_step_time_us": 82600, "total_kernels": 1200, "kernels_per_step": 240},
        "throughput": {"tokens_per_sec": 25000, "samples_per_sec": 12.1, "steps_per_sec": 12.1, "ms_per_step": 82.6},
        "compute_utilization": {"compute_util_percent": 72.1, "kernel_time_us": 59500, "overhead_time_us": 23100},
        "kernels": {"top_kernels": [{"name": "fusion.1", "category": "Fusion", "total_us": 100.5, "count": 3, "avg_us": 33.5}],
            "kernels_by_category": {"Fusion": {"time_us": 100.5, "count": 3}}},
        "multi_device": {"num_devices": 8, "device_stats": [], "avg_utilization_percent": 71.5}
    })
}

#[test]
fn the_documented_example_is_per_step_and_kept() {
    let profile = read(documented());
    let utilization = profile.compute_utilization.expect("the section");
    assert_eq!(utilization.kernel_time_us + utilization.overhead_time_us, 82600.0);
    assert_eq!((utilization.compute_util_percent, utilization.kernel_time_us), (72.1, 59500.0));
    assert_eq!(profile.step_timing.total_time_us, 413_000.0);
    assert_eq!(profile.step_timing.kernels_per_step, Some(240.0));
    assert_eq!(profile.model_config.pretrained_model.as_deref(), Some("google/gemma-2b"));
    let counts = profile.parameter_counts.expect("the section");
    assert!(counts.has_frozen_layers);
    assert_eq!(profile.kernels.kernels_by_category["Fusion"].total_time_us, Some(100.5));
    assert_eq!(profile.metadata.schema_version.as_deref(), Some(SCHEMA_VERSION));
    assert_eq!(profile.warnings.len(), 1, "{:?}", profile.warnings);
    assert_eq!(profile.warnings[0].code, "profile_converted");
    assert_eq!(profile.warnings[0].file.as_deref(), Some("p.json"));
}

#[test]
fn exports_are_imported_unchanged() {
    let converted = read(documented());
    let exported = serde_json::to_vec(&converted).expect("serialisable");
    assert_eq!(read_profile(&exported, "other.json"), Ok(converted));
}

#[test]
fn shape_a_of_whole_windows_becomes_per_step() {
    let mut document = documented();
    document["step_timing"] = json!({"num_steps": 10, "total_time_us": 1000.0, "avg_step_time_us": 100.0,
        "total_kernels": 50, "kernels_per_step": 5, "step_count_source": "command-line"});
    document["compute_utilization"] =
        json!({"compute_util_percent": 80.0, "kernel_time_us": 800.0, "overhead_time_us": 200.0});
    let profile = read(document);
    let utilization = profile.compute_utilization.as_ref().expect("the section");
    assert_eq!((utilization.kernel_time_us, utilization.overhead_time_us), (80.0, 20.0));
    assert_eq!(utilization.compute_util_percent, 80.0);
    assert!(message(&profile, "profile_utilization_per_step").contains("divided by its 10 steps"));
}

#[test]
fn shape_a_above_100_percent_is_not_a_share() {
    // The tool printed these values for the TPU v6e profile of four chips.
    let mut document = documented();
    document["step_timing"] = json!({"num_steps": 100, "total_time_us": 92_571_837.0, "avg_step_time_us": 925_718.37,
        "total_kernels": 6853, "kernels_per_step": 68});
    document["compute_utilization"] =
        json!({"compute_util_percent": 681.8, "kernel_time_us": 631_175_837.0, "overhead_time_us": -538_604_000.0});
    let profile = read(document.clone());
    assert_eq!(profile.compute_utilization, None);
    assert_eq!(profile.not_measured[0].field, "compute_utilization");
    assert!(message(&profile, "profile_utilization_impossible").contains("681.8 %"));
    // The shares follow from the devices' own unions of intervals.
    document["multi_device"]["device_stats"] = json!([
        {"device_name": "TPU:0", "device_id": 0, "kernel_count": 10, "total_kernel_time_us": 900.0,
         "actual_busy_time_us": 600.0, "total_time_us": 1000.0, "utilization_percent": 60.0, "parallelism": 1.5},
        {"device_name": "TPU:1", "device_id": 1, "kernel_count": 10, "total_kernel_time_us": 900.0,
         "actual_busy_time_us": 800.0, "total_time_us": 1000.0, "utilization_percent": 80.0, "parallelism": 1.1}
    ]);
    let profile = read(document);
    let utilization = profile.compute_utilization.as_ref().expect("from the devices");
    assert_eq!(utilization.compute_util_percent, 70.0);
    assert_eq!((utilization.kernel_time_us, utilization.overhead_time_us), (7.0, 3.0));
    assert_eq!(profile.not_measured, []);
}

/// Returns a document of shape B with totals of the capture, as its tool writes it.
fn shape_b() -> Value {
    let mut document = documented();
    document.as_object_mut().expect("an object").remove("compute_utilization");
    document["metadata"]["profiler_version"] = json!("1.0.0");
    document["step_timing"] = json!({"num_steps": 4, "total_time_us": 400.0, "avg_step_time_us": 100.0,
        "total_kernels": 40, "kernels_per_step": 10, "step_count_source": "trace"});
    document["timeline_coverage"] = json!({"_note": "coverage", "timeline_coverage_percent": 60.0, "kernel_time_us": 240.0,
        "idle_time_us": 160.0, "avg_concurrent_kernels": 1.2});
    document["multi_device"] = json!({"num_devices": 2, "_note": "n", "avg_timeline_coverage_percent": 60.0,
        "coverage_stddev": 1.5, "coverage_range": 3.0, "kernel_count_stddev": 0.0, "device_stats": [
        {"device_name": "GPU:0", "device_id": 0, "kernel_count": 20, "total_kernel_time_us": 288.0,
         "actual_busy_time_us": 240.0, "total_time_us": 400.0, "timeline_coverage_percent": 60.0, "avg_concurrent_kernels": 1.2}]});
    document
}

#[test]
fn shape_b_maps_timeline_coverage() {
    let profile = read(shape_b());
    let utilization = profile.compute_utilization.as_ref().expect("mapped");
    assert_eq!(utilization.compute_util_percent, 60.0);
    assert_eq!((utilization.kernel_time_us, utilization.overhead_time_us), (60.0, 40.0));
    assert_eq!(utilization.avg_concurrent_kernels, Some(1.2));
    let devices = profile.multi_device.as_ref().expect("the section");
    assert_eq!((devices.avg_utilization_percent, devices.utilization_stddev), (Some(60.0), Some(1.5)));
    assert_eq!(
        (devices.device_stats[0].utilization_percent, devices.device_stats[0].parallelism),
        (Some(60.0), Some(1.2))
    );
    assert!(message(&profile, "profile_timeline_coverage").contains("timeline_coverage"));
    assert!(!codes(&profile).contains(&"profile_fields_ignored"), "{:?}", profile.warnings);
}

#[test]
fn shape_b_with_a_dropped_step_is_not_a_share() {
    let mut document = shape_b();
    document["timeline_coverage"]["timeline_coverage_percent"] = json!(142.9);
    document["timeline_coverage"]["idle_time_us"] = json!(-30.0);
    document["multi_device"]["device_stats"] = json!([]);
    let profile = read(document);
    assert_eq!(profile.compute_utilization, None);
    assert!(message(&profile, "profile_utilization_impossible").contains("142.9 %"));
}

#[test]
fn shape_c_has_rates_per_device() {
    let mut document = shape_b();
    document["throughput"] = json!({"tokens_per_sec": 8000.0, "samples_per_sec": 4.0, "tokens_per_sec_per_device": 4000.0,
        "samples_per_sec_per_device": 2.0, "_note_per_device": "n", "steps_per_sec": 0.0, "ms_per_step": 0.0});
    document["step_timing"]["step_count_source"] = json!("trace-detected-complete-only");
    let profile = read(document);
    assert_eq!(profile.throughput.tokens_per_sec_per_device, Some(4000.0));
    // Rates that need no model follow from the step time if the tool wrote 0.
    assert_eq!((profile.throughput.steps_per_sec, profile.throughput.ms_per_step), (Some(1e4), Some(0.1)));
    assert_eq!(profile.step_timing.step_count_source, "trace-detected-complete-only");
    assert!(message(&profile, "profile_zero_is_unknown").contains("throughput.ms_per_step"));
}

#[test]
fn shape_d_has_sections_that_are_listed() {
    let mut document = shape_b();
    document["flop_stats"] = json!({"mfu_percent": 40.0});
    document["statistical_performance"] = json!({});
    document["model_config"]["item_embedding_dim"] = json!(384);
    let profile = read(document);
    assert_eq!(profile.model_config.item_embedding_dim, Some(384));
    assert_eq!(
        message(&profile, "profile_fields_ignored"),
        "flop_stats, statistical_performance are not part of the schema and were not read."
    );
}

#[test]
fn zero_means_unknown() {
    let mut document = documented();
    document["parameter_counts"] = json!({"total_params": 0, "has_frozen_layers": false});
    document["throughput"]["tokens_per_sec"] = json!(0.0);
    let profile = read(document);
    assert_eq!(profile.parameter_counts, None);
    assert_eq!(profile.throughput.tokens_per_sec, None);
}

#[test]
fn missing_sections_are_absent() {
    let profile = read(json!({"step_timing": {}}));
    assert_eq!(profile.step_timing, StepTiming { step_count_source: "unknown".to_owned(), ..StepTiming::default() });
    assert_eq!(profile.compute_utilization, None);
    assert_eq!((profile.multi_device, profile.compilation, profile.io_operations), (None, None, None));
    assert_eq!(profile.metadata.platform, "Unknown");
}

#[test]
fn odd_values_are_noted() {
    let mut document = documented();
    document["step_timing"]["num_steps"] = json!(5.0);
    document["step_timing"]["total_kernels"] = json!(1200.4);
    document["metadata"]["num_devices"] = json!(-1);
    document["model_config"]["vocab_size"] = json!(1e30);
    document["model_config"]["num_heads"] = json!("eight");
    document["multi_device"]["device_stats"] = json!({"0": {"device_name": "GPU:0"}});
    document["compilation"] = json!({"compilation_time_us": 14_929_000.0, "num_xla_modules": 0,
        "num_compilation_events": 6253, "compilation_percent": 3838.0});
    document["io_operations"] = json!({"io_event_count": 3, "io_total_time_us": 1.0, "io_percent": -2.0});
    let profile = read(document);
    assert_eq!((profile.step_timing.num_steps, profile.step_timing.total_kernels), (5, 1200));
    assert_eq!((profile.metadata.num_devices, profile.model_config.vocab_size), (0, None));
    let compilation = profile.compilation.as_ref().expect("the section");
    assert_eq!((compilation.compilation_percent, compilation.num_xla_modules), (100.0, None));
    assert_eq!(profile.io_operations.as_ref().expect("the section").io_percent, 0.0);
    assert_eq!(message(&profile, "profile_rounded").split(' ').next(), Some("step_timing.total_kernels"));
    let impossible = message(&profile, "profile_impossible");
    for field in
        ["metadata.num_devices", "model_config.vocab_size", "model_config.num_heads", "multi_device.device_stats"]
    {
        assert!(impossible.contains(field), "{impossible}");
    }
    let clamped = message(&profile, "profile_percent_clamped");
    assert!(clamped.contains("compilation.compilation_percent, io_operations.io_percent"), "{clamped}");
}

#[test]
fn pythons_not_a_number_is_absent() {
    let text = r#"{"metadata":{"trace_file":"NaN \" NaN"},"step_timing":{"num_steps":2,"avg_step_time_us":NaN},
        "throughput":{"steps_per_sec":Infinity,"ms_per_step":-Infinity}}"#;
    let profile = read_profile(text.as_bytes(), "p.json").expect("a profile");
    assert_eq!(profile.step_timing.avg_step_time_us, None);
    assert_eq!(profile.throughput.steps_per_sec, None);
    assert_eq!(profile.metadata.trace_file, "NaN \" NaN");
    assert_eq!(profile.warnings[0].count, Some(3));
}

#[test]
fn other_major_versions_are_refused() {
    for (version, named) in
        [(json!("2.0.0"), "2.0.0"), (json!("0.9"), "0.9"), (json!("latest"), "latest"), (json!(3), "3")]
    {
        let text = json!({"metadata": {"profiler_version": version}, "step_timing": {}}).to_string();
        let error = read_profile(text.as_bytes(), "p").expect_err("refused").to_string();
        assert!(error.starts_with(&format!("A unified profile of version {named} cannot be read.")), "{error}");
    }
    let text = json!({"metadata": {"profiler_version": "1.0.0", "schema_version": "2.1.0"}}).to_string();
    assert!(read_profile(text.as_bytes(), "p").is_err());
}

#[test]
fn a_newer_minor_version_is_read_with_a_note() {
    let mut document = serde_json::to_value(read(documented())).expect("serialisable");
    document["metadata"]["schema_version"] = json!("1.7.0");
    document["a_section_of_the_future"] = json!({});
    let profile = read(document);
    assert!(codes(&profile).contains(&"profile_newer"));
}

#[test]
fn a_current_document_with_wrong_types_is_named() {
    let mut document = serde_json::to_value(read(documented())).expect("serialisable");
    document["step_timing"]["num_steps"] = json!("five");
    let error = read_profile(document.to_string().as_bytes(), "p").expect_err("refused").to_string();
    assert!(error.starts_with("This is a unified profile, but it cannot be read: invalid type"), "{error}");
}

#[test]
fn damaged_json_has_a_position() {
    let error = read_profile(b"{\"step_timing\":{\"num_steps\":5,", "p").expect_err("cut").to_string();
    assert!(error.contains("line 1 column"), "{error}");
    let nested = format!("{{\"step_timing\":{}", "[".repeat(100_000));
    assert!(read_profile(nested.as_bytes(), "p").is_err());
}

#[test]
fn a_list_is_several_runs() {
    let mut current = serde_json::to_value(read(documented())).expect("serialisable");
    current["metadata"]["run_name"] = json!("second");
    let refused = json!({"metadata": {"schema_version": "2.0.0"}, "step_timing": {}});
    let list = json!([documented(), current, refused, 5]);
    let profiles = read_profiles(list.to_string().as_bytes(), "p.json").expect("two runs");
    let names: Vec<_> = profiles.runs.iter().map(|run| run.name.as_deref()).collect();
    assert_eq!(names, [None, Some("second")]);
    assert_eq!(profiles.runs[0].profile, read(documented()));
    assert_eq!(Ok(profiles.runs[1].profile.clone()), serde_json::from_value(current).map_err(|_| ()));
    let messages: Vec<_> = profiles.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages[0].starts_with("Entry 3 of the list is not shown as a run. A unified profile of version 2.0.0"));
    assert!(messages[1].starts_with("Entry 4 of the list is not shown as a run. This is a unified profile, but"));
    let error = read_profiles(json!([refused]).to_string().as_bytes(), "p").expect_err("no run").to_string();
    assert!(error.starts_with("A unified profile of version 2.0.0"), "{error}");
    assert!(read_profiles(b"[]", "p").is_err());
}

proptest::proptest! {
    #[test]
    fn any_number_in_any_place_never_panics_and_no_share_exceeds_100(
        number in proptest::num::f64::NORMAL,
        place in 0..7usize,
    ) {
        let mut document = shape_b();
        document["compilation"] = json!({"compilation_time_us": 1.0, "compilation_percent": 1.0});
        let (section, field) = [
            ("step_timing", "num_steps"), ("step_timing", "avg_step_time_us"),
            ("timeline_coverage", "timeline_coverage_percent"), ("timeline_coverage", "kernel_time_us"),
            ("timeline_coverage", "idle_time_us"), ("compilation", "compilation_percent"),
            ("multi_device", "avg_timeline_coverage_percent"),
        ][place];
        document[section][field] = json!(number);
        let profile = read(document);
        let shares = [
            profile.compute_utilization.as_ref().map(|section| section.compute_util_percent),
            profile.compilation.as_ref().map(|section| section.compilation_percent),
            profile.multi_device.as_ref().and_then(|section| section.avg_utilization_percent),
        ];
        for share in shares.into_iter().flatten() {
            proptest::prop_assert!((0.0..=100.0).contains(&share), "{share}");
        }
    }
}

/// Returns the example from the documentation in the form that crossprof writes.
fn current() -> Value {
    serde_json::to_value(read(documented())).expect("a document")
}

#[test]
fn control_characters_are_escaped() {
    let mut document = current();
    document["warnings"] =
        json!([{"code": "a\u{202e}", "severity": "note", "message": "b", "remedy": "\u{0}\u{1b}[31m"}]);
    document["metadata"]["run_name"] = json!("a\u{202e}");
    let profile = read(document);
    assert_eq!(profile.warnings[0].code, "a\\u{202e}");
    assert_eq!(profile.warnings[0].remedy.as_deref(), Some("\\u{0}\\u{1b}[31m"));
    assert_eq!(profile.metadata.run_name.as_deref(), Some("a\u{202e}"), "a name is imported as it was exported");
}

#[test]
fn numbers_too_large_for_a_measurement_are_absent() {
    let mut old = documented();
    old["step_timing"]["avg_step_time_us"] = json!(1e308);
    let mut new = current();
    new["step_timing"]["avg_step_time_us"] = json!(-1e308);
    for document in [old, new.clone()] {
        let profile = read(document);
        assert_eq!(profile.step_timing.avg_step_time_us, None);
        assert!(message(&profile, "profile_immeasurable").starts_with("1 numbers"), "{:?}", profile.warnings);
    }
    // The profile must contain this field.
    new["step_timing"]["total_time_us"] = json!(1e300);
    let error = read_profile(new.to_string().as_bytes(), "p").unwrap_err().to_string();
    assert!(error.contains("a number is too large for a measurement"), "{error}");
}

#[test]
fn deep_nesting_is_refused_with_a_reason() {
    let deep = |levels: usize| format!("{{\"step_timing\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let error = |levels: usize| read_profile(deep(levels).as_bytes(), "p").map_err(|error| error.to_string());
    assert!(error(126).is_ok());
    for levels in [127, 100_000] {
        assert!(error(levels).unwrap_err().contains("nested too deeply"), "{levels}");
    }
}

/// A newer version of crossprof, or another program, may use words that this version does not know.
#[test]
fn unknown_words_are_read_as_the_lowest_with_a_warning() {
    let mut document = serde_json::to_value(UnifiedProfile::default()).unwrap();
    document["metadata"]["schema_version"] = SCHEMA_VERSION.into();
    document["findings"] = json!([
        {"id": "x", "severity": "catastrophic", "confidence": "certain", "title": "t", "message": "m"},
        {"id": "y", "severity": "critical", "confidence": "high", "title": "t", "message": "m"}
    ]);
    document["warnings"] = json!([{"code": "of_tomorrow", "severity": "fatal", "message": "m"}]);
    let profile = read(document);
    let said: Vec<_> = profile.findings.iter().map(|it| (it.severity.label(), it.confidence.label())).collect();
    assert_eq!(said, [("note", "low"), ("critical", "high")]);
    assert_eq!(profile.warnings[0].severity, base::Severity::Note);
    assert_eq!(codes(&profile), ["of_tomorrow", "profile_unknown_words"]);
    assert!(message(&profile, "profile_unknown_words").starts_with("3 "));
}
