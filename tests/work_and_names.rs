//! Tests ops whose names or costs the file does not state clearly: custom calls without an estimate, callbacks,
//! programs without HLO, communication kernels, and timelines from TensorFlow 1.

use crate::support;
use std::collections::BTreeMap;

use crossprof::report::UnifiedProfile;
use crossprof::run::Run;
use crossprof::trace::{HloProto, TraceBuilder};
use crossprof::{Settings, insight};
use wire_writer::{Message, message};

/// A Pallas kernel that multiplies matrices (2048 x 1024 x 2048 in bf16) takes 75.7 us on a TPU v6e: 113.5 TFLOP/s,
/// 12.4 % of the peak. XLA counts the FLOPs of one of the 8 iterations of the kernel's grid, and no bytes.
const FLOPS_OF_ONE_ITERATION: i64 = 2 * 512 * 1024 * 1024;
const FLOPS: i64 = 2 * 2048 * 1024 * 2048;
const BYTES: i64 = 2 * (2048 * 1024 + 1024 * 2048 + 2048 * 2048);

/// Returns an `HloProto` of a program whose only instruction is a Pallas kernel with this configuration.
fn pallas_program(config: &str) -> Vec<u8> {
    let shape = |dimensions: [i64; 2]| {
        // 16 is BF16.
        message().int(2, 16).int(3, dimensions[0]).int(3, dimensions[1])
    };
    let instruction = |name: &str, opcode: &str, id: i64, dimensions| -> Message {
        message().bytes(1, name).bytes(2, opcode).message(3, shape(dimensions)).int(35, id)
    };
    let call = instruction("tpu_custom_call.1", "custom-call", 3, [2048, 2048])
        .int(36, 1)
        .int(36, 2)
        .bytes(28, "tpu_custom_call")
        .bytes(43, config);
    let entry = message()
        .bytes(1, "main")
        .message(2, instruction("a", "parameter", 1, [2048, 1024]))
        .message(2, instruction("b", "parameter", 2, [1024, 2048]).int(9, 1))
        .message(2, call)
        .int(5, 1)
        .int(6, 3);
    let module = message().bytes(1, "jit_matmul").bytes(2, "main").message(3, entry).int(5, 7).int(6, 1);
    message().message(1, module).0
}

/// Builds steps of 100 us in which a Pallas kernel takes most of the time. `costs` contains the FLOPs and the bytes in
/// the kernel's events. `program` is embedded if given.
fn pallas_run(costs: (i64, i64), program: Option<&str>) -> UnifiedProfile {
    let mut b = TraceBuilder::new();
    for step in 0..12 {
        let at = step * 100;
        let modules = b.line("/device:TPU:0", "XLA Modules");
        b.event(modules, "jit_matmul(7)", at, 100).run_id(step);
        let line = b.line("/device:TPU:0", "XLA Ops");
        for (name, category, start, length, (flops, bytes)) in [
            ("tpu_custom_call.1", "custom-call", at, 76, costs),
            ("fusion.2", "loop fusion", at + 76, 20, (1000, 4000)),
        ] {
            let module = b.trace_mut().strings.intern("jit_matmul");
            let text = format!("%{name} = bf16[2048,2048]{{1,0}} {}(%a, %b)", category.replace("loop ", ""));
            let text = b.trace_mut().strings.intern(&text);
            b.event(line, name, start, length).hlo_category(category).args(|args| {
                (args.hlo_module, args.program_id, args.long_name) = (module, Some(7), text);
                (args.model_flops, args.bytes_accessed) = (Some(flops), Some(bytes));
            });
        }
    }
    if let Some(config) = program {
        let name = b.trace_mut().strings.intern("jit_matmul(7)");
        b.trace_mut().hlo.push(HloProto { program_id: 7, name, host: 0, bytes: pallas_program(config).into() });
    }
    let run = Run { trace: b.build(), ..Default::default() };
    let settings = Settings { device: Some("tpu-v6e".to_owned()), ..Default::default() };
    insight::examine(&run, &settings).profile
}

