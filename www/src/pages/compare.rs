//! Runs beside each other. Everything but the data stands in the address: which runs by their names, what they are called, the baseline,
//! power and price. A link that is opened without the data says which files to drop; once they are there, it shows the same.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crossprof::compare::MOST_RUNS;
use crossprof::pages::Page;
use leptos::prelude::*;

use crate::blocks::{Blocks, blocks_view};
use crate::components::live::{live, shown};
use crate::protocol::{CompareForm, Order};
use crate::state::{Run, State};
use crate::{ask, browser};

/// One chosen run.
#[derive(Clone, Debug, PartialEq, Default)]
struct Chosen {
    /// The name that it has itself: what the address knows it by.
    name: String,
    /// What the user calls it; empty for its own name.
    called: String,
    /// Watts of a device.
    watts: String,
    /// Dollars of a device and hour.
    dollars: String,
}

/// What is compared, as the address has it.
#[derive(Clone, Debug, PartialEq, Default)]
struct Choice {
    runs: Vec<Chosen>,
    baseline: usize,
    /// `strong`, `weak`, or empty.
    scaling: String,
}

impl Choice {
    /// From the address; all runs that are here where it names none.
    fn read(state: State) -> Choice {
        let option = |key: &str| state.route.with(|route| route.query.options.get(key).cloned().unwrap_or_default());
        let list = |key: &str| option(key).split('\n').map(str::to_owned).collect::<Vec<_>>();
        let (called, watts, dollars) = (list("called"), list("watts"), list("dollars"));
        let at = |list: &[String], index: usize| list.get(index).cloned().unwrap_or_default();
        let names: Vec<String> = match option("runs") {
            none if none.is_empty() => names(state).into_iter().take(MOST_RUNS).collect(),
            some => some.split('\n').map(str::to_owned).collect(),
        };
        let chosen = |(index, name): (usize, String)| Chosen {
            name,
            called: at(&called, index),
            watts: at(&watts, index),
            dollars: at(&dollars, index),
        };
        let runs: Vec<Chosen> = names.into_iter().enumerate().map(chosen).collect();
        let baseline =
            option("baseline").parse::<usize>().unwrap_or(1).saturating_sub(1).min(runs.len().saturating_sub(1));
        Choice { runs, baseline, scaling: option("scaling") }
    }

    /// Into the address.
    fn write(&self, state: State) {
        let list = |of: fn(&Chosen) -> &str| {
            let all: Vec<&str> = self.runs.iter().map(of).collect();
            if all.iter().all(|text| text.is_empty()) { String::new() } else { all.join("\n") }
        };
        state.choose_all(vec![
            ("runs", list(|it| &it.name)),
            ("called", list(|it| &it.called)),
            ("watts", list(|it| &it.watts)),
            ("dollars", list(|it| &it.dollars)),
            ("baseline", if self.baseline == 0 { String::new() } else { (self.baseline + 1).to_string() }),
            ("scaling", self.scaling.clone()),
        ]);
    }

    /// Moves a run; the baseline stays the same run.
    fn move_run(&mut self, from: usize, to: usize) {
        if from < self.runs.len() && to < self.runs.len() {
            let run = self.runs.remove(from);
            self.runs.insert(to, run);
            self.baseline = match self.baseline {
                at if at == from => to,
                at if from < at && at <= to => at - 1,
                at if to <= at && at < from => at + 1,
                at => at,
            };
        }
    }

    fn remove(&mut self, at: usize) {
        if at < self.runs.len() {
            self.runs.remove(at);
            if self.baseline == at {
                self.baseline = 0;
            } else if self.baseline > at {
                self.baseline -= 1;
            }
        }
    }
}

/// Names of the runs that are here.
fn names(state: State) -> Vec<String> {
    state.runs.with(|runs| runs.iter().map(|run| run.report.with(|report| report.name().to_owned())).collect())
}

/// The run of each chosen one: of equal names the first, the second, ... in the order of the rail.
fn found(state: State, choice: &Choice) -> Vec<Option<Run>> {
    let runs = state.runs.get();
    let mut taken = vec![false; runs.len()];
    let find = |chosen: &Chosen| {
        let is = |(at, run): &(usize, &Run)| !taken[*at] && run.report.with(|report| report.name() == chosen.name);
        let (at, run) = runs.iter().enumerate().find(is)?;
        taken[at] = true;
        Some(run.clone())
    };
    choice.runs.iter().map(find).collect()
}

/// The question for what the address says; nothing with fewer than two runs.
fn question(state: State, choice: &Choice, form: CompareForm) -> Option<(Run, Order)> {
    let runs = found(state, choice);
    let first = runs.iter().flatten().next()?.clone();
    if runs.iter().any(Option::is_none) || runs.len() < 2 {
        return None;
    }
    let subject = |(run, chosen): (&Option<Run>, &Chosen)| {
        let json = run.as_ref()?.report.with(|report| report.json.clone());
        let name = if chosen.called.is_empty() { &chosen.name } else { &chosen.called };
        Some((name.clone(), json, chosen.watts.parse().ok(), chosen.dollars.parse().ok()))
    };
    let order = Order::Compare {
        subjects: runs.iter().zip(&choice.runs).filter_map(subject).collect(),
        baseline: choice.baseline as u32,
        weak_scaling: match choice.scaling.as_str() {
            "weak" => Some(true),
            "strong" => Some(false),
            _ => None,
        },
        form,
        asked: 0,
    };
    Some((first, order))
}

