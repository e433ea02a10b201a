//! Measures the balance of a mixture of experts: tokens and time of each expert, and time of each device for its experts.
//!
//! ```text
//! jit(step)/layer_2/expert_3/dot_general    f32[96,512]     96 tokens of expert 3
//! jit(step)/layer_2/experts/ragged_dot      f32[768,512]    tokens of all experts of a device: only times differ
//! ```
//!
//! If each expert has its own matrix products, their shapes show the expert's number of tokens. A ragged product
//! computes all experts of a device at once, with the same shapes on all devices. For a ragged product, only the times
//! of the devices show the imbalance.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::common::statistics::{mean, median};
use crate::device::devices::Devices;
use crate::device::self_time::self_times;
use crate::op::categories::OpFamily;
use crate::op::collectives::Collectives;
use crate::op::ops::{Op, Ops, Text, shapes};
use base::{Ps, format};
use report::{Confidence, ExpertLoad, Experts, Phase};
use trace::{ArgsId, StrId, Trace, in_blocks};

/// Words in a framework path that mark an op as the work of an expert.
const EXPERT_WORDS: [&str; 2] = ["expert", "experts"];
/// Words in the names of matrix products that compute several experts at once.
const GROUPED: [&str; 7] =
    ["ragged-dot", "ragged_dot", "grouped_gemm", "grouped_matmul", "grouped_mm", "fused_moe", "megablox"];
/// Names of kernels of grouped products.
const GROUPED_WORDS: [&str; 2] = ["gmm", "tgmm"];
/// Minimum FLOPs per element of a matrix product's result. We chose this limit because elementwise ops have fewer
/// FLOPs.
const LEAST_FLOPS: f64 = 16.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExpertOp {
    /// Number of the expert, if the path contains it.
    expert: Option<u32>,
}

/// Measures the experts. `trace` and `devices` are limited to the window. `num_steps` is the number of steps in the
/// window.
pub(crate) fn section(
    trace: &Trace,
    devices: &Devices,
    ops: &Ops,
    collectives: &Collectives,
    num_steps: Option<u64>,
) -> Option<Experts> {
    let rows: Vec<Option<ExpertOp>> = classify(trace, ops);
    if rows.iter().all(Option::is_none) {
        return None;
    }
    let of_event: FxHashMap<(StrId, ArgsId), ExpertOp> =
        ops.entries.iter().filter_map(|&(key, row)| Some((key, (*rows.get(row as usize)?)?))).collect();
    let (mut of_device, mut of_expert) = (Vec::new(), BTreeMap::<u32, (Ps, u64)>::new());
    for device in &devices.used {
        let times = self_times(trace, device);
        let (mut times, mut sum) = (times.iter(), Ps::ZERO);
        let mut own: BTreeMap<u32, Ps> = BTreeMap::new();
        in_blocks(&device.ops, |&id| {
            let (Some(event), Some(&time)) = (trace.events.get(id), times.next()) else { return };
            let Some(op) = of_event.get(&(event.name, event.args)) else { return };
            sum += time;
            if let Some(expert) = op.expert {
                *own.entry(expert).or_default() += time;
            }
        });
        of_device.push(sum);
        for (expert, time) in own {
            let (all, on) = of_expert.entry(expert).or_default();
            (*all, *on) = (*all + time, *on + 1);
        }
    }
    let steps = num_steps.unwrap_or(1).max(1) as f64;
    let all: Ps = of_device.iter().copied().sum();
    if all <= Ps::ZERO {
        return None;
    }
    let tokens = tokens(trace, ops, &rows);
    let mut loads = Vec::new();
    let expert_times: Vec<f64> = of_expert.values().map(|(time, _)| time.as_us() / steps).collect();
    let usual_tokens = mean(&tokens.values().copied().collect::<Vec<_>>());
    let has_experts = of_expert.len() > 1;
    for (&expert, &(time, on)) in of_expert.iter().filter(|_| has_experts) {
        let own = tokens.get(&expert).copied();
        loads.push(ExpertLoad {
            kind: "expert".to_owned(),
            name: expert.to_string(),
            num_devices: on,
            tokens: own,
            tokens_to_mean: own.zip(usual_tokens).map(|(own, usual)| own / usual),
            ..timed(time.as_us() / steps, &expert_times)
        });
    }
    let device_times: Vec<f64> = of_device.iter().map(|time| time.as_us() / steps).collect();
    let has_devices = device_times.len() > 1;
    for (device, &time) in devices.used.iter().zip(&device_times).filter(|_| has_devices) {
        loads.push(ExpertLoad {
            kind: "device".to_owned(),
            name: device.name.clone(),
            num_devices: 1,
            ..timed(time, &device_times)
        });
    }
    if loads.is_empty() {
        return None;
    }
    let window = mean(&devices.used.iter().map(|device| device.window.length().as_us()).collect::<Vec<_>>())?;
    let longest = device_times.iter().copied().fold(0.0, f64::max);
    let lost = longest - mean(&device_times)?;
    let token_values: Vec<f64> = tokens.values().copied().collect();
    let token_imbalance = imbalance(&token_values).filter(|_| has_experts && tokens.len() == of_expert.len());
    let device_imbalance = imbalance(&device_times).filter(|_| has_devices);
    let (confidence, evidence) = judged(devices, collectives, &device_times, token_imbalance, device_imbalance);
    Some(Experts {
        confidence,
        evidence,
        time_percent: 100.0 * all.as_us() / ops.op_time.as_us().max(1e-6),
        num_experts: groups(trace, ops, &rows).or(has_experts.then_some(of_expert.len() as u64)),
        token_max_to_mean: token_imbalance,
        expert_max_to_mean: imbalance(&expert_times).filter(|_| has_experts),
        device_max_to_mean: device_imbalance,
        lost_percent: (has_devices && window > 0.0).then(|| 100.0 * lost * steps / window),
        loads,
    })
}

