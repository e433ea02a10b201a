//! Compares the time spent in each phase of a training step and in each layer of the model.
//!
//! A profile lists only the layers with a certain share of its op time. If a run does not list a layer, the layer's
//! time in that run is unknown: the layer takes less than this share, or the program lacks it.

use super::difference::of_values;
use super::subject::mean;
use super::t_quantile::t_quantile_9995;
use super::{LayerChange, LayerKind, Subject};
use base::sort;
use report::{LayerTime, Layers, Phase, UnifiedProfile};

/// Returns the phases in the order of a step, and then the layers, the largest difference first. Empty if a run has no layers.
pub(crate) fn layers(run: usize, subject: &Subject, base: &Subject) -> Vec<LayerChange> {
    let has_layers =
        |side: &Subject| side.captures().iter().all(|it| it.layers.is_some() && device_steps(it).is_some());
    let (Some(ours), Some(theirs)) = (&subject.profile.layers, &base.profile.layers) else { return Vec::new() };
    if !has_layers(subject) || !has_layers(base) {
        return Vec::new();
    }
    let sides = [subject, base];
    let mut found = Vec::new();
    if !ours.phases.is_empty() && !theirs.phases.is_empty() {
        for phase in Phase::ALL {
            let of = |layers: &Layers| {
                layers.phases.iter().filter(|it| it.phase == phase).map(|it| it.self_time_us).reduce(|a, b| a + b)
            };
            let change = LayerChange { kind: LayerKind::Phase, name: phase.key().to_owned(), ..LayerChange::default() };
            found.push(timed(change, sides, of, |_| None));
        }
        found.retain(|it| it.time_us.iter().flatten().any(|time| *time > 0.0));
    }
    let mut layers: Vec<LayerChange> = pairs(&ours.layers, &theirs.layers)
        .into_iter()
        .map(|[ours, theirs]| {
            let path = |it: Option<&LayerTime>| it.map(|it| it.path.clone());
            let paths = [path(ours), path(theirs)];
            let name = paths.iter().flatten().next().cloned().unwrap_or_default();
            let baseline_name = path(theirs).filter(|path| *path != name);
            let members = [ours, theirs].map(|it| it.map_or(0, |it| it.members));
            let change = LayerChange { kind: LayerKind::Layer, name, baseline_name, members, ..LayerChange::default() };
            let in_list = |layers: &Layers| {
                let wanted = |it: &&LayerTime| paths.iter().flatten().any(|path| *path == it.path);
                layers.layers.iter().find(wanted).cloned()
            };
            timed(change, sides, |it| Some(in_list(it)?.self_time_us), |it| in_list(it)?.exposed_communication_us)
        })
        .collect();
    // A layer that only one run lists differs by at most its time in that run.
    let size = |it: &LayerChange| it.delta_us_per_step.unwrap_or(0.0).abs();
    let known = |it: &LayerChange| it.time_us.iter().flatten().fold(0.0, |sum, time| sum + time);
    sort::sort_by(&mut layers, |a, b| size(b).total_cmp(&size(a)).then_with(|| known(b).total_cmp(&known(a))));
    found.append(&mut layers);
    found.iter_mut().for_each(|it| it.run = u32::try_from(run).unwrap_or(u32::MAX));
    found
}

