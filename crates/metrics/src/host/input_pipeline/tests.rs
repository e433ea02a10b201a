use super::section;
use crate::device::devices::Devices;
use crate::{Examined, analyse};
use report::InputPipeline;
use run::{Run, Settings};
use trace::{EventColumn, Trace, TraceBuilder};

fn of(trace: Trace) -> Option<InputPipeline> {
    let run = Run { trace, ..Run::default() };
    let Examined { analysis, .. } = analyse(&run, &Settings::default());
    analysis.input_pipeline.map(|found| section(&run.trace, &found))
}

fn limit(found: &InputPipeline) -> (&str, &str, f64) {
    (found.limiting_stage.as_deref().unwrap(), found.limiting_op.as_deref().unwrap(), found.limiting_percent.unwrap())
}

fn stages(found: &InputPipeline) -> Vec<(&str, f64, f64, u64)> {
    found.stages.iter().map(|it| (it.stage.as_str(), it.time_us, it.thread_time_us, it.count)).collect()
}

/// Two steps of 100 us: the device works for 30 us, and the main thread waits for a batch for 60 us.
fn steps(b: &mut TraceBuilder, wait: &'static str) {
    let main = b.line("/host:CPU", "python");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    for at in [0, 100] {
        b.event(main, wait, at, 60);
        b.event(main, "PjitFunction(step)", at + 60, 5);
        b.event(ops, "fusion.1", at + 70, 30);
    }
}

#[test]
fn the_thread_that_works_limits_and_the_one_that_waits_does_not() {
    let mut b = TraceBuilder::new();
    steps(&mut b, "next_batch");
    let loader = b.line("/host:CPU", "python 2");
    for at in [0, 100] {
        b.event(loader, "read", at, 40);
        b.event(loader, "decode", at + 40, 20);
        b.event(loader, "batch", at + 60, 30);
    }
    let found = of(b.build()).unwrap();
    // The window is from 70 to 200, and the main thread is in the pipeline from 100 to 160.
    assert_eq!((found.held_us, limit(&found)), (60.0, ("read", "read", 100.0 * 40.0 / 60.0)));
    assert_eq!(found.chain, ["next_batch", "read"]);
    let expected =
        [("read", 40.0, 40.0, 1), ("preprocess", 20.0, 20.0, 1), ("batch", 50.0, 50.0, 2), ("wait", 0.0, 0.0, 1)];
    assert_eq!(stages(&found), expected);
}

#[test]
fn a_range_without_stages_limits_itself() {
    let mut b = TraceBuilder::new();
    steps(&mut b, "next_batch");
    let found = of(b.build()).unwrap();
    assert_eq!(limit(&found), ("wait", "next_batch", 100.0));
}

/// One thread reads all the time. Four threads map, each for half of the time.
#[test]
fn one_busy_thread_is_slower_than_several_half_busy_ones() {
    let build = |reading: i64, mapping: i64| {
        let mut b = TraceBuilder::new();
        steps(&mut b, "Iterator::Root::Prefetch");
        let reader = b.line("/host:CPU", "tf_data_iterator/1");
        for at in (100..160).step_by(10) {
            b.event(reader, "Iterator::Root::Prefetch::ParallelMap::TFRecord", at, reading);
        }
        for thread in 0..4 {
            let mapper = b.line("/host:CPU", &format!("tf_data_private/{thread}"));
            b.event(mapper, "Iterator::Root::Prefetch::ParallelMap::Map", 100, mapping);
        }
        of(b.build()).unwrap()
    };
    let found = build(10, 30);
    assert_eq!(limit(&found), ("read", "Iterator::Root::Prefetch::ParallelMap::TFRecord", 100.0));
    let found = build(5, 54);
    assert_eq!(limit(&found), ("preprocess", "Iterator::Root::Prefetch::ParallelMap::Map", 90.0));
}

