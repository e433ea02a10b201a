//! All devices compute the same matrix products.
//!
//! The inputs of these products are replicated arguments, constants, and results of an all-reduce or all-gather over all devices, so
//! each device computes the same values. An example is an optimizer that multiplies matrices (Muon, Shampoo, K-FAC) in
//! data-parallel training: it works on replicated gradients. The devices could share this work. The impact is the time of these
//! products times `(devices - 1) / devices`. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %.
//! Confidence: high. Remedy: divide the work among the devices. The rule is skipped if the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::products_in_loop::product;
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Module, same_on_devices};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "replicated_products",
    title: "All devices compute the same matrix products",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    // `replicated_work` covers devices that exchange no data.
    if !numbers.communicates() {
        return Verdict::Irrelevant;
    }
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let time = |ops: &[&Op]| -> Ps { ops.iter().map(|op| op.self_time).sum() };
    let found = numbers.programs().map(|(id, module)| (module, repeated(numbers, id, module)));
    let Some((module, products)) = found.max_by_key(|(_, products)| time(products)) else { return Verdict::Fine };
    let devices = module.num_devices() as f64;
    let share = numbers.op_percent(time(&products));
    let lost = share * (devices - 1.0) / devices;
    let Some(largest) = products.iter().max_by_key(|op| op.self_time).filter(|_| lost >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let number = format::count(module.num_devices());
    let message = format!(
        "{} computes {} from values that are the same on all {number} devices: replicated arguments, and results of an all-reduce or \
         all-gather. So each device computes the same results. These products take {} of the op time. The largest is {}.",
        shown(module.name()),
        format::counted(products.len() as u64, "matrix product"),
        format::percent(share),
        numbers.op_with_source(largest),
    );
    let title =
        format!("All {number} devices compute the same matrix products: {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Divide this work among the devices. If an optimizer works on many matrices, let each device process some of them in \
             jax.shard_map, and collect the results with jax.lax.all_gather. Or shard the parameters and the state of the optimizer \
             (jax.device_put with a NamedSharding that splits a dimension), so that each device updates its part.",
        )
        .passed("repeated_percent", lost, limit)
        .evidence("replicated_products_percent", share)
        .count("matrix_products", products.len() as u64)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, largest.name)))
        .fires()
}

/// Returns the ops of a program that compute matrix products whose inputs are the same on all devices.
fn repeated<'a>(numbers: &Numbers<'a>, id: i64, module: &'a Module) -> Vec<&'a Op> {
    let ops = &numbers.context.analysis.ops;
    let same = same_on_devices(module);
    let is_repeated = |op: &&Op| {
        let instruction = module.instruction(ops.text(numbers.trace, op.name));
        op.program_id == Some(id)
            && instruction.is_some_and(|it| {
                module.index_of(it).is_some_and(|index| same.contains(&index)) && product(module, it).is_some()
            })
    };
    if same.is_empty() { Vec::new() } else { ops.rows.iter().filter(is_repeated).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us for 4 devices. `gram.1` multiplies the reduced gradient by `other` and takes `time`.
    fn steps(time: i64, other: &'static str) -> Trace {
        let text = format!(
            "HloModule jit_f, num_partitions=4\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  \
             ROOT c = f32[] add(a, b)\n}}\n\nENTRY main {{\n  p = f32[8,8] parameter(0), sharding={{replicated}}\n  \
             x = f32[8,8] parameter(1), sharding={{devices=[4,1]<=[4]}}\n  \
             g.1 = f32[8,8] dot(x, p), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n  \
             all-reduce.1 = f32[8,8] all-reduce(g.1), replica_groups={{{{0,1,2,3}}}}, to_apply=add\n  \
             gram.1 = f32[8,8] dot(all-reduce.1, {other}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n  \
             ROOT new = f32[8,8] subtract(p, gram.1)\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            op_of(b, 7, ("gram.1", "convolution fusion"), at, time);
            op_of(b, 7, ("all-reduce.1", "all-reduce"), at + time, 10);
            op_of(b, 7, ("g.1", "convolution fusion"), at + time + 10, 990 - time);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(800, "all-reduce.1"), &RULE);
        let title = "All 4 devices compute the same matrix products: 80.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Critical, title));
        assert!(found.message.starts_with("jit_f computes 1 matrix product from values"), "{}", found.message);
        assert!((found.time_at_stake_percent.unwrap() - 60.0).abs() < 0.1, "{found:?}");
        assert_eq!(finding(steps(140, "p"), &RULE).severity, Warning);
        fine(steps(130, "p"), &RULE);
    }

    #[test]
    fn products_of_the_batch_differ() {
        fine(steps(800, "x"), &RULE);
    }
}
