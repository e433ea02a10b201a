//! Memory of the runs: totals and classes, then the buffers and lines of code that were added or
//! removed.

use crate::export::comparison::{memory, name_of, others};
use crate::export::html::page::{Align, Table};
use compare::Comparison;
use maud::{Markup, html};

/// Renders the section. Empty if the memory of fewer than two runs is known.
pub fn section(comparison: &Comparison) -> Markup {
    let Some(found) = &comparison.memory else { return html! {} };
    let names = comparison.runs.iter().map(|run| (run.name.as_str(), Align::Right));
    let mut figures = Table::new(&[("", Align::Name)].into_iter().chain(names).collect::<Vec<_>>());
    memory::figures(comparison).iter().for_each(|row| figures.row_of(row));
    html! {
        section id="memory" {
            h2 { (memory::heading(comparison)) }
            (figures)
            @for run in others(comparison) {
                @let changes = memory::changes(found, run);
                @if !changes.is_empty() {
                    p { "Changes of " (name_of(comparison, run)) " against the baseline:" }
                    ul { @for change in changes { li { (change) } } }
                }
            }
        }
    }
}