/// Pairs the layers of both runs by path, or by the path inside the program if that is unique.
fn pairs<'l>(ours: &'l [LayerTime], theirs: &'l [LayerTime]) -> Vec<[Option<&'l LayerTime>; 2]> {
    let mut rest: Vec<&LayerTime> = theirs.iter().collect();
    let mut pairs: Vec<[Option<&LayerTime>; 2]> = Vec::new();
    for own in ours {
        let place = rest.iter().position(|it| it.path == own.path);
        pairs.push([Some(own), place.map(|place| rest.remove(place))]);
    }
    let is_only = |of: &[LayerTime], path: &str| of.iter().filter(|it| inner(it) == path).count() == 1;
    for pair in &mut pairs {
        if let [Some(own), other @ None] = pair {
            let path = inner(own);
            let place = rest.iter().position(|it| inner(it) == path);
            let is_unique = !path.is_empty() && is_only(ours, path) && is_only(theirs, path);
            *other = place.filter(|_| is_unique).map(|place| rest.remove(place));
        }
    }
    // Pairs the whole programs, if each side has only one without a partner.
    let is_program = |it: &LayerTime| !it.path.contains('/');
    let mut alone = pairs.iter_mut().filter(|it| matches!(it, [Some(own), None] if is_program(own)));
    if let (Some([_, other]), None, [place]) = (alone.next(), alone.next(), &places(&rest, is_program)[..]) {
        *other = Some(rest.remove(*place));
    }
    pairs.extend(rest.into_iter().map(|other| [None, Some(other)]));
    pairs
}

fn places(layers: &[&LayerTime], wanted: impl Fn(&LayerTime) -> bool) -> Vec<usize> {
    layers.iter().enumerate().filter(|(_, it)| wanted(it)).map(|(place, _)| place).collect()
}

fn inner(layer: &LayerTime) -> &str {
    layer.path.split_once('/').map_or("", |(_, path)| path)
}

/// Number of (step, device) pairs that the times of a profile are summed over.
fn device_steps(profile: &UnifiedProfile) -> Option<f64> {
    profile.step_ops.as_ref().map(|it| it.device_steps).filter(|&it| it > 0).map(|it| it as f64)
}

