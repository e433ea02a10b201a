//! Comparison of runs. The URL contains all settings: names and files of the runs, their labels, the baseline, batch
//! sizes, power and prices. If a user opens such a link without the data, the page names the files to drop. After these
//! files are loaded, the page shows the same comparison.

mod choice;
mod inputs;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use choice::{Choice, Chosen};
use crossprof::compare::MOST_RUNS;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use super::blocks::{Answer, failure};
use super::export::{copied, saved};
use crate::ask::Heard;
use crate::blocks::blocks_view;
use crate::components::live::{live, shown};
use crate::model::amount;
use crate::protocol::analyst::{Form, SubjectEntry, Subjects};
use crate::protocol::wire::Document;
use crate::route::{Route, View};
use crate::state::{Report, Run, State};
use crate::timeline::BESIDE;
use crate::{ask, browser, programs};

thread_local! {
    /// Settings of the comparison, which are restored when the user returns to the comparison.
    static KEPT: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
    /// Differences between the compiled programs of a baseline and of a run, with the reports of both. The bytes are
    /// empty while the programs are being compared.
    static CHANGES: RefCell<Vec<(Pair, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
    /// Highest number among the runs that were added or skipped.
    static SEEN: Cell<u32> = const { Cell::new(0) };
    /// True if runs were added automatically, and their folders have not yet been checked for captures that form a
    /// group.
    static NEW: Cell<bool> = const { Cell::new(false) };
}

/// Finds the open run for each chosen run, by name. If several open runs have that name, prefers the run with the
/// chosen file, and otherwise takes the first in the rail. Also returns the open runs that are not chosen.
fn found(state: State, choice: &Choice) -> (Vec<Option<Run>>, Vec<Run>) {
    let mut left = state.runs.get();
    left.retain(|run| run.has(View::TIMELINE));
    let mut chosen: Vec<Option<Run>> = vec![None; choice.runs.len()];
    // On another machine, the file may have a different path.
    for same_file in [true, false] {
        for (slot, chosen) in chosen.iter_mut().zip(&choice.runs).filter(|(slot, _)| slot.is_none()) {
            let is = |run: &Run| {
                run.report.with(|report| {
                    let metadata = &report.profile.metadata;
                    metadata.name() == chosen.name && (!same_file || metadata.trace_file == chosen.file)
                })
            };
            *slot = left.iter().position(is).map(|at| left.remove(at));
        }
    }
    (chosen, left)
}

/// Returns the highest run number.
fn latest(state: State) -> u32 {
    state.runs.with(|runs| runs.iter().map(|run| run.id).max().unwrap_or(0))
}

fn is_named(state: State) -> bool {
    state.route.with(|route| route.query.options.contains_key("runs"))
}

/// Writes the settings to the URL, and stores them for the user's next visit to this view.
fn write(state: State, choice: &Choice) {
    choice.write(state);
    KEPT.with_borrow_mut(|kept| state.route.with_untracked(|route| kept.clone_from(&route.query.options)));
}

/// Adds runs that were opened since the last call. If the URL names runs, waits until these runs are open.
fn keep_up(state: State) {
    let (latest, is_named) = (latest(state), is_named(state));
    let is_loading = state.loads.with(|loads| loads.iter().any(|load| load.busy.get()));
    untrack(|| {
        let kept = KEPT.with_borrow(Clone::clone);
        let is_restored = !is_named && kept.contains_key("runs");
        if is_restored {
            state.route.update(|route| route.query.options.extend(kept));
        }
        let before = Choice::read(state);
        let mut choice = before.clone();
        let (mut chosen, left) = found(state, &choice);
        if chosen.iter().all(Option::is_some) {
            for run in left.into_iter().filter(|run| run.id > SEEN.get()) {
                // Runs are read in any order, so sort them by file.
                let place = |run: &Run| (run.load, run.index);
                let at = chosen.iter().flatten().position(|other| place(other) > place(&run));
                let at = at.unwrap_or(chosen.len());
                let known = choice.runs.len();
                choice.add(at, &run);
                NEW.set(true);
                if choice.runs.len() > known {
                    chosen.insert(at, Some(run));
                }
            }
            SEEN.set(latest);
        }
        if !is_loading && NEW.take() {
            let (chosen, left) = found(state, &choice);
            choice.group_folders(&chosen, &left);
        }
        if is_restored || choice != before {
            write(state, &choice);
        }
    });
}

/// The comparison that the URL describes.
struct Compared {
    /// Compared runs. The workers of the first run make the comparison.
    runs: Vec<Run>,
    subjects: Subjects,
    /// Attachments of the request. The profiles of the runs come first, then the differences between their programs,
    /// then those pictures of median steps that the page has already received.
    profiles: Vec<JsValue>,
}

impl Compared {
    /// Requests the picture of each run's median step, in order, and then the report.
    fn report(mut self, heard: Heard<Document>) {
        let drawn = self.profiles.len() - 2 * self.runs.len();
        let Some(run) = self.runs.get(drawn).cloned() else { return self.ask(Form::Html, heard) };
        let next = move |step: Result<Document, String>| {
            let step = step.map_or_else(|_| browser::buffer(&[]), |step| step.buffer().clone());
            self.profiles.push(step.into());
            self.report(heard);
        };
        ask::median_step(&run, Box::new(next));
    }

    fn ask(self, form: Form, heard: Heard<Document>) {
        if let Some(first) = self.runs.first() {
            ask::document(first, self.subjects, &self.profiles, form, heard);
        }
    }
}

/// Returns the comparison that the URL describes. Returns `None` if the comparison has fewer than two runs, too many
/// runs, or a run that is not open.
fn compared(state: State, choice: &Choice) -> Option<Compared> {
    if choice.len() > MOST_RUNS {
        return None;
    }
    let (runs, _) = found(state, choice);
    let runs: Vec<Run> = runs.into_iter().collect::<Option<_>>()?;
    if choice.len() < 2 {
        return None;
    }
    let subject = |(run, chosen): (&Run, &Chosen)| SubjectEntry {
        name: chosen.shown(state, Some(run)),
        batch_size: inputs::whole(&chosen.batch),
        seq_length: inputs::whole(&chosen.seq),
        watts_per_device: amount(&chosen.watts),
        dollars_per_device_hour: amount(&chosen.dollars),
        group: Some(chosen.group.clone()).filter(|group| !group.is_empty()),
    };
    let subjects = Subjects {
        subjects: runs.iter().zip(&choice.runs).map(subject).collect(),
        baseline: choice.baseline as u32,
        weak_scaling: match choice.scaling.as_str() {
            "weak" => Some(true),
            "strong" => Some(false),
            _ => None,
        },
    };
    let profiles = runs.iter().map(|run| run.report.with(|report| browser::buffer(&report.document)));
    let baseline = runs.get(choice.baseline)?;
    let changes = runs.iter().map(|run| browser::buffer(&known_changes(&pair(baseline, run)).unwrap_or_default()));
    let profiles = profiles.chain(changes).map(Into::into).collect();
    Some(Compared { runs, subjects, profiles })
}

/// Renders the page.
#[component]
pub fn Compare() -> impl IntoView {
    let state = State::get();
    // A link names all runs to compare, so do not add the runs that are already open.
    if untrack(|| is_named(state)) {
        SEEN.set(untrack(|| latest(state)));
    }
    Effect::new(move |_| keep_up(state));
    let answer = asked(state);
    let is_shown = move || {
        let choice = Choice::read(state);
        (2..=MOST_RUNS).contains(&choice.len()) && found(state, &choice).0.iter().all(Option::is_some)
    };
    let drawn = move || state.runs.with(|runs| runs.first().cloned()).map(|run| blocks_view(run, answer.blocks));
    view! {
        <div class="page compare">
            <header class="run-header"><h1>"Compare runs"</h1><span class="spring"></span>{shown(is_shown, move || downloads(state))}</header>
            {live(move || chips(state))}
            {live(move || notice(state))}
            {shown(is_shown, move || view! { {failure(answer)}<div class="blocks" aria-busy=answer.busy()>{live(drawn)}</div> })}
        </div>
    }
}

/// Returns the reason why there is no comparison yet.
fn notice(state: State) -> Option<AnyView> {
    let choice = Choice::read(state);
    let (runs, _) = found(state, &choice);
    let name = |chosen: &Chosen| match chosen.file.as_str() {
        "" => chosen.name.clone(),
        file => format!("{} ({file})", chosen.name),
    };
    let missing = runs.iter().zip(&choice.runs).filter(|(run, _)| run.is_none()).map(|(_, chosen)| name(chosen));
    let missing: Vec<String> = missing.collect();
    let text = if !missing.is_empty() {
        format!(
            "These runs are not open: {}. Drop their files again, or remove them (×).",
            crossprof::text::format::printable(&missing.join(", "))
        )
    } else if choice.len() > MOST_RUNS {
        format!(
            "A comparison can have at most {MOST_RUNS} runs. Put captures of one program in the same group, or remove runs (×)."
        )
    } else if choice.len() < 2 {
        "Open at least two runs (drop their files anywhere on this page), and choose them above.".to_owned()
    } else {
        return None;
    };
    Some(view! { <p class="empty" role="status">{text}</p> }.into_any())
}

/// Requests the comparison now, and each time its settings or reports change.
fn asked(state: State) -> Answer {
    let answer = Answer::default();
    let compared_programs = RwSignal::new(());
    Effect::new(move |_| {
        compared_programs.track();
        let choice = Choice::read(state);
        let filter = state.route.with(|route| route.query.filter.clone());
        // A new report of a run requires a new request.
        for run in found(state, &choice).0.iter().flatten() {
            run.report.track();
        }
        if let Some(Compared { runs, subjects, profiles }) = untrack(|| compared(state, &choice)) {
            answer.is_awaited.set(true);
            if let Some(first) = runs.first() {
                ask::comparison_page(first, subjects, &profiles, filter, answer.heard());
            }
            compare_programs(runs, choice.baseline, compared_programs);
        }
    });
    answer
}

/// Reports of a baseline and of a run. A run gets a new report if its settings change.
type Pair = [Weak<Report>; 2];

fn pair(baseline: &Run, run: &Run) -> Pair {
    [baseline, run].map(|run| run.report.with_untracked(Arc::downgrade))
}

/// Returns the differences between the programs of a pair. Returns `None` if the differences have not been requested.
fn known_changes(pair: &Pair) -> Option<Vec<u8>> {
    let is = |known: &Pair| known.iter().zip(pair).all(|(known, report)| known.ptr_eq(report));
    CHANGES.with_borrow(|all| Some(all.iter().rfind(|(known, _)| is(known))?.1.clone()))
}

/// Compares the programs of the next run with the programs of the baseline, unless the differences are known. Notifies
/// `compared` if both runs have programs.
fn compare_programs(runs: Vec<Run>, baseline: usize, compared: RwSignal<()>) {
    let Some(base) = runs.get(baseline) else { return };
    let is_known = |run: &Run| run.id == base.id || known_changes(&pair(base, run)).is_some();
    let Some(run) = runs.iter().find(|run| !is_known(run)) else { return };
    let pair = pair(base, run);
    CHANGES.with_borrow_mut(|known| known.push((pair.clone(), Vec::new())));
    let (base, run) = (base.clone(), run.clone());
    let heard = move |changes: Result<Document, String>| match changes.map(|changes| changes.to_vec()) {
        Ok(changes) if !changes.is_empty() => {
            CHANGES.with_borrow_mut(|known| known.push((pair, changes)));
            compared.notify();
        }
        _ => compare_programs(runs, baseline, compared),
    };
    programs::changes(&base, &run, Box::new(heard));
}

/// Returns the `data-do` and `data-at` attributes of the nearest element that has them.
fn target(event: &web_sys::Event) -> Option<(String, usize)> {
    let element = event.target()?.dyn_into::<web_sys::Element>().ok()?.closest("[data-do]").ok()??;
    let at = element.get_attribute("data-at").and_then(|at| at.parse().ok()).unwrap_or(0);
    Some((element.get_attribute("data-do")?, at))
}

/// Returns the chip under the pointer, and true if the pointer is in the middle half of the chip. A run that the user
/// drops on the middle half joins the chip's group. A run that the user drops closer to an edge moves next to the chip.
fn hovered(event: &web_sys::DragEvent) -> Option<(web_sys::Element, bool)> {
    let chip = event.target()?.dyn_into::<web_sys::Element>().ok()?.closest(".compare-chip").ok()??;
    let bounds = chip.get_bounding_client_rect();
    let share = (f64::from(event.client_x()) - bounds.left()) / bounds.width();
    Some((chip, (0.25..=0.75).contains(&share)))
}

/// Marks the chip under a dragged chip, to show the effect of dropping the chip there. Removes the mark from other
/// chips.
fn mark(event: &web_sys::DragEvent) {
    let chip = hovered(event).filter(|_| event.type_() == "dragover");
    let all = event.current_target().and_then(|it| it.dyn_into::<web_sys::Element>().ok());
    let marked = all.and_then(|all| all.query_selector("[data-drop]").ok().flatten());
    if let Some(marked) = marked.filter(|marked| chip.as_ref().is_none_or(|(chip, _)| chip != marked)) {
        let _ = marked.remove_attribute("data-drop");
    }
    if let Some((chip, is_middle)) = chip {
        let _ = chip.set_attribute("data-drop", if is_middle { "join" } else { "move" });
    }
}

/// Changes the settings in the URL.
fn change(state: State, change: impl FnOnce(&mut Choice)) {
    let mut next = untrack(|| Choice::read(state));
    change(&mut next);
    write(state, &next);
}

/// Renders the chosen runs and the runs that can be added. One handler per kind of event handles all chips, and
/// attributes identify the chip.
fn chips(state: State) -> AnyView {
    let now = Choice::read(state);
    let (chosen, mut left) = found(state, &now);
    let more = (now.len() >= MOST_RUNS && !left.is_empty()).then(
        || view! { <li class="quiet">{format!("{} more runs are open, but a comparison can have at most {MOST_RUNS}", left.len())}</li> },
    );
    if more.is_some() {
        left.clear();
    }
    let dragged = Rc::new(Cell::new(None::<usize>));
    let addable = left.clone();
    let clicked = move |event: web_sys::MouseEvent| {
        let Some((word, at)) = target(&event) else { return };
        change(state, |next| match word.as_str() {
            "base" => next.baseline = at,
            "left" => next.move_run(at, at.wrapping_sub(1)),
            "right" => next.move_run(at, at + 1),
            "out" => next.remove(at),
            "ungroup" => next.ungroup(),
            "add" => addable.get(at).into_iter().for_each(|run| next.add(usize::MAX, run)),
            _ => {}
        });
    };
    let changed = move |event: web_sys::Event| {
        let Some((word, at)) = target(&event) else { return };
        let text = event_target_value(&event).replace('\n', " ").trim().to_owned();
        change(state, |next| match (word.as_str(), next.runs.get_mut(at)) {
            ("scaling", _) => next.scaling = text,
            ("name", Some(run)) => run.called = if text == run.name { String::new() } else { text },
            ("batch", Some(run)) => run.batch = text,
            ("seq", Some(run)) => run.seq = text,
            ("watts", Some(run)) => run.watts = text,
            ("dollars", Some(run)) => run.dollars = text,
            ("group", Some(run)) => run.group = text,
            _ => {}
        });
    };
    let called: Vec<String> = now.runs.iter().zip(&chosen).map(|(run, here)| run.shown(state, here.as_ref())).collect();
    let fields: Vec<(String, Option<Run>)> = called.iter().cloned().zip(chosen.iter().cloned()).collect();
    let (from, moved, over_with) = (dragged.clone(), dragged.clone(), dragged.clone());
    // A chip is not a file, so hide its drag events from the page's file drop.
    let over = move |event: web_sys::DragEvent| {
        if moved.get().is_some() {
            event.prevent_default();
            event.stop_propagation();
            mark(&event);
        }
    };
    let drag = move |event: web_sys::DragEvent| from.set(target(&event).map(|(_, at)| at));
    let dropped = move |event: web_sys::DragEvent| {
        if let (Some(from), Some((_, to))) = (dragged.take(), target(&event)) {
            event.prevent_default();
            event.stop_propagation();
            if from == to {
                return;
            }
            let called = called.get(to).cloned().unwrap_or_default();
            let is_joined = hovered(&event).is_some_and(|(_, is_middle)| is_middle);
            change(state, |next| if is_joined { next.join(from, to, &called) } else { next.move_run(from, to) });
        }
    };
    let is_grouped = now.runs.iter().any(|run| !run.group.is_empty());
    let last = now.runs.len().saturating_sub(1);
    let chip = |(at, run): (usize, &Chosen)| {
        let is_base = at == now.baseline;
        let called = run.shown(state, chosen.get(at).and_then(Option::as_ref));
        let button = |word: &'static str, sign: &'static str, label: String, off: bool| {
            view! { <button class="icon-button" data-do=word data-at=at.to_string() title=label.clone() aria-label=label disabled=off>{sign}</button> }
                .into_any()
        };
        let field = |word: &'static str, class: &'static str, label: String, value: String| {
            view! { <input class=class type="text" spellcheck="false" data-do=word data-at=at.to_string() aria-label=label placeholder=word value=value /> }
                .into_any()
        };
        let base = if is_base {
            ("◆", format!("{called} is the baseline"))
        } else {
            ("◇", format!("Make {called} the baseline"))
        };
        view! {
            <li class=if is_base { "compare-chip baseline" } else { "compare-chip" } draggable="true" data-do="chip" data-at=at.to_string()>
                <span class="grip" aria-hidden="true">"⠿"</span>
                {button("base", base.0, base.1, false)}
                {field("name", "compare-name", format!("Name of {called}"), called.clone())}
                {button("left", "←", format!("Move {called} to the left"), at == 0)}
                {button("right", "→", format!("Move {called} to the right"), at == last)}
                {field("group", "compare-group", format!("Group of captures that {called} belongs to"), run.group.clone())}
                {button("out", "×", format!("Remove {called}"), false)}
            </li>
        }
        .into_any()
    };
    let add = left.iter().enumerate().map(|(at, run)| {
        let name = state.name_of(run.id);
        let label = format!("+ {}", crossprof::text::format::shorten(&crossprof::text::format::printable(&name), 40));
        view! { <li><button class="chip" data-do="add" data-at=at.to_string()>{label}</button></li> }.into_any()
    });
    let all: Vec<AnyView> = now.runs.iter().enumerate().map(chip).chain(add).collect();
    let modes = [("", "inferred from the batch size"), ("strong", "strong"), ("weak", "weak")]
        .map(|(value, title)| view! { <option value=value selected=now.scaling == value>{title}</option> }.into_any());
    // Runs with the same number of devices, or on different platforms, cannot show scaling.
    let devices = |run: &Run| {
        run.report.with(|report| (report.profile.metadata.platform.clone(), report.profile.metadata.num_devices))
    };
    let devices: Vec<_> = chosen.iter().flatten().map(devices).collect();
    let scales = devices.iter().any(|one| devices.iter().any(|other| one.0 == other.0 && one.1 < other.1));
    view! {
        <section class="panel compare-runs" aria-label="Compared runs" on:click=clicked on:change=changed
            on:dragstart=drag on:dragover=over on:dragend=move |event| {
                over_with.set(None);
                mark(&event);
            } on:drop=dropped>
            <ul class="compare-chips">{all}{more}</ul>
            {inputs::inputs(&now, &fields)}
            <div class="compare-help">
                <details><summary>"How runs are ordered and grouped"</summary>
                    <p>"◆ marks the baseline. To change the order, drag a run to the edge of another run, or use the arrows. Captures in one group are treated as one run. To group two captures, drag one onto the other. Several captures of each program show whether the programs differ."</p>
                </details>
                {is_grouped.then(|| view! { <button class="chip" data-do="ungroup">"Treat each capture as a separate run"</button> })}
                {scales.then(|| view! { <label>"Scaling "<select data-do="scaling">{modes.into_iter().collect::<Vec<_>>()}</select></label> })}
            </div>
        </section>
    }
    .into_any()
}

fn downloads(state: State) -> AnyView {
    let get = move |event: web_sys::MouseEvent| {
        let Some((word, _)) = target(&event) else { return };
        let choice = untrack(|| Choice::read(state));
        let names: Vec<&str> = choice.runs.iter().map(|run| run.name.as_str()).collect();
        let name = browser::file_stem(&format!("compare-{}", names.join("-")).chars().take(80).collect::<String>());
        let (form, kind) = match word.as_str() {
            "html" => (Form::Html, "text/html"),
            "json" => (Form::Json, "application/json"),
            _ => (Form::Markdown, ""),
        };
        let heard = match kind {
            "" => copied(state, "Comparison"),
            kind => saved(state, format!("{name}.{word}"), kind),
        };
        match untrack(|| compared(state, &choice)) {
            Some(compared) if form == Form::Html => compared.report(heard),
            Some(compared) => compared.ask(form, heard),
            None => {}
        }
    };
    // Link to the timelines of the baseline and of the first other run.
    let timelines = move || {
        let choice = Choice::read(state);
        let (runs, _) = found(state, &choice);
        let is_traced = |run: &Run| run.report.with_untracked(|report| report.profile.is_from_events());
        let traced = |at: usize| runs.get(at)?.clone().filter(is_traced);
        let (baseline, other) = (traced(choice.baseline)?, traced(usize::from(choice.baseline == 0))?);
        let mut route = Route::of(View::TIMELINE, baseline.id);
        route.query.options.insert(BESIDE.to_owned(), other.id.to_string());
        Some(view! { <a class="button" href=route.href()>"Timelines, one above the other"</a> })
    };
    view! {
        <p class="buttons compare-downloads" on:click=get>
            <button class="button primary" id="download-report" data-do="html" data-save="report">"Download report"</button>
            <button class="button" id="download-comparison" data-do="json" data-save="comparison">"Download JSON"</button>
            <button class="button" id="copy-comparison" data-do="markdown" data-save="markdown">"Copy as Markdown"</button>
            {live(timelines)}
        </p>
    }
    .into_any()
}
