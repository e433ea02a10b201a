//! The difference of two step times, part by part.
//!
//! ```text
//! baseline  |compute======|comm===|idle==|            100 us
//! run       |compute======|comm=|idle===========|     118 us
//!           compute +0, communication -2, idle +20 =  +18
//! ```
//!
//! Parts are exclusive and add up to the step, so their differences add up to the difference of the steps; all are whole
//! picoseconds, so that they do so exactly. What only one of two profiles can tell is not compared as if the other had measured
//! zero: causes of idle time that need launches or host threads become "idle: other" on both sides.

use super::{PartChange, Subject, us_to_ps};
use crate::report::{StepParts, UnifiedProfile};
use crate::units::Ps;

/// Name, name for people, time, and whether the profile can tell it.
struct Part {
    name: &'static str,
    title: &'static str,
    time: Ps,
    told: bool,
}

/// The parts of `run` less those of `baseline`; the deltas add up to the difference of the step times exactly. Empty where either
/// has neither parts nor a busy time.
pub fn waterfall(run: usize, subject: &Subject, baseline: &Subject) -> Vec<PartChange> {
    let (ours, theirs) = (&subject.profile, &baseline.profile);
    let (mut parts, mut base) = match (breakdown(ours), breakdown(theirs)) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        _ => match (busy_and_idle(ours), busy_and_idle(theirs)) {
            (Some(ours), Some(theirs)) => (ours, theirs),
            _ => return Vec::new(),
        },
    };
    fold_untold(&mut parts, &mut base);
    complete(&mut parts, ours);
    complete(&mut base, theirs);
    let change = |(part, base): (&Part, &Part)| PartChange {
        run: run as u32,
        part: part.name.to_owned(),
        title: part.title.to_owned(),
        class: part.name.to_owned(),
        baseline_us: base.time.as_us(),
        run_us: part.time.as_us(),
        delta_us_per_step: (part.time - base.time).as_us(),
    };
    let is_there = |(part, base): &(&Part, &Part)| part.time != Ps::ZERO || base.time != Ps::ZERO;
    parts.iter().zip(&base).filter(is_there).map(change).collect()
}

fn breakdown(profile: &UnifiedProfile) -> Option<Vec<Part>> {
    Some(of_parts(&profile.step_breakdown.as_ref()?.parts))
}

/// The parts with their names, as [`crate::report::StepParts`] has them.
fn of_parts(parts: &StepParts) -> Vec<Part> {
    let known = |name, title, us: f64| Part { name, title, time: us_to_ps(us), told: true };
    let perhaps = |name, title, us: Option<f64>| Part { told: us.is_some(), ..known(name, title, us.unwrap_or(0.0)) };
    // Of platforms that have no such part it takes no time.
    let platform = |name, title, us: Option<f64>| known(name, title, us.unwrap_or(0.0));
    vec![
        known("compute", "Compute", parts.compute_us),
        known("communication", "Exposed communication", parts.communication_us),
        known("h2d", "Exposed host to device", parts.h2d_us),
        known("d2h", "Exposed device to host", parts.d2h_us),
        known("p2p", "Exposed device to device", parts.p2p_us),
        known("d2d", "Exposed copies on the device", parts.d2d_us),
        platform("infeed_outfeed", "Infeed and outfeed", parts.infeed_outfeed_us),
        known("data_movement", "Other data movement", parts.data_movement_us),
        platform("barrier", "Idle: waiting for devices", parts.barrier_us),
        perhaps("compile", "Idle: compiling", parts.compile_us),
        perhaps("input_bound", "Idle: input pipeline", parts.input_bound_us),
        perhaps("host_bound", "Idle: launched late", parts.host_bound_us),
        perhaps("kernel_wait", "Idle: between ops", parts.kernel_wait_us),
        known("other_idle", "Idle: other", parts.other_idle_us),
        known("not_attributed", "Not attributed", 0.0),
    ]
}

/// What a profile without a breakdown tells.
fn busy_and_idle(profile: &UnifiedProfile) -> Option<Vec<Part>> {
    let busy = profile.compute_utilization.as_ref()?;
    let part = |name, title, us: f64| Part { name, title, time: us_to_ps(us), told: true };
    Some(vec![
        part("compute", "Device busy", busy.kernel_time_us),
        part("other_idle", "Device idle", busy.overhead_time_us),
        part("not_attributed", "Not attributed", 0.0),
    ])
}

/// Adds to "idle: other" what one of the two cannot tell.
fn fold_untold(ours: &mut [Part], theirs: &mut [Part]) {
    for at in 0..ours.len() {
        let told = |parts: &[Part]| parts.get(at).is_some_and(|part| part.told);
        if told(ours) && told(theirs) {
            continue;
        }
        for parts in [&mut *ours, &mut *theirs] {
            let time = parts.get_mut(at).map_or(Ps::ZERO, |part| std::mem::take(&mut part.time));
            if let Some(other) = parts.iter_mut().find(|part| part.name == "other_idle") {
                other.time += time;
            }
        }
    }
}

/// Makes the parts add up to the mean step time, which may be over other devices or steps than the parts.
fn complete(parts: &mut [Part], profile: &UnifiedProfile) {
    let sum: Ps = parts.iter().map(|part| part.time).sum();
    if let (Some(step), Some(last)) = (super::noise::of_steps(profile), parts.last_mut()) {
        last.time = us_to_ps(step.mean_us) - sum;
        // Rounding of the parts to picoseconds is no time of its own.
        let rounding = last.time;
        if rounding.0.abs() <= 20 {
            last.time = Ps::ZERO;
            if let Some(largest) = parts.iter_mut().max_by_key(|part| part.time) {
                largest.time += rounding;
            }
        }
    }
}
