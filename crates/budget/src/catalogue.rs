//! The fields that a profile can have, from its JSON Schema: every path, and the value that it leads to.
//!
//! Paths are checked against the schema, not against a profile. A path that is not in the schema is a mistake in the
//! rule. A path that is in the schema but not in a run was not measured.

use std::ops::Range;

use serde_json::Value;

use super::path::{Path, PathPart};
use super::{suggest, unit};
use base::suggest::words as nearest;
use expression::{Error, Unit};

/// Maximum number of references to follow. In the profile's schema, references are nested seven deep.
const DEPTH: usize = 32;
/// Maximum number of names in a message.
const LISTED: usize = 12;

/// A place in the profile, as the schema describes it.
#[derive(Clone, Debug)]
enum Node {
    Number,
    /// A text: one of these words, or any text if no words are given.
    Text(Vec<String>),
    Flag,
    List(Box<Node>),
    Map(Box<Node>),
    /// Fields, with their names.
    Section(Vec<(String, Node)>),
}

/// The place that a path leads to.
struct PathEnd<'a> {
    node: &'a Node,
    /// Unit, taken from the name of the path's last field.
    unit: Option<Unit>,
    /// True if the path leads to an entry of a list or to the value of a key of a map.
    is_entry: bool,
}

/// All paths that a profile can contain.
#[derive(Clone, Debug)]
pub struct Catalogue {
    root: Node,
}

impl Catalogue {
    /// Returns the catalogue of the unified profile.
    pub fn of_profile() -> Catalogue {
        // If the schema were not valid JSON, no path would exist. A test covers this.
        let schema = serde_json::from_str(export::json::schema()).unwrap_or_default();
        Catalogue { root: node(&schema, &schema, 0) }
    }

    /// Sets the possible words of a text, if the schema does not list them: for example, the rule names in
    /// `findings[*].id`. Does nothing if the path does not lead to a text.
    pub fn set_words(&mut self, path: &Path, words: &[&str]) {
        let mut place = &mut self.root;
        for part in &path.parts {
            let next = match (place, part) {
                (Node::Section(fields), PathPart::Key(name)) => {
                    fields.iter_mut().find(|(field, _)| field == name).map(|(_, node)| node)
                }
                (Node::List(entry), PathPart::EveryEntry) => Some(&mut **entry),
                (Node::Map(value), PathPart::EveryKey) => Some(&mut **value),
                _ => None,
            };
            let Some(next) = next else { return };
            place = next;
        }
        if let Node::Text(known) = place {
            *known = words.iter().map(|&word| word.to_owned()).collect();
        }
    }

    /// Returns all paths that lead to a number, with `[*]` for lists and `*` for maps, in the order of the schema.
    pub fn numbers(&self) -> Vec<Path> {
        let mut found = Vec::new();
        collect(&self.root, &Path::default(), &mut found);
        found
    }

    /// Returns the unit of the number at `path`, from the name of its field.
    ///
    /// # Errors
    ///
    /// Fails if no profile has this path, or if the path does not lead to a number. The error suggests similar paths.
    pub fn check_number(&self, path: &Path) -> Result<Option<Unit>, Error> {
        let place = self.follow(path, &self.numbers())?;
        let (what, below) = match place.node {
            Node::Number => return Ok(place.unit),
            Node::Text(_) => ("a text", false),
            Node::Flag => ("yes or no", false),
            Node::List(_) => ("a list", true),
            Node::Map(_) => ("a map", true),
            Node::Section(_) => ("a section", true),
        };
        let mut message = format!("{path} is {what}, not a number.");
        if below {
            let mut numbers = Vec::new();
            collect(place.node, &Path::of(path.parts.clone()), &mut numbers);
            let names: Vec<String> = numbers.iter().take(LISTED).map(Path::to_string).collect();
            let more = if numbers.len() > names.len() { ", ..." } else { "" };
            if !names.is_empty() {
                message.push_str(&format!(" It contains {}{more}.", names.join(", ")));
            }
        }
        if matches!(place.node, Node::List(_)) {
            message.push_str(&format!(" count({path}) is the number of its entries."));
        }
        Err(Error::new(path.whole_span(), message))
    }

