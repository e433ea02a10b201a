//! Lists the ops of a step, their classes and kernels, as means over the window's steps and over devices.
//!
//! By default the window excludes warm-up and cut steps, so that captures of different length can be compared. If the
//! window does not consist of steps, each device's window takes the place of a step.

mod listed;
mod noise;

use rustc_hash::FxHashMap;

use crate::device::devices::Devices;
use crate::op::categories::{Categorizer, OpFamily};
use crate::op::collectives::Collectives;
use crate::op::kernel_stats::demangle::demangle;
use crate::op::ops::{Op, Ops, Tallies, Text};
use crate::step::step_breakdown::Breakdown;
use crate::step::window::Window;
use base::{Ps, sort};
use report::{OperandType, StepFamily, StepKernel, StepOp, StepOps};
use trace::{Platform, StrId, Trace, in_blocks};

const MOST_KERNELS: usize = 200;

/// Builds the section. Returns `None` if no op ran in the window.
pub(crate) fn section(
    trace: &Trace,
    devices: &Devices,
    tallies: &Tallies,
    ops: &Ops,
    collectives: &Collectives,
    breakdown: &Breakdown,
    window: &Window,
) -> Option<StepOps> {
    let device_steps = window.device_steps;
    if ops.rows.is_empty() || device_steps == 0 {
        return None;
    }
    let mean = Mean(device_steps as f64);
    let exposed = exposed(ops, collectives);
    let text = |text: Text| Some(ops.text(trace, text)).filter(|text| !text.is_empty());
    let mut families = [(Ps::ZERO, 0u64); OpFamily::ALL.len()];
    in_blocks(&ops.rows, |op| {
        if let Some((time, count)) = families.get_mut(op.family as usize) {
            *time += op.self_time;
            *count += op.occurrences;
        }
    });
    let mut by_family: Vec<StepFamily> = OpFamily::ALL
        .into_iter()
        .filter_map(|family| {
            let &(time, count) =
                families.get(family as usize).filter(|(time, count)| *count > 0 || *time > Ps::ZERO)?;
            let (self_time_us, occurrences) = (mean.time_us(time), mean.count(count));
            Some(StepFamily { family: family.label().to_owned(), self_time_us, occurrences })
        })
        .collect();
    sort::sort_by(&mut by_family, |a, b| {
        b.self_time_us.total_cmp(&a.self_time_us).then_with(|| a.family.cmp(&b.family))
    });
    let op_time = ops.op_time;
    let num_ops = ops.rows.len() as u64;
    let listed = listed::listed(trace, ops);
    let stddevs = noise::stddevs_us(trace, devices, breakdown, ops, &listed);
    let top = listed.iter().enumerate().filter_map(|(at, group)| {
        let op = ops.rows.get(*group.rows.first()?)?;
        let of = |value: &dyn Fn(usize, &Op) -> Ps| -> Ps {
            group.rows.iter().filter_map(|&row| Some(value(row, ops.rows.get(row)?))).sum()
        };
        let exposed_of = |row: usize| exposed.get(&(row as u32)).copied();
        let is_exposed = group.rows.iter().any(|&row| exposed_of(row).is_some());
        Some(StepOp {
            name: ops.text(trace, op.name).to_owned(),
            instances: group.rows.len() as u64,
            family: op.family.label().to_owned(),
            module: text(op.module).map(|module| module.split('(').next().unwrap_or(module).to_owned()),
            framework_op: group.path.clone(),
            source: text(op.source).map(without_folders),
            fingerprint: text(op.expression).map(hlo::fingerprint),
            self_time_us: mean.time_us(of(&|_, op| op.self_time)),
            stddev_us: stddevs.get(at).copied(),
            exposed_time_us: is_exposed.then(|| mean.time_us(of(&|row, _| exposed_of(row).unwrap_or(Ps::ZERO)))),
            occurrences: mean.count(group.rows.iter().filter_map(|&row| Some(ops.rows.get(row)?.occurrences)).sum()),
        })
    });
    Some(StepOps {
        device_steps,
        op_time_us: mean.time_us(op_time),
        num_ops,
        families: by_family,
        ops: top.collect(),
        operand_types: operand_types(trace, ops),
        kernels: if devices.platform == Some(Platform::Gpu) { kernels(trace, tallies, mean) } else { Vec::new() },
    })
}