fn timed(time_us: f64, all: &[f64]) -> ExpertLoad {
    let usual = mean(all).filter(|&usual| usual > 0.0);
    ExpertLoad { time_us, time_to_mean: usual.map_or(0.0, |usual| time_us / usual), ..ExpertLoad::default() }
}

fn imbalance(values: &[f64]) -> Option<f64> {
    let usual = mean(values).filter(|&usual| usual > 0.0)?;
    Some(values.iter().copied().fold(0.0, f64::max) / usual)
}

/// Loads are treated as equal if the largest load divided by the mean load is below this limit. We chose this limit to
/// allow for rounding and noise.
const EQUAL: f64 = 1.01;

/// Returns the confidence in the measured imbalance, and the evidence for it.
fn judged(
    devices: &Devices,
    collectives: &Collectives,
    times: &[f64],
    tokens: Option<f64>,
    device_imbalance: Option<f64>,
) -> (Confidence, String) {
    if let Some(ratio) = tokens.filter(|ratio| *ratio >= EQUAL) {
        let evidence = format!(
            "The shapes of the experts' matrix products show their tokens. The most loaded expert has {} more than the mean.",
            format::percent(100.0 * (ratio - 1.0))
        );
        return (Confidence::High, evidence);
    }
    let most = times.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then_with(|| b.0.cmp(&a.0)));
    let name = |at: usize| devices.used.get(at).map_or("", |device| device.name.as_str());
    match (device_imbalance, most) {
        (Some(ratio), Some((most, _))) if ratio >= EQUAL => {
            let is_last = collectives.devices.get(most).is_some_and(|device| device.is_late());
            let last = match is_last {
                true => " It also arrives last at collectives, where the other devices wait for it.",
                false => "",
            };
            let evidence = format!(
                "The ops of experts take {} longer on {} than on the average device.{last}",
                format::percent(100.0 * (ratio - 1.0)),
                name(most)
            );
            (if is_last { Confidence::High } else { Confidence::Medium }, evidence)
        }
        (Some(_), _) => (Confidence::Medium, "The ops of experts take equally long on all devices.".to_owned()),
        _ => {
            let evidence = match tokens {
                Some(_) => "All experts have the same shapes: they are padded to a capacity, or the routing is even.",
                None => "The times of individual experts are known, but not their tokens.",
            };
            (Confidence::Low, evidence.to_owned())
        }
    }
}