const NOT_ESTIMATED: &str = r#"{"custom_call_config": {"body": "TUzvUg==", "needs_layout_passes": true}}"#;

#[test]
fn a_kernel_without_an_estimate_enters_no_rate_and_no_finding() {
    for (costs, program) in [
        ((FLOPS_OF_ONE_ITERATION, 0), Some(NOT_ESTIMATED)),
        ((FLOPS_OF_ONE_ITERATION, 0), None),
        ((FLOPS_OF_ONE_ITERATION, 4096), Some(NOT_ESTIMATED)),
        ((0, 4096), None),
    ] {
        let case = format!("{costs:?} {program:?}");
        let profile = pallas_run(costs, program);
        let roofline = profile.roofline.as_ref().unwrap();
        // The custom calls take 76 of 96 us.
        let unknown = roofline.unknown_custom_call_time_percent.unwrap();
        assert!((unknown - 100.0 * 76.0 / 96.0).abs() < 1e-9, "{case} {unknown}");
        let op = &profile.op_statistics.as_ref().unwrap().top_ops[0];
        assert_eq!((op.flops, op.bytes_accessed), (None, None), "{case}");
        // Only the other op's 1,000 FLOP per 100 us are known.
        assert!(roofline.mfu_percent.is_some_and(|mfu| mfu < 0.01), "{case} {:?}", roofline.mfu_percent);
        assert!(roofline.program.as_ref().is_some_and(|it| it.gflops < Some(1.0)), "{case}");
        assert!(profile.findings.iter().all(|it| it.id != "low_flop_rate" && it.id != "compute_bound"), "{case}");
        let warning = profile.warnings.iter().find(|it| it.code == "custom_calls_without_cost").expect(&case);
        assert!(warning.message.contains("take 79.2 % of the op time"), "{}", warning.message);
    }
}

#[test]
fn a_kernel_with_an_estimate_has_its_rate() {
    let estimate = format!(
        r#"{{"custom_call_config": {{"body": "TUzvUg==", "cost_estimate": {{"bytes_accessed": {BYTES}, "flops": {FLOPS},
           "transcendentals": 0}}}}}}"#
    );
    let cases = [((FLOPS, BYTES), Some(estimate.as_str())), ((FLOPS, BYTES), None), ((0, 0), Some(estimate.as_str()))];
    for (costs, program) in cases {
        let profile = pallas_run(costs, program);
        let roofline = profile.roofline.as_ref().unwrap();
        assert_eq!(roofline.unknown_custom_call_time_percent, Some(0.0));
        let op = &profile.op_statistics.as_ref().unwrap().top_ops[0];
        let executions = op.executions.unwrap_or(op.occurrences) as f64;
        assert_eq!((op.flops, op.bytes_accessed), (Some(executions * FLOPS as f64), Some(executions * BYTES as f64)));
        // The device does 8.59 GFLOP per 100 us, and its peak is 918 TFLOP/s.
        let mfu = roofline.mfu_percent.unwrap();
        assert!((mfu / 9.36 - 1.0).abs() < 0.01, "{mfu}");
    }
}

/// A program that consists only of Pallas kernels without an estimate has no MFU, and the report explains why.
#[test]
fn a_program_of_only_custom_calls_reports_unknown_flops() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    for at in 0..12 {
        let op = b.event(line, "tpu_custom_call.1", 100 * at, 80).hlo_category("custom-call");
        op.args(|args| args.model_flops = Some(FLOPS_OF_ONE_ITERATION));
    }
    let run = Run { trace: b.build(), ..Default::default() };
    let settings = Settings { device: Some("tpu-v6e".to_owned()), ..Default::default() };
    let profile = insight::examine(&run, &settings).profile;
    assert!(profile.roofline.as_ref().is_none_or(|it| it.mfu_percent.is_none() && it.program.is_none()));
    let missing = profile.not_measured.iter().find(|it| it.field == "roofline.mfu_percent").unwrap();
    assert!(missing.reason.contains("custom calls without their author"), "{}", missing.reason);
    assert!(profile.warnings.iter().any(|it| it.code == "custom_calls_without_cost"));
}