/// Adds the times per step per device, which `time` and `exposed` read from the section of each capture.
fn timed(
    change: LayerChange,
    sides: [&Subject; 2],
    time: impl Fn(&Layers) -> Option<f64>,
    exposed: impl Fn(&Layers) -> Option<f64>,
) -> LayerChange {
    let per_step = |profile: &UnifiedProfile, of: &dyn Fn(&Layers) -> Option<f64>| {
        Some(of(profile.layers.as_ref()?)? / device_steps(profile)?)
    };
    let means = |of: &dyn Fn(&Layers) -> Option<f64>| {
        sides.map(|side| mean(side.captures(), |it| per_step(it, of)).filter(|it| it.is_finite()))
    };
    let time_us = means(&time);
    let exposed_us = match means(&exposed) {
        [None, None] => None,
        [ours, theirs] => Some([ours.unwrap_or(0.0), theirs.unwrap_or(0.0)]),
    };
    let values = sides.map(|side| {
        side.captures().iter().filter_map(|it| per_step(it, &time)).filter(|it| it.is_finite()).collect::<Vec<_>>()
    });
    let delta = match time_us {
        [Some(ours), Some(theirs)] => Some(ours - theirs),
        _ => None,
    };
    let noise = of_values(&values[0], &values[1]).filter(|_| delta.is_some());
    let margin_us = noise.map(|(error, df)| t_quantile_9995(df) * error).filter(|margin| margin.is_finite());
    LayerChange { time_us, exposed_us, delta_us_per_step: delta, margin_us, ..change }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{PhaseTime, StepOps};

    fn profile(device_steps: u64, layers: &[(&str, u64, f64)], forward_us: f64) -> UnifiedProfile {
        let layer = |&(path, members, self_time_us): &(&str, u64, f64)| LayerTime {
            path: path.to_owned(),
            members,
            self_time_us,
            ..LayerTime::default()
        };
        let phase = |phase, self_time_us| PhaseTime { phase, self_time_us, ..PhaseTime::default() };
        let phases = vec![phase(Phase::Forward, forward_us), phase(Phase::Backward, 200.0), phase(Phase::Other, 0.0)];
        UnifiedProfile {
            layers: Some(Layers { phases, layers: layers.iter().map(layer).collect(), ..Layers::default() }),
            step_ops: Some(StepOps { device_steps, ..StepOps::default() }),
            ..UnifiedProfile::default()
        }
    }

    /// Name, times in both runs, and difference.
    type Told<'a> = (&'a str, [Option<f64>; 2], Option<f64>);

    fn told(found: &[LayerChange]) -> Vec<Told<'_>> {
        found.iter().map(|it| (it.name.as_str(), it.time_us, it.delta_us_per_step)).collect()
    }

    #[test]
    fn layers_are_compared_per_step_and_device() {
        let base = Subject::new(profile(
            10,
            &[("jit_f", 1, 500.0), ("jit_f/layer_*", 4, 300.0), ("jit_f/head", 1, 100.0), ("jit_f/old", 1, 40.0)],
            100.0,
        ));
        let other = Subject::new(profile(
            20,
            &[("jit_f", 1, 1100.0), ("jit_f/layer_*", 5, 800.0), ("jit_f/head", 1, 200.0), ("jit_f/new", 1, 60.0)],
            220.0,
        ));
        let found = layers(1, &other, &base);
        assert_eq!(
            told(&found),
            [
                ("forward", [Some(11.0), Some(10.0)], Some(1.0)),
                ("backward", [Some(10.0), Some(20.0)], Some(-10.0)),
                ("jit_f/layer_*", [Some(40.0), Some(30.0)], Some(10.0)),
                ("jit_f", [Some(55.0), Some(50.0)], Some(5.0)),
                ("jit_f/head", [Some(10.0), Some(10.0)], Some(0.0)),
                ("jit_f/old", [None, Some(4.0)], None),
                ("jit_f/new", [Some(3.0), None], None),
            ]
        );
        assert_eq!((found[2].members, found[2].margin_us, found[2].run), ([5, 4], None, 1));
        let without = Subject::new(UnifiedProfile { layers: None, ..profile(10, &[], 1.0) });
        assert_eq!(layers(1, &without, &base), []);
        assert_eq!(layers(1, &other, &without), []);
    }

    #[test]
    fn a_renamed_program_has_the_same_layers() {
        let base = Subject::new(profile(1, &[("jit_f/attn", 1, 30.0), ("jit_f/mlp", 1, 10.0)], 1.0));
        let other =
            Subject::new(profile(1, &[("jit_g/attn", 1, 20.0), ("jit_g/mlp", 1, 10.0), ("jit_h/mlp", 1, 5.0)], 1.0));
        let found = layers(1, &other, &base);
        let of =
            |name: &str| found.iter().find(|it| it.name == name).map(|it| (it.baseline_name.as_deref(), it.time_us));
        assert_eq!(of("jit_g/attn"), Some((Some("jit_f/attn"), [Some(20.0), Some(30.0)])));
        // Two programs have this layer, so it is not matched.
        assert_eq!(of("jit_g/mlp"), Some((None, [Some(10.0), None])));
        assert_eq!(of("jit_f/mlp"), Some((None, [None, Some(10.0)])));
    }

    /// With several captures, the difference is between their means, and the margin comes from Student's t at 99.9 %.
    #[test]
    fn captures_give_the_noise() {
        let side = |times: [f64; 3]| {
            let captures = times.map(|time| profile(1, &[("jit_f/attn", 1, time)], 1.0));
            Subject::of_captures("side", captures.to_vec()).unwrap()
        };
        let found = layers(1, &side([12.0, 13.0, 14.0]), &side([9.0, 10.0, 11.0]));
        let change = found.iter().find(|it| it.kind == LayerKind::Layer).unwrap();
        assert_eq!((change.time_us, change.delta_us_per_step), ([Some(13.0), Some(10.0)], Some(3.0)));
        // The pooled deviation is 1, the standard error sqrt(2/3), and t with 4 degrees of freedom 8.61.
        let margin = change.margin_us.unwrap();
        assert!((margin - 8.61 * (2.0f64 / 3.0).sqrt()).abs() < 0.02, "{margin}");
    }
}
