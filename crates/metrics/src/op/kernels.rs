//! Measures device time by kernel name and by category: self time over all devices, inside the window.

use rustc_hash::FxHashMap;

use crate::op::categories::{Categorizer, CategoryId};
use crate::op::ops::{self, Tallies};
use base::{Ps, sort};
use report::{Kernel, KernelCategory, Kernels};
use trace::{ArgsId, StrId, Trace, in_blocks};

pub(crate) const TOP_KERNELS: usize = 20;

/// Occurrences of one name, or of one category.
#[derive(Clone, Copy)]
struct NameTally {
    count: u64,
    total: Ps,
    min: Ps,
    max: Ps,
}

impl NameTally {
    const NONE: NameTally = NameTally { count: 0, total: Ps::ZERO, min: Ps::MAX, max: Ps::ZERO };

    fn add(&mut self, other: &ops::Tally) {
        self.count += other.count;
        self.total += other.self_time;
        self.min = self.min.min(other.min_self);
        self.max = self.max.max(other.max_self);
    }
}

struct Named {
    name: StrId,
    tally: NameTally,
    framework_op: StrId,
    /// The category with the most self time. One name can belong to ops of different categories in different modules.
    category: (Ps, CategoryId),
    is_mixed: bool,
}

/// Builds the kernels section. Times are added as integer picoseconds, so the result does not depend on the order of
/// the ops.
pub fn kernels(trace: &Trace, tallies: &Tallies) -> Kernels {
    let mut categorizer = Categorizer::new(trace, &tallies.recognised);
    let mut categories: Vec<NameTally> = Vec::new();
    // Index into `names` by text of the trace.
    let mut by_name: Vec<Option<u32>> = vec![None; trace.strings.len()];
    let mut names: Vec<Named> = Vec::new();
    // Time of each category so far, for names with several categories.
    let mut shares: FxHashMap<(StrId, CategoryId), Ps> = FxHashMap::default();
    let mut total = Ps::ZERO;
    in_blocks(&tallies.entries, |&((name, args), ref tally)| {
        let category = categorizer.of(name, args);
        if category.index() >= categories.len() {
            categories.resize(category.index() + 1, NameTally::NONE);
        }
        if let Some(sum) = categories.get_mut(category.index()) {
            sum.add(tally);
        }
        total += tally.self_time;
        let Some(place) = by_name.get_mut(name.index()) else { return };
        let index = *place.get_or_insert_with(|| {
            let (tally, category) = (NameTally::NONE, (Ps::ZERO, category));
            names.push(Named { name, tally, framework_op: StrId::EMPTY, category, is_mixed: false });
            // There are fewer than 2^32 texts.
            names.len() as u32 - 1
        });
        let Some(named) = names.get_mut(index as usize) else { return };
        named.tally.add(tally);
        if !named.is_mixed && category == named.category.1 {
            named.category.0 += tally.self_time;
        } else {
            if !named.is_mixed {
                shares.insert((name, named.category.1), named.category.0);
                named.is_mixed = true;
            }
            let share = shares.entry((name, category)).or_default();
            *share += tally.self_time;
            if *share > named.category.0 {
                named.category = (*share, category);
            }
        }
        if named.framework_op.is_empty() {
            named.framework_op = framework_op(trace, args);
        }
    });
    let order = |a: &Named, b: &Named| {
        b.tally.total.cmp(&a.tally.total).then_with(|| trace.text(a.name).cmp(trace.text(b.name)))
    };
    sort::first_by(&mut names, TOP_KERNELS, order);
    Kernels {
        top_kernels: names.iter().map(|named| kernel(trace, &categorizer, named, total)).collect(),
        kernels_by_category: sort::map(
            categorizer.names().zip(&categories).map(|(name, tally)| (name.to_owned(), category(tally, total))),
        ),
    }
}

/// Returns the framework path. On GPUs, `XlaModule:` means that there is no path.
fn framework_op(trace: &Trace, args: ArgsId) -> StrId {
    let path = trace.args.get(args).tf_op;
    if trace.text(path).starts_with("XlaModule") { StrId::EMPTY } else { path }
}

