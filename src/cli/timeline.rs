//! `crossprof timeline`: the picture of a step, or of any range.

use crossprof::metrics::Context;
use crossprof::timeline::{self, Arrangement, Sight, Stage, Timeline as Kept};

use super::args::Timeline;
use super::output::{self, Outputs};
use super::{FAILED, complain};

/// Pixels for the names of tracks.
const NAMES_WIDTH: u32 = 220;

/// Reads, draws, and returns the exit status.
pub fn run(command: &Timeline) -> u8 {
    match draw(command) {
        Ok(status) => status,
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

fn draw(command: &Timeline) -> Result<u8, String> {
    let mut reports = super::analyze::reports(&command.inputs, &Outputs::new([&command.output]))?;
    if reports.profiles.is_empty() {
        return Ok(FAILED);
    }
    let titles = crossprof::export::text::titles(&reports.profiles);
    let mut text = String::new();
    for (run, title) in (0..).zip(&titles) {
        let settings = reports.settings.clone();
        let drawn = reports.session.timeline(run, &settings, |context, kept| of_run(command, context, kept, title));
        text = drawn.ok_or_else(|| format!("{title} is an earlier result, which has no events to draw"))??;
    }
    output::write(&command.output, &text)?;
    reports.print_warnings();
    Ok(reports.status())
}

fn of_run(command: &Timeline, context: Context<'_>, kept: &Kept, title: &str) -> Result<String, String> {
    let range_ps = match &command.step {
        Some(step) => Some(step_range(context, step)?),
        None => None,
    };
    let processes = kept.processes(context);
    let has_devices = processes.iter().any(|process| !process.is_host);
    let hides = |is_host: bool| is_host && has_devices && !command.hosts;
    let sight = Sight {
        range_ps,
        width: command.width.saturating_sub(NAMES_WIDTH),
        scale: 1.0,
        dark: command.dark,
        arrangement: Arrangement::folding(processes, &|process| hides(process.is_host)),
        ..Sight::default()
    };
    let mut stage = Stage::default();
    let scene = stage.scene(kept, context, &sight, &|_, _| true);
    let height = scene.full_height();
    Ok(timeline::svg(&[(title.to_owned(), timeline::Scene { size: (scene.size.0, height), ..scene })], NAMES_WIDTH))
}

/// From the first start of a step on any device to its last end.
fn step_range(context: Context<'_>, step: &str) -> Result<(i64, i64), String> {
    let steps = &context.analysis.steps;
    let index = steps.find_step(step).ok_or_else(|| format!("--step: the run has no step {step}"))?;
    let windows = steps.windows.iter().filter_map(|windows| windows.get(index).copied().flatten());
    let windows = windows.map(|window| (window.interval.start.as_ps(), window.interval.end.as_ps()));
    let hull = windows.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    hull.ok_or_else(|| format!("--step: no device ran step {step}"))
}
