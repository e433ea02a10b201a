//! Export for Model Explorer (`GraphCollection`), and node data with times.

use base::json_text;
use hlo::{ComputationIndex, Instruction, InstructionIndex, Module};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::flow;
use crate::selection::{Selection, whole};
use crate::source::{Grouping, Source};

/// A graph of the collection.
#[derive(Serialize)]
struct Graph {
    id: String,
    nodes: Vec<Node>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: String,
    label: String,
    namespace: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subgraph_ids: Vec<String>,
    attrs: Vec<Attribute>,
    incoming_edges: Vec<IncomingEdge>,
    outputs_metadata: Vec<Metadata>,
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IncomingEdge {
    source_node_id: String,
    source_node_output_id: &'static str,
    target_node_input_id: String,
}

#[derive(Serialize)]
struct Metadata {
    id: &'static str,
    attrs: Vec<Attribute>,
}

/// Returns the graphs of all computations of a module, entry computation first, or only the graph of a selection. An
/// instruction that calls computations links to their graphs.
pub fn collection(source: Source<'_>, label: &str, selection: Option<&Selection>) -> String {
    let graphs: Vec<Graph> = match selection {
        Some(selection) => vec![graph(source, selection)],
        None => order(source.module).map(|index| graph(source, &whole(source.module, index, source.choices))).collect(),
    };
    json_text::compact(&json!({ "label": label, "graphs": graphs }))
}

/// Returns the node data: the device time of every measured instruction in microseconds, with a colour scale.
pub fn node_data(source: Source<'_>, selection: Option<&Selection>) -> String {
    let mut all = Map::new();
    let gradient = json!([{ "stop": 0, "bgColor": "#ffffff" }, { "stop": 1, "bgColor": "#f97066" }]);
    let selections: Vec<Selection> = match selection {
        Some(selection) => vec![selection.clone()],
        None => order(source.module).map(|index| whole(source.module, index, source.choices)).collect(),
    };
    for selection in selections {
        let Some(computation) = source.module.computation(selection.computation) else { continue };
        let mut results = Map::new();
        for &index in &selection.instructions {
            let time = source.measured.whole(index).and_then(|numbers| numbers.time);
            if let (Some(time), Some(instruction)) = (time, source.module.at(index)) {
                results.insert(instruction.name.clone(), json!({ "value": time.as_us() }));
            }
        }
        if !results.is_empty() {
            all.insert(computation.name.clone(), json!({ "results": results, "gradient": gradient }));
        }
    }
    json_text::compact(&Value::Object(all))
}

/// Returns the computations, the entry first.
fn order(module: &Module) -> impl Iterator<Item = ComputationIndex> {
    let entry = module.entry().map(|entry| entry.id);
    let is_entry =
        move |index: &ComputationIndex| module.computation(*index).map(|it| it.id) == entry && entry.is_some();
    let all = 0..module.computations().len() as ComputationIndex;
    all.clone().filter(is_entry).take(1).chain(all.filter(move |index| !is_entry(index)))
}

fn graph(source: Source<'_>, selection: &Selection) -> Graph {
    let id = source.module.computation(selection.computation).map_or(String::new(), |it| it.name.clone());
    let nodes = selection
        .instructions
        .iter()
        .filter_map(|&index| Some(node(source, selection, index, source.module.at(index)?)));
    Graph { id, nodes: nodes.collect() }
}

fn node(source: Source<'_>, selection: &Selection, index: InstructionIndex, instruction: &Instruction) -> Node {
    let mut labels = Vec::new();
    if source.grouping != Grouping::Computations {
        crate::scope::labels(instruction, &mut labels);
    }
    let mut incoming_edges = Vec::new();
    let mut flowing = Vec::new();
    for (place, &operand) in instruction.operands.iter().enumerate() {
        flowing.clear();
        flow::sources(source.module, source.choices, selection.centre, operand, &mut flowing);
        for &from in &flowing {
            // Only edges inside the selection are kept. The selection is sorted.
            if let (Some(producer), Ok(_)) = (source.module.at(from), selection.instructions.binary_search(&from)) {
                incoming_edges.push(IncomingEdge {
                    source_node_id: producer.name.clone(),
                    source_node_output_id: "0",
                    target_node_input_id: place.to_string(),
                });
            }
        }
    }
    let called = instruction.called.iter().filter_map(|&index| source.module.computation(index));
    Node {
        id: instruction.name.clone(),
        label: instruction.opcode.clone(),
        namespace: labels.join("/"),
        subgraph_ids: called.map(|computation| computation.name.clone()).collect(),
        attrs: attributes(source, index, instruction),
        incoming_edges,
        outputs_metadata: vec![Metadata {
            id: "0",
            attrs: vec![Attribute { key: "shape", value: instruction.shape.text(true) }],
        }],
    }
}

fn attributes(source: Source<'_>, index: InstructionIndex, instruction: &Instruction) -> Vec<Attribute> {
    let mut attributes = vec![Attribute { key: "name", value: instruction.name.clone() }];
    let mut add = |key: &'static str, value: String| {
        if !value.is_empty() {
            attributes.push(Attribute { key, value });
        }
    };
    add("op_name", instruction.metadata.op_name.clone());
    add("source", source.module.source_of(instruction).unwrap_or_default());
    add("custom_call_target", instruction.custom_call_target().unwrap_or_default().to_owned());
    add("literal", instruction.attributes().literal.clone());
    if let Some(numbers) = source.measured.whole(index) {
        add("time_us", numbers.time.map_or(String::new(), |time| time.as_us().to_string()));
        add("flops", numbers.flops.map_or(String::new(), |flops| flops.to_string()));
        add("bytes", numbers.bytes.map_or(String::new(), |bytes| bytes.to_string()));
        add("bound_by", numbers.bound_by.clone());
    }
    attributes
}
