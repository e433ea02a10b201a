//! `crossprof timeline`: writes a step or any range as a picture or as a trace.

use std::io::Write as _;
use std::path::Path;

use crossprof::compare::{Comparison, Options, Subject, compare};
use crossprof::export::chrome_trace;
use crossprof::format::time_us;
use crossprof::metrics::Context;
use crossprof::pages::timeline::{OpChanges, colours, tells_apart};
use crossprof::timeline::{
    Arrangement, Document, Origin, Process, Scene, Shows, Sight, Stage, Timeline as Kept, TrackId, Viewport,
    chosen_lines, step_range,
};
use crossprof::trace::{Interval, LineId};
use crossprof::{Session, Settings, UnifiedProfile};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::args::{Colours, Timeline};
use super::output::{self, Outputs};
use super::time::Time;
use super::{FAILED, complain, print_result};

/// Width of the column of track names in pixels.
const NAMES_WIDTH: u32 = 220;

/// Width in pixels of a step's picture on a page.
const STEP_WIDTH: u32 = 1000;

/// Maximum height of a run's picture in pixels: a few hundred lanes. Higher pictures are unreadable, and browsers
/// cannot draw them.
const MOST_HEIGHT: u32 = 8_000;

/// Reads the inputs, draws the timeline, and returns the exit status.
pub(super) fn run(command: &Timeline) -> u8 {
    match draw(command) {
        Ok(status) => status,
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

fn draw(command: &Timeline) -> Result<u8, String> {
    let mut reports = super::analyze::reports(&command.inputs, &Outputs::new(&command.output))?;
    if reports.profiles.is_empty() {
        return Ok(FAILED);
    }
    let (titles, settings) = (crossprof::export::text::titles(&reports.profiles), reports.settings.clone());
    let runs: Vec<u32> = (0..).take(titles.len()).collect();
    let mut complaints = Vec::new();
    let drawn = drawn(command, (&mut reports.session, &settings), &runs, &reports.profiles, &mut complaints)?;
    complaints.iter().for_each(|message| complain(message));
    let printed = match &command.output {
        Some(path) => {
            output::write(path, &drawn.bytes)?;
            format!("{}: {} of {}\n", path.display(), time_us(drawn.longest.as_us()), titles.join(" and "))
        }
        None => String::from_utf8_lossy(&drawn.bytes).into_owned(),
    };
    reports.print_warnings();
    Ok(print_result(&printed, reports.status()))
}

/// A range of the timeline as a picture or as a trace.
pub(super) struct DrawnTimeline {
    /// Content of the file to write.
    pub bytes: Vec<u8>,
    /// Length of the longest range in the picture.
    longest: crossprof::Ps,
}

/// Draws the `runs` of a session as an SVG. If the extension of the output selects a Chrome trace, returns the range of
/// a run as a trace instead. `profiles` contains the profile of each run. Adds a message to `complaints` for each
/// picture that is cut.
///
/// # Errors
///
/// Fails with a message if the range or the tracks do not exist, or if a run has no events.
pub(super) fn drawn(
    command: &Timeline,
    (session, settings): (&mut Session, &Settings),
    runs: &[u32],
    profiles: &[UnifiedProfile],
    complaints: &mut Vec<String>,
) -> Result<DrawnTimeline, String> {
    let titles = crossprof::export::text::titles(profiles);
    let mut ranges = Vec::new();
    for (&run, title) in runs.iter().zip(&titles) {
        let range = session.timeline(run, settings, |context, _| range(command, context));
        ranges.push(range.ok_or_else(|| format!("{title} is an earlier result, which has no events to draw"))??);
    }
    let longest = ranges.iter().map(|range| range.length()).max().unwrap_or_default();
    if let Some(path) = command.output.as_ref().filter(|path| is_trace(path)) {
        let ([range], [run]) = (ranges.as_slice(), runs) else {
            return Err("a trace contains one run; several runs can only be drawn as an SVG".to_owned());
        };
        let write = |context: Context<'_>, kept: &Kept| trace_bytes(command, context, kept, *range, path);
        let bytes = session.timeline(*run, settings, write).unwrap_or(Ok(Vec::new()))?;
        return Ok(DrawnTimeline { bytes, longest });
    }
    // With several runs, their steps are aligned at their start and share one scale.
    let mut document = Document::default();
    let comparison = compared(command, profiles)?;
    for (((&run, title), range), index) in runs.iter().zip(&titles).zip(ranges).zip(0..) {
        let shown = Interval::new(range.start, range.start + longest);
        let comparison = comparison.as_ref().map(|comparison| (comparison, index));
        let draw = |context: Context<'_>, kept: &Kept| {
            add(&mut document, command, context, kept, Drawn { title, range: shown, comparison })
        };
        complaints.extend(session.timeline(run, settings, draw).unwrap_or(Ok(None))?);
    }
    Ok(DrawnTimeline { bytes: document.finish().into_bytes(), longest })
}

/// Draws the median step of a run as an SVG, without host threads. `None` if the run has no steps, or if no device ran them.
pub(super) fn median_step(session: &mut Session, run: u32, settings: &Settings, title: &str) -> Option<String> {
    let draw = |context: Context<'_>, kept: &Kept| {
        let range = step_range(context, crossprof::timeline::median_step(context)?)?;
        let arrangement = Arrangement::folding(kept.processes(context), &|process| process.is_host).to_string();
        let sight = Sight { width: STEP_WIDTH - NAMES_WIDTH, scale: 1.0, arrangement, ..Sight::default() };
        let mut stage = Stage::default();
        let scene = stage.scene(kept, context, &sight, &|_, _| true);
        let size = (sight.width, scene.full_height());
        let mut document = Document::default();
        let viewport = Viewport { all: range, range };
        document.add(title, &Scene { size, viewport, zero: range.start, ..scene }, NAMES_WIDTH);
        Some(document.finish())
    };
    session.timeline(run, settings, draw)?
}

