//! Merges the corresponding ops of repeated layers for reports, so that one op of a model with 64 layers does not fill
//! a list.

use super::op_groups::equal_name;
use base::sort;
use report::TopOp;

/// Returns the ops listed in a profile, sorted by self time. Ops are merged if they have the same category and their
/// names differ only in numbers. A merged op has no value in a field if the values of its ops differ or some ops lack
/// the field. The path and the line come from the op with the most time.
pub(crate) fn equal_ops(ops: &[TopOp]) -> Vec<TopOp> {
    let mut groups: Vec<(String, u64, TopOp)> = Vec::new();
    for op in ops {
        let (name, _) = equal_name(&op.name);
        match groups.iter_mut().find(|(known, _, sum)| *known == name && sum.category == op.category) {
            Some((_, count, sum)) => {
                *count += 1;
                add(sum, op);
            }
            None => groups.push((name.into_owned(), 1, op.clone())),
        }
    }
    let named = |(name, count, op): (String, u64, TopOp)| match count {
        1 => op,
        _ => TopOp { name: format!("{name}.* ({count} ops)"), ..op },
    };
    let mut all: Vec<TopOp> = groups.into_iter().map(named).collect();
    sort::sort_by(&mut all, |a, b| b.self_time_us.total_cmp(&a.self_time_us));
    all
}

fn add(sum: &mut TopOp, op: &TopOp) {
    let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    sum.occurrences = sum.occurrences.saturating_add(op.occurrences);
    sum.executions = sum.executions.zip(op.executions).map(|(a, b)| a.saturating_add(b));
    sum.total_time_us += op.total_time_us;
    sum.self_time_us += op.self_time_us;
    sum.self_time_percent = both(sum.self_time_percent, op.self_time_percent);
    sum.busy_self_time_percent = both(sum.busy_self_time_percent, op.busy_self_time_percent);
    sum.flops = both(sum.flops, op.flops);
    sum.bytes_accessed = both(sum.bytes_accessed, op.bytes_accessed);
    sum.bound_by = sum.bound_by.take().filter(|bound| op.bound_by.as_ref() == Some(bound));
    sum.program_id = sum.program_id.take().filter(|program| op.program_id.as_ref() == Some(program));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_one_row_and_add_up() {
        let op = |name: &str, category: &str, time: f64, bound: &str| TopOp {
            name: name.to_owned(),
            category: category.to_owned(),
            self_time_us: time,
            executions: Some(2),
            flops: Some(1.0),
            bound_by: Some(bound.to_owned()),
            source: Some(format!("{name}.py:1")),
            ..TopOp::default()
        };
        let all = equal_ops(&[
            op("dot.7", "convolution", 50.0, "HBM"),
            op("fusion.3", "loop fusion", 40.0, "HBM"),
            op("fusion", "loop fusion", 30.0, "Compute"),
            op("fusion.9", "custom fusion", 20.0, "HBM"),
        ]);
        let names: Vec<(&str, f64)> = all.iter().map(|op| (op.name.as_str(), op.self_time_us)).collect();
        assert_eq!(names, [("fusion.* (2 ops)", 70.0), ("dot.7", 50.0), ("fusion.9", 20.0)]);
        assert_eq!((all[0].executions, all[0].flops, &all[0].bound_by), (Some(4), Some(2.0), &None));
        assert_eq!(all[0].source.as_deref(), Some("fusion.3.py:1"));
    }
}