/// Returns the categories and their times in microseconds, for a PyTorch trace JSON with kernels of 100 us in sequence.
fn categories(kernels: &[&str]) -> (UnifiedProfile, BTreeMap<String, f64>) {
    let event = |(at, name): (usize, &&str)| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{},"dur":100,"args":{{"device":0,"stream":7}}}}"#,
            1000 + 200 * at
        )
    };
    let events: Vec<String> = kernels.iter().enumerate().map(event).collect();
    let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","));
    let (_, profiles) = support::load("kernels.json", text.as_bytes());
    let profile = profiles.into_iter().next().unwrap();
    let times = profile.kernels.kernels_by_category.iter().map(|(name, it)| (name.clone(), it.time_us)).collect();
    (profile, times)
}

/// Of the 16 kernels in `custom_allreduce.json`, 8 are custom communication. Including NCCL's kernels, 12 are
/// communication. All communication is exposed.
#[test]
fn custom_all_reduces_are_communication() {
    let (profile, times) = categories(&[
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>",
        "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16>",
        "void two_shot_all_reduce_kernel_inplace<c10::BFloat16, 8>",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
        "void vllm::cross_device_reduce_2stage<half, 8>",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1,__nv_bfloat16,8>",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<half>",
        "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16>",
        "nvshmem_alltoall_kernel",
        "void deep_ep::internode::dispatch<false, 8>",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2",
        "nvjet_tst_64x64_64x16_2x1_2cta_v_bz",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKv",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        "mscclKernel_Sum_half_LL_false",
        "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
    ]);
    let wanted = [
        ("all-reduce", 800.0),
        ("all-to-all", 200.0),
        ("attention", 100.0),
        ("collective", 200.0),
        ("matmul", 300.0),
        ("send-recv", 100.0),
    ];
    assert_eq!(times, wanted.map(|(name, us)| (name.to_owned(), us)).into());
    let communication = profile.communication.unwrap();
    assert_eq!(communication.num_collectives, 13);
    assert_eq!((communication.total_time_us, communication.exposed_time_us), (1300.0, 1300.0));
    let kinds: BTreeMap<&str, u64> = communication.kinds.iter().map(|it| (it.kind.as_str(), it.count)).collect();
    assert_eq!(kinds, [("all-reduce", 8), ("all-to-all", 2), ("collective", 2), ("send-recv", 1)].into());
}

