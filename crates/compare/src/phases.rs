//! Splits the steps of two platforms by kind of work. The ops of a matrix product have different names on different platforms,
//! but the same purpose.
//!
//! ```text
//! parts of the typical step     compute 60            communication 10   copies 5   idle 25
//! phases                        matmul 40, norm 20    communication 10   copies 5   idle 25
//! ```
//!
//! Computation is split by the self time of its ops, so that the phases add up to the typical step, as the parts do.

use super::{PartChange, PhaseChange};

/// Phases of computation: name, title, colour class and the classes of ops that belong to it.
/// Platforms fuse norms with the ops around them, so norms, reductions and elementwise ops are one
/// phase.
const COMPUTE: [(&str, &str, &str, &[&str]); 6] = [
    ("matmul", "Matmul", "matmul", &["matmul"]),
    ("convolution", "Convolution", "convolution", &["convolution"]),
    ("matmul_or_convolution", "Matmul or convolution", "matmul", &["matmul_or_convolution"]),
    ("attention", "Attention", "attention", &["attention"]),
    ("norm_elementwise", "Norm, reduction and elementwise", "elementwise", &["elementwise", "reduction"]),
    ("other_compute", "Other computation", "other_compute", &[]),
];

/// Classes whose time belongs to parts of a step other than computation.
const OTHER_PARTS: [&str; 2] = ["communication", "data_movement"];

/// The other phases, with the parts of the step that belong to each.
const REST: [(&str, &str, &str, &[&str]); 4] = [
    ("communication", "Exposed communication", "communication", &["communication"]),
    (
        "copies",
        "Exposed memory copies",
        "data_movement",
        &["h2d", "d2h", "p2p", "d2d", "infeed_outfeed", "data_movement"],
    ),
    ("idle", "Idle", "other_idle", &["barrier", "compile", "input_bound", "host_bound", "kernel_wait", "other_idle"]),
    ("not_attributed", "Not attributed", "other_idle", &["not_attributed"]),
];

/// Class of ops, self time in microseconds and count, per step per device.
type Classes = [(String, f64, f64)];

/// Returns the phases of a run and of the baseline, computation first. Empty if there are no parts.
pub(crate) fn phases(parts: &[PartChange], ours: &Classes, theirs: &Classes) -> Vec<PhaseChange> {
    let Some(first) = parts.first() else { return Vec::new() };
    let sum = |names: &[&str]| {
        let of = || parts.iter().filter(|part| names.contains(&part.part.as_str()));
        [of().map(|part| part.run_us).sum::<f64>(), of().map(|part| part.baseline_us).sum()]
    };
    let compute = sum(&["compute"]);
    let split = |classes: &[&str]| -> [f64; 2] {
        let [run, baseline] = compute;
        [share(ours, classes) * run, share(theirs, classes) * baseline]
    };
    let of = |(phase, title, class): (&str, &str, &str), [run_us, baseline_us]: [f64; 2]| PhaseChange {
        run: first.run,
        phase: phase.to_owned(),
        title: title.to_owned(),
        class: class.to_owned(),
        per: first.per,
        baseline_us,
        run_us,
        ratio: (run_us > 0.0 && baseline_us > 0.0).then(|| run_us / baseline_us),
    };
    let computing = COMPUTE.iter().map(|(phase, title, class, classes)| of((phase, title, class), split(classes)));
    let rest = REST.iter().map(|(phase, title, class, names)| of((phase, title, class), sum(names)));
    computing.chain(rest).filter(|phase| phase.run_us != 0.0 || phase.baseline_us != 0.0).collect()
}

/// Returns the share of the computation's op time that belongs to these classes. If `classes` is empty, returns the
/// share that belongs to no other phase.
fn share(all: &Classes, classes: &[&str]) -> f64 {
    let is_named = |class: &str| COMPUTE.iter().any(|(.., classes)| classes.contains(&class));
    let time = |is: &dyn Fn(&str) -> bool| -> f64 {
        all.iter().filter(|(class, ..)| is(class)).map(|(_, time_us, _)| time_us).sum()
    };
    let computing = time(&|class| !OTHER_PARTS.contains(&class));
    if computing <= 0.0 {
        return if classes.is_empty() { 1.0 } else { 0.0 };
    }
    let wanted = match classes {
        [] => time(&|class| !OTHER_PARTS.contains(&class) && !is_named(class)),
        classes => time(&|class| classes.contains(&class)),
    };
    wanted / computing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_to_the_step() {
        let part = |part: &str, baseline_us: f64, run_us: f64| PartChange {
            part: part.to_owned(),
            baseline_us,
            run_us,
            ..PartChange::default()
        };
        let parts = [
            part("compute", 60.0, 30.0),
            part("communication", 10.0, 0.0),
            part("h2d", 3.0, 1.0),
            part("d2d", 2.0, 4.0),
            part("host_bound", 25.0, 5.0),
        ];
        let class = |name: &str, time_us: f64| (name.to_owned(), time_us, 1.0);
        let ours =
            [class("matmul", 10.0), class("reduction", 4.0), class("elementwise", 6.0), class("communication", 50.0)];
        let theirs = [class("matmul", 40.0), class("reduction", 20.0), class("sort", 20.0)];
        let found = phases(&parts, &ours, &theirs);
        let told: Vec<_> = found.iter().map(|it| (it.phase.as_str(), it.baseline_us, it.run_us)).collect();
        assert_eq!(
            told,
            [
                ("matmul", 30.0, 15.0),
                ("norm_elementwise", 15.0, 15.0),
                ("other_compute", 15.0, 0.0),
                ("communication", 10.0, 0.0),
                ("copies", 5.0, 5.0),
                ("idle", 25.0, 5.0),
            ]
        );
        assert_eq!((found[0].ratio, found[2].ratio), (Some(0.5), None));
        assert_eq!(told.iter().map(|it| it.1).sum::<f64>(), 100.0);
        // Without a list of ops, computation is one phase.
        let whole = phases(&parts, &[], &[]);
        assert_eq!((whole[0].phase.as_str(), whole[0].run_us), ("other_compute", 30.0));
        assert_eq!(phases(&[], &ours, &theirs), []);
    }
}