/// Returns true if the file's extension selects a trace.
fn is_trace(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".json") || name.ends_with(".json.gz")
}

/// Returns a range as a Chrome trace. The trace is compressed if the file's extension is `.gz`.
fn trace_bytes(
    command: &Timeline,
    context: Context<'_>,
    kept: &Kept,
    range: Interval,
    path: &Path,
) -> Result<Vec<u8>, String> {
    let lines = match command.line.is_empty() {
        true => None,
        false => Some(lines(context, &command.line)?),
    };
    let (source, zero) = (kept.source(context, Origin::Captured), crossprof::timeline::extent(context).start);
    let is_compressed = path.extension().is_some_and(|end| end == "gz");
    let (mut plain, mut packed) = (Vec::new(), GzEncoder::new(Vec::new(), Compression::default()));
    chrome_trace::write(source, zero, range, lines.as_deref(), &mut |text| {
        // Fails only if memory runs out.
        let _ = if is_compressed { packed.write_all(text.as_bytes()) } else { plain.write_all(text.as_bytes()) };
    });
    if is_compressed { packed.finish().map_err(|error| error.to_string()) } else { Ok(plain) }
}

struct Drawn<'a> {
    title: &'a str,
    range: Interval,
    /// Comparison that determines the colours of the ops, and the run's index in the comparison. `None` if ops are
    /// coloured by class.
    comparison: Option<(&'a Comparison, u32)>,
}

/// Returns the comparison that determines the colours of the ops in two runs. `None` if ops are coloured by class.
fn compared(command: &Timeline, profiles: &[UnifiedProfile]) -> Result<Option<Comparison>, String> {
    let is_asked = command.colours == Some(Colours::Change);
    if command.colours == Some(Colours::Own) || profiles.len() != 2 && !is_asked {
        return Ok(None);
    }
    if profiles.len() != 2 {
        return Err(format!("--colours change needs two runs, but there are {}", profiles.len()));
    }
    let subjects: Vec<Subject> = profiles.iter().cloned().map(Subject::new).collect();
    let comparison = compare(&subjects, &Options::default());
    match tells_apart(&comparison) {
        true => Ok(Some(comparison)),
        false if is_asked => {
            Err("--colours change: most ops of these two runs have no match in the other run".to_owned())
        }
        false => Ok(None),
    }
}

