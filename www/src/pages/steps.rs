//! Every step and its parts.

use crossprof::export::tables::TableName;
use crossprof::format;
use leptos::prelude::*;

use super::{filter_of, reason, table_of};
use crate::components::step_chart::StepChart;
use crate::components::table::TableView;
use crate::components::tip::Term;
use crate::state::{Run, State};

/// The page.
#[component]
pub fn Steps(
    /// The run.
    run: Run,
) -> impl IntoView {
    let report = run.report;
    let table = table_of(&run, TableName::Steps);
    let figures = move || {
        let report = report.get();
        let timing = &report.profile.step_timing;
        let time = |value: Option<f64>| value.map(|us| (format::time_us(us), format::full_time_us(us)));
        let figures = [
            ("Mean", "step_timing.avg_step_time_us", time(timing.avg_step_time_us)),
            ("Median", "step_timing.median_step_time_us", time(timing.median_step_time_us)),
            ("95th percentile", "step_timing.p95_step_time_us", time(timing.p95_step_time_us)),
            ("Shortest", "step_timing.min_step_time_us", time(timing.min_step_time_us)),
            ("Longest", "step_timing.max_step_time_us", time(timing.max_step_time_us)),
            ("Std deviation", "step_timing.stddev_step_time_us", time(timing.stddev_step_time_us)),
            (
                "Steps",
                "step_timing.num_steps",
                Some((format::count(timing.num_steps), String::new())).filter(|_| timing.num_steps > 0),
            ),
            (
                "Counted",
                "step_timing.num_steps_counted",
                timing.num_steps_counted.map(|steps| (format::count(steps), String::new())),
            ),
        ];
        figures
            .into_iter()
            .map(|(name, field, value)| {
                let (short, exact) = value.unwrap_or_else(|| (format::DASH.to_owned(), String::new()));
                let more = Some(exact).filter(|exact| !exact.is_empty());
                view! { <div><dt><Term field=field text=name more=more /></dt><dd>{short}</dd></div> }
            })
            .collect_view()
    };
    view! {
        <dl class="figures">{figures}</dl>
        <section class="panel">
            <h2><Term field="steps[].duration_us" text="Step by step" /></h2>
            {move || view! { <StepChart report=report.get() /> }}
        </section>
        <TableView table=table title="Steps" path="steps[]." hidden=&["counted"] filter=filter_of(State::get())
            empty=reason(&run, "steps", "This profile lists no single steps.") />
    }
}