/// Checks the categories of kernels with names from libraries.
#[test]
fn kernels_of_serving_libraries_have_categories() {
    for (name, category) in [
        ("void multimem_one_shot_reduce_kernel<float, 16>", "all-reduce"),
        ("void (anonymous namespace)::multimem_all_gather_kernel<16>", "all-gather"),
        ("ncclSymkDevKernel_ReduceScatter_LDMC_sum_f8e4m3(ncclSymkDevWorkArgs4K)", "reduce-scatter"),
        ("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymkDevWorkArgs4K)", "all-reduce"),
        ("void quickreduce::allreduce_prototype_twoshot<half>", "all-reduce"),
        ("void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>", "all-to-all"),
        ("kuserbuffers_pushsend(int*, int*, int4*, int4*, int)", "send-recv"),
        ("void userbuffers_fp16_sum_inplace_gpu_rw_ag<8>", "all-gather"),
        ("bmm_Bfloat16_E4m3E4m3_Fp32_t128x16x128u2_s6_et64x16", "matmul"),
        ("fused_moe_kernel", "matmul"),
        ("aiter::fmoe_bf16_pertokenMXfp4_g1u1_flat_novs_silu_16x256", "matmul"),
        ("void wvSplitK_hf_sml_<__hip_bfloat16, 64>", "matmul"),
        ("sage_fwd_mxfp4", "attention"),
        ("_sage_fwd_mask", "attention"),
        ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<1, 2>", "attention"),
        ("void flashinfer::PersistentVariableLengthMergeStatesKernel<8, 8>", "attention"),
        ("_fwd_grouped_kernel_stage1", "attention"),
        ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>", "elementwise"),
        ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", "data formatting"),
        ("void vllm::moe::moe_align_block_size_kernel<int>", "sort"),
        ("per_token_group_quant_8bit_kernel<c10::BFloat16>", "elementwise"),
        // The names of ops fused around a kernel do not describe what the kernel does.
        ("triton_poi_fused_all_reduce_add_3", "elementwise"),
        ("triton_poi_fused_convolution_relu_1", "elementwise"),
        ("triton_red_fused_add_all_reduce_mean_2", "reduction"),
        ("triton_per_fused__softmax_1", "softmax"),
        (
            "void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t> >",
            "reduction",
        ),
        ("triton_per_fused_native_layer_norm_0", "normalization"),
        ("block_all_reduce_sum_f32x4_kernel", "reduction"),
    ] {
        let (_, times) = categories(&[name]);
        assert_eq!(times.keys().collect::<Vec<_>>(), [category], "{name}");
    }
}