fn ask_for(state: State, choice: &Choice, form: CompareForm, heard: Box<dyn FnOnce(String)>) {
    if let Some((run, mut order)) = untrack(|| question(state, choice, form)) {
        let numbered = move |number| {
            if let Order::Compare { asked, .. } = &mut order {
                *asked = number;
            }
            order
        };
        ask::compare(&run, numbered, heard);
    }
}

/// The page.
#[component]
pub fn Compare() -> impl IntoView {
    let state = State::get();
    let choice = Memo::new(move |_| Choice::read(state));
    let blocks = answered(state, choice);
    let any_run = RwSignal::new(None::<Run>);
    Effect::new(move |_| any_run.set(state.runs.with(|runs| runs.first().cloned())));
    let missing = Memo::new(move |_| {
        let choice = choice.get();
        let found = found(state, &choice);
        let lost =
            found.iter().zip(&choice.runs).filter(|(run, _)| run.is_none()).map(|(_, chosen)| chosen.name.clone());
        lost.collect::<Vec<_>>()
    });
    let notice = move || {
        let missing = missing.get();
        let text = if !missing.is_empty() {
            format!(
                "This comparison needs runs that are not open: {}. Drop their files again; nothing of them is in the link.",
                missing.join(", ")
            )
        } else if choice.with(|choice| choice.runs.len() < 2) {
            "Open at least two runs (drop their files anywhere on this page), and choose them above.".to_owned()
        } else {
            return None;
        };
        Some(view! { <p class="empty" role="status">{text}</p> })
    };
    let drawn = move || any_run.get().map(|run| blocks_view(run, blocks));
    let is_shown = move || missing.with(Vec::is_empty) && choice.with(|choice| choice.runs.len() >= 2);
    view! {
        <div class="page compare">
            <header class="run-header"><h1>"Compare runs"</h1></header>
            {live(move || chips(state, choice))}
            {live(notice)}
            {shown(is_shown, move || view! { {downloads(state, choice)}<div class="blocks">{live(drawn)}</div> })}
        </div>
    }
}

/// The blocks of the comparison, kept up to date.
fn answered(state: State, choice: Memo<Choice>) -> Blocks {
    let blocks: Blocks = RwSignal::new(Vec::new());
    let latest = Rc::new(Cell::new(0u32));
    let filter = Memo::new(move |_| state.route.with(|route| route.query.filter.clone()));
    Effect::new(move |_| {
        let (choice, filter) = (choice.get(), filter.get());
        // New numbers of a run are a reason to ask again.
        let _ = question(state, &choice, CompareForm::Json);
        latest.set(latest.get().wrapping_add(1));
        let (this, latest) = (latest.get(), latest.clone());
        let heard = move |json: String| {
            if latest.get() == this
                && !blocks.is_disposed()
                && let Ok(page) = crossprof::json::from_str::<Page>(&json)
            {
                blocks.set(page.blocks.into_iter().map(Arc::new).collect());
            }
        };
        ask_for(state, &choice, CompareForm::Page(filter), Box::new(heard));
    });
    blocks
}

