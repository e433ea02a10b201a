//! The difference of two step times, part by part.
//!
//! ```text
//! baseline  |compute======|comm===|idle==|            100 us
//! run       |compute======|comm=|idle===========|     118 us
//!           compute +0, communication -2, idle +20 =  +18
//! ```
//!
//! Parts are exclusive and add up to the step, so their differences add up to the difference of the steps; all are whole
//! picoseconds, so that they do so exactly. What only one of two profiles knows is not compared as if the other had measured
//! zero: causes of idle time that need launches or host threads become "idle: other" on both sides.

use super::{PartChange, Subject, WorkUnit, us_to_ps};
use base::Ps;
use report::{STEP_PARTS, StepParts, UnifiedProfile};

/// Name, name for people, time, and whether the profile has it.
struct WaterfallPart {
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
    let change = |(part, base): (&WaterfallPart, &WaterfallPart)| PartChange {
        run: run as u32,
        part: part.name.to_owned(),
        title: part.title.to_owned(),
        class: part.name.to_owned(),
        per: WorkUnit::Step,
        baseline_us: base.time.as_us(),
        run_us: part.time.as_us(),
        delta_us_per_step: (part.time - base.time).as_us(),
    };
    let is_there = |(part, base): &(&WaterfallPart, &WaterfallPart)| part.time != Ps::ZERO || base.time != Ps::ZERO;
    parts.iter().zip(&base).filter(is_there).map(change).collect()
}

/// The parts of a token or sample: those of a step over how many of them a step has, of the run and of the baseline.
pub fn per_unit(parts: Vec<PartChange>, unit: WorkUnit, per_step: [f64; 2]) -> Vec<PartChange> {
    let of_one = |part: PartChange| {
        let [run, baseline] =
            [(part.run_us, per_step[0]), (part.baseline_us, per_step[1])].map(|(us, of)| us_to_ps(us / of));
        PartChange {
            per: unit,
            run_us: run.as_us(),
            baseline_us: baseline.as_us(),
            delta_us_per_step: (run - baseline).as_us(),
            ..part
        }
    };
    parts.into_iter().map(of_one).collect()
}

fn breakdown(profile: &UnifiedProfile) -> Option<Vec<WaterfallPart>> {
    Some(of_parts(&profile.step_breakdown.as_ref()?.parts))
}

/// What only a part of the platforms has takes no time on the others; what needs launches or host threads is untold without.
const OF_SOME_PLATFORMS: [&str; 2] = ["infeed_outfeed", "barrier"];

/// The parts with their names, as [`STEP_PARTS`] has them.
fn of_parts(parts: &StepParts) -> Vec<WaterfallPart> {
    let part = |((name, title), us): ((&'static str, &'static str), Option<f64>)| WaterfallPart {
        name,
        title,
        time: us_to_ps(us.unwrap_or(0.0)),
        told: us.is_some() || OF_SOME_PLATFORMS.contains(&name),
    };
    let rest = WaterfallPart { name: "not_attributed", title: "Not attributed", time: Ps::ZERO, told: true };
    STEP_PARTS.into_iter().zip(parts.values_us()).map(part).chain([rest]).collect()
}

/// What a profile without a breakdown has to offer.
fn busy_and_idle(profile: &UnifiedProfile) -> Option<Vec<WaterfallPart>> {
    let busy = profile.compute_utilization.as_ref()?;
    let part = |name, title, us: f64| WaterfallPart { name, title, time: us_to_ps(us), told: true };
    Some(vec![
        part("compute", "Device busy", busy.kernel_time_us),
        part("other_idle", "Device idle", busy.overhead_time_us),
        part("not_attributed", "Not attributed", 0.0),
    ])
}

/// Adds to "idle: other" what one of the two does not know.
fn fold_untold(ours: &mut [WaterfallPart], theirs: &mut [WaterfallPart]) {
    for at in 0..ours.len() {
        let told = |parts: &[WaterfallPart]| parts.get(at).is_some_and(|part| part.told);
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
fn complete(parts: &mut [WaterfallPart], profile: &UnifiedProfile) {
    let sum: Ps = parts.iter().map(|part| part.time).sum();
    if let (Some(step), Some(last)) = (super::noise::of_steps(profile), parts.last_mut()) {
        last.time = us_to_ps(step.mean_us) - sum;
        // Rounding of the parts to picoseconds is no time of its own.
        let rounding = last.time;
        if rounding.as_ps().abs() <= 20 {
            last.time = Ps::ZERO;
            if let Some(largest) = parts.iter_mut().max_by_key(|part| part.time) {
                largest.time += rounding;
            }
        }
    }
}
