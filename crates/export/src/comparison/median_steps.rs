//! Draws the median steps of the runs, one above the other. The steps are aligned at their starts and have the same
//! scale.
//!
//! ```text
//!              0          5 ms        10 ms        15 ms
//! main: step 4, 17.2 ms, TPU:0
//! XLA Ops      |####=====####====####=====####====|        width: duration of a mark; height: busy share
//! new: step 3, 12.1 ms, TPU:0
//! XLA Ops      |##===##====##==##===##==|
//! ```

use base::{Ps, format};
use compare::{Comparison, Subject};
use maud::{Markup, Render, html};
use timeline::{Change, MarkName, StepLane, StepMark, StepPicture, fitting, ticks};
use trace::Interval;

use document::html::parts::{Px, WIDTH, colour, drawing, join};
use pages::compare::{name_of, others};
use pages::op_changes::OpChanges;

/// Maximum number of runs that are drawn.
const MOST_RUNS: usize = 8;
/// Width of the space to the left of the steps, for the names of lines.
const NAMES: f64 = 128.0;
/// Maximum number of letters in the name of a line.
const NAME_LETTERS: usize = 16;
const AXIS: f64 = 20.0;
const TITLE: f64 = 22.0;
const LANE: f64 = 16.0;
const GAP: f64 = 3.0;
const LEGEND: f64 = 18.0;
/// CSS class of a mark that is not an op.
const NO_OP: &str = "c-none";
/// Width of a letter on a mark.
const LETTER: f64 = 6.1;

/// A run that is drawn, with its picture.
struct Drawn {
    run: u32,
    picture: StepPicture,
    /// Change of each op, which determines its colour. `None` if the ops have the colours of their classes.
    changes: Option<OpChanges>,
}

/// Returns true for the baseline and for the first [`MOST_RUNS`] - 1 other runs. The median steps of these runs are
/// drawn if the runs have a picture.
pub(super) fn is_drawn(comparison: &Comparison, run: u32) -> bool {
    let others_before = run - u32::from(comparison.baseline < run);
    run == comparison.baseline || (others_before as usize) + 1 < MOST_RUNS
}

/// Renders the picture. Below the picture, lists the runs without a drawn step, with the reason.
pub(super) fn section(comparison: &Comparison, subjects: &[Subject]) -> Markup {
    let (mut drawn, mut missing) = (Vec::new(), Vec::new());
    for (run, subject) in (0..).zip(subjects).filter(|(run, _)| is_drawn(comparison, *run)) {
        match subject.median_step.as_deref().and_then(StepPicture::parse) {
            Some(picture) => drawn.push(Drawn { run, picture, changes: OpChanges::telling(comparison, run) }),
            None => missing.push(name_of(comparison, run)),
        }
    }
    html! {
        section id="median-steps" {
            h2 { "The median steps" }
            @if !drawn.is_empty() {
                p.note {
                    "Each row shows the counted step of a run that has the median duration, on the run's first busy \
                        device. "
                    "All steps have the same scale and are aligned at their starts. Events that are too short to \
                        be visible are merged, and the height of such a mark shows the busy share of its time."
                }
                (picture(comparison, &drawn))
            }
            @if !missing.is_empty() {
                p.note {
                    "No picture of " (join(&missing, &", "))
                    ": a picture requires a trace in which a device runs steps, or a report that was made from such a \
                        trace."
                }
            }
            @if subjects.len() > MOST_RUNS && !drawn.is_empty() {
                p.note { "Of " (subjects.len()) " runs, the baseline and the first " (MOST_RUNS - 1) " others are drawn." }
            }
        }
    }
}

fn picture(comparison: &Comparison, drawn: &[Drawn]) -> Markup {
    let longest = drawn.iter().map(|it| it.picture.length).max().unwrap_or_default();
    let scale = Scale { longest };
    let mut top = AXIS;
    let mut runs = Vec::new();
    for it in drawn {
        runs.push(run(comparison, it, &scale, &mut top));
    }
    let range = Interval::new(Ps::ZERO, longest);
    let bottom = top;
    let (legend, height) = legend(comparison, drawn, bottom + 8.0);
    let shapes = html! {
        @for tick in ticks(range, Ps::ZERO, 6) {
            @let x = scale.x(tick.time);
            path class="grid" d={ "M" (Px(x)) " " (Px(AXIS - 4.0)) "V" (Px(bottom)) } {}
            @let anchor = if x > WIDTH - 40.0 { "end" } else if x > NAMES { "middle" } else { "start" };
            text class="q" x=(Px(x)) y="12" text-anchor=(anchor) { (tick.label) }
        }
        @for run in &runs { (run) }
        (legend)
    };
    drawing("The median step of each run, one above the other", height, &shapes)
}

