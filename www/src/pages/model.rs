//! What the trace cannot know: batch and sequence length, the model's dimensions, the number of steps.

use crossprof::format;
use crossprof::metric;
use crossprof::metrics::{Settings, presets};
use leptos::prelude::*;

use crate::client;
use crate::components::live::{live, shown};
use crate::components::tip::Term;
use crate::model::{self, FIELDS, FLAGS, Field, Flag, Group};
use crate::state::{Run, State};

/// The page.
#[component]
pub fn Model(
    /// The run.
    run: Run,
) -> impl IntoView {
    let changed = {
        let (state, run) = (State::get(), run.clone());
        Callback::new(move |settings: Settings| client::analyse(state, &run, settings))
    };
    let (settings, report) = (run.settings, run.report);
    let preset = move |event: web_sys::Event| {
        let name = event_target_value(&event);
        if let Some(preset) = presets().iter().find(|preset| preset.name == name) {
            let mut next = settings.get_untracked();
            model::apply(preset, &mut next.model);
            changed.run(next);
        }
    };
    let options =
        presets().iter().map(|preset| view! { <option value=preset.name>{preset.name}</option> }).collect_view();
    let numbers = move |group: Group| {
        FIELDS
            .iter()
            .filter(|field| field.group == group)
            .map(|field| view! { <NumberField field=field run=run.clone() changed=changed /> })
            .collect_view()
    };
    let batch = numbers.clone()(Group::Batch);
    let dimensions = numbers.clone()(Group::Dimensions);
    let parameters = numbers(Group::Parameters);
    let flags =
        FLAGS.iter().map(|flag| view! { <FlagField flag=flag settings=settings changed=changed /> }).collect_view();
    view! {
        <div class="model-grid">
            <form class="panel form" on:submit=|event| event.prevent_default()>
                <h2>"Batch"</h2>
                <div class="fields">{batch}<StepCount settings=settings changed=changed /><Device settings=settings changed=changed /></div>
                <h2>"Model"</h2>
                <div class="fields">
                    <label class="field wide">"Start from a public model"
                        <select on:change=preset><option value="">"none"</option>{options}</select></label>
                    {dimensions}{flags}
                </div>
                <h2>"Parameters, where you know them better"</h2>
                <div class="fields">{parameters}</div>
                <p><button type="button" class="plain" on:click=move |_| changed.run(Settings::default())>"Clear all"</button></p>
            </form>
            <section class="panel results" aria-live="polite"><h2>"With this model"</h2>{live(move || results(&report.get().profile))}</section>
        </div>
    }
}

fn results(profile: &crate::profile::Profile) -> impl IntoView + use<> {
    let rates = &profile.throughput;
    let counts = profile.parameter_counts.as_ref();
    let number = |value: Option<f64>| value.map(|value| (format::number(value), format::full(value)));
    let count = |value: Option<u64>| value.map(|value| (format::si(value as f64, ""), format::count(value)));
    let rows = [
        ("Tokens/s", metric!("throughput.tokens_per_sec"), number(rates.tokens_per_sec)),
        (
            "Tokens/s per device",
            metric!("throughput.tokens_per_sec_per_device"),
            number(rates.tokens_per_sec_per_device),
        ),
        ("Samples/s", metric!("throughput.samples_per_sec"), number(rates.samples_per_sec)),
        (
            "Samples/s per device",
            metric!("throughput.samples_per_sec_per_device"),
            number(rates.samples_per_sec_per_device),
        ),
        ("Steps/s", metric!("throughput.steps_per_sec"), number(rates.steps_per_sec)),
        (
            "Step time",
            metric!("step_timing.avg_step_time_us"),
            profile.step_timing.avg_step_time_us.map(|us| (format::time_us(us), format::full_time_us(us))),
        ),
        ("Parameters", metric!("parameter_counts.total_params"), count(counts.map(|counts| counts.total_params))),
        (
            "Active per token",
            metric!("parameter_counts.active_params"),
            count(counts.and_then(|counts| counts.active_params)),
        ),
        (
            "Trainable",
            metric!("parameter_counts.trainable_params"),
            count(counts.and_then(|counts| counts.trainable_params)),
        ),
    ];
    let rows = rows.into_iter().map(|(label, metric, value)| {
        let (short, exact) = value.unwrap_or_else(|| (format::DASH.to_owned(), String::new()));
        let more = Some(exact.clone()).filter(|exact| !exact.is_empty());
        view! { <div data-field=metric.path data-exact=exact><dt><Term field=metric.path definition=metric.definition text=label more=more /></dt><dd>{short}</dd></div> }
    }).collect_view();
    view! { <dl class="figures column">{rows}</dl> }
}

