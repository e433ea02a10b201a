//! Reads JSON traces with the peculiarities of other programs, taken from public reports: ids, event pairs, Windows
//! paths, lists without categories, device vendors. The expected values are counted by hand.

use crate::support::{load, samples};
use crossprof::input::ChromeJsonDecoder;
use crossprof::trace::{PlaneKind, Trace};
use crossprof::{UnifiedProfile, WarningCode};

/// Decodes a text as a trace. The trace must not depend on the sizes of the chunks.
fn trace(text: &str) -> Trace {
    let read = |chunk: usize| {
        let mut decoder = ChromeJsonDecoder::new("trace.json");
        text.as_bytes().chunks(chunk).for_each(|piece| decoder.push(piece).unwrap());
        decoder.finish().unwrap()
    };
    let whole = read(text.len());
    for chunk in [1, 7, 64] {
        assert_eq!(spans(&read(chunk)), spans(&whole), "chunks of {chunk}");
    }
    whole
}

/// Returns the names of events with their durations in microseconds, in file order.
fn spans(trace: &Trace) -> Vec<(String, f64)> {
    trace.events.iter().map(|event| (trace.text(event.name).to_owned(), event.duration.as_us())).collect()
}

fn duration(trace: &Trace, name: &str) -> f64 {
    let found: Vec<f64> = spans(trace).into_iter().filter(|(it, _)| it == name).map(|(_, us)| us).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0]
}

/// Returns the numbers and names of the devices.
fn devices(trace: &Trace) -> Vec<(u32, String)> {
    let device = |plane: &crossprof::trace::Plane| match plane.kind {
        PlaneKind::Device { ordinal, .. } => Some((ordinal, trace.text(plane.name).to_owned())),
        _ => None,
    };
    trace.planes.iter().filter_map(device).collect()
}

fn profile(text: &str) -> UnifiedProfile {
    let (result, profiles) = load("trace.json", text.as_bytes());
    assert_eq!(result.error, None, "{text}");
    profiles.into_iter().next().unwrap()
}

fn complete(name: &str, cat: &str, [pid, tid]: [&str; 2], [ts, dur]: [u64; 2], args: &str) -> String {
    format!(
        r#"{{"ph":"X","name":"{name}","cat":"{cat}","ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"args":{{{args}}}}}"#
    )
}

#[test]
fn long_process_ids_are_names_of_processes() {
    let kernel = |pid: &str, dur| complete("op", "kernel", [pid, "1"], [1, dur], "");
    let text = format!(
        r#"{{"traceEvents":[{{"ph":"M","name":"process_name","pid":7168000000,"args":{{"name":"big"}}}},{},{}]}}"#,
        kernel("7168000000", 5),
        kernel("7168000001", 7)
    );
    let expected = [(0, "big".to_owned()), (1, "process 7168000001".to_owned())];
    assert_eq!(devices(&trace(&text)), expected);
    assert_eq!(profile(&text).metadata.num_devices, 2);
    // Negative ids and words are not device numbers. Numbered devices keep their numbers.
    let text = format!("[{},{},{}]", kernel("-5", 5), kernel("\"worker a\"", 7), kernel("0", 9));
    let found = devices(&trace(&text));
    assert_eq!(found, [(1, "process -5".to_owned()), (2, "worker a".to_owned()), (0, "GPU 0".to_owned())]);
    // The argument determines the device, whatever the name of the process.
    let text = format!("[{}]", complete("op", "kernel", ["7168000000", "1"], [1, 5], "\"device\":3"));
    assert_eq!(devices(&trace(&text))[0].0, 3);
}