/// Words of a framework path that mark the ops of experts.
#[derive(Clone, Copy)]
struct PathWords {
    /// True if a word names experts.
    is_named: bool,
    /// True if a word names a grouped product.
    is_grouped: bool,
    /// Number of the expert, if the path contains it: `expert_3`, `experts/3`.
    expert: Option<u32>,
}

impl PathWords {
    fn of(path: &str) -> PathWords {
        let path = path.to_ascii_lowercase();
        let words: Vec<&str> =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut found = PathWords { is_named: false, is_grouped: is_grouped(&path), expert: None };
        for (at, word) in words.iter().enumerate() {
            found.is_grouped |= GROUPED_WORDS.contains(word);
            let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
            if !EXPERT_WORDS.contains(&stem) {
                continue;
            }
            found.is_named = true;
            let own = word.get(stem.len()..).filter(|digits| !digits.is_empty());
            let number = own.or_else(|| words.get(at + 1).copied()).and_then(|digits| digits.parse().ok());
            found.expert = found.expert.or(number);
        }
        found
    }
}

/// Returns true if a text names a grouped product.
fn is_grouped(text: &str) -> bool {
    GROUPED.iter().any(|part| text.contains(part))
}

/// Returns the role of each op, or `None` if the op is not part of an expert. Each framework path is examined once.
fn classify(trace: &Trace, ops: &Ops) -> Vec<Option<ExpertOp>> {
    let mut paths: FxHashMap<Text, PathWords> = FxHashMap::default();
    let mut role = |op: &Op| {
        if op.family == OpFamily::Communication {
            return None;
        }
        let text = |text| ops.text(trace, text);
        let words = *paths.entry(op.framework_path).or_insert_with(|| PathWords::of(text(op.framework_path)));
        let is_expert =
            words.is_named || words.is_grouped || [op.name, op.expression].into_iter().any(|it| is_grouped(text(it)));
        is_expert.then_some(ExpertOp { expert: words.expert })
    };
    ops.rows.iter().map(&mut role).collect()
}

/// Returns the tokens of each expert whose products have known shapes.
fn tokens(trace: &Trace, ops: &Ops, rows: &[Option<ExpertOp>]) -> BTreeMap<u32, f64> {
    let mut found: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (op, expert) in ops.rows.iter().zip(rows) {
        let Some(expert) = expert.and_then(|it| it.expert) else { continue };
        // The rows of a weight's gradient are not tokens.
        let is_backward = op.phase == Phase::Backward || ops.text(trace, op.framework_path).contains("transpose(");
        let shape = shapes::of_expression(ops.text(trace, op.expression)).map(|shapes| shapes.result);
        let Some(shape) = shape.filter(|_| !is_backward) else { continue };
        let elements = shapes::elements(&shape);
        let flops = op.flops.unwrap_or(0.0) / op.occurrences.max(1) as f64;
        let width = shape.rsplit([',', '[']).next().and_then(|last| last.trim_end_matches(']').parse::<f64>().ok());
        let Some(width) = width.filter(|&width| width > 0.0 && flops >= LEAST_FLOPS * elements && elements > 0.0)
        else {
            continue;
        };
        found.entry(expert).or_default().push(elements / width);
    }
    found.into_iter().filter_map(|(expert, rows)| Some((expert, median(&rows)?))).collect()
}