/// In each 500 us of `r18_jax_gpu_nccl_streams.json`, a GPU computes from 0 to 200 and communicates from 150 to 350.
#[test]
fn communication_on_a_stream_of_its_own_overlaps() {
    let mut events = Vec::new();
    for gpu in 1..=2 {
        events.push(format!(
            r#"{{"ph":"M","name":"process_name","pid":{gpu},"args":{{"name":"/device:GPU:{}"}}}}"#,
            gpu - 1
        ));
        for (tid, name) in [(118, "Stream #118(MemcpyD2H,Compute)"), (119, "Stream #119(Compute)")] {
            events.push(format!(
                r#"{{"ph":"M","name":"thread_name","pid":{gpu},"tid":{tid},"args":{{"name":"{name}"}}}}"#
            ));
        }
        for at in [0, 500, 1000, 1500] {
            let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
            for (tid, name, op, start) in
                [(118, "loop_fusion", "loop_fusion", at), (119, gather, "all-gather-start.1", at + 150)]
            {
                events.push(format!(
                    r#"{{"ph":"X","name":"{name}","ts":{start},"dur":200,"pid":{gpu},"tid":{tid},"args":{{"hlo_op":"{op}","hlo_module":"jit_step"}}}}"#
                ));
            }
        }
    }
    let text = format!(r#"{{"traceEvents": [{}, {{}}]}}"#, events.join(","));
    let (_, profiles) = support::load("r18.trace.json", text.as_bytes());
    let profile = &profiles[0];
    let times: BTreeMap<&str, f64> =
        profile.kernels.kernels_by_category.iter().map(|(name, it)| (name.as_str(), it.time_us)).collect();
    // The ops repeat four times, which gives three complete steps on 2 GPUs.
    assert_eq!(times, [("all-gather", 6.0 * 200.0), ("loop fusion", 6.0 * 200.0)].into());
    let communication = profile.communication.as_ref().unwrap();
    assert_eq!((communication.total_time_us, communication.exposed_time_us), (6.0 * 200.0, 6.0 * 150.0));
    assert_eq!(communication.hidden_percent, Some(25.0));
}

/// The callbacks were counted by hand. The file has 12 callbacks of each kind. The 11 counted steps contain 11 of them.
#[test]
#[ignore = "reads real profiles"]
fn callbacks_count_once_and_in_the_counted_steps() {
    let path = support::samples::case("steps/callbacks.xplane.pb.gz");
    let profile = support::load("callbacks.xplane.pb.gz", &std::fs::read(path).unwrap()).1.remove(0);
    assert_eq!(profile.step_timing.num_steps_counted, Some(11));
    let ops = &profile.op_statistics.as_ref().unwrap().top_ops;
    for name in ["pure_callback.1", "io_callback.1"] {
        let op = ops.iter().find(|op| op.name == name).unwrap();
        assert_eq!(op.occurrences, 11, "{name}");
    }
    let finding = profile.findings.iter().find(|it| it.id == "debug_print").unwrap();
    assert!(finding.message.ends_with("(22 calls)."), "{}", finding.message);
    assert!(!profile.kernels.kernels_by_category.contains_key("other"));
}

/// The trace has six steps of 100 us on XLA's CPU backend. Each step has one callback, and an instant marks the end of
/// the callback. The last step is not counted, because its end is unknown.
#[test]
fn the_end_of_a_callback_is_no_call() {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    for step in 0..6 {
        let at = step * 100;
        for (name, start, length) in [("dot.1", at, 40), ("pure_callback.2", at + 40, 50)] {
            let event = b.event(python, name, start, length).hlo_op(name).hlo_module("jit_f").run_id(step);
            drop(event.args(|args| (args.program_id, args.device_ordinal) = (Some(7), Some(0))));
        }
        b.event(python, "end: pure_callback.2", at + 91, 1);
    }
    let run = Run { trace: b.build(), ..Default::default() };
    let window = crossprof::WindowChoice::Range { from_us: 100.0, to_us: 400.0 };
    for (settings, calls) in [(Settings::default(), 5), (Settings { window, ..Settings::default() }, 3)] {
        let profile = insight::examine(&run, &settings).profile;
        let finding = profile.findings.iter().find(|it| it.id == "debug_print").unwrap();
        assert!(finding.message.ends_with(&format!("({calls} calls).")), "{}", finding.message);
    }
}

/// Two programs run on a TPU. The file embeds one of them, and a third program that never ran.
#[test]
fn a_program_without_hlo_is_named() {
    let mut b = TraceBuilder::new();
    for step in 0..12 {
        let line = b.line("/device:TPU:0", "XLA Ops");
        for (at, module, id, length) in [(0, "jit_matmul", 8, 60), (60, "jit_scale", 7, 30)] {
            let module = b.trace_mut().strings.intern(module);
            let event = b.event(line, "fusion.1", step * 100 + at, length).hlo_category("loop fusion");
            drop(event.args(|args| (args.hlo_module, args.program_id) = (module, Some(id))));
        }
    }
    for (id, name) in [(7, "jit_scale(7)"), (9, "jit_never(9)")] {
        let name = b.trace_mut().strings.intern(name);
        b.trace_mut().hlo.push(HloProto { program_id: id, name, host: 0, bytes: pallas_program("").into() });
    }
    let run = Run { trace: b.build(), ..Default::default() };
    let profile = insight::examine(&run, &Settings::default()).profile;
    let finding = profile.findings.iter().find(|it| it.id == "no_hlo").unwrap();
    assert_eq!(finding.title, "The file contains no HLO for jit_matmul");
    // The ops of `jit_matmul` take 60 of 90 us.
    assert!(finding.message.contains("whose ops take 66.7 % of the op time"), "{}", finding.message);
    assert!(finding.remedy.contains("compile nothing for the CPU"), "{}", finding.remedy);
    assert!(!format!("{profile:?}").contains("jit_never"));
}

/// Name, thread, start and duration in microseconds.
type Span<'a> = (&'a str, u32, i64, i64);