/// A whole number; what a file beside the trace gave stands in it in grey.
#[component]
fn NumberField(field: &'static Field, run: Run, changed: Callback<Settings>) -> impl IntoView {
    let (settings, report) = (run.settings, run.report);
    let given =
        move || settings.with(|settings| field.get(&settings.model)).map(|value| value.to_string()).unwrap_or_default();
    let found = move || {
        report.with(|report| field.get(&report.profile.model_config)).map(|value| value.to_string()).unwrap_or_default()
    };
    let wrong = RwSignal::new(false);
    let input = move |event: web_sys::Event| match model::parse(&event_target_value(&event)) {
        Ok(value) => {
            wrong.set(false);
            let mut next = settings.get_untracked();
            field.set(&mut next.model, value);
            changed.run(next);
        }
        Err(_) => wrong.set(true),
    };
    view! {
        <label class="field" class:wrong=move || wrong.get()>{field.label}
            <input type="text" inputmode="numeric" autocomplete="off" name=field.key prop:value=given placeholder=found
                aria-invalid=move || wrong.get().to_string() on:change=input />
            {shown(move || wrong.get(), || view! { <span class="hint" role="alert">"A whole number, such as 4096, 32k or 8B."</span> })}
        </label>
    }
}

#[component]
fn FlagField(flag: &'static Flag, settings: RwSignal<Settings>, changed: Callback<Settings>) -> impl IntoView {
    let value = move || match settings.with(|settings| flag.get(&settings.model)) {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let change = move |event: web_sys::Event| {
        let mut next = settings.get_untracked();
        let chosen = match event_target_value(&event).as_str() {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
        flag.set(&mut next.model, chosen);
        changed.run(next);
    };
    view! {
        <label class="field">{flag.label}
            <select name=flag.key prop:value=value on:change=change>
                <option value="">"not given"</option><option value="yes">"yes"</option><option value="no">"no"</option>
            </select>
        </label>
    }
}

/// The device whose peaks count, for profiles that do not tell theirs.
#[component]
fn Device(settings: RwSignal<Settings>, changed: Callback<Settings>) -> impl IntoView {
    let given = move || settings.with(|settings| settings.device.clone()).unwrap_or_default();
    let input = move |event: web_sys::Event| {
        let device = event_target_value(&event).trim().to_ascii_lowercase();
        changed.run(Settings { device: Some(device).filter(|device| !device.is_empty()), ..settings.get_untracked() });
    };
    view! {
        <label class="field">"Device, for its peaks"
            <input type="text" autocomplete="off" name="device" prop:value=given placeholder="from the profile; or h100-sxm, mi300x, ..." on:change=input />
        </label>
    }
}

/// The number of steps, for traces that do not tell it.
#[component]
fn StepCount(settings: RwSignal<Settings>, changed: Callback<Settings>) -> impl IntoView {
    let given = move || settings.with(|settings| settings.num_steps).map(|steps| steps.to_string()).unwrap_or_default();
    let wrong = RwSignal::new(false);
    let input = move |event: web_sys::Event| match model::parse(&event_target_value(&event)) {
        Ok(Some(0)) | Err(_) => wrong.set(true),
        Ok(value) => {
            wrong.set(false);
            changed.run(Settings { num_steps: value, ..settings.get_untracked() });
        }
    };
    view! {
        <label class="field" class:wrong=move || wrong.get()>"Number of steps, instead of those found"
            <input type="text" inputmode="numeric" autocomplete="off" name="num_steps" prop:value=given placeholder="from the trace" on:change=input />
            {shown(move || wrong.get(), || view! { <span class="hint" role="alert">"A whole number above 0."</span> })}
        </label>
    }
}
