//! The graph view: a compiled program as a graph and as text. The graph worker draws the picture, and this module shows
//! it. Each click changes the URL, so that the back button undoes the click.

pub mod address;
pub mod bar;
pub mod canvas;
pub mod listing;
pub mod walk;

use crossprof::graph::{Details, Picture};
use crossprof::session::HloProgram;
use leptos::prelude::*;

use crate::components::live::follow;
use crate::programs;
use crate::protocol::graph::Programs;
use crate::route::{Route, View};
use crate::state::{Run, State};

/// State of the view.
#[derive(Clone, Copy)]
pub struct Explorer {
    /// State of the page.
    pub state: State,
    /// The run.
    pub run: StoredValue<Run>,
    /// Programs of the run. `None` until the analyst has listed the programs.
    pub programs: RwSignal<Option<Programs>>,
    /// Program that the graph worker has loaded.
    pub program: RwSignal<Option<HloProgram>>,
    /// The latest picture.
    pub picture: RwSignal<Option<Picture>>,
    /// Index of the selected node.
    pub selected: RwSignal<Option<usize>>,
    /// Facts about the instruction of the selected node.
    pub details: RwSignal<Option<Details>>,
    /// Error of the latest request.
    pub failed: RwSignal<Option<String>>,
    /// Scale of the picture. If the scale is `None`, the picture fits the available width.
    pub zoom: RwSignal<Option<f64>>,
}

impl Explorer {
    /// Creates the state, and follows changes of the URL.
    pub fn new(run: Run) -> Explorer {
        let state = State::get();
        let explorer = Explorer {
            state,
            run: StoredValue::new(run),
            programs: RwSignal::new(None),
            program: RwSignal::new(None),
            picture: RwSignal::new(None),
            selected: RwSignal::new(None),
            details: RwSignal::new(None),
            failed: RwSignal::new(None),
            zoom: RwSignal::new(None),
        };
        explorer.follow_program();
        explorer.follow_look();
        explorer
    }

    /// Returns the route of this view, or `None` if another view is shown.
    fn route(self) -> Option<Route> {
        let is_here = |route: &Route| route.view == View::GRAPH;
        self.state.route.with(|route| is_here(route).then(|| route.clone()))
    }

    /// Opens the program that the URL names, or the program that contains the op.
    fn follow_program(self) {
        let run = self.run.get_value();
        let wanted = Memo::new(move |_| {
            let route = self.route()?;
            let program = route.query.options.get(address::PROGRAM).cloned();
            // If the URL names a program, the choice does not depend on the op.
            let op = if program.is_some() { None } else { address::op(&route.query) };
            Some((program, op))
        });
        follow(move || {
            // If the settings change, the times change.
            run.report.track();
            let Some((program, op)) = wanted.get() else { return };
            programs::list(&run, program, op, Box::new(move |all| self.listed(all)));
        });
    }

    fn listed(self, all: Result<Programs, String>) {
        if self.programs.is_disposed() {
            return;
        }
        match all {
            Ok(all) => {
                let program = all.found.and_then(|found| all.programs.get(found).cloned());
                if program.is_none() && !all.programs.is_empty() {
                    self.failed.set(Some(
                        "This run does not contain the program that the link refers to. Choose another program."
                            .to_owned(),
                    ));
                }
                self.programs.set(Some(all));
                let Some(program) = program else { return };
                let run = self.run.get_value();
                let opened = program.clone();
                let heard = move |done: Result<(), String>| match done {
                    _ if self.program.is_disposed() => {}
                    Ok(()) => self.program.set(Some(opened)),
                    Err(reason) => self.failed.set(Some(reason)),
                };
                programs::open(&run, &program, Box::new(heard));
            }
            Err(reason) => self.failed.set(Some(reason)),
        }
    }

    /// Requests a picture each time the URL or the program changes.
    fn follow_look(self) {
        let looked = Memo::new(move |_| self.route().map(|route| address::look(&route.query)));
        follow(move || {
            let (Some(look), Some(_)) = (looked.get(), self.program.get()) else { return };
            let heard = move |made: Result<Picture, String>| {
                if self.picture.is_disposed() {
                    return;
                }
                match made {
                    Ok(picture) => self.drawn(picture),
                    Err(reason) => self.failed.set(Some(reason)),
                }
            };
            programs::picture(&self.run.get_value(), look, Box::new(heard));
        });
    }

    /// Shows a picture. Keeps the scale and the selection if the computation and the op in the middle stay the same.
    fn drawn(self, picture: Picture) {
        let id = self.selected_id();
        let kept = picture.nodes.iter().position(|node| Some(&node.id) == id.as_ref());
        let centre = picture.nodes.iter().position(|node| node.is_centre);
        let subject = |picture: &Picture| {
            let centre = picture.nodes.iter().find(|node| node.is_centre);
            (picture.computation.clone(), centre.map(|node| node.id.clone()))
        };
        let before = self.picture.with_untracked(|shown| shown.as_ref().map(subject));
        let is_new = before != Some(subject(&picture));
        if is_new {
            self.zoom.set(None);
        }
        self.failed.set(None);
        self.details.set(None);
        self.picture.set(Some(picture));
        self.select(if is_new { centre.or(kept) } else { kept.or(centre) });
    }

    fn selected_id(self) -> Option<String> {
        let at = self.selected.get_untracked()?;
        self.picture.with_untracked(|picture| Some(picture.as_ref()?.nodes.get(at)?.id.clone()))
    }

    /// Returns the name of the selected instruction.
    pub fn selected_name(self) -> Option<String> {
        let at = self.selected.get()?;
        self.picture.with(|picture| picture.as_ref()?.nodes.get(at)?.name.clone())
    }

    /// Selects a node, and requests the facts about its instruction.
    pub fn select(self, node: Option<usize>) {
        self.selected.set(node);
        let name = untrack(|| self.selected_name());
        let Some(name) = name else { return self.details.set(None) };
        let heard = move |found: Result<Details, String>| {
            // By now, the user may have selected another node.
            if !self.details.is_disposed()
                && untrack(|| self.selected_name()) == found.as_ref().ok().map(|it| it.name.clone())
            {
                self.details.set(found.ok());
            }
        };
        programs::details(&self.run.get_value(), name, Box::new(heard));
    }

    /// Opens or closes a node. A node that cannot be opened becomes the middle of the picture.
    pub fn activate(self, node: usize) {
        let found = self.picture.with_untracked(|picture| {
            let node = picture.as_ref()?.nodes.get(node)?;
            Some((node.opens, node.id.clone(), node.name.clone()))
        });
        match found {
            Some((true, id, _)) => self.toggle(&id),
            Some((false, _, Some(name))) => self.go(|route| address::around(route, &name)),
            _ => {}
        }
    }

    /// Opens or closes the group with this id.
    pub fn toggle(self, id: &str) {
        let opened = self.state.route.with_untracked(|route| address::toggled(&route.query, id));
        self.state.choose_all(vec![(address::OPEN, opened)]);
    }

    /// Goes to another route of this view. If the new route names no program, keeps the current program, even if the op
    /// does not identify that program.
    pub fn go(self, next: impl FnOnce(&Route) -> Route) {
        crate::browser::go(&self.next(next));
    }

    /// Returns another route of this view.
    pub fn next(self, next: impl FnOnce(&Route) -> Route) -> Route {
        let mut route = self.state.route.with_untracked(next);
        if let Some(program) = self.program.get_untracked() {
            route.query.options.entry(address::PROGRAM.to_owned()).or_insert(program.key);
        }
        route
    }
}
