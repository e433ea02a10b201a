//! The registry of tools for agents, which `crossprof ask`, `crossprof mcp` and Python share.
//!
//! ```text
//! name, JSON arguments --request--> typed request --tool--> Answer with all items --fit--> Answer of at most max_bytes
//! ```
//!
//! The tools write no files. A registry that is confined to some folders reads no file outside of these folders, not
//! even through links.

mod answer;
mod captures;
mod compare;
mod inspect;
mod op;
mod open;
mod range;
mod table;

use std::path::PathBuf;

use base::suggest;
use crossprof::export::digest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(super) use answer::{Answer, DEFAULT_BYTES};
pub(super) use captures::Captures;
pub(super) use inspect::to_text as inspection_text;

/// A tool of the registry.
pub(super) struct Tool {
    /// Name of the tool.
    pub name: &'static str,
    /// Short description for agents.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the server lists the tools"))]
    pub about: &'static str,
    schema: fn() -> Value,
    call: fn(&mut Captures, Value) -> Result<Value, String>,
}

impl Tool {
    /// Returns the JSON Schema of the arguments.
    pub(super) fn schema(&self) -> Map<String, Value> {
        match (self.schema)() {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }
}

/// All tools.
pub(super) const TOOLS: [Tool; 6] = [
    Tool {
        name: "open",
        about: "Without a capture, lists the captures below the folders. With a capture, lists its runs: device, steps, step time, \
            completeness. With a question (step time, ops, collectives, kernels, roofline, memory, input, host, layers, source, \
            compare), checks whether the capture contains the data that the question needs, and names the options that record \
            missing data.",
        schema: schema_of::<open::Request>,
        call: |captures, value| answered(open::call(captures, &request(value)?)),
    },
    Tool {
        name: "digest",
        about: "Summarises a run: what the capture covers, step time and its parts, the first findings with the share that each \
            can save, hot scopes and ops with their ids, what was not measured and how to record it, and the next commands. Call \
            this tool first.",
        schema: schema_of::<DigestRequest>,
        call: digest_of,
    },
    Tool {
        name: "table",
        about: "Returns rows of a table (steps, step-breakdown, ops, op-groups, layers, op-tree, roofline, kernels, launches, \
            collectives, arrivals, transfers, hosts, devices, gaps, findings, checklist, warnings, buffers, ...): filtered, \
            grouped, sorted and limited. Filters are words that rows contain; column:word and column>number test one column.",
        schema: schema_of::<table::Request>,
        call: |captures, value| answered(table::call(captures, &request(value)?)),
    },
    Tool {
        name: "range",
        about: "Returns the individual events of a range of time or of a step, or their statistics by name, op, category, scope or \
            line.",
        schema: schema_of::<range::Request>,
        call: |captures, value| answered(range::call(captures, &request(value)?)),
    },
    Tool {
        name: "op",
        about: "Returns one op by its id or name: all its numbers, the instructions around it in the compiled program with their \
            times, and the source lines that it comes from.",
        schema: schema_of::<op::Request>,
        call: |captures, value| answered(op::call(captures, &request(value)?)),
    },
    Tool {
        name: "compare",
        about: "Compares a capture with a baseline: whether the step time differs by more than the noise, whether the comparison \
            is fair, the causes, and the ops that changed. With limits, also checks the numbers of the capture against the limits.",
        schema: schema_of::<compare::Request>,
        call: |captures, value| answered(compare::call(captures, &request(value)?)),
    },
];

/// The tools for agents, and the captures that the tools have opened.
pub struct Registry {
    captures: Captures,
}

impl Registry {
    /// Creates a registry that reads only paths below `folders`, or all paths if `folders` is `None`.
    pub fn new(folders: Option<Vec<PathBuf>>) -> Registry {
        Registry { captures: Captures::new(folders) }
    }

    /// Calls a tool and returns its answer as JSON.
    ///
    /// # Errors
    ///
    /// Fails with a message if there is no such tool, if an argument is wrong, or if the capture cannot be read.
    pub fn call(&mut self, name: &str, arguments: Value) -> Result<Value, String> {
        (tool(name)?.call)(&mut self.captures, arguments)
    }
}

/// Returns the tool with a name.
///
/// # Errors
///
/// Fails with a message if there is no such tool.
pub(super) fn tool(name: &str) -> Result<&'static Tool, String> {
    static ALL: [Tool; 6] = TOOLS;
    ALL.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names = TOOLS.map(|tool| tool.name);
        let question = suggest::question(&suggest::words(name, &names));
        format!("There is no tool {name}. The tools are {}.{question}", names.join(", "))
    })
}

/// Arguments of `digest`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DigestRequest {
    /// Path of the capture: a file, a folder or an archive.
    capture: String,
    /// Index of the run, if the capture contains several. 0 if absent.
    #[serde(default)]
    run: usize,
    /// Part of the capture to measure: `main` (the counted steps), `all`, `active`, `steps:FIRST-LAST`, or `FROM-TO` in
    /// microseconds from the start. `main` if absent.
    #[serde(default)]
    window: Option<String>,
    /// Largest size of the answer in bytes. 2000 if absent.
    #[serde(default)]
    max_bytes: Option<usize>,
}

fn digest_of(captures: &mut Captures, value: Value) -> Result<Value, String> {
    let DigestRequest { capture, run, window, max_bytes } = request(value)?;
    let opened = captures.open_window(&capture, window.as_deref())?;
    let profile = opened.profiles.get(run).ok_or_else(|| captures::no_run(run, opened.profiles.len()))?;
    let text = digest::json(profile, max_bytes.unwrap_or(digest::DEFAULT_BYTES));
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn answered(answer: Result<(Answer, Option<usize>), String>) -> Result<Value, String> {
    let (answer, most_bytes) = answer?;
    serde_json::from_str(&answer.fitted(most_bytes.unwrap_or(DEFAULT_BYTES))).map_err(|error| error.to_string())
}

fn request<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("The arguments are wrong: {error}."))
}

fn schema_of<T: JsonSchema>() -> Value {
    serde_json::to_value(schemars::schema_for!(T)).unwrap_or_default()
}