/// Adds the picture of a run to the SVG. Returns a message if the picture is cut.
fn add(
    document: &mut Document,
    command: &Timeline,
    context: Context<'_>,
    kept: &Kept,
    Drawn { title, range, comparison }: Drawn<'_>,
) -> Result<Option<String>, String> {
    let processes = kept.processes(context);
    let has_devices = processes.iter().any(|process| !process.is_host);
    let hides = |is_host: bool| is_host && has_devices && !command.hosts;
    let hidden = hidden(context, processes, &command.line)?;
    let arrangement = match command.line.is_empty() {
        true => Arrangement::folding(processes, &|process| hides(process.is_host)),
        false => Arrangement { hidden, ..Arrangement::folding(processes, &|_| false) },
    };
    let width = command.width.saturating_sub(NAMES_WIDTH);
    let arrangement = arrangement.to_string();
    let by_change = comparison.is_some();
    let sight = Sight { width, scale: 1.0, dark: command.dark, arrangement, by_change, ..Sight::default() };
    let mut stage = Stage::default();
    let changes = comparison.map(|(comparison, run)| OpChanges::new(comparison, run));
    stage.changes = changes.map(|changes| colours(kept.source(context, Origin::Captured), &changes));
    let scene = stage.scene(kept, context, &sight, &|_, _| true);
    let height = scene.full_height();
    let is_cut = height > MOST_HEIGHT;
    let complaint = is_cut.then(|| {
        format!(
            "{title}: the first {MOST_HEIGHT} of {height} pixels are drawn. Choose lines with --line, or a shorter range with --from and --to."
        )
    });
    let size = (sight.width, height.min(MOST_HEIGHT));
    // The axis starts at the start of the step or of the capture.
    let zero = if command.step.is_some() { range.start } else { scene.zero };
    let viewport = Viewport { all: range, range };
    if comparison.is_some_and(|(_, run)| run == 0) {
        document.add_changes_legend(&scene, command.width);
    }
    document.add(title, &Scene { size, viewport, zero, ..scene }, NAMES_WIDTH);
    Ok(complaint)
}

/// Returns the tracks that no pattern matches, which are not drawn.
fn hidden(context: Context<'_>, processes: &[Process], patterns: &[String]) -> Result<Vec<TrackId>, String> {
    let chosen = lines(context, patterns)?;
    let is_chosen = |shows: Shows| matches!(shows, Shows::Events(Origin::Captured, line) if chosen.contains(&line));
    let tracks = (0..)
        .zip(processes)
        .flat_map(|(process, of)| (0..).zip(&of.tracks).map(move |(track, of)| (TrackId { process, track }, of.shows)));
    Ok(tracks.filter(|(_, shows)| !is_chosen(*shows)).map(|(id, _)| id).collect())
}

/// Returns the tracks that the patterns match.
fn lines(context: Context<'_>, patterns: &[String]) -> Result<Vec<LineId>, String> {
    let mut chosen = Vec::new();
    for pattern in patterns {
        chosen.extend(chosen_lines(context, pattern).map_err(|error| format!("--line: {error}"))?);
    }
    Ok(chosen)
}

/// Returns the range of the run that the command selects.
fn range(command: &Timeline, context: Context<'_>) -> Result<Interval, String> {
    match &command.step {
        Some(step) => {
            let index = context.analysis.steps.find_step(step);
            let index = index.ok_or_else(|| format!("--step: the run has no step {step}"))?;
            step_range(context, index).ok_or_else(|| format!("--step: no device ran step {step}"))
        }
        None => {
            // Extends a capture of zero length, so that it is visible.
            let all = Viewport::new(crossprof::timeline::extent(context)).all;
            let at =
                |time: &Option<Time>, otherwise| time.map_or(otherwise, |Time(ps)| all.start + crossprof::Ps::new(ps));
            let range = Interval::new(at(&command.from, all.start), at(&command.to, all.end));
            if command.from.zip(command.to).is_some_and(|(Time(from), Time(to))| from >= to) {
                return Err("--from must be before --to".to_owned());
            }
            let is_outside = range.start >= all.end || range.end <= range.start;
            if is_outside { Err("--from: the capture ends before it".to_owned()) } else { Ok(range) }
        }
    }
}