/// Returns the name of a source file with its innermost folder. Omits the full path, because it may reveal a home
/// folder to readers of the report. Replaces a home folder with `~`, because its name is the user's name.
fn without_folders(source: &str) -> String {
    let source = base::home::without_home(source);
    let mut slashes = source.rmatch_indices('/');
    slashes.nth(1).and_then(|(at, _)| source.get(at + 1..)).unwrap_or(&source).to_owned()
}

/// Returns the share of each element type in the bytes of the ops' operands, from the ops' expressions.
fn operand_types(trace: &Trace, ops: &Ops) -> Vec<OperandType> {
    let mut types: Vec<OperandType> = Vec::new();
    in_blocks(&ops.rows, |op| {
        for (data_type, elements) in hlo::operand_types(ops.text(trace, op.expression)) {
            let of_one = elements * f64::from(data_type.bits()) / 8.0;
            let bytes = of_one * op.occurrences as f64;
            match types.iter_mut().find(|it| it.data_type == data_type.name()) {
                Some(it) => it.percent += bytes,
                None => types.push(OperandType { data_type: data_type.name().to_owned(), percent: bytes }),
            }
        }
    });
    types.retain(|it| it.percent > 0.0);
    // At this point `percent` contains bytes.
    let sum: f64 = types.iter().map(|it| it.percent).sum();
    types.iter_mut().for_each(|it| it.percent *= 100.0 / sum);
    sort::sort_by(&mut types, |a, b| b.percent.total_cmp(&a.percent));
    types
}

/// Divides sums by the number of steps, summed over devices.
#[derive(Clone, Copy)]
struct Mean(f64);

impl Mean {
    fn time_us(self, time: Ps) -> f64 {
        time.as_us() / self.0
    }

    fn count(self, count: u64) -> f64 {
        count as f64 / self.0
    }
}

/// Returns the exposed time of the collectives. The key is the row in [`Ops::rows`].
fn exposed(ops: &Ops, collectives: &Collectives) -> FxHashMap<u32, Ps> {
    let mut exposed = FxHashMap::default();
    if collectives.runs.is_empty() {
        return exposed;
    }
    let rows: FxHashMap<_, u32> = ops.entries.iter().copied().collect();
    for run in &collectives.runs {
        let row = collectives.ops.get(run.op as usize).and_then(|op| rows.get(&(op.name, op.args)));
        if let Some(&row) = row {
            *exposed.entry(row).or_insert(Ps::ZERO) += run.exposed;
        }
    }
    exposed
}

/// Returns one entry for each kernel name, with the sums over all ops of this name.
fn kernels(trace: &Trace, tallies: &Tallies, mean: Mean) -> Vec<StepKernel> {
    let mut categories = Categorizer::new(trace, &tallies.recognised);
    let mut index: FxHashMap<StrId, usize> = FxHashMap::default();
    let mut sums: Vec<(StrId, OpFamily, Ps, u64)> = Vec::new();
    for &((name, args), ref tally) in &tallies.entries {
        let at = *index.entry(name).or_insert_with(|| {
            let category = categories.of(name, args);
            sums.push((name, categories.family(category), Ps::ZERO, 0));
            sums.len() - 1
        });
        if let Some((_, _, time, count)) = sums.get_mut(at) {
            *time += tally.self_time;
            *count += tally.count;
        }
    }
    sort::sort_by(&mut sums, |a, b| b.2.cmp(&a.2).then_with(|| trace.text(a.0).cmp(trace.text(b.0))));
    sums.truncate(MOST_KERNELS);
    let kernel = |&(name, family, time, count): &(StrId, OpFamily, Ps, u64)| StepKernel {
        name: demangle(trace.text(name)).unwrap_or_else(|| trace.text(name).to_owned()),
        family: family.label().to_owned(),
        time_us: mean.time_us(time),
        occurrences: mean.count(count),
    };
    sums.iter().map(kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_their_folder_but_no_user() {
        for (source, expected) in [
            ("/home/jo.smith/train.py:42", "~/train.py:42"),
            ("/home/jo.smith/a/train.py:42", "a/train.py:42"),
            ("/srv/models/llama/train.py:7", "llama/train.py:7"),
            ("train.py:7", "train.py:7"),
        ] {
            assert_eq!(without_folders(source), expected);
        }
    }
}