fn pair(phase: char, name: &str, ts: u64) -> String {
    format!(r#"{{"ph":"{phase}","name":"{name}","pid":2,"tid":14,"ts":{ts}}}"#)
}

#[test]
fn pairs_that_overlap_are_closed_by_their_names() {
    let events = [
        pair('B', "Event1", 100),
        pair('E', "Event1", 200),
        pair('B', "Event2", 200),
        pair('B', "Event3", 280),
        pair('E', "Event2", 300),
        pair('E', "Event3", 350),
        pair('B', "Event4", 360),
        pair('E', "Event4", 400),
    ];
    let found = trace(&format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")));
    for (name, us) in [("Event1", 100.0), ("Event2", 100.0), ("Event3", 70.0), ("Event4", 40.0)] {
        assert_eq!(duration(&found, name), us, "{name}");
    }
    let said = found.warnings.iter().find(|it| it.is(WarningCode::OverlappingPairs)).unwrap();
    assert_eq!(said.count, Some(1));
    // A stack with one name, and ends without a name, close the innermost event.
    let nested = [pair('B', "f", 0), pair('B', "f", 10), pair('E', "f", 20), pair('E', "", 100)];
    let found = trace(&format!("[{}]", nested.join(",")));
    assert_eq!(spans(&found), [("f".to_owned(), 10.0), ("f".to_owned(), 100.0)]);
    assert!(!found.warnings.iter().any(|it| it.is(WarningCode::OverlappingPairs)));
    // A lost end affects only its own event.
    let lost = [pair('B', "outer", 0), pair('B', "inner", 10), pair('E', "outer", 100)];
    let found = trace(&format!("[{}]", lost.join(",")));
    assert_eq!(spans(&found), [("outer".to_owned(), 100.0)]);
    assert!(found.warnings.iter().any(|it| it.is(WarningCode::UnmatchedBegin)));
}

#[test]
fn traces_before_kineto_have_devices() {
    let event = |name: &str, pid: &str, tid: u64, ts: u64, dur: u64| {
        format!(r#"{{"name":"{name}","ph":"X","ts":{ts},"dur":{dur},"tid":{tid},"pid":"{pid} functions","args":{{}}}}"#)
    };
    let calls = (0..5).map(|index| event("aten::mul", "CPU", 1, 633 + 50 * index, 5));
    let kernels = (0..5).map(|index| event("mul_kernel", "CUDA", 0, 640 + 50 * index, 9));
    let text = format!("[{}]", calls.chain(kernels).collect::<Vec<_>>().join(","));
    assert_eq!(devices(&trace(&text)), [(0, "GPU 0".to_owned())]);
    let found = profile(&text);
    assert_eq!((found.metadata.framework.as_str(), found.metadata.num_devices), ("PyTorch", 1));
    let kernel = &found.kernels.top_kernels[0];
    assert_eq!((kernel.name.as_str(), kernel.count, kernel.total_us), ("mul_kernel", 5, 45.0));
    // The thread is the device.
    let text = format!("[{},{}]", event("k", "CUDA", 1, 10, 9), event("k", "CUDA", 3, 10, 9));
    assert_eq!(devices(&trace(&text)), [(1, "GPU 1".to_owned()), (3, "GPU 3".to_owned())]);
}

#[test]
fn paths_of_windows_are_kept_and_cost_no_event() {
    let event = |name: &str, ts: u64| complete(name, "python_function", ["1", "1"], [ts, 10], "");
    let names = [
        r"torch\utils\data\dataloader.py(63): x",
        r"C:\Users\me\torch\nn\modules\batchnorm.py(5): f",
        r"D:\proj\",
        r"torch\nn\functional.py(7): relu",
        r"aten::add",
        r"E:\last\",
    ];
    let events: Vec<String> = names.iter().zip(0..).map(|(name, index)| event(name, 10 + 20 * index)).collect();
    let found = trace(&format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(",")));
    let expected: Vec<(String, f64)> = names.iter().map(|name| ((*name).to_owned(), 10.0)).collect();
    assert_eq!(spans(&found), expected);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    // The name may also come last, and before the end of the file. Valid escapes are kept.
    let last = r#"[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"say \"hi\", C:\\a\n"},{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"D:\x\"}]"#;
    assert_eq!(spans(&trace(last)), [("say \"hi\", C:\\a\n".to_owned(), 2.0), (r"D:\x\".to_owned(), 2.0)]);
}

/// Returns a PyTorch trace with these devices, kernels on one device, and runtime calls.
fn pytorch(properties: &str, device: u32, launch: &str, kernel: &str) -> String {
    let step = |index: u64| {
        let correlation = format!("\"correlation\":{index}");
        let on_device = format!("{correlation},\"device\":{device},\"stream\":7");
        let call = complete(launch, "cuda_runtime", ["10", "10"], [1000 * index + 110, 6], &correlation);
        let pid = device.to_string();
        [call, complete(kernel, "kernel", [&pid, "7"], [1000 * index + 130, 700], &on_device)]
    };
    let events: Vec<String> = (0..5).flat_map(step).collect();
    format!(r#"{{"schemaVersion":1,"deviceProperties":[{properties}],"traceEvents":[{}]}}"#, events.join(","))
}

const CIJK: &str = "Cijk_Alik_Bljk_BBS_BH_MT32x32x256_ISA942";

#[test]
fn devices_of_hip_are_never_of_nvidia() {
    let nameless = |minor: u32, more: &str| {
        format!(r#"{{"id":0,"name":"","totalGlobalMem":206141652992,"computeMajor":9,"computeMinor":{minor}{more}}}"#)
    };
    let kind = |text: &str| profile(text).metadata.device_type;
    assert_eq!(kind(&pytorch(&nameless(4, r#","warpSize":64"#), 0, "hipLaunchKernel", CIJK)), "AMD GPU gfx942");
    assert_eq!(kind(&pytorch(&nameless(5, ""), 0, "hipModuleLaunchKernel", "kernel_a")), "AMD GPU gfx950");
    // Without calls, the wave width, the kernels or the compute capability identify the vendor.
    for (properties, kernel) in
        [(nameless(4, r#","warpSize":64"#), "k"), (nameless(4, ""), CIJK), (nameless(4, ""), "k")]
    {
        assert_eq!(kind(&pytorch(&properties, 0, "call", kernel)), "AMD GPU gfx942");
    }
    let radeon = r#"{"id":0,"name":"","computeMajor":11,"computeMinor":0,"warpSize":32}"#;
    assert_eq!(kind(&pytorch(radeon, 0, "hipExtModuleLaunchKernel", "k")), "AMD GPU (compute capability 11.0)");
    assert!(kind(&pytorch(&nameless(0, ""), 0, "cudaLaunchKernel", "k")).starts_with("NVIDIA GPU (Hopper"));
}

#[test]
fn an_unlisted_device_has_the_kind_of_all_others() {
    let device = |id: u32, name: &str| format!(r#"{{"id":{id},"name":"{name}","totalGlobalMem":206141652992}}"#);
    let kind = |properties: &str| profile(&pytorch(properties, 9, "hipLaunchKernel", CIJK)).metadata.device_type;
    let mi300x = "AMD Instinct MI300X";
    assert_eq!(kind(&device(0, mi300x)), mi300x);
    assert_eq!(kind(&[device(0, mi300x), device(1, mi300x)].join(",")), mi300x);
    assert_eq!(kind(&[device(0, mi300x), device(1, "AMD Instinct MI250X")].join(",")), "GPU", "which one is unknown");
}

#[test]
fn an_ambiguous_device_name_states_the_assumed_product() {
    let device = |more: &str| format!(r#"{{"id":0,"name":"NVIDIA H100"{more}}}"#);
    let found = profile(&pytorch(&device(""), 0, "cudaLaunchKernel", "k"));
    let roofline = found.roofline.as_ref().unwrap();
    assert_eq!(roofline.device, "NVIDIA H100 (assumed: H100 SXM, not H100 NVL or H100 PCIe)");
    assert!(found.warnings.iter().any(|it| it.message.contains("H100 SXM")), "{:?}", found.warnings);
    let stated =
        profile(&pytorch(&device(r#","numSms":114,"totalGlobalMem":85028110336"#), 0, "cudaLaunchKernel", "k"));
    assert_eq!(stated.roofline.as_ref().unwrap().device_key.as_deref(), Some("h100-pcie"));
    let radeon = profile(&pytorch(r#"{"id":0,"name":"AMD Radeon 8060S"}"#, 0, "hipLaunchKernel", "k"));
    assert_eq!(radeon.roofline.as_ref().unwrap().device_key.as_deref(), Some("radeon-8060s"));
}

/// A file that contains a compiled program as text is read.
#[test]
#[ignore = "reads real profiles"]
fn programs_as_text_are_read() {
    let folder = samples::traces().join("../cases/hlo-text");
    let paths = samples::files(&folder, &[".hlo.gz"]);
    assert_eq!(paths.len(), 2, "{}", folder.display());
    for path in paths {
        let mut session = crossprof::Session::new();
        let file = session.begin(&path.to_string_lossy(), None);
        session.push(file, &std::fs::read(&path).unwrap());
        assert_eq!(session.finish(file).error, None);
        assert_eq!(session.runs().len(), 1);
    }
}
