//! A profile with data in most sections, for the tests of the exporters.

use crate::*;
use base::{Warning, WarningCode};

/// Returns the example profile.
pub fn profile() -> UnifiedProfile {
    let category = |us, count| KernelCategory { time_us: us, count, percent: Some(us), ..KernelCategory::default() };
    let kernel = |name: &str, category: &str, us, count: u64| Kernel {
        name: name.to_owned(),
        category: category.to_owned(),
        total_us: us,
        count,
        avg_us: us / count as f64,
        min_us: None,
        max_us: None,
        percent: Some(us),
        framework_op: None,
    };
    let gaps = Gaps { total_gaps: 1, total_gap_time_us: 20.0, max_gap_us: Some(20.0), ..Gaps::default() };
    UnifiedProfile {
        metadata: Metadata {
            platform: "TPU".into(),
            device_type: "TPU v6 Lite".into(),
            trace_file: "demo.xplane.pb".into(),
            framework: "JAX".into(),
            num_devices: 1,
            profiler_version: "1.0.0".into(),
            run_name: Some("demo".into()),
            source_format: Some("xplane".into()),
            capture_duration_us: Some(250.0),
            ..Metadata::default()
        },
        model_config: ModelConfig::default(),
        window: None,
        parameter_counts: None,
        layer_freezing: None,
        serving: Some(Serving {
            phases: vec![PhaseStats {
                phase: "decode".into(),
                passes: 2,
                total_time_us: 240.0,
                time_percent: 100.0,
                avg_time_us: 120.0,
                median_time_us: 120.0,
                p95_time_us: 120.4,
                max_time_us: 120.4,
                idle_percent: 16.7,
                ..PhaseStats::default()
            }],
            ..Serving::default()
        }),
        programs: Vec::new(),
        step_timing: StepTiming {
            num_steps: 2,
            total_time_us: 240.0,
            avg_step_time_us: Some(120.0),
            total_kernels: 4,
            kernels_per_step: Some(2.0),
            step_count_source: "step_num".into(),
            num_steps_counted: Some(2),
            median_step_time_us: Some(120.0),
            stddev_step_time_us: Some(0.4),
            step_marker: Some("train annotations".into()),
            ..StepTiming::default()
        },
        throughput: Throughput { steps_per_sec: Some(8333.0), ms_per_step: Some(0.12), ..Throughput::default() },
        compute_utilization: Some(ComputeUtilization {
            compute_util_percent: 83.3,
            kernel_time_us: 100.0,
            overhead_time_us: 20.0,
            ..ComputeUtilization::default()
        }),
        kernels: Kernels {
            top_kernels: vec![kernel("dot.1", "matmul", 60.5, 2), kernel("<img onerror=x>\u{1b}[2J", "copy", 39.5, 2)],
            kernels_by_category: [("copy".to_owned(), category(39.5, 2)), ("matmul".to_owned(), category(60.5, 2))]
                .into(),
        },
        memory_operations: Some(MemoryOperations {
            total_memory_ops: 2,
            transfers: vec![Transfer {
                direction: "h2d".into(),
                count: 2,
                total_time_us: 39.5,
                total_bytes: Some(2_097_152),
                sized_count: 2,
                bandwidth_gb_per_sec: Some(53.1),
            }],
            ..MemoryOperations::default()
        }),
        multi_device: Some(MultiDevice {
            num_devices: 1,
            device_stats: vec![DeviceStats {
                device_name: "/device:TPU:0".into(),
                kernel_count: 4,
                actual_busy_time_us: 200.0,
                total_time_us: 240.0,
                utilization_percent: Some(83.3),
                gaps: Some(gaps.clone()),
                ..DeviceStats::default()
            }],
            hosts: vec![HostStats { num_devices: 1, step_time_us: Some(60.0), ..HostStats::default() }],
            ..MultiDevice::default()
        }),
        timeline_analysis: Some(TimelineAnalysis {
            gaps,
            longest_gaps: vec![Gap {
                device_name: "/device:TPU:0".into(),
                start_us: 100.0,
                duration_us: 20.0,
                after: "dot.1".into(),
                before: "copy".into(),
            }],
        }),
        compilation: None,
        io_operations: None,
        input_pipeline: Some(InputPipeline {
            held_us: 30.0,
            held_percent: 12.0,
            limiting_stage: Some("read".into()),
            limiting_op: Some("read".into()),
            limiting_percent: Some(80.0),
            demanded_file_read_us: Some(24.0),
            chain: vec!["next_batch".into(), "read".into()],
            stages: vec![InputStageTime {
                stage: "read".into(),
                time_us: 24.0,
                thread_time_us: 24.0,
                count: 1,
                busy_percent: 80.0,
            }],
            ops: vec![InputOpTime {
                name: "read".into(),
                detail: Some("Source".into()),
                stage: "read".into(),
                parent: Some("next_batch".into()),
                count: 1,
                total_time_us: 24.0,
                self_time_us: 24.0,
                threads: 1,
                busy_percent: 80.0,
            }],
            ..InputPipeline::default()
        }),
        steps: vec![Step { duration_us: 120.0, counted: true, ..Step::default() }],
        step_breakdown: None,
        step_ops: None,
        host_activity: Some(HostActivity {
            num_threads: 1,
            busy_time_us: 90.0,
            busy_percent: 36.0,
            threads: vec![HostThread {
                name: "python".into(),
                role: "python".into(),
                num_events: 3,
                busy_time_us: 90.0,
                busy_percent: 36.0,
                top_span: "PjitFunction(f)".into(),
                ..HostThread::default()
            }],
            top_spans: vec![HostSpan {
                name: "PjitFunction(f)".into(),
                role: "launch".into(),
                occurrences: 3,
                threads: 1,
                total_time_us: 90.0,
                self_time_us: 90.0,
                max_time_us: 40.0,
                percent: 100.0,
            }],
            programs: vec![HostProgram {
                name: "f".into(),
                activity: "call".into(),
                calls: 3,
                total_time_us: 90.0,
                max_time_us: 40.0,
            }],
        }),
        hardware: Some(Hardware {
            meters: vec![MeterStats {
                device_name: "/device:TPU:0".into(),
                counter: "Power (W)".into(),
                quantity: "power".into(),
                unit: "watts".into(),
                samples: 3,
                mean: 350.0,
                min: 300.0,
                max: 400.0,
                limit: Some(700.0),
                mean_percent: Some(50.0),
            }],
            units: vec![UnitStats {
                device_name: "/device:TPU:0".into(),
                name: "MXU0".into(),
                achieved: 250.0,
                peak: 1000.0,
                unit: "cycles".into(),
                use_percent: 25.0,
                ..UnitStats::default()
            }],
            kernels: vec![KernelUnitStats {
                device_name: "/device:TPU:0".into(),
                kernel: "custom-call.1".into(),
                counter: "MXU".into(),
                time_us: 60.0,
                mean: 40.0,
                max: 80.0,
            }],
        }),
        tracing: Some(Tracing {
            slowdown: 1.25,
            traced_step_time_us: 150.0,
            untraced_step_time_us: 120.0,
            traced_steps: 2,
            untraced_steps: 4,
        }),
        other_devices: vec![OtherDevice {
            name: "NPU 0".into(),
            kind: "accelerator".into(),
            num_lines: 1,
            num_events: 2,
            busy_time_us: 30.0,
            total_time_us: 40.0,
            busy_percent: 75.0,
            top_events: vec![OtherDeviceEvent {
                name: "MatMul".into(),
                occurrences: 2,
                total_time_us: 30.0,
                self_time_us: 30.0,
                max_time_us: 20.0,
            }],
        }],
        roofline: None,
        kernel_statistics: None,
        memory: Some(Memory {
            devices: vec![DeviceMemory {
                device_name: "/device:TPU:0".into(),
                source: "allocator".into(),
                peak_bytes: Some(24 << 30),
                capacity_bytes: Some(32 << 30),
                capacity_source: Some("allocator".into()),
                peak_percent: Some(75.0),
                by_class: vec![MemoryClass { class: "parameter".into(), bytes: 24 << 30, percent: 100.0 }],
                ..DeviceMemory::default()
            }],
            programs: Vec::new(),
            live: Some(LiveMemory {
                total_bytes: 3 << 20,
                kinds: vec![LiveMemoryKind { kind: "buffer".into(), count: 2, bytes: 3 << 20, percent: 100.0 }],
                lines: vec![LiveMemoryLine {
                    line: "train.py:12".into(),
                    function: "init".into(),
                    count: 2,
                    bytes: 3 << 20,
                    percent: 100.0,
                    stack: "main (train.py:40) > init (train.py:12)".into(),
                }],
            }),
        }),
        launches: None,
        warnings: vec![
            Warning::new(WarningCode::JsonCutOff, "The file ends inside an event.")
                .with_file("demo.json")
                .with_offset(77)
                .with_remedy("Copy it again."),
        ],
        not_measured: Vec::new(),
        communication: None,
        megascale: Some(Megascale { collectives: vec![MegascaleCollective::default()], ..Megascale::default() }),
        pipeline: Some(Pipeline {
            kind: "programs".to_owned(),
            confidence: Confidence::High,
            evidence: "Each device runs its own program.".to_owned(),
            num_stages: 2,
            num_steps: 4,
            step_source: "runs".to_owned(),
            num_microbatches: Some(4),
            schedule: None,
            span_us: 1000.0,
            bubble_time_us: 200.0,
            bubble_percent: 20.0,
            schedule_bubble_percent: Some(20.0),
            work_max_to_mean: 1.0,
            stages: vec![PipelineStage::default()],
        }),
        experts: Some(Experts {
            confidence: Confidence::Medium,
            evidence: "Products have an expert dimension.".to_owned(),
            time_percent: 50.0,
            num_experts: Some(4),
            token_max_to_mean: None,
            expert_max_to_mean: None,
            device_max_to_mean: Some(1.5),
            lost_percent: Some(10.0),
            loads: vec![ExpertLoad::default()],
        }),
        goodput: Some(Goodput { parts: vec![GoodputPart::default()], ..Goodput::default() }),
        op_statistics: None,
        layers: Some(Layers {
            without_scope_percent: Some(12.5),
            mixed_percent: Some(3.0),
            phases: vec![
                PhaseTime { phase: Phase::Forward, self_time_us: 30.0, busy_self_time_percent: Some(37.5) },
                PhaseTime { phase: Phase::Backward, self_time_us: 50.0, busy_self_time_percent: Some(62.5) },
            ],
            layers: vec![
                LayerTime {
                    path: "jit_train_step".into(),
                    members: 1,
                    self_time_us: 80.0,
                    busy_self_time_percent: Some(100.0),
                    ..LayerTime::default()
                },
                LayerTime {
                    path: "jit_train_step/layer_*".into(),
                    members: 4,
                    self_time_us: 60.0,
                    busy_self_time_percent: Some(75.0),
                    flops: Some(4e9),
                    bytes_accessed: Some(2e6),
                    exposed_communication_us: Some(1.5),
                    slowest_member: Some("layer_3".into()),
                    slowest_ratio: Some(1.25),
                },
            ],
        }),
        findings: vec![Finding {
            id: "idle_gaps".into(),
            severity: FindingSeverity::Note,
            confidence: Confidence::High,
            title: "Gaps take 16.7 % of the time".into(),
            message: "Devices are idle for 16.7 % of the time from their first op to their last.".into(),
            remedy: "Look at the host's threads during the longest gaps.".into(),
            evidence: vec![Evidence { name: "gap_time_percent".into(), value: 16.7, threshold: Some(10.0) }],
            time_at_stake_percent: None,
            view: Some(View::Steps),
            filter: None,
        }],
        provenance: Vec::new(),
    }
}
