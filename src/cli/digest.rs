//! `crossprof digest`, `crossprof inspect` and `crossprof ask`: commands for agents.

use std::io::IsTerminal;
use std::path::Path;

use base::json_text;
use crossprof::export::digest;
use serde_json::{Map, Value, json};

use super::agent::{self, Registry};
use super::args::{AgentFormat, Ask, Digest, Inspect};
use super::output::Outputs;
use super::{FAILED, READ, complain, print_result};

/// Prints the digest of each run, and returns the exit status.
pub(super) fn run(command: &Digest) -> u8 {
    let reports = match super::analyze::reports(&command.inputs, &Outputs::default()) {
        Ok(reports) => reports,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    if reports.profiles.is_empty() {
        return FAILED;
    }
    let make = match command.format {
        AgentFormat::Text => digest::text,
        AgentFormat::Json => digest::json,
    };
    let digests: Vec<String> = reports.profiles.iter().map(|profile| make(profile, command.max_bytes)).collect();
    // JSON has one line per run. Digests contain the warnings.
    let separator = if command.format == AgentFormat::Text { "\n" } else { "" };
    print_result(&digests.join(separator), reports.status())
}

/// Prints which data for a question the capture contains, and returns the exit status.
pub(super) fn inspect(command: &Inspect) -> u8 {
    let arguments = json!({
        "capture": command.capture.to_string_lossy(),
        "run": command.run,
        "for": command.question,
        "max_bytes": 20_000,
    });
    match Registry::new(None).call("open", arguments) {
        Ok(answer) if command.format == AgentFormat::Json => print_result(&(json_text::compact(&answer) + "\n"), READ),
        Ok(answer) => print_result(&agent::inspection_text(&answer), READ),
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

/// Calls a tool, prints its answer as JSON, and returns the exit status.
pub(super) fn ask(command: &Ask) -> u8 {
    let made = agent::tool(&command.tool).and_then(|tool| arguments(&tool.schema(), &command.arguments));
    match made.and_then(|arguments| Registry::new(None).call(&command.tool, Value::Object(arguments))) {
        Ok(answer) if std::io::stdout().is_terminal() => print_result(&(json_text::pretty(&answer) + "\n"), READ),
        Ok(answer) => print_result(&(json_text::compact(&answer) + "\n"), READ),
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

/// Parses arguments of the form `KEY=VALUE`. A word without `=` is the capture. The schema of the tool determines the
/// types of the values.
fn arguments(schema: &Map<String, Value>, words: &[String]) -> Result<Map<String, Value>, String> {
    let mut found = Map::new();
    for word in words {
        let property = |key: &str| schema.get("properties").and_then(|all| all.get(key));
        // A path may also contain `=`. The tool reports unknown keys.
        let (key, text) = match word.split_once('=') {
            Some((key, text)) if property(key).is_some() || !Path::new(word).exists() => (key, text),
            _ => ("capture", word.as_str()),
        };
        let kind = property(key).and_then(|it| it.get("type"));
        let is = |wanted: &str| match kind {
            Some(Value::String(kind)) => kind == wanted,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
            _ => false,
        };
        let value = if is("array") {
            let of_list = |found: &mut Map<String, Value>| match found.remove(key) {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            let mut list = of_list(&mut found);
            // In limits, commas occur only inside names. Such a limit can be given as a separate argument.
            list.extend(match key {
                "limits" => vec![Value::from(text)],
                _ => text.split(',').map(Value::from).collect(),
            });
            Value::Array(list)
        } else if is("string") || kind.is_none() {
            Value::from(text)
        } else {
            serde_json::from_str(text).map_err(|_| format!("{key}: {text} is not a {}.", kind_name(is("boolean"))))?
        };
        if found.insert(key.to_owned(), value).is_some() {
            return Err(format!("{key}: is given twice."));
        }
    }
    Ok(found)
}

fn kind_name(is_flag: bool) -> &'static str {
    if is_flag { "flag (true or false)" } else { "number" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool: &str, words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments(&agent::tool(tool)?.schema(), &words).map(Value::Object)
    }

    #[test]
    fn arguments_have_the_types_of_the_tool() {
        assert_eq!(
            read("table", &["b/c.pb", "table=ops", "limit=5", "columns=name,time", "sort=-time"]),
            Ok(json!({"capture": "b/c.pb", "table": "ops", "limit": 5, "columns": ["name", "time"], "sort": "-time"}))
        );
        assert_eq!(
            read("range", &["x", "from=20", "events=true"]),
            Ok(json!({"capture": "x", "from": "20", "events": true}))
        );
        let limits = ["x", "limits=a < 1", "limits=b < 2"];
        assert_eq!(read("compare", &limits), Ok(json!({"capture": "x", "limits": ["a < 1", "b < 2"]})));
        assert!(read("table", &["x", "limit=many"]).unwrap_err().contains("limit: many is not a number"));
        assert!(read("table", &["x", "y"]).unwrap_err().contains("twice"));
        assert!(read("tabel", &["x"]).unwrap_err().contains("Did you mean table?"));
    }
}
