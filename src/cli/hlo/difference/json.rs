//! Difference between two programs as JSON.

use base::json_text;
use crossprof::hlo::InstructionIndex;
use serde_json::{Map, Value, json};

use super::{Compared, Side};

/// Returns the difference between two programs as JSON. Each instruction has its name, place and cost. Unknown numbers
/// are absent.
pub(super) fn document(compared: &Compared) -> String {
    let Compared { a, b, difference } = compared;
    let list = |side: &Side, chosen: &[InstructionIndex]| -> Vec<Value> {
        chosen.iter().map(|&at| instruction(side, at)).collect()
    };
    let changed = difference.changed.iter().map(|it| {
        let changes = it.aspects.iter().map(|&aspect| {
            let [before, after] = difference.texts(a.module(), b.module(), it, aspect);
            json!({ "aspect": aspect.key(), "a": before, "b": after })
        });
        json!({ "a": instruction(a, it.a), "b": instruction(b, it.b), "changes": changes.collect::<Vec<_>>() })
    });
    let document = json!({
        "a": program(a),
        "b": program(b),
        "same": difference.same,
        "changed": changed.collect::<Vec<_>>(),
        "new": list(b, &difference.new),
        "gone": list(a, &difference.gone),
    });
    json_text::compact(&document) + "\n"
}

fn program(side: &Side) -> Value {
    let totals = &side.compiled.totals;
    let mut found = Map::new();
    found.insert("program".to_owned(), json!(side.program));
    found.insert("run".to_owned(), json!(side.run));
    found.insert("instructions".to_owned(), json!(totals.instructions));
    found.insert("fusions".to_owned(), json!(totals.fusions));
    found.insert("flops".to_owned(), json!(totals.flops));
    found.insert("bytes_accessed".to_owned(), json!(totals.bytes));
    found.insert("instructions_of_unknown_cost".to_owned(), json!(totals.unknown));
    if let Some(peak) = side.compiled.peak_bytes {
        found.insert("peak_memory_bytes".to_owned(), json!(peak));
    }
    Value::Object(found)
}

fn instruction(side: &Side, at: InstructionIndex) -> Value {
    let module = side.module();
    let Some(it) = module.at(at) else { return Value::Null };
    let mut found = Map::new();
    let mut add = |key: &str, value: Value| found.insert(key.to_owned(), value);
    add("name", json!(it.name));
    add("opcode", json!(it.opcode));
    add("shape", json!(it.shape.text(true)));
    add("computation", json!(module.computation(it.computation).map_or("", |it| it.name.as_str())));
    if !it.metadata.op_name.is_empty() {
        add("op_name", json!(it.metadata.op_name));
    }
    if let Some(source) = module.source_of(it) {
        add("source", json!(source));
    }
    if let Some(cost) = side.cost(at) {
        add("flops", json!(cost.flops));
        add("bytes_accessed", json!(cost.bytes_accessed));
    }
    Value::Object(found)
}