/// Returns the number of groups of a ragged product: `ragged-dot(f32[768,64] %x, f32[8,64,512] %w, s32[8] %sizes)`.
fn groups(trace: &Trace, ops: &Ops, rows: &[Option<ExpertOp>]) -> Option<u64> {
    let texts = ops.rows.iter().zip(rows).filter(|(_, expert)| expert.is_some());
    let ragged = texts.map(|(op, _)| ops.text(trace, op.expression)).filter(|text| text.contains("ragged-dot("));
    let count = |text: &str| {
        let shapes = shapes::of_expression(text)?;
        let sizes = shapes.operands.get(2)?;
        Some(shapes::elements(sizes) as u64).filter(|&count| count > 0)
    };
    ragged.filter_map(count).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device_time::DeviceTime;
    use crate::op::ops::Tallies;
    use hlo::Modules;
    use trace::{IntervalSet, TraceBuilder};

    fn measured(trace: &Trace) -> Option<Experts> {
        let devices = Devices::of(trace);
        let modules = Modules::new(trace);
        let ops = Ops::new(trace, &devices, &Tallies::new(trace, &devices), &modules);
        let windows: Vec<IntervalSet> = devices.used.iter().map(|device| device.window.clone()).collect();
        let times = DeviceTime::of_all(trace, &devices);
        let collectives = Collectives::new(trace, &devices, &times, &modules, &windows);
        section(trace, &devices, &ops, &collectives, None)
    }

    #[test]
    fn shapes_of_experts_give_their_tokens() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for (expert, tokens) in [(0, 300), (1, 100), (2, 100), (3, 100)] {
            let text = format!(
                "%fusion.{expert} = f32[{tokens},512]{{1,0}} fusion(f32[{tokens},256]{{1,0}} %x, f32[256,512]{{1,0}} %w)"
            );
            b.event(line, &format!("fusion.{expert}"), 1000 * expert, tokens)
                .hlo_category("convolution fusion")
                .long_name(&text)
                .args(|args| args.flops = Some(tokens * 512 * 512))
                .tf_op(&format!("jit(f)/moe/expert_{expert}/dot_general"));
        }
        let found = measured(&b.build()).unwrap();
        assert_eq!((found.confidence, found.num_experts), (Confidence::High, Some(4)));
        assert_eq!((found.token_max_to_mean, found.expert_max_to_mean), (Some(2.0), Some(2.0)));
        assert_eq!((found.device_max_to_mean, found.lost_percent), (None, None));
        let loads: Vec<(&str, Option<f64>)> = found.loads.iter().map(|it| (it.name.as_str(), it.tokens)).collect();
        assert_eq!(loads, [("0", Some(300.0)), ("1", Some(100.0)), ("2", Some(100.0)), ("3", Some(100.0))]);
    }

    #[test]
    fn padded_shapes_hide_the_routing() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        for expert in 0..2 {
            let text =
                format!("%fusion.{expert} = f32[64,512]{{1,0}} fusion(f32[64,256]{{1,0}} %x, f32[256,512]{{1,0}} %w)");
            b.event(line, &format!("fusion.{expert}"), 1000 * expert, 100)
                .hlo_category("convolution fusion")
                .long_name(&text)
                .args(|args| args.flops = Some(64 * 512 * 512))
                .tf_op(&format!("jit(f)/experts_{expert}/dot_general"));
        }
        let found = measured(&b.build()).unwrap();
        assert_eq!((found.confidence, found.token_max_to_mean), (Confidence::Low, Some(1.0)));
    }

    #[test]
    fn times_of_devices_show_the_imbalance_of_ragged_products() {
        let mut b = TraceBuilder::new();
        for device in 0..4i64 {
            let line = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
            let text = "%ragged-dot.1 = f32[64,512]{1,0} ragged-dot(f32[64,64]{1,0} %x, f32[8,64,512]{2,1,0} %w, s32[8]{0} %n)";
            let duration = if device == 2 { 300 } else { 100 };
            b.event(line, "ragged-dot.1", 0, duration).hlo_category("ragged-dot").long_name(text);
            b.event(line, "fusion.2", 300, 300).hlo_category("loop fusion");
        }
        let found = measured(&b.build()).unwrap();
        assert_eq!((found.confidence, found.num_experts), (Confidence::Medium, Some(8)));
        assert_eq!(found.device_max_to_mean, Some(2.0));
        // Of 600 us, the slowest device takes 300 us instead of the mean of 150 us.
        assert_eq!(found.lost_percent, Some(25.0));
        assert!(found.evidence.contains("/device:TPU:2"), "{}", found.evidence);
    }

    #[test]
    fn other_models_have_no_experts() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion.1", 0, 100).hlo_category("loop fusion").tf_op("jit(f)/inexpert/add");
        assert_eq!(measured(&b.build()), None);
    }
}