/// Maps times to horizontal positions.
struct Scale {
    /// Length of the longest step, which fills the whole width.
    longest: Ps,
}

impl Scale {
    fn width(&self, length: Ps) -> f64 {
        length.as_ps() as f64 / self.longest.as_ps().max(1) as f64 * (WIDTH - NAMES)
    }

    fn x(&self, time: Ps) -> f64 {
        NAMES + self.width(time)
    }
}

fn run(comparison: &Comparison, drawn: &Drawn, scale: &Scale, top: &mut f64) -> Markup {
    let StepPicture { step, device, length, names, lanes } = &drawn.picture;
    let captures = comparison.runs.get(drawn.run as usize).map_or(0, |run| run.captures.len());
    let of_captures = if captures > 1 { format!(" (the first of {captures} captures)") } else { String::new() };
    let name = format::shorten(name_of(comparison, drawn.run), 60);
    let time = format::time_us(length.as_us());
    let title = *top + TITLE - 7.0;
    *top += TITLE;
    html! {
        text x="0" y=(Px(title)) { tspan class="b" { (name) } (of_captures) ": step " (step) ", " (time) ", " (device) }
        @for of in lanes {
            (lane(drawn, of, names, scale, top))
        }
    }
}

fn lane(drawn: &Drawn, lane: &StepLane, names: &[MarkName], scale: &Scale, top: &mut f64) -> Markup {
    let y = *top;
    *top += LANE + GAP;
    // One shape per colour.
    let mut shapes: Vec<(&'static str, String)> = Vec::new();
    let mut labels = html! {};
    for mark in &lane.marks {
        let Some(name) = names.get(mark.name) else { continue };
        let class = class(drawn, name);
        if !shapes.iter().any(|(known, _)| *known == class) {
            shapes.push((class, String::new()));
        }
        let shape = shapes.iter_mut().find(|(known, _)| *known == class);
        shape.into_iter().for_each(|(_, path)| add(path, mark, scale, y));
        let letters = (scale.width(mark.length) - 4.0) / LETTER;
        if letters >= 4.0 && mark.busy.as_ps() > mark.length.as_ps() / 4 * 3 {
            let x = scale.x(mark.start) + 3.0;
            let text = fitting(&name.name, letters as usize);
            let label = html! { text class=(ink(class)) x=(Px(x)) y=(Px(y + 12.0)) { (text) } };
            label.render_to(&mut labels.0);
        }
    }
    html! {
        text class="q" x="0" y=(Px(y + 12.0)) { (fitting(&lane.line, NAME_LETTERS)) }
        rect class="lane" x=(Px(NAMES)) y=(Px(y)) width=(Px(scale.width(drawn.picture.length))) height=(Px(LANE)) {}
        @for (class, path) in &shapes { path class=(class) d=(path) {} }
        (labels)
    }
}

/// Adds a mark to a path. The height of the mark shows how much of its time is busy. If the mark is wide enough, a thin
/// gap follows it.
fn add(path: &mut String, mark: &StepMark, scale: &Scale, y: f64) {
    let (x, width) = (scale.x(mark.start), scale.width(mark.length));
    let height = LANE * mark.busy.as_ps() as f64 / mark.length.as_ps().max(1) as f64;
    let height = if height < 1.0 { 1.0 } else { height };
    let width = if width > 4.0 { width - 0.7 } else { width };
    for (letter, value) in [('M', x), (' ', y + LANE - height), ('h', width), ('v', height), ('H', x)] {
        path.push(letter);
        Px(value).render_to(path);
    }
    path.push('z');
}

/// Returns the CSS class of the colour of a mark.
fn class(drawn: &Drawn, name: &MarkName) -> &'static str {
    let is_op = !name.family.is_empty();
    match drawn.changes.as_ref().and_then(|changes| changes.of(&name.op, &name.name, is_op)) {
        Some(change) => class_of(change),
        // Only ops are compared.
        None if drawn.changes.is_some() || !is_op => NO_OP,
        None => colour(&name.family),
    }
}

fn class_of(change: Change) -> &'static str {
    match change {
        Change::Lost => "c-lost",
        Change::Gained => "c-gained",
        Change::Alone => "c-alone",
        Change::Same => "c-same",
    }
}

/// Returns the CSS class for text on a mark.
fn ink(class: &str) -> &'static str {
    match class {
        "c-same" | NO_OP => "mark pale",
        "c-elementwise" => "mark night",
        _ => "mark",
    }
}