    /// Returns the path of the entries that `count(path)` counts. If `path` leads to a list or map, returns the path of
    /// all of its entries.
    ///
    /// # Errors
    ///
    /// Fails if no profile has this path, or if its target cannot be counted. The error suggests similar paths.
    pub fn check_entries(&self, path: &Path) -> Result<Path, Error> {
        let place = self.follow(path, &lists(&self.root))?;
        match place.node {
            Node::List(_) => Ok(path.with(PathPart::EveryEntry)),
            Node::Map(_) => Ok(path.with(PathPart::EveryKey)),
            _ if place.is_entry => Ok(path.clone()),
            _ => {
                let message = format!("{path} is neither a list nor an entry of a list, so it cannot be counted.");
                Err(Error::new(path.whole_span(), message))
            }
        }
    }

    /// Follows a path. If the path is wrong, suggests similar paths from `known`.
    fn follow(&self, path: &Path, known: &[Path]) -> Result<PathEnd<'_>, Error> {
        let mut place = PathEnd { node: &self.root, unit: None, is_entry: false };
        for (index, part) in path.parts.iter().enumerate() {
            let wrong = |message: String| Error::new(path.span(index), message);
            let before = || Path::of(path.parts.get(..index).unwrap_or_default().to_vec());
            let (node, is_entry) = match (place.node, part) {
                (Node::Section(fields), PathPart::Key(name)) => {
                    let Some((field, node)) = fields.iter().find(|(field, _)| field == name) else {
                        return Err(unknown(path, known));
                    };
                    place.unit = unit::of_field(field);
                    (node, false)
                }
                (Node::Map(value), PathPart::Key(_) | PathPart::EveryKey) => (&**value, true),
                (Node::List(entry), PathPart::Index(_) | PathPart::EveryEntry) => (&**entry, true),
                (Node::List(entry), PathPart::Where { key, values }) => {
                    check_selector(entry, key, values, path.span(index))?;
                    (&**entry, true)
                }
                (Node::List(entry), _) => {
                    let list = before();
                    if let Some(chosen) = chosen_by_word(entry, part) {
                        let message = format!("{list} is a list. Did you mean count({list}{chosen})?");
                        return Err(wrong(message));
                    }
                    let message = format!(
                        "{list} is a list. Select entries: {list}[0], {list}[*] for each of them, or \
                         {list}[field=value]; count({list}[field=value]) counts them."
                    );
                    return Err(wrong(message).suggest(suggest::paths(path, known)));
                }
                (Node::Section(_) | Node::Map(_), _) => {
                    return Err(wrong(format!("{} is not a list: write a dot and a name.", before())));
                }
                (Node::Number | Node::Text(_) | Node::Flag, _) => {
                    let message = format!("{} is a single value without fields.", before());
                    return Err(wrong(message).suggest(suggest::paths(path, known)));
                }
            };
            place = PathEnd { node, is_entry, ..place };
        }
        Ok(place)
    }
}

/// Returns the entries that the user may have meant if a path such as `findings.warning` has a severity in place of a field.
fn chosen_by_word(entry: &Node, part: &PathPart) -> Option<Path> {
    let (Node::Section(fields), PathPart::Key(word)) = (entry, part) else { return None };
    let is_one = |node: &Node| matches!(node, Node::Text(words) if words.contains(word));
    let (key, _) = fields.iter().find(|(_, node)| is_one(node))?;
    Some(Path::of(vec![PathPart::Where { key: key.clone(), values: vec![word.clone()] }]))
}

fn unknown(path: &Path, known: &[Path]) -> Error {
    let error = Error::new(path.whole_span(), format!("No profile has {path}."));
    error.suggest(suggest::paths(path, known)).or_help("docs/metrics.md lists every number.")
}

