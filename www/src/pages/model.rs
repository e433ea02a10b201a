//! Form for data that traces do not contain: batch size, sequence length, model dimensions and number of steps.

use crossprof::metric;
use crossprof::session::Settings;
use crossprof::session::presets;
use crossprof::text::format;
use leptos::prelude::*;

use crate::client;
use crate::components::live::{follow, live, shown};
use crate::components::tip::term;
use crate::model::{self, FIELDS, FLAGS, Flag, FormField, Group};
use crate::state::{Run, State};

/// Renders the page.
#[component]
pub fn Model(
    /// The run to which the model belongs.
    run: Run,
) -> impl IntoView {
    let changed = {
        let (state, run) = (State::get(), run.clone());
        Callback::new(move |settings: Settings| client::analyse(state, &run, settings))
    };
    let (settings, report) = (run.settings, run.report);
    let cleared = RwSignal::new(false);
    let clear = move |_| {
        cleared.set(true);
        changed.run(Settings::default());
    };
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
            .map(|field| number_field(field, &run, changed, cleared))
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
                <div class="fields">{batch}{text_field(steps_field(settings, changed), cleared)}{text_field(device_field(settings, changed), cleared)}{text_field(price_field(settings, changed), cleared)}</div>
                <h2>"Model"</h2>
                <div class="fields">
                    <label class="field wide">"Start from a public model"
                        <select on:change=preset><option value="">"none"</option>{options}</select></label>
                    {dimensions}{flags}
                </div>
                <h2>"Parameters, if you know them exactly"</h2>
                <div class="fields">{parameters}</div>
                <p><button type="button" class="plain" on:click=clear>"Clear all"</button></p>
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
        ("Price of lost time ($/h)", metric!("goodput.lost_dollars_per_hour"), number(profile.lost_dollars_per_hour)),
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
        view! { <div data-field=metric.path data-exact=exact><dt>{term(label.to_owned(), crossprof::text::fields::plain(metric.definition), None)}</dt><dd>{short}</dd></div> }
    }).collect_view();
    let no_steps = profile.step_timing.avg_step_time_us.is_none();
    let no_steps =
        no_steps.then(|| view! { <p class="quiet">"The step time is unknown. Enter the number of steps."</p> });
    view! { {no_steps}<dl class="figures column">{rows}</dl> }
}

/// A text field of the form.
struct TextField {
    name: &'static str,
    label: &'static str,
    /// Returns the text that the user entered.
    given: Box<dyn Fn() -> String + Send>,
    /// Returns the default value, shown in grey.
    found: Box<dyn Fn() -> String + Send>,
    /// Applies the typed text. Returns false if the text is invalid.
    accept: Box<dyn Fn(&str) -> bool + Send>,
    /// Description of valid input.
    hint: &'static str,
}

/// Renders the field. Keeps invalid text and shows a hint, until the user corrects the text or clears the form.
fn text_field(field: TextField, cleared: RwSignal<bool>) -> AnyView {
    let TextField { name, label, given, found, accept, hint } = field;
    let refused = RwSignal::new(None::<String>);
    follow(move || {
        cleared.track();
        refused.set(None);
    });
    let input = move |event: web_sys::Event| {
        let text = event_target_value(&event);
        let is_accepted = accept(&text);
        refused.set(Some(text).filter(|_| !is_accepted));
    };
    let value = move || refused.get().unwrap_or_else(&given);
    let is_wrong = move || refused.with(Option::is_some);
    view! {
        <label class="field" class:wrong=is_wrong>{label}
            <input type="text" autocomplete="off" name=name prop:value=value placeholder=found
                aria-invalid=move || is_wrong().to_string() on:change=input />
            {shown(is_wrong, move || view! { <span class="hint" role="alert">{hint}</span> })}
        </label>
    }
    .into_any()
}

/// Returns an integer field. The value from the profile or from a configuration file is shown in grey.
fn number_field(field: &'static FormField, run: &Run, changed: Callback<Settings>, cleared: RwSignal<bool>) -> AnyView {
    let (settings, report) = (run.settings, run.report);
    let text = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let accept = move |typed: &str| {
        let value = model::parse(typed);
        if let Ok(value) = value {
            let mut next = settings.get_untracked();
            field.set(&mut next.model, value);
            changed.run(next);
        }
        value.is_ok()
    };
    let field = TextField {
        name: field.key,
        label: field.label,
        given: Box::new(move || text(settings.with(|settings| field.get(&settings.model)))),
        found: Box::new(move || text(report.with(|report| field.get(&report.profile.model_config)))),
        accept: Box::new(accept),
        hint: "A whole number, such as 4096, 32k or 8B.",
    };
    text_field(field, cleared)
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

/// Returns the field that names the device, for profiles that do not name it. The device determines the peak rates.
fn device_field(settings: RwSignal<Settings>, changed: Callback<Settings>) -> TextField {
    let accept = move |typed: &str| {
        let device = Some(typed.trim().to_ascii_lowercase()).filter(|device| !device.is_empty());
        changed.run(Settings { device, ..settings.get_untracked() });
        true
    };
    TextField {
        name: "device",
        label: "Device (for peak rates)",
        given: Box::new(move || settings.with(|settings| settings.device.clone()).unwrap_or_default()),
        found: Box::new(|| "h100-sxm, mi300x, ...".to_owned()),
        accept: Box::new(accept),
        hint: "",
    }
}

/// Returns the field for the hourly price of a device. The price of lost time is computed from the hourly price.
fn price_field(settings: RwSignal<Settings>, changed: Callback<Settings>) -> TextField {
    let accept = move |typed: &str| {
        let dollars_per_device_hour = model::amount(typed);
        let is_accepted = dollars_per_device_hour.is_some() || typed.trim().is_empty();
        if is_accepted {
            changed.run(Settings { dollars_per_device_hour, ..settings.get_untracked() });
        }
        is_accepted
    };
    let given = move || settings.with(|settings| settings.dollars_per_device_hour).map(|dollars| dollars.to_string());
    TextField {
        name: "price",
        label: "Price ($ per device-hour)",
        given: Box::new(move || given().unwrap_or_default()),
        found: Box::new(String::new),
        accept: Box::new(accept),
        hint: model::AMOUNT,
    }
}

/// Returns the field for the number of steps, for traces without step markers.
fn steps_field(settings: RwSignal<Settings>, changed: Callback<Settings>) -> TextField {
    let accept = move |typed: &str| match model::parse(typed) {
        Ok(Some(0)) | Err(_) => false,
        Ok(num_steps) => {
            changed.run(Settings { num_steps, ..settings.get_untracked() });
            true
        }
    };
    let given = move || settings.with(|settings| settings.num_steps).map(|steps| steps.to_string());
    TextField {
        name: "num_steps",
        label: "Number of steps (overrides the trace)",
        given: Box::new(move || given().unwrap_or_default()),
        found: Box::new(|| "from the trace".to_owned()),
        accept: Box::new(accept),
        hint: "A whole number above 0.",
    }
}
