//! Reproduces problems of public PyTorch captures in small Kineto files. The expected values are counted by hand.

use crate::support;
use crossprof::UnifiedProfile;

/// Text of a Kineto file before its first event.
const HEAD: &str = r#"{"schemaVersion":1,"traceName":"t.json","deviceProperties":[],"traceEvents":["#;

fn event(cat: &str, name: &str, (pid, tid): (&str, &str), (ts, dur): (u64, u64), args: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
    )
}

fn on_host(cat: &str, name: &str, at: (u64, u64), args: &str) -> String {
    event(cat, name, ("77", "77"), at, args)
}

fn on_stream(cat: &str, name: &str, stream: u64, at: (u64, u64), correlation: u64) -> String {
    let args = format!(r#""device":0,"stream":{stream},"correlation":{correlation}"#);
    event(cat, name, ("0", &stream.to_string()), at, &args)
}

fn call(name: &str, at: (u64, u64), correlation: u64) -> String {
    on_host("cuda_runtime", name, at, &format!(r#""correlation":{correlation}"#))
}

/// Returns the span of the capture itself, which every Kineto file has.
fn recorder() -> String {
    event("Trace", "PyTorch Profiler (0)", (r#""Spans""#, r#""PyTorch Profiler""#), (0, 20_000), "")
}

fn profile(events: &[String]) -> UnifiedProfile {
    let text = format!("{HEAD}{}]}}", events.join(","));
    let (result, mut profiles) = support::load("t.pt.trace.json", text.as_bytes());
    assert_eq!(result.error, None);
    profiles.remove(0)
}

/// ```text
///             0   80 120    160                      9000
/// host             [launch 2) [copy 3: waits for the device )
/// stream 2    [k1 )
/// stream 3                                            [k2 )[copy 3)    held up by another stream's work
/// ```
#[test]
fn a_kernel_that_waits_long_after_its_launch_does_not_wait_for_the_host() {
    let profile = profile(&[
        recorder(),
        call("hipLaunchKernel", (70, 5), 1),
        call("hipLaunchKernel", (120, 5), 2),
        call("hipMemcpyWithStream", (160, 8900), 3),
        on_stream("kernel", "arange", 2, (80, 5), 1),
        on_stream("kernel", "resolve", 3, (9000, 10), 2),
        on_stream("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 3, (9010, 5), 3),
    ]);
    let parts = &profile.step_breakdown.as_ref().unwrap().parts;
    // The gap is from 85 to 9,000: 40 us until the call has ended, then 8,875 us in which the launched kernel waits.
    assert_eq!((parts.host_bound_us, parts.kernel_wait_us, parts.other_idle_us), (Some(40.0), Some(0.0), 8875.0));
}

/// A kernel that starts immediately after a late launch has waited for the host.
#[test]
fn a_kernel_that_starts_after_its_late_launch_waited_for_the_host() {
    let profile = profile(&[
        recorder(),
        call("cudaLaunchKernel", (70, 5), 1),
        call("cudaLaunchKernel", (8900, 5), 2),
        on_stream("kernel", "first", 7, (80, 5), 1),
        on_stream("kernel", "second", 7, (9000, 10), 2),
    ]);
    let parts = &profile.step_breakdown.as_ref().unwrap().parts;
    assert_eq!((parts.host_bound_us, parts.other_idle_us), (Some(8915.0), 0.0));
}

/// In a capture with `torch.profiler`'s CUDA synchronisation events, streams contain `Stream Sync` and `Context Sync`.
#[test]
fn no_more_ops_have_calls_than_there_are() {
    let profile = profile(&[
        recorder(),
        call("cudaLaunchKernel", (70, 5), 1),
        call("cudaStreamSynchronize", (90, 50), 2),
        call("cudaDeviceSynchronize", (200, 50), 3),
        on_stream("kernel", "gemm", 7, (80, 40), 1),
        on_stream("cuda_sync", "Stream Sync", 7, (90, 48), 2),
        on_stream("cuda_sync", "Context Sync", 7, (201, 48), 3),
    ]);
    let launches = profile.launches.as_ref().unwrap();
    assert_eq!((launches.count, launches.device_op_count, launches.joined_op_count), (1, 1, 1));
}

#[test]
fn a_capture_without_device_ops_is_advised_in_the_words_of_its_framework() {
    let profile = profile(&[
        recorder(),
        on_host("user_annotation", "ProfilerStep#5", (0, 10_000), ""),
        on_host("cpu_op", "aten::mm", (10, 500), r#""External id":3"#),
        on_host("cpu_op", "aten::add", (600, 500), r#""External id":4"#),
    ]);
    let warning = profile.warnings.iter().find(|warning| warning.code == "no_device_ops").unwrap();
    let finding = profile.findings.iter().find(|finding| finding.id == "no_device_ops").unwrap();
    for text in [warning.remedy.as_deref().unwrap(), finding.remedy.as_str()] {
        assert!(text.contains("ProfilerActivity.CUDA") && !text.contains("jax"), "{text}");
    }
    // The profiler's own span is not treated as a process that was always busy.
    assert_eq!(profile.other_devices, Vec::new());
}

/// Meta's MTIA is an accelerator for which crossprof has no rules, but it must not be treated as a host process.
#[test]
fn an_mtia_is_an_accelerator() {
    let mtia = ("9", "9");
    let profile = profile(&[
        recorder(),
        r#"{"ph":"M","name":"process_name","pid":9,"tid":0,"args":{"name":"MTIA 9"}}"#.to_owned(),
        on_host("cpu_op", "aten::mm", (10, 500), r#""External id":3"#),
        event("mtia_ccp_events", "fc-dtype_Float", mtia, (100, 300), ""),
        event("mtia_ccp_events", "dma_request", mtia, (500, 100), ""),
    ]);
    let others: Vec<_> =
        profile.other_devices.iter().map(|it| (it.name.as_str(), it.kind.as_str(), it.busy_time_us)).collect();
    assert_eq!(others, [("MTIA 9", "accelerator", 400.0)]);
}
