//! Describes the result of a limit in sentences.

use super::baseline::Reference;
use super::limit::Limit;
use super::lookup::listed;
use super::measured::Measured;
use super::op_sum::{OpQuantity, Unlisted};
use super::rule::Subject;
use super::unit;
use base::format;
use expression::{Relation, Unit};

/// Describes the number, its bound, and the distance between them.
pub(super) fn measured(limit: &Limit, worst: &Measured, all: &[Measured]) -> String {
    if let Subject::Count(path) | Subject::New(path) = &limit.subject
        && limit.relation == Relation::Equal
        && worst.bound == 0.0
    {
        let new = if matches!(limit.subject, Subject::New(_)) { "new " } else { "" };
        return none_wanted(&format!("{new}{path}"), worst);
    }
    if let Some(sentence) = &worst.sentence {
        let bound = unit::show(worst.bound, limit.unit);
        let allowed = if limit.relation == Relation::Below { "less than" } else { "at most" };
        return format!("{sentence}. A slowdown of {allowed} {bound} is allowed.");
    }
    let (value, bound) = unit::show_apart(worst.value, worst.bound, limit.unit);
    let subject = match &limit.subject {
        Subject::Number(_) => worst.path.clone(),
        count => count.to_string(),
    };
    let names = if worst.counted.is_empty() { String::new() } else { format!(" ({})", listed(worst.counted.clone())) };
    let mut text = format!("{subject} is {value}{names} and {} {bound}", must(limit.relation, worst.holds));
    if let (Some(factor), Some(baseline)) = (limit.bound.factor, worst.baseline) {
        text.push_str(&format!(" ({}; {})", formula(limit, factor), of_baseline(limit, baseline)));
    }
    match worst.margin_percent {
        Some(margin) if worst.holds && limit.relation != Relation::Equal => {
            text.push_str(&format!(": {} to spare", format::percent(margin)));
        }
        Some(margin) if !worst.holds => {
            let direction = match limit.relation {
                Relation::Below | Relation::AtMost => "too much",
                Relation::Above | Relation::AtLeast => "too little",
                Relation::Equal | Relation::NotEqual => "off",
            };
            text.push_str(&format!(": {} {direction}", format::percent(-margin)));
        }
        _ => {}
    }
    text.push('.');
    text.push_str(&worst.unlisted.map(|it| of_unlisted(limit, worst, it)).unwrap_or_default());
    if all.len() > 1 {
        let failed = match all.iter().filter(|it| !it.holds).count() {
            0 => "all of them hold".to_owned(),
            1 => "the others hold".to_owned(),
            failed => format!("{} of them fail", format::count(failed as u64)),
        };
        text.push_str(&format!(" It is the worst of {} numbers; {failed}.", format::count(all.len() as u64)));
    }
    text
}

/// Describes a limit that requires entries to be absent.
fn none_wanted(path: &str, worst: &Measured) -> String {
    if worst.holds {
        return format!("There is no {path}.");
    }
    let names = if worst.counted.is_empty() { String::new() } else { format!(": {}", listed(worst.counted.clone())) };
    let found = format::full(worst.value);
    format!("There must be no {path}, and there {} {found}{names}.", if worst.value == 1.0 { "is" } else { "are" })
}

fn must(relation: Relation, holds: bool) -> String {
    let verb = if holds { "is" } else { "must be" };
    match relation {
        Relation::Below => format!("{verb} below"),
        Relation::AtMost => format!("{verb} at most"),
        Relation::Above => format!("{verb} above"),
        Relation::AtLeast => format!("{verb} at least"),
        Relation::Equal if holds => "equals".to_owned(),
        Relation::NotEqual if holds => "differs from".to_owned(),
        Relation::Equal => "must be".to_owned(),
        Relation::NotEqual => "must not be".to_owned(),
    }
}

/// Returns the formula of a bound that uses the baseline: `0.97 * baseline + 2.00 ms`.
fn formula(limit: &Limit, factor: f64) -> String {
    let times = if factor == 1.0 { String::new() } else { format!("{} * ", format::full(factor)) };
    let offset = limit.bound.offset;
    let plus = match offset {
        0.0 => String::new(),
        offset if offset < 0.0 => format!(" - {}", unit::show(-offset, limit.unit)),
        offset => format!(" + {}", unit::show(offset, limit.unit)),
    };
    format!("{times}baseline{plus}")
}

/// Returns "the baseline has 10.0 /s". For several runs, the text gives the median and the range.
fn of_baseline(limit: &Limit, baseline: Reference) -> String {
    let show = |value| unit::show(value, limit.unit);
    match baseline.runs {
        1 => format!("the baseline has {}", show(baseline.median)),
        runs => {
            let (least, most) = (show(baseline.least), show(baseline.most));
            let median = show(baseline.median);
            format!("the median of the baseline's {runs} runs is {median}, from {least} to {most}")
        }
    }
}

/// Describes ops that the profile does not list, if they could change the outcome.
fn of_unlisted(limit: &Limit, worst: &Measured, unlisted: Unlisted) -> String {
    let Subject::Ops(sum) = &limit.subject else { return String::new() };
    let count = format::count(unlisted.ops as u64);
    let time = unit::show(unlisted.self_time_us, Unit::named("us"));
    // The total time of unlisted ops is known, but not how often they run.
    let could_turn = match sum.quantity {
        OpQuantity::Occurrences => true,
        OpQuantity::SelfTime | OpQuantity::ExposedTime => {
            limit.relation.holds(worst.value + unlisted.self_time_us, worst.bound) != worst.holds
        }
    };
    if could_turn {
        format!(" The profile does not list {count} small ops ({time} per step), which could belong to this scope.")
    } else {
        String::new()
    }
}