/// The chosen runs, and those that can be added.
fn chips(state: State, choice: Memo<Choice>) -> AnyView {
    let now = choice.get();
    let dragged = RwSignal::new(None::<usize>);
    let change = move |change: &dyn Fn(&mut Choice)| {
        let mut next = choice.get_untracked();
        change(&mut next);
        next.write(state);
    };
    let last = now.runs.len().saturating_sub(1);
    let chip = |(at, run): (usize, &Chosen)| {
        let (is_base, is_first, is_last) = (at == now.baseline, at == 0, at == last);
        let called = if run.called.is_empty() { run.name.clone() } else { run.called.clone() };
        let label = called.clone();
        let field = move |title: &'static str, value: String, set: fn(&mut Chosen, String)| {
            let on_change = move |event: web_sys::Event| {
                let text = event_target_value(&event).replace('\n', " ");
                change(&|next| {
                    if let Some(run) = next.runs.get_mut(at) {
                        set(run, text.trim().to_owned());
                    }
                });
            };
            view! { <label class="small-field">{title}<input type="text" inputmode="decimal" value=value on:change=on_change /></label> }
        };
        let rename = move |event: web_sys::Event| {
            let text = event_target_value(&event).replace('\n', " ");
            change(&|next| {
                if let Some(run) = next.runs.get_mut(at) {
                    run.called = if text.trim() == run.name { String::new() } else { text.trim().to_owned() };
                }
            });
        };
        let dropped = move |event: web_sys::DragEvent| {
            event.prevent_default();
            if let Some(from) = dragged.get_untracked() {
                event.stop_propagation();
                change(&|next| next.move_run(from, at));
            }
        };
        view! {
            <li class="compare-chip" class:baseline=is_base draggable="true" data-run=run.name.clone()
                on:dragstart=move |_| dragged.set(Some(at)) on:dragend=move |_| dragged.set(None)
                on:dragover=move |event| event.prevent_default() on:drop=dropped>
                <button class="icon-button" aria-pressed=is_base.to_string() title="Baseline: the others are compared with it"
                    aria-label=format!("{label} is the baseline") on:click=move |_| change(&|next| next.baseline = at)>{if is_base { "★" } else { "☆" }}</button>
                <input class="compare-name" type="text" spellcheck="false" aria-label=format!("Name of {label}") value=called on:change=rename />
                <button class="icon-button" aria-label=format!("Move {label} to the left") disabled=is_first
                    on:click=move |_| change(&|next| next.move_run(at, at.saturating_sub(1)))>"←"</button>
                <button class="icon-button" aria-label=format!("Move {label} to the right") disabled=is_last
                    on:click=move |_| change(&|next| next.move_run(at, at + 1))>"→"</button>
                {field("W", run.watts.clone(), |run, text| run.watts = text)}
                {field("$/h", run.dollars.clone(), |run, text| run.dollars = text)}
                <button class="icon-button" aria-label=format!("Leave {label} out") on:click=move |_| change(&|next| next.remove(at))>"×"</button>
            </li>
        }
    };
    let chosen = now.runs.iter().enumerate().map(chip).collect_view();
    let mut left = names(state);
    for run in &now.runs {
        if let Some(at) = left.iter().position(|name| *name == run.name) {
            left.remove(at);
        }
    }
    let room = now.runs.len() < MOST_RUNS;
    let add = left.into_iter().filter(|_| room).map(|name| {
        let label = crossprof::format::shorten(&crossprof::format::printable(&name), 40);
        let add = move |_| change(&|next| next.runs.push(Chosen { name: name.clone(), ..Chosen::default() }));
        view! { <li><button class="chip" on:click=add>"+ "{label}</button></li> }
    });
    let scaled = move |event: web_sys::Event| {
        let value = event_target_value(&event);
        change(&|next| next.scaling.clone_from(&value));
    };
    let scaling = now.scaling.clone();
    view! {
        <section class="panel compare-runs" aria-label="Compared runs">
            <ul class="compare-chips">{chosen}{add.collect_view()}</ul>
            <p class="quiet">"★ marks the baseline. Drag runs to order them, or use the arrows. W and $/h: power and price of one device, for work per joule and per dollar."
            " "<label>"Scaling "<select on:change=scaled>
                <option value="" selected=scaling.is_empty()>"as the batch size implies"</option>
                <option value="strong" selected={scaling == "strong"}>"strong"</option>
                <option value="weak" selected={scaling == "weak"}>"weak"</option>
            </select></label></p>
        </section>
    }
    .into_any()
}

fn downloads(state: State, choice: Memo<Choice>) -> AnyView {
    let stem = move || {
        let names = choice.with_untracked(|choice| choice.runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>());
        browser::file_stem(&format!("compare-{}", names.join("-")).chars().take(80).collect::<String>())
    };
    let get = move |form: CompareForm| {
        let name = stem();
        let kind = form.clone();
        let heard = move |text: String| match kind {
            CompareForm::Html => browser::download(&format!("{name}.html"), "text/html", &text),
            CompareForm::Markdown => browser::copy(state, text, "Comparison"),
            _ => browser::download(&format!("{name}.json"), "application/json", &text),
        };
        ask_for(state, &choice.get_untracked(), form, Box::new(heard));
    };
    view! {
        <p class="buttons">
            <button class="button primary" id="download-report" on:click=move |_| get(CompareForm::Html)>"Download report"</button>
            <button class="button" id="download-comparison" on:click=move |_| get(CompareForm::Json)>"Download JSON"</button>
            <button class="button" id="copy-comparison" on:click=move |_| get(CompareForm::Markdown)>"Copy as Markdown"</button>
        </p>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(count: usize, baseline: usize) -> Choice {
        let run = |at: usize| Chosen { name: at.to_string(), ..Chosen::default() };
        Choice { runs: (0..count).map(run).collect(), baseline, scaling: String::new() }
    }

    #[test]
    fn the_baseline_stays_the_same_run() {
        for baseline in 0..4 {
            for from in 0..4 {
                for to in 0..4 {
                    let mut it = choice(4, baseline);
                    it.move_run(from, to);
                    assert_eq!(it.runs[it.baseline].name, baseline.to_string(), "{baseline}: {from} to {to}");
                    assert_eq!(it.runs[to].name, from.to_string());
                }
            }
            let mut it = choice(4, baseline);
            it.remove((baseline + 1) % 4);
            assert_eq!(it.runs[it.baseline].name, baseline.to_string());
        }
    }
}
