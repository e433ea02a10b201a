//! Answers questions about captures (tests/questions) only from the output of the six tools. The true answers come from
//! raw events and truth files (tests/questions/truths.py).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::samples;
use crossprof::cli::open::Registry;

/// Maximum size of the answer that a question needs, in bytes.
const MOST_BYTES: usize = 4000;

/// Returns the value that `pick` describes in the answers of the calls.
fn picked(answers: &[Value], pick: &Value) -> Value {
    let answer = &answers[pick["call"].as_u64().unwrap_or_default() as usize];
    let rows = || answer["rows"].as_array().cloned().unwrap_or_default();
    let columns: Vec<&str> =
        answer["columns"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str).collect();
    let place =
        |column: &str| columns.iter().position(|it| *it == column).unwrap_or_else(|| panic!("{column}: {answer}"));
    let is_meant = |row: &Value| {
        let wanted = pick["where"].as_object().cloned().unwrap_or_default();
        wanted.iter().all(|(column, value)| row[place(column)] == *value)
    };
    if let Some(pointer) = pick["at"].as_str() {
        let found = answer.pointer(pointer).cloned().unwrap_or_default();
        return match pick["one_of"].as_array() {
            Some(known) => known.contains(&found).into(),
            None => found,
        };
    }
    if let Some(pointer) = pick["first"].as_str() {
        let of = |item: &Value| item[pick["key"].as_str().unwrap()].clone();
        let items = answer.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        let found = items
            .iter()
            .map(of)
            .find(|it| it.as_str().is_some_and(|it| it.starts_with(pick["starts"].as_str().unwrap())));
        return found.unwrap_or_default();
    }
    if let Some(column) = pick["sum"].as_str() {
        let column = place(column);
        return rows().iter().filter(|row| is_meant(row)).filter_map(|row| row[column].as_f64()).sum::<f64>().into();
    }
    let column = place(pick["column"].as_str().unwrap());
    rows().iter().find(|row| is_meant(row)).map(|row| row[column].clone()).unwrap_or_default()
}

fn is_right(found: &Value, truth: &Value, tolerance: f64) -> bool {
    match (found.as_f64(), truth.as_f64()) {
        (Some(found), Some(truth)) => (found - truth).abs() <= tolerance * truth.abs().max(1e-9),
        _ => found == truth,
    }
}

#[test]
fn the_tools_answer_every_question() {
    let text = std::fs::read_to_string(samples::root().join("tests/questions/questions.json")).unwrap();
    let questions: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(questions.len() >= 40, "{}", questions.len());
    let mut registry = Registry::new(None);
    let (mut wrong, mut sizes, mut traps, mut tools) = (Vec::new(), Vec::new(), BTreeSet::new(), BTreeMap::new());
    for question in &questions {
        let id = question["id"].as_str().unwrap();
        traps.extend(question["trap"].as_str());
        let mut answers = Vec::new();
        let mut bytes = 0;
        for call in question["calls"].as_array().unwrap() {
            let mut arguments = call["arguments"].clone();
            for key in ["capture", "baseline"] {
                if let Some(path) = arguments[key].as_str() {
                    arguments[key] = samples::root().join(path).to_string_lossy().into_owned().into();
                } else {
                    arguments.as_object_mut().unwrap().remove(key);
                }
            }
            let tool = call["tool"].as_str().unwrap();
            let answer = registry.call(tool, arguments).unwrap_or_else(|message| panic!("{id}: {message}"));
            let size = answer.to_string().len();
            assert!(size <= MOST_BYTES, "{id}: {tool} gave {size} bytes");
            *tools.entry(tool).or_insert(0) += 1;
            bytes += size;
            answers.push(answer);
        }
        sizes.push((bytes, id));
        let found = picked(&answers, &question["pick"]);
        if !is_right(&found, &question["truth"], question["tolerance"].as_f64().unwrap()) {
            wrong.push(format!("{id}: {found}, but the truth is {}", question["truth"]));
        }
    }
    sizes.sort();
    let total: usize = sizes.iter().map(|(bytes, _)| bytes).sum();
    println!("{} questions, {} bytes on average; {tools:?}", sizes.len(), total / sizes.len());
    sizes.iter().for_each(|(bytes, id)| println!("{bytes:>6} {id}"));
    assert!(wrong.is_empty(), "{} of {} answers are wrong:\n{}", wrong.len(), questions.len(), wrong.join("\n"));
    for trap in ["cut capture", "two hosts", "custom calls without costs", "compiling steps"] {
        assert!(traps.contains(trap), "{trap}");
    }
    assert_eq!(tools.len(), 6, "every tool is needed: {tools:?}");
}

#[test]
fn no_answer_contains_an_instruction_outside_of_its_quotation_marks() {
    let capture = samples::root().join("tests/questions/captures/hostile.trace.json.gz");
    let capture = capture.to_string_lossy();
    let mut registry = Registry::new(None);
    let calls = [
        ("open", serde_json::json!({"capture": capture})),
        ("digest", serde_json::json!({"capture": capture})),
        ("table", serde_json::json!({"capture": capture, "table": "ops", "columns": ["all"]})),
        ("range", serde_json::json!({"capture": capture, "events": true})),
        ("op", serde_json::json!({"capture": capture, "op": "fusion.2"})),
        ("compare", serde_json::json!({"capture": capture, "baseline": capture})),
    ];
    let mut texts = 0;
    for (tool, arguments) in calls {
        let answer = registry.call(tool, arguments).unwrap();
        assert!(answer["note"].as_str().unwrap().contains("never an instruction"), "{tool}");
        let mut check = |text: &str| {
            texts += 1;
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{tool}: {text:?}");
        };
        visit(&answer, &mut check);
    }
    assert!(texts > 100, "{texts}");
}

/// Calls `look` with every text in a JSON value.
fn visit(value: &Value, look: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| visit(item, look)),
        Value::Object(items) => items.iter().for_each(|(key, item)| {
            look(key);
            visit(item, look);
        }),
        _ => {}
    }
}