/// Builds a trace in the format of `timeline.Timeline(run_metadata.step_stats).generate_chrome_trace_format()` in TensorFlow
/// 1.
fn tf_timeline(processes: &[(&str, &[Span<'_>])]) -> UnifiedProfile {
    let mut events = Vec::new();
    for (pid, (process, ops)) in processes.iter().enumerate() {
        events.push(format!(r#"{{"name":"process_name","ph":"M","pid":{pid},"args":{{"name":"{process}"}}}}"#));
        for (name, lane, start, length) in *ops {
            events.push(format!(
                r#"{{"ph":"X","cat":"Op","name":"{name}","pid":{pid},"tid":{lane},"ts":{},"dur":{length},"args":{{"name":"layer/{name}","op":"{name}"}}}}"#,
                1_500_000_000_000_000 + start
            ));
        }
    }
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(",\n"));
    support::load("timeline.json", text.as_bytes()).1.remove(0)
}

#[test]
fn a_timeline_of_tensorflow_1_has_its_streams() {
    let job = "/job:localhost/replica:0/task:0/device:GPU:0 Compute";
    let streams: [(&str, &[Span<'_>]); 4] = [
        (job, &[("Conv2D", 0, 0, 20), ("MatMul", 0, 30, 20)]),
        (
            "/device:GPU:0/stream:all Compute",
            &[("Conv2D", 0, 10, 100), ("MatMul", 0, 110, 50), ("MEMCPYHtoD", 1, 40, 30)],
        ),
        ("/device:GPU:0/stream:14 Compute", &[("Conv2D", 0, 10, 100), ("MatMul", 0, 110, 50)]),
        ("/device:GPU:0/memcpy Compute", &[("MEMCPYHtoD", 0, 40, 30)]),
    ];
    let copies: (&str, &[(&str, u32, i64, i64)]) = ("/device:GPU:0/stream:15 Compute", &[("MEMCPYHtoD", 0, 40, 30)]);
    let profile = tf_timeline(&[streams[0], streams[1], streams[2], streams[3], copies]);
    assert_eq!(profile.metadata.framework, "TensorFlow");
    assert_eq!((profile.metadata.platform.as_str(), profile.metadata.num_devices), ("GPU", 1));
    assert_eq!(profile.metadata.num_devices_visible, Some(1));
    let times: BTreeMap<&str, (u64, f64)> =
        profile.kernels.kernels_by_category.iter().map(|(name, it)| (name.as_str(), (it.count, it.time_us))).collect();
    assert_eq!(times, [("convolution", (1, 100.0)), ("matmul", (1, 50.0)), ("memcpy h2d", (1, 30.0))].into());
    // The device is busy from 10 to 160 us without a gap.
    let busy = profile.compute_utilization.as_ref().unwrap();
    assert_eq!((busy.kernel_time_us, busy.compute_util_percent), (150.0, 100.0));
}

/// Older versions of TensorFlow name devices differently, and may write only the combination of all streams.
#[test]
fn older_timelines_and_sums_alone_have_a_device_too() {
    let kernels: &[(&str, u32, i64, i64)] = &[("MatMul", 0, 10, 50), ("Relu", 0, 60, 20)];
    for process in [
        "/gpu:0/stream:11 Compute",
        "/gpu:0/context#0/stream#1:Kernel Compute",
        "/job:localhost/replica:0/task:0/device:GPU:0/stream:all Compute",
    ] {
        let profile = tf_timeline(&[("/cpu:0 Compute", &[("Identity", 0, 0, 5)]), (process, kernels)]);
        assert_eq!((profile.metadata.framework.as_str(), profile.metadata.num_devices), ("TensorFlow", 1), "{process}");
        assert_eq!(profile.compute_utilization.as_ref().unwrap().kernel_time_us, 70.0, "{process}");
    }
    let host = tf_timeline(&[("/job:localhost/replica:0/task:0/device:CPU:0 Compute", &[("MatMul", 0, 0, 50)])]);
    assert_eq!((host.metadata.framework.as_str(), host.metadata.num_devices), ("TensorFlow", 0));
}
