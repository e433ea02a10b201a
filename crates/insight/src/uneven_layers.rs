//! One of several layers that do the same work takes longer than the others.
//!
//! Numbered layers (`layer_0`, `layer_1`, ...) do the same work if their known FLOPs are within 5 % of the median. The
//! rule fires if at least four layers do the same work, the slowest of them takes at least 20 % more time than the
//! median, and the difference is at least 1 % of the op time (our limits: less is noise, or not worth a search). On a
//! CPU, where other programs take time from ops, the difference must be at least 5 % of the op time. The finding names
//! the innermost part of the layer that accounts for at least 80 % of the difference. Layers that mostly communicate
//! are not compared, because a collective waits for the slowest device. Severity: note, or a warning if the difference
//! reaches 10 % of the window (JAX guide, overheads). Confidence: medium, because the first and the last layer of a
//! model often prepare or reduce data as well. Remedy: compare the layer's ops with the ops of another layer. The rule
//! is skipped if the paths of ops are unknown.

use super::draft::{Draft, lacks};
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT, UNEVEN_LAYER_PERCENT, UNEVEN_OF_OPS_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, LayerTime, View};
use trace::Platform;

pub(super) static RULE: Rule =
    Rule { id: "uneven_layers", title: "One layer is slower", needs: Needs::AllOps, ..Rule::checked_by(check) };

/// The finding names a part of the layer if this part accounts for at least this share of the layer's excess time.
/// Otherwise, several parts are slow.
const MOST_OF_EXCESS: f64 = 0.8;

/// Layers are not compared if exposed communication takes more than this share of their time, because such layers
/// mostly wait.
const MOST_EXPOSED: f64 = 0.5;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(section) = &numbers.profile.layers else {
        return lacks("no op has a framework path, so layers are unknown.");
    };
    let uneven = section.layers.iter().filter_map(|layer| Some((layer, excess(layer)?)));
    let largest = uneven.clone().max_by(|a, b| a.1.total_cmp(&b.1));
    let is_cpu = numbers.platform == Some(Platform::Cpu);
    let least = if is_cpu { OVERHEAD_NOTED_PERCENT } else { UNEVEN_OF_OPS_PERCENT };
    let Some((outer, most)) = largest.filter(|(_, excess)| *excess >= least) else {
        return Verdict::Fine;
    };
    let is_part =
        |(layer, excess): &(&LayerTime, f64)| layer.path.starts_with(&outer.path) && *excess >= MOST_OF_EXCESS * most;
    let parts = uneven.filter(is_part);
    let (layer, excess) = parts.max_by_key(|(layer, _)| layer.path.matches('/').count()).unwrap_or((outer, most));
    let percent = 100.0 * (layer.slowest_ratio.unwrap_or(1.0) - 1.0);
    let name = layer.slowest_member.as_deref().map(format::printable).unwrap_or_default();
    let of_window = numbers.of_window(excess);
    let severity = if of_window < OVERHEAD_PERCENT.good { FindingSeverity::Note } else { FindingSeverity::Warning };
    let message = format!(
        "{} layers have the path {}. {name} takes {} more time than the median layer with the same FLOPs. The difference is \
         {} of the op time.",
        format::count(layer.members),
        format::printable(&layer.path),
        format::percent(percent),
        format::percent(excess)
    );
    let title = format!("{name} takes {} more time than layers with the same work", format::percent(percent));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Compare its ops with the ops of another layer (Layers page, grouped by layer): layouts, copies, fusions \
             and sharding that the other layers do not have. If it is the first or last layer, work before or after \
             the layers may be fused into it.",
        )
        .passed("excess_percent", percent, UNEVEN_LAYER_PERCENT)
        .evidence("layers", layer.members as f64)
        .at_stake(of_window)
        .link(View::Layers, "")
        .fires()
}

/// Returns the time by which the slowest of the layers that do the same work exceeds the median, as a share of the op
/// time in percent. `None` if the layers take about the same time. Also `None` if the layers mostly communicate,
/// because the first collective waits for the slowest device.
fn excess(layer: &LayerTime) -> Option<f64> {
    let ratio = layer.slowest_ratio.filter(|ratio| 100.0 * (ratio - 1.0) >= UNEVEN_LAYER_PERCENT)?;
    let exposed_us = layer.exposed_communication_us.unwrap_or_default();
    if exposed_us > MOST_EXPOSED * layer.self_time_us {
        return None;
    }
    Some((ratio - 1.0) * layer.busy_self_time_percent? / layer.members.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_op, tpu_steps};
    use trace::Trace;

    /// Builds steps with four layers of 100 us and an op that fills the step. The attention of the third layer takes `slow`
    /// us.
    fn steps(slow: i64, flops_of_slow: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let mut start = at;
            for layer in 0..4 {
                let is_slow = layer == 2;
                for (part, us) in [("attn", if is_slow { slow } else { 50 }), ("mlp", 50)] {
                    let path = format!("jit(step)/layer_{layer}/{part}/dot_general");
                    let name = format!("fusion.{layer}{}", usize::from(part == "mlp"));
                    let event = b.event(line, &name, start, us).hlo_category("loop fusion").hlo_module("jit_step(7)");
                    event.tf_op(&path).args(|args| args.flops = Some(if is_slow { flops_of_slow } else { 100 }));
                    start += us;
                }
            }
            let rest = at + 1000 - start;
            let other = b.event(line, "fusion.90", start, rest).hlo_category("loop fusion").hlo_module("jit_step(7)");
            other.tf_op("jit(step)/head/dot_general");
        })
    }

    #[test]
    fn the_part_of_the_slow_layer_is_named() {
        let found = finding(steps(90, 100), &RULE);
        assert_eq!(found.severity, FindingSeverity::Note);
        assert!(found.title.starts_with("layer_2/attn"), "{}", found.title);
        assert!(found.message.contains("4 layers have the path jit_step/layer_*/attn"), "{}", found.message);
        assert_eq!(finding(steps(400, 100), &RULE).severity, FindingSeverity::Warning);
    }

    #[test]
    fn layers_that_wait_for_other_devices_are_not_compared() {
        let layer = |exposed_us| LayerTime {
            self_time_us: 100.0,
            exposed_communication_us: exposed_us,
            busy_self_time_percent: Some(40.0),
            members: 4,
            slowest_ratio: Some(2.0),
            ..LayerTime::default()
        };
        assert_eq!(excess(&layer(None)), Some(10.0));
        assert_eq!(excess(&layer(Some(50.0))), Some(10.0));
        assert_eq!(excess(&layer(Some(51.0))), None);
    }

    #[test]
    fn small_differences_and_other_work_are_fine() {
        // 8 of 1000 us are less than 1 % of the op time.
        fine(steps(58, 100), &RULE);
        // A layer with more FLOPs does not do the same work.
        fine(steps(400, 900), &RULE);
        let bare = tpu_steps(12, |b, at| tpu_op(b, "convolution", at, 900));
        assert!(matches!(says(bare, &RULE), Verdict::NotChecked(_)));
    }
}