/// Renders the legend of the colours, and returns the vertical position at which the legend ends.
fn legend(comparison: &Comparison, drawn: &[Drawn], y: f64) -> (Markup, f64) {
    let mut entries: Vec<(&'static str, String)> = Vec::new();
    if drawn.iter().any(|it| it.changes.is_some()) {
        let pair: Vec<u32> = others(comparison).collect();
        let against = match pair.as_slice() {
            [other] => format!("in {}", format::shorten(name_of(comparison, *other), 24)),
            _ => format!("than in {}", format::shorten(name_of(comparison, comparison.baseline), 24)),
        };
        entries.push((class_of(Change::Lost), format!("slower {against}")));
        entries.push((class_of(Change::Gained), format!("faster {against}")));
        entries.push((class_of(Change::Alone), "in one run only".to_owned()));
        entries.push((class_of(Change::Same), "no difference listed".to_owned()));
    }
    let families = drawn.iter().filter(|it| it.changes.is_none()).flat_map(|it| &it.picture.names);
    for name in families.filter(|name| !name.family.is_empty()) {
        let class = colour(&name.family);
        if !entries.iter().any(|(known, _)| *known == class) {
            entries.push((class, name.family.replace('_', " ")));
        }
    }
    if drawn.iter().any(|it| it.picture.names.iter().any(|name| class(it, name) == NO_OP)) {
        entries.push((NO_OP, "no op".to_owned()));
    }
    let (mut x, mut y, mut shown) = (0.0, y, html! {});
    for (class, text) in entries {
        let width = 30.0 + 7.0 * text.chars().count() as f64;
        if x + width > WIDTH && x > 0.0 {
            (x, y) = (0.0, y + LEGEND);
        }
        let entry = html! {
            rect class=(class) x=(Px(x)) y=(Px(y)) width="10" height="10" {}
            text class="q" x=(Px(x + 14.0)) y=(Px(y + 9.5)) { (text) }
        };
        entry.render_to(&mut shown.0);
        x += width;
    }
    (shown, y + LEGEND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::{MatchedBy, MatchedTime, Matching, example};

    /// Two lanes. The second mark is half busy.
    fn picture(length: i64) -> String {
        format!(
            "7\t{length}\tTPU:0\n=<b>dot.1\tdot.1\tmatmul\n=wait\t\t\n#XLA Ops\n250\t125\t0\n25\t100\t0\t50\n#\n0\t{length}\t1"
        )
    }

    fn drawn(lengths: [Option<i64>; 2], matched_us: f64) -> String {
        let mut subjects = example::subjects();
        for (subject, length) in subjects.iter_mut().zip(lengths) {
            subject.median_step = length.map(picture);
        }
        let mut comparison = example::comparison();
        comparison.matching = vec![Matching {
            run: 1,
            matched_us: vec![MatchedTime { matched_by: MatchedBy::Name, time_us: matched_us }],
            unmatched_us: [1.0; 2],
            ..Matching::default()
        }];
        section(&comparison, &subjects).into_string()
    }

    #[test]
    fn marks_are_placed_on_the_scale_of_the_longest_step() {
        let page = drawn([Some(1_000), Some(500)], 9.0);
        // 632 pixels are 1,000 ps. The mark begins at 250 ps, and is 125 ps wide minus a thin gap. Its height is its busy
        // share.
        let marks = |y: f64| {
            let first = format!("M286.0 {y:.1}h78.3v16.0H286.0z", y = y);
            let second = format!("M380.8 {half:.1}h62.5v8.0H380.8z", half = y + 8.0);
            format!("{first}{second}")
        };
        assert!(page.contains(&marks(42.0)) && page.contains(&marks(102.0)), "{page}");
        for width in ["632.0", "316.0"] {
            assert_eq!(page.matches("class=\"lane\" x=\"128.0\" y=\"").count(), 4);
            assert_eq!(page.matches(&format!("width=\"{width}\" height=\"16.0\"")).count(), 2, "{page}");
        }
        assert!(
            page.contains("main</tspan>: step 7, 1.00 ns, TPU:0") && page.contains(": step 7, 500 ps, TPU:0"),
            "{page}"
        );
        assert!(page.contains("&lt;b&gt;dot.1") && !page.contains("<b>") && !page.contains("style="), "{page}");
    }

    #[test]
    fn ops_are_coloured_by_change_or_by_class() {
        let changed = drawn([Some(1_000); 2], 9.0);
        assert!(
            changed.contains("slower in new") && changed.contains("no op") && !changed.contains("c-matmul"),
            "{changed}"
        );
        let own = drawn([Some(1_000); 2], 0.0);
        assert!(own.contains(">matmul</text>") && !own.contains("slower in new"), "{own}");
    }

    #[test]
    fn a_run_without_a_picture_is_named() {
        let one = drawn([Some(1_000), None], 9.0);
        assert!(one.contains("<svg") && one.contains("No picture of new: a picture requires a trace"), "{one}");
        let none = drawn([None; 2], 9.0);
        assert!(!none.contains("<svg") && none.contains("No picture of main, new: "), "{none}");
    }
}
