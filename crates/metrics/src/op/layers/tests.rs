use super::*;
use crate::device::devices::Devices;
use crate::op::ops::Tallies;
use hlo::Modules;
use trace::TraceBuilder;

/// Builds a model with four layers of 10 µs and one of 16 µs. Each layer has a forward and a backward op. There is also
/// an update, an op without a scope, and an op without a path.
fn model() -> Trace {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    let mut at = 0;
    let mut op = |name: &str, path: &str, source: &str, us: i64| {
        let source = b.trace_mut().strings.intern(source);
        let event = b.event(line, name, at, us).hlo_category("loop fusion").hlo_module("jit_step(7)").tf_op(path);
        event.args(|args| (args.source, args.flops) = (source, Some(100)));
        at += us;
    };
    for layer in 0..5 {
        let us = if layer == 3 { 8 } else { 5 };
        let forward = format!("jit(step)/jvp(layer_{layer})/attn/dot_general");
        let backward = format!("jit(step)/transpose(jvp(layer_{layer}))/attn/dot_general");
        op(&format!("fusion.{layer}"), &forward, "model.py:7", us);
        op(&format!("fusion.{}", 10 + layer), &backward, "model.py:7", us);
    }
    op("fusion.20", "jit(step)/optimizer/mul", "train.py:9", 4);
    op("fusion.21", "jit(step)/add", "train.py:9", 3);
    op("copy.22", "", "", 2);
    b.build()
}

fn layers(trace: &Trace, grouping: LayerGrouping) -> (Ops, Layers) {
    let devices = Devices::of(trace);
    let ops = Ops::new(trace, &devices, &Tallies::new(trace, &devices), &Modules::new(trace));
    let layers = Layers::new(trace, &ops, &Collectives::default(), grouping, &|_| Some("HBM"));
    (ops, layers)
}

fn times(layers: &Layers) -> Vec<(String, i64)> {
    let time = |at: usize| layers.rows[at].self_time.as_ps() / 1_000_000;
    (0..layers.rows.len()).map(|at| (layers.path(at), time(at))).collect()
}

fn expected(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|&(path, us)| (path.to_owned(), us)).collect()
}

#[test]
fn equal_layers_are_one() {
    let (ops, found) = layers(&model(), LayerGrouping::Layer);
    let rows = [
        ("", 65),
        ("jit_step", 65),
        ("jit_step/layer_*", 56),
        ("jit_step/layer_*/attn", 56),
        ("jit_step/layer_*/attn/dot_general", 56),
        ("jit_step/optimizer", 4),
        ("jit_step/optimizer/mul", 4),
        ("jit_step/no name scope", 3),
        ("jit_step/no name scope/add", 3),
        ("jit_step/no framework op", 2),
    ];
    assert_eq!(times(&found), expected(&rows));
    let layer = &found.rows[2];
    let members = layer.members.as_ref().unwrap();
    let slowest = members.slowest.as_ref().unwrap();
    assert_eq!((members.count, slowest.name.as_str(), slowest.ratio()), (5, "layer_3", Some(1.6)));
    assert_eq!(found.rows[3].members.as_ref().and_then(|it| it.slowest.as_ref()).unwrap().name, "layer_3/attn");
    assert_eq!((layer.flops, layer.ops, layer.bound_by()), (Some(1000.0), 10, Some("HBM")));
    assert_eq!(found.without_scope().as_us(), 5.0);
    let section = section(&ops, &found).unwrap();
    let phases: Vec<_> = section.phases.iter().map(|it| (it.phase.key(), it.self_time_us)).collect();
    assert_eq!(phases, [("forward", 28.0), ("backward", 28.0), ("recomputed", 0.0), ("update", 4.0), ("other", 5.0)]);
    assert_eq!(section.layers[1].path, "jit_step/layer_*");
}

#[test]
fn each_layer_is_alone() {
    let (_, found) = layers(&model(), LayerGrouping::EachLayer);
    let found = times(&found);
    assert_eq!(found[2], ("jit_step/layer_3".to_owned(), 16));
    assert_eq!(found.iter().filter(|(path, us)| path.starts_with("jit_step/layer_") && *us == 10).count(), 12);
}

#[test]
fn a_phase_contains_the_layers() {
    let (_, found) = layers(&model(), LayerGrouping::Phase);
    let top: Vec<_> = times(&found).into_iter().filter(|(path, _)| !path.is_empty() && !path.contains('/')).collect();
    assert_eq!(top, expected(&[("backward", 28), ("forward", 28), ("other", 5), ("update", 4)]));
}

#[test]
fn a_file_contains_its_lines() {
    let (_, found) = layers(&model(), LayerGrouping::Source);
    let rows = [
        ("", 65),
        ("model.py", 56),
        ("model.py/model.py:7", 56),
        ("train.py", 7),
        ("train.py/train.py:9", 7),
        ("unknown source", 2),
    ];
    assert_eq!(times(&found), expected(&rows));
}

#[test]
fn layers_of_different_sizes_are_not_compared() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    for (number, flops) in [(0, 100), (1, 900), (2, 50), (3, 400), (4, 7000)] {
        let path = format!("jit(f)/Dense_{number}/dot_general");
        b.event(line, &format!("fusion.{number}"), 10 * number, 2 + number)
            .tf_op(&path)
            .args(|args| args.flops = Some(flops));
    }
    let (_, found) = layers(&b.build(), LayerGrouping::Layer);
    let members = found.rows[2].members.as_ref().unwrap();
    assert_eq!((members.count, &members.slowest), (5, &None));
}

#[test]
fn ops_without_paths_have_no_section() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    b.event(line, "fusion.1", 0, 10);
    let (ops, found) = layers(&b.build(), LayerGrouping::Layer);
    assert_eq!(section(&ops, &found), None);
}