fn kernel(trace: &Trace, categorizer: &Categorizer, named: &Named, total: Ps) -> Kernel {
    let NameTally { count, total: time, min, max } = named.tally;
    let framework_op = trace.text(named.framework_op).trim_end_matches(':');
    Kernel {
        name: trace.text(named.name).to_owned(),
        category: categorizer.name(named.category.1).to_owned(),
        total_us: time.as_us(),
        count,
        avg_us: time.as_us() / count.max(1) as f64,
        min_us: Some(min.as_us()),
        max_us: Some(max.as_us()),
        percent: percent(time, total),
        framework_op: (!framework_op.is_empty()).then(|| framework_op.to_owned()),
    }
}

fn category(tally: &NameTally, total: Ps) -> KernelCategory {
    let time_us = tally.total.as_us();
    KernelCategory { time_us, total_time_us: Some(time_us), count: tally.count, percent: percent(tally.total, total) }
}

/// Returns a share in percent, or `None` if no op took any time.
fn percent(time: Ps, total: Ps) -> Option<f64> {
    (total > Ps::ZERO).then(|| (100.0 * time.as_ps() as f64 / total.as_ps() as f64).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::devices::Devices;
    use trace::TraceBuilder;

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn kernels_are_ranked_by_self_time_over_all_devices() {
        let mut b = TraceBuilder::new();
        for plane in ["/device:TPU:0", "/device:TPU:1"] {
            let line = b.line(plane, "XLA Ops");
            b.event(line, "while.1", 0, 100).hlo_category("while");
            b.event(line, "fusion.1", 10, 60).hlo_category("loop fusion").tf_op("jit(f)/add:");
            b.event(line, "all-reduce.1", 70, 20).hlo_category("all-reduce");
        }
        let trace = b.build();
        let found = kernels(&trace, &Tallies::new(&trace, &Devices::of(&trace)));
        let names: Vec<_> = found.top_kernels.iter().map(|it| (it.name.as_str(), it.total_us, it.count)).collect();
        assert_eq!(names, [("fusion.1", 120.0, 2), ("all-reduce.1", 40.0, 2), ("while.1", 40.0, 2)]);
        let fusion = found.top_kernels.first().unwrap();
        assert_eq!((fusion.avg_us, fusion.min_us, fusion.max_us), (60.0, Some(60.0), Some(60.0)));
        assert_eq!((fusion.category.as_str(), fusion.framework_op.as_deref()), ("loop fusion", Some("jit(f)/add")));
        assert!(close(fusion.percent, 60.0));
        let sum: f64 = found.kernels_by_category.values().filter_map(|it| it.percent).sum();
        assert!(close(Some(sum), 100.0));
        let reduce = found.kernels_by_category.get("all-reduce").unwrap();
        assert_eq!((reduce.time_us, reduce.total_time_us, reduce.count), (40.0, Some(40.0), 2));
    }

    #[test]
    fn a_name_of_two_categories_has_that_of_most_time() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion.1", 0, 10).hlo_category("input fusion");
        b.event(line, "fusion.1", 10, 30).hlo_category("loop fusion");
        b.event(line, "fusion.1", 40, 25).hlo_category("input fusion");
        let trace = b.build();
        let found = kernels(&trace, &Tallies::new(&trace, &Devices::of(&trace)));
        assert_eq!(found.top_kernels.first().map(|it| it.category.as_str()), Some("input fusion"));
        assert_eq!(found.kernels_by_category.len(), 2);
    }

    #[test]
    fn at_most_twenty_names_are_listed_and_ties_go_by_name() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #1");
        for index in 0..30 {
            b.event(line, &format!("kernel_{:02}", 29 - index), index * 10, 5);
        }
        let trace = b.build();
        let found = kernels(&trace, &Tallies::new(&trace, &Devices::of(&trace)));
        assert_eq!(found.top_kernels.len(), TOP_KERNELS);
        assert_eq!(found.top_kernels.first().map(|it| it.name.as_str()), Some("kernel_00"));
        assert_eq!(found.kernels_by_category.get("other").map(|it| it.count), Some(30));
    }

    #[test]
    fn nothing_ran_gives_nothing() {
        let trace = TraceBuilder::new().build();
        assert_eq!(kernels(&trace, &Tallies::new(&trace, &Devices::of(&trace))), Kernels::default());
    }
}
