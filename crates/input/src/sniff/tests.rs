use super::*;

fn whole(bytes: &[u8]) -> Format {
    sniff(bytes, true).expect("a complete file has a known kind")
}

/// Returns the kind of file that the error message names.
fn said(bytes: &[u8]) -> String {
    match whole(bytes) {
        Format::Other(error) => error.to_string(),
        Format::Derived(reason) => reason,
        Format::Log => "plain text".to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn containers() {
    assert_eq!(whole(b""), Format::Empty);
    assert_eq!(sniff(b"", false), None);
    assert_eq!(whole(b"\x1f\x8b\x08\0\0\0\0\0\0\x03"), Format::Gzip);
    assert_eq!(whole(b"PK\x03\x04 and so on"), Format::Zip);
    assert_eq!(whole(b"PK\x05\x06 empty"), Format::Zip);
}

#[test]
fn traces_as_objects_and_lists() {
    for text in [
        "{\"traceEvents\":[",
        "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},",
        "\u{feff} \r\n\t{ \"traceEvents\" : []}",
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0}],\"traceEvents\":[",
        "{\"metadata\":{\"a\":\"}\\\"\",\"b\":[[{}]]},\"traceEvents\":[",
        "[{\"ph\":\"X\",",
        "[ {\"name\":\"process_name\",\"ph\":\"M\"",
        "[{},{\"args\":{},\"ts\":1",
        "[]",
        "[",
    ] {
        assert_eq!(whole(text.as_bytes()), Format::TraceJson, "{text}");
    }
}

#[test]
fn only_outermost_keys_count() {
    let text = b"{\"name\":\"traceEvents\",\"inner\":{\"traceEvents\":[]},\"list\":[{\"step_timing\":1}]}";
    assert!(
        said(text).contains("a JSON object without trace events (it has \"name\", \"inner\", \"list\")"),
        "{}",
        said(text)
    );
}

#[test]
fn undecided_json_needs_more_bytes() {
    assert_eq!(sniff(b"{\"metadata\":{\"a\":", false), None);
    assert_eq!(sniff(b"{", false), None);
    assert_eq!(sniff(b"[{\"name\":\"", false), None);
    assert_eq!(sniff(b"{\"metadata\":{},\"otherData\":{},\"traceEvents\":", false), Some(Format::TraceJson));
}

#[test]
fn documents() {
    for (text, format) in [
        ("{\"metadata\":{\"platform\":\"TPU\"},\"step_timing\":{", Format::UnifiedProfile),
        ("{\"metadata\":{\"profiler_version\":\"1.0.0\"}}", Format::UnifiedProfile),
        ("{\"compute_utilization\":{}}", Format::UnifiedProfile),
        ("<!DOCTYPE html>\n<html>\n<meta name=\"crossprof-report\" content=\"1\">", Format::Report),
        ("[{\"metadata\":{\"ph\":1},\"step_timing\":{", Format::UnifiedProfile),
        ("{\"batch_size\":1,\"a\":{\"execution_time\":45.2}}", Format::UnifiedProfile),
        ("{\"architectures\":[\"GemmaForCausalLM\"]", Format::HuggingFaceConfig),
        ("{\"n_embd\":768}", Format::HuggingFaceConfig),
        ("{\"batch_size\":16,\"seq_length\":128}", Format::Sidecar),
    ] {
        assert_eq!(whole(text.as_bytes()), format, "{text}");
    }
}

#[test]
fn files_next_to_profiles_are_ignored() {
    for bytes in [
        &b"{\"memoryProfilePerAllocator\":{}}"[..],
        b"[{\"cols\":[{\"id\":\"rank\"}]}]",
        b"{\"byProgram\":{}}",
        b"\0\x05\x16\x07\0\x02\0\0Mac OS X",
    ] {
        assert!(matches!(whole(bytes), Format::Derived(_)), "{:?}", whole(bytes));
    }
}

#[test]
fn compiled_programs() {
    for text in [
        "HloModule jit_f, is_scheduled=true\n",
        "BufferAssignment:\nallocation 0: size 4, constant:\n",
        "HloLiveRange (max 3):\n",
    ] {
        assert_eq!(whole(text.as_bytes()), Format::Program, "{text}");
    }
    assert!(matches!(whole(b"Memory Space: default (color=0)\nTotal bytes: 4 (4B)\n"), Format::Derived(_)));
    assert_eq!(whole(b"\x0a\x12\x0a\x05jit_f\x12\x06main.1\x1a\x01\x00"), Format::Program);
}

#[test]
fn other_files_are_named() {
    for (bytes, what) in [
        (&b"<!DOCTYPE HTML><title>404"[..], "an HTML page"),
        (b"\xef\xbb\xbf\n<html>not found</html>", "an HTML page"),
        (b"<?xml version=\"1.0\"?>", "an XML file"),
        (b"SQLite format 3\0\x10", "an SQLite database"),
        (b"\xfb)\x03\xfa\x03a.py", "a profile of Python functions (cProfile)"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\x28\xb5\x2f\xfd\x04", "A Zstandard file cannot be read. Unpack it"),
        (b"\x1f\xef\xbf\xbd\x08\x08", "a gzip file that was decoded as text"),
        (b"\xff\xfe{\0\"\0", "text in UTF-16"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (b"module attributes {stable_mosaic.version = 1 : i64} {\n", "MLIR"),
        (b"#loc1 = loc(\"x\")\nmodule @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n", "MLIR"),
        (b"\"builtin.module\"() <{sym_name = \"jit_f\"}> ({", "MLIR"),
        (b"= control target key start\nLH: loop header\n", "LLO"),
        (b"module @jit_f attributes {", "MLIR"),
        (b"\"Index\",\"KernelName\",\"gpu-id\"\n", "rocprof"),
        (b"{\"rocprofiler-sdk-tool\": [{}]}", "rocprofv3"),
        (b"\x0a\x04\x40\x05\x50\x01\x0a\x02\x50\x02", "a Perfetto trace"),
        (b"step,time\n1,2\n", "plain text"),
        (b" \n\t ", "only white space"),
        (b"\x01\x02\x03\x04\xfe", "an unknown binary file"),
        (b"[1,2,3]", "a JSON list"),
        (b"{}", "a JSON object without trace events"),
        (b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"", "a speedscope profile"),
    ] {
        assert!(said(bytes).contains(what), "{what}: {}", said(bytes));
    }
}

#[test]
fn protobufs() {
    assert_eq!(whole(b"\x0a\x0b\x12\x09/host:CPU"), Format::XSpace);
    // Two sample types (objects/count, space/bytes) and a sample.
    assert_eq!(whole(b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x02\x0a\x00"), Format::MemoryProfile);
}

#[test]
fn long_keys_are_shortened() {
    let text = format!("{{\"{}\":1}}", "k".repeat(1_000_000));
    assert!(said(text.as_bytes()).len() < 400);
}

#[test]
fn deep_nesting_is_safe() {
    let text = format!("{{\"a\":{}", "[".repeat(100_000));
    assert_eq!(sniff(text.as_bytes(), false), None);
    assert!(said(text.as_bytes()).contains("a JSON object"));
}