/// Fails with an explanation if the selector `[key=values]` does not fit a list of such entries.
fn check_selector(entry: &Node, key: &str, values: &[String], span: Range<usize>) -> Result<(), Error> {
    let wrong = |message: String| Error::new(span.clone(), message);
    let Node::Section(fields) = entry else {
        return Err(wrong("The entries of this list have no fields: write their number or *.".to_owned()));
    };
    let Some((_, field)) = fields.iter().find(|(field, _)| field == key) else {
        let names: Vec<&str> =
            fields.iter().filter(|(_, node)| is_value(node)).map(|(name, _)| name.as_str()).collect();
        let message = format!("The entries of this list have no field {key}; they have {}.", names.join(", "));
        return Err(wrong(message).suggest(nearest(key, &names)));
    };
    if !is_value(field) {
        return Err(wrong(format!("{key} is not a single value, so it cannot select entries.")));
    }
    if let Node::Text(words) = field
        && !words.is_empty()
        && let Some(unknown) = values.iter().find(|value| !words.contains(value))
    {
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let similar = nearest(unknown, &texts);
        let known = if texts.len() > LISTED { String::new() } else { format!(" It is one of {}.", texts.join(", ")) };
        return Err(wrong(format!("{key} is never {unknown}.{known}")).suggest(similar));
    }
    Ok(())
}

fn is_value(node: &Node) -> bool {
    matches!(node, Node::Number | Node::Text(_) | Node::Flag)
}

/// Adds the paths of all numbers at and below a node to `found`.
fn collect(node: &Node, path: &Path, found: &mut Vec<Path>) {
    match node {
        Node::Number => found.push(path.clone()),
        Node::Text(_) | Node::Flag => {}
        Node::List(entry) => collect(entry, &path.with(PathPart::EveryEntry), found),
        Node::Map(value) => collect(value, &path.with(PathPart::EveryKey), found),
        Node::Section(fields) => {
            for (name, node) in fields {
                collect(node, &path.with(PathPart::Key(name.clone())), found);
            }
        }
    }
}

fn lists(root: &Node) -> Vec<Path> {
    let mut found = Vec::new();
    let mut open = vec![(root, Path::default())];
    while let Some((node, path)) = open.pop() {
        match node {
            Node::List(entry) => {
                found.push(path.clone());
                open.push((entry, path.with(PathPart::EveryEntry)));
            }
            Node::Map(value) => open.push((value, path.with(PathPart::EveryKey))),
            Node::Section(fields) => {
                open.extend(fields.iter().map(|(name, node)| (node, path.with(PathPart::Key(name.clone())))));
            }
            Node::Number | Node::Text(_) | Node::Flag => {}
        }
    }
    found
}

fn node(schema: &Value, root: &Value, depth: usize) -> Node {
    if depth > DEPTH {
        return Node::Text(Vec::new());
    }
    let below = |schema: &Value| node(schema, root, depth + 1);
    if let Some(name) = schema.get("$ref").and_then(Value::as_str)
        && let Some(definition) = root.pointer(name.trim_start_matches('#'))
    {
        return below(definition);
    }
    let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array)
        && let Some(choice) = choices.iter().find(|choice| !is_null(choice))
    {
        return below(choice);
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let words = choices.iter().filter_map(|choice| choice.get("const")?.as_str()).map(str::to_owned);
        return Node::Text(words.collect());
    }
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        return Node::Section(fields.iter().map(|(name, field)| (name.clone(), below(field))).collect());
    }
    if let Some(entry) = schema.get("items") {
        return Node::List(Box::new(below(entry)));
    }
    if let Some(value) = schema.get("additionalProperties").filter(|value| value.is_object()) {
        return Node::Map(Box::new(below(value)));
    }
    let kind = schema.get("type").map(|kind| match kind {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default(),
        kind => kind.as_str().unwrap_or_default(),
    });
    match kind {
        Some("number" | "integer") => Node::Number,
        Some("boolean") => Node::Flag,
        _ => Node::Text(Vec::new()),
    }
}
