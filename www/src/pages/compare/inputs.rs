//! Fields for data that traces do not contain: batch size, sequence length, power and price of each run, with units.
//! Errors are shown below the fields.

use leptos::prelude::*;

use super::choice::{Choice, Chosen};
use crate::model::{self, amount, parse};
use crate::state::Run;

/// Parses an integer above 0. Returns `None` for any other text.
pub(super) fn whole(text: &str) -> Option<u64> {
    parse(text).ok().flatten().filter(|number| *number > 0)
}

/// A field that the form contains for each run.
struct Input {
    /// Key of the field in the page's URL.
    key: &'static str,
    /// Label with unit.
    label: &'static str,
    /// Message for invalid text.
    hint: &'static str,
    text: fn(&Chosen) -> &str,
    is_valid: fn(&str) -> bool,
    /// Returns the value that the run's profile contains.
    known: fn(&Run) -> Option<u64>,
}

const WHOLE: &str = "Enter a whole number above 0, such as 4096 or 32k.";

const INPUTS: [Input; 4] = [
    Input {
        key: "batch",
        label: "Batch size (sequences per step)",
        hint: WHOLE,
        text: |run| &run.batch,
        is_valid: |text| whole(text).is_some(),
        known: |run| run.report.with(|report| report.profile.model_config.batch_size),
    },
    Input {
        key: "seq",
        label: "Sequence length (tokens)",
        hint: WHOLE,
        text: |run| &run.seq,
        is_valid: |text| whole(text).is_some(),
        known: |run| run.report.with(|report| report.profile.model_config.seq_length),
    },
    Input {
        key: "watts",
        label: "Power (W per device)",
        hint: model::AMOUNT,
        text: |run| &run.watts,
        is_valid: |text| amount(text).is_some(),
        known: |_| None,
    },
    Input {
        key: "dollars",
        label: "Price ($ per device-hour)",
        hint: model::AMOUNT,
        text: |run| &run.dollars,
        is_valid: |text| amount(text).is_some(),
        known: |_| None,
    },
];

/// Renders the fields of all runs, labelled with the runs' names. The section is expanded if any field has a value.
pub(super) fn inputs(choice: &Choice, runs: &[(String, Option<Run>)]) -> AnyView {
    let is_given = choice.runs.iter().any(|run| INPUTS.iter().any(|input| !(input.text)(run).is_empty()));
    let fieldset = |((at, chosen), (called, run)): ((usize, &Chosen), &(String, Option<Run>))| {
        let fields: Vec<AnyView> = INPUTS.iter().map(|input| field(input, at, chosen, run.as_ref())).collect();
        let legend = crossprof::text::format::shorten(&crossprof::text::format::printable(called), 60);
        view! { <fieldset class="compare-inputs"><legend>{legend}</legend><div class="fields">{fields}</div></fieldset> }.into_any()
    };
    let all: Vec<AnyView> = choice.runs.iter().enumerate().zip(runs).map(fieldset).collect();
    (!all.is_empty())
        .then(|| {
            view! {
                <details class="compare-given" open=is_given>
                    <summary>"Batch size, sequence length, power and price, for rates and costs"</summary>
                    {all}
                </details>
            }
        })
        .into_any()
}

fn field(input: &'static Input, at: usize, chosen: &Chosen, run: Option<&Run>) -> AnyView {
    let text = (input.text)(chosen).to_owned();
    let is_wrong = !text.is_empty() && !(input.is_valid)(&text);
    let known = run.and_then(input.known);
    let placeholder = known.map(|known| known.to_string()).unwrap_or_default();
    let below = match (is_wrong, known) {
        (true, _) => Some(view! { <span class="hint" role="alert">{input.hint}</span> }.into_any()),
        (false, Some(_)) if text.is_empty() => {
            let from = run.map(source).unwrap_or_default();
            Some(view! { <span class="quiet">{from}</span> }.into_any())
        }
        _ => None,
    };
    view! {
        <label class=if is_wrong { "field wrong" } else { "field" }>{input.label}
            <input type="text" inputmode="decimal" autocomplete="off" spellcheck="false" data-do=input.key data-at=at.to_string()
                placeholder=placeholder value=text aria-invalid=is_wrong.to_string() />
            {below}
        </label>
    }
    .into_any()
}

/// Describes the source of a profile's batch size and sequence length.
fn source(run: &Run) -> String {
    let is_typed = run.settings.with(|settings| settings.model.batch_size.or(settings.model.seq_length).is_some());
    if is_typed {
        return "From the Model page".to_owned();
    }
    let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let file = run.report.with(|report| {
        let files = &report.profile.provenance;
        files.iter().rfind(|file| file.format == "model_config").map(|file| name(&file.path))
    });
    file.map_or_else(|| "From the profile".to_owned(), |file| format!("From {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_above_zero_are_accepted() {
        assert_eq!(
            [whole("32"), whole("32k"), whole("0"), whole("-3"), whole("many"), whole("")],
            [Some(32), Some(32_000), None, None, None, None]
        );
    }
}
