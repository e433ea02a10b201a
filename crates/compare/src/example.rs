//! A comparison with content in every part, for tests of its outputs.

use crate::*;

/// Returns two runs of the example profile, with hostile names.
pub fn subjects() -> Vec<Subject> {
    ["main", "new"]
        .map(|name| {
            let mut profile = report::example::profile();
            profile.metadata.run_name = Some(name.to_owned());
            profile.metadata.schema_version = Some(report::v1::SCHEMA_VERSION.to_owned());
            Subject::new(profile)
        })
        .into()
}

/// Returns a comparison of the runs of [`subjects`].
pub fn comparison() -> Comparison {
    let run = |name: &str| ComparedRun {
        name: name.to_owned(),
        platform: "TPU".to_owned(),
        device_type: "TPU v6 Lite".to_owned(),
        devices: 1,
        file: format!("{name}.xplane.pb"),
        ..ComparedRun::default()
    };
    let check = |check: &str, title: &str, status: FairnessStatus, values: [Option<&str>; 2]| FairnessCheck {
        check: check.to_owned(),
        title: title.to_owned(),
        status,
        values: values.map(|value| value.map(str::to_owned)).to_vec(),
        note: "Samples per second cannot be compared, because the runs do different work.".to_owned(),
    };
    let part = |part: &str, title: &str, class: &str, from: f64, to: f64| PartChange {
        run: 1,
        part: part.to_owned(),
        title: title.to_owned(),
        class: class.to_owned(),
        per: crate::WorkUnit::Step,
        baseline_us: from,
        run_us: to,
        delta_us_per_step: to - from,
    };
    let change = |name: &str, kind: ChangeKind, from: f64, to: f64| Change {
        run: 1,
        name: name.to_owned(),
        baseline_name: Some("dot.1".to_owned()),
        family: "matmul".to_owned(),
        matched_by: MatchedBy::Name,
        change: kind,
        ops: [1, 1],
        per_step: [1.0, 1.0],
        time_us: [to, from],
        delta_us_per_step: to - from,
        slowdown: (from > 0.0).then_some(to / from),
        ..Change::default()
    };
    let point = |run: u32, devices: u64, step_time_us: f64, speedup: f64| ScalingPoint {
        run,
        devices,
        step_time_us,
        speedup,
        efficiency_percent: 100.0 * speedup / devices as f64,
        ideal_speedup: devices as f64,
        amdahl_speedup: Some(speedup),
        exposed_communication_percent: Some(3.0),
        ..ScalingPoint::default()
    };
    let metric = |metric: &str, title: &str, unit: &str, direction: Direction, values: [f64; 2]| ComparedMetric {
        spreads: Vec::new(),
        metric: metric.to_owned(),
        title: title.to_owned(),
        unit: unit.to_owned(),
        direction,
        values: values.map(Some).to_vec(),
        ratios: vec![Some(1.0), Some(2.0)],
        differences: vec![Some(0.0), Some(values[1] - values[0])],
        verdicts: vec![None, Some(MetricVerdict::Better)],
        winner: Some(1),
        comparable: true,
        spoiled_by: vec!["batch_size".to_owned()],
        unknown: Vec::new(),
    };
    Comparison {
        device_work: Vec::new(),
        threshold: DEFAULT_THRESHOLD,
        capture_time: Vec::new(),
        comparison_version: COMPARISON_VERSION.to_owned(),
        kind: ComparisonKind::SamePlatform,
        summary: vec!["new is twice as fast as main.".to_owned(), "Compute explains it.".to_owned()],
        answer: Answer {
            verdict: vec!["new is twice as fast as main.".to_owned()],
            caveats: vec!["The sequence length of `new` is unknown.".to_owned()],
            causes: vec!["Compute explains it.".to_owned()],
        },
        costs: vec![ComparedMetric {
            metric: "efficiency.dollars_per_million_tokens".to_owned(),
            title: "Cost per million tokens".to_owned(),
            unit: "$".to_owned(),
            direction: Direction::Lower,
            values: vec![Some(0.5), Some(0.25)],
            ratios: vec![Some(1.0), Some(2.0)],
            verdicts: vec![None, Some(MetricVerdict::Better)],
            ..ComparedMetric::default()
        }],
        progress: Some(Progress {
            wall_us: 1_800_000_000.0,
            productive_us: 1_600_000_000.0,
            goodput_percent: 88.9,
            lost_device_hours: 0.06,
            lost_dollars: None,
            intervals: vec![ProgressInterval { from: 0, to: 1, ..ProgressInterval::default() }],
        }),
        phases: Vec::new(),
        layers: vec![
            LayerChange {
                run: 1,
                kind: LayerKind::Phase,
                name: "forward".to_owned(),
                time_us: [Some(10_000.0), Some(14_000.0)],
                delta_us_per_step: Some(-4_000.0),
                ..LayerChange::default()
            },
            LayerChange {
                run: 1,
                kind: LayerKind::Layer,
                name: "jit_f/layer_*".to_owned(),
                members: [4, 4],
                time_us: [Some(30_000.0), Some(40_000.0)],
                delta_us_per_step: Some(-10_000.0),
                ..LayerChange::default()
            },
        ],
        runs: vec![run("main"), run("new")],
        baseline: 0,
        fairness: vec![
            check("framework", "Framework", FairnessStatus::Same, [Some("JAX"), Some("JAX")]),
            check("batch_size", "Batch size", FairnessStatus::Differs, [Some("8"), Some("16")]),
            check("seq_length", "Sequence length", FairnessStatus::Unknown, [Some("128"), None]),
        ],
        memory: Some(MemoryComparison {
            peak_bytes: vec![Some(3 << 30), Some(2 << 30)],
            peak_percent: vec![Some(75.0), None],
            programs: vec![Some("jit_f(1)".to_owned()), Some("jit_f(2)".to_owned())],
            classes: vec![MemoryClassChange { class: "activation".to_owned(), bytes: vec![2 << 30, 1 << 30] }],
            buffers: vec![MemoryBuffersChange {
                run: 1,
                class: "activation".to_owned(),
                scope: "<img onerror=x>\u{1b}[2J".to_owned(),
                shape: "f32[8,1024]".to_owned(),
                count_change: -2,
                bytes_change: -(1 << 30),
            }],
            ..MemoryComparison::default()
        }),
        programs: vec![
            ProgramChange {
                run: 1,
                program: "jit_f(2)".to_owned(),
                baseline_program: "jit_f(1)".to_owned(),
                numbers: ProgramNumbers {
                    time_us: Some(30_000.0),
                    instructions: 1050,
                    fusions: 90,
                    flops: 2e12,
                    bytes: 2e9,
                    unknown_cost: 0,
                    peak_memory_bytes: Some(2 << 30),
                },
                baseline_numbers: ProgramNumbers {
                    time_us: Some(40_000.0),
                    instructions: 1000,
                    fusions: 90,
                    flops: 2e12,
                    bytes: 4e9,
                    unknown_cost: 0,
                    peak_memory_bytes: None,
                },
                same: 940,
                changed: 60,
                new: 50,
                gone: 0,
                instructions: vec![
                    InstructionChange {
                        name: Some("fusion.7".to_owned()),
                        baseline_name: Some("fusion.3".to_owned()),
                        opcode: "fusion".to_owned(),
                        shape: "f32[8,8]{0,1}".to_owned(),
                        scope: "forward/layer_3/attn".to_owned(),
                        time_us: Some(8_000.0),
                        baseline_time_us: Some(20_000.0),
                        bytes: Some(1e9),
                        differences: vec![
                            AspectChange {
                                aspect: "layout".to_owned(),
                                run: "f32[8,8]{0,1}".to_owned(),
                                baseline: "f32[8,8]{1,0}".to_owned(),
                            },
                            AspectChange { aspect: "contents".to_owned(), ..AspectChange::default() },
                        ],
                    },
                    InstructionChange {
                        name: Some("<img onerror=x>\u{1b}[2J".to_owned()),
                        opcode: "copy".to_owned(),
                        shape: "f32[8,8]{0,1}".to_owned(),
                        time_us: Some(2_000.0),
                        ..InstructionChange::default()
                    },
                ],
            },
            ProgramChange {
                run: 1,
                program: "jit_g(3)".to_owned(),
                baseline_program: "jit_g(3)".to_owned(),
                same: 7,
                ..ProgramChange::default()
            },
        ],
        rates: Vec::new(),
        step_time: vec![StepTimeChange {
            run: 1,
            step_time_us: Some(50_000.0),
            baseline_us: Some(100_000.0),
            delta_us: Some(-50_000.0),
            typical_us: Some(50_000.0),
            baseline_typical_us: Some(100_000.0),
            typical_delta_us: Some(-50_000.0),
            margin_us: Some(1200.0),
            least_provable_us: Some(1700.0),
            verdict: StepTimeVerdict::Faster,
            basis: ComparisonBasis::Steps,
            steps: [5, 5],
            captures: [1, 1],
            degrees_of_freedom: Some(7.5),
            explained_percent: Some(40.0),
            work: FairnessStatus::Same,
            work_evidence: vec!["parameter_shapes".to_owned()],
        }],
        metrics: vec![
            metric("step_timing.avg_step_time_us", "Step time", "us", Direction::Lower, [100_000.0, 50_000.0]),
            metric("throughput.steps_per_sec", "Steps", "1/s", Direction::Higher, [10.0, 20.0]),
        ],
        platform_metrics: vec![metric(
            "timeline_analysis.gap_time_percent",
            "Idle gaps",
            "percent",
            Direction::Lower,
            [4.0, 2.0],
        )],
        waterfall: vec![
            part("compute", "Compute", "matmul", 60_000.0, 40_000.0),
            part("communication", "Exposed communication", "communication", 5000.0, 7000.0),
            part("host_bound", "Idle: host", "idle-host", 35_000.0, 3000.0),
        ],
        causes: vec![Cause {
            run: 1,
            kind: CauseKind::Op,
            name: "<img onerror=x>".to_owned(),
            scope: Some("<b>layer_*</b>".to_owned()),
            source: None,
            delta_us_per_step: -20_000.0,
            percent_of_difference: Some(40.0),
            text: "<img onerror=x> takes 20.0 ms less.".to_owned(),
        }],
        categories: vec![change("matmul", ChangeKind::Faster, 60_000.0, 40_000.0)],
        ops: vec![
            change("<img onerror=x>", ChangeKind::Faster, 30_000.0, 10_000.0),
            change("copy.3", ChangeKind::New, 0.0, 100.0),
        ],
        kernels: vec![change("gemm</script>", ChangeKind::Slower, 10.0, 20.0)],
        collectives: vec![CollectiveChange {
            kind: "all-reduce".to_owned(),
            counts: vec![10, 0],
            total_time_us: vec![500.0, 0.0],
            exposed_time_us: vec![100.0, 0.0],
        }],
        matching: vec![Matching {
            run: 1,
            matched_us: vec![MatchedTime { matched_by: MatchedBy::Name, time_us: 40_000.0 }],
            unmatched_us: [100.0, 0.0],
            unlisted_us: [0.0, 0.0],
        }],
        scaling: Some(Scaling {
            mode: ScalingMode::Strong,
            mode_source: ScalingSource::BatchSize,
            reference: 0,
            points: vec![point(0, 1, 100_000.0, 1.0), point(1, 4, 30_000.0, 3.3)],
            serial_fraction: Some(0.07),
            serial_interval: Some([0.05, 0.09]),
            excess_ops: vec![ExcessOp {
                run: 1,
                name: "all-reduce.4".to_owned(),
                family: "communication".to_owned(),
                reference_us: 400.0,
                ideal_us: 100.0,
                measured_us: 600.0,
                excess_us: 500.0,
                ..ExcessOp::default()
            }],
            forecast: vec![ScalingForecast {
                devices: 8,
                step_time_us: 18_625.0,
                interval_us: Some([16_875.0, 20_375.0]),
                speedup: 5.37,
                efficiency_percent: 67.1,
                ..ScalingForecast::default()
            }],
            forecast_assumption: Some("The forecast assumes that Amdahl's law holds.".to_owned()),
            ..Scaling::default()
        }),
        trend: Some(Trend {
            ordered_by: OrderedBy::TrainingStep,
            points: [(0, 100_000.0), (1, 50_000.0)]
                .map(|(run, time): (u32, f64)| TrendPoint {
                    run,
                    label: format!("{}00", run + 1),
                    step_time_us: Some(time),
                    margin_us: Some(900.0),
                    compute_util_percent: Some(80.0),
                })
                .to_vec(),
            change_points: vec![ChangePoint {
                run: 1,
                before_us: 100_000.0,
                after_us: 50_000.0,
                text: "From 200 on, a step takes 50.0 ms instead of 100 ms.".to_owned(),
                medians_us: [100_000.0, 50_000.0],
                runs: [1, 1],
                ..ChangePoint::default()
            }],
            ..Trend::default()
        }),
        warnings: vec!["The sequence length of `new` is unknown.".to_owned()],
    }
}