/// A parallel map reads on its own thread, and runs its functions on other threads.
#[test]
fn functions_on_other_threads_are_the_ops_work() {
    let mut b = TraceBuilder::new();
    steps(&mut b, "Iterator::Root::Prefetch");
    let producer = b.line("/host:CPU", "tf_data_iterator/1");
    let runner = b.line("/host:CPU", "tf_data_iterator/2");
    let pool = b.line("/host:CPU", "tf_data_private/1");
    b.event(producer, "PrefetchProduce", 100, 60);
    b.event(producer, "Iterator::Root::Prefetch::ParallelMapV2", 100, 60);
    b.event(runner, "ParallelMapProduce", 100, 20);
    b.event(runner, "Iterator::Root::Prefetch::ParallelMapV2::TFRecord", 100, 10);
    b.event(runner, "InstantiatedCapturedFunction::RunAsync", 112, 2).value(EventColumn::FunctionId, 7);
    b.event(pool, "ExecutorState::Process", 115, 45).value(EventColumn::FunctionId, 7);
    let found = of(b.build()).unwrap();
    assert_eq!(limit(&found), ("preprocess", "Iterator::Root::Prefetch::ParallelMapV2", 75.0));
    assert_eq!(found.chain, ["Root::Prefetch", "ParallelMapV2", "TFRecord"].map(|it| it.trim_start_matches("Root::")));
    let map = found.ops.iter().find(|op| op.name.ends_with("ParallelMapV2")).unwrap();
    // The function's time is not part of the op's own events.
    assert_eq!((map.count, map.total_time_us, map.self_time_us, map.threads), (1, 60.0, 60.0, 2));
}

#[test]
fn grain_names_its_stages() {
    let mut b = TraceBuilder::new();
    steps(&mut b, "next_batch");
    let [stage, data, read] = ["PrefetchDatasetIterator(n=2) object at 0x7f00", "MapDataset(f)", "Source()"]
        .map(|text| b.trace_mut().strings.intern(text));
    let [prefetch, preprocessing, reading] =
        ["prefetch", "preprocessing", "read"].map(|text| b.trace_mut().strings.intern(text));
    let main = b.line("/host:CPU", "python");
    let worker = b.line("/host:CPU", "python 2");
    b.event(main, "PrefetchDatasetIterator.__next__", 101, 58)
        .args(|args| (args.input_stage, args.input_category) = (stage, prefetch));
    b.event(worker, "Prefetch._getitem", 100, 60)
        .args(|args| (args.input_dataset, args.input_stage, args.input_category) = (data, stage, preprocessing));
    b.event(worker, "SourceMapDataset.__getitem__", 100, 10)
        .args(|args| (args.input_stage, args.input_category) = (read, reading));
    let found = of(b.build()).unwrap();
    assert_eq!(limit(&found), ("preprocess", "Prefetch._getitem", 100.0 * 50.0 / 60.0));
    let details: Vec<Option<&str>> = found.ops.iter().map(|op| op.detail.as_deref()).collect();
    assert!(details.contains(&Some("MapDataset(f)")) && details.contains(&Some("PrefetchDatasetIterator(n=2)")));
}

#[test]
fn a_trace_without_spans_has_no_pipeline() {
    let mut b = TraceBuilder::new();
    let main = b.line("/host:CPU", "python");
    let ops = b.line("/device:TPU:0", "XLA Ops");
    b.event(main, "DevicePutWithSharding", 0, 10);
    b.event(main, "train", 0, 50);
    b.event(ops, "fusion.1", 0, 30);
    let trace = b.build();
    assert!(Devices::of(&trace).capture.is_some());
    assert_eq!(of(trace), None);
}

#[test]
fn spans_of_many_names_and_spans_inside_each_other_have_a_chain() {
    let mut b = TraceBuilder::new();
    steps(&mut b, "next_batch");
    let main = b.line("/host:CPU", "python");
    b.event(main, "preprocess", 101, 50);
    b.event(main, "read", 102, 30);
    b.event(main, "preprocess", 103, 10);
    let found = of(b.build()).unwrap();
    assert_eq!(found.chain, ["next_batch", "preprocess", "read"]);

    // Each example has its own name, and ranges are nested. The test takes seconds if each op is compared with all others.
    let mut b = TraceBuilder::new();
    let (main, ops) = (b.line("/host:CPU", "python"), b.line("/device:TPU:0", "XLA Ops"));
    let many = 20_000;
    for at in 0..many {
        b.event(main, &format!("read_example {at}"), at, 2 * many - 2 * at);
        b.event(main, &format!("read_batch {at}"), 3 * many + 10 * at, 1);
    }
    b.event(ops, "fusion.1", 0, 20 * many);
    let found = of(b.build()).unwrap();
    assert_eq!((found.ops.len(), found.chain.len()), (50, 50));
    let ends = [found.chain.first(), found.chain.last()].map(|name| name.map(String::as_str));
    assert_eq!(ends, [Some("read_example 0"), Some("read_example 49")]);
}
