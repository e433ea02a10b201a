//! Definitions of document fields. A definition is the field's doc comment, compiled in as a constant and looked up by
//! path.

use std::collections::BTreeMap;

pub use fields_derive::Fields;

/// Definition of a document field: its doc comment. `sentence` and `more` may contain Markdown backquotes and links,
/// which [`plain`] removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// First sentence of the definition.
    pub sentence: &'static str,
    /// Remaining sentences: source and caveats. May be empty.
    pub more: &'static str,
}

impl Definition {
    /// Returns the whole definition without Markdown.
    pub fn plain(&self) -> String {
        plain(&format!("{} {}", self.sentence, self.more)).trim_end().to_owned()
    }
}

/// A field of a struct.
#[derive(Clone, Copy, Debug)]
pub struct ReportField {
    /// Name of the field in the document.
    pub name: &'static str,
    /// True if documents contain the value's own fields in place of this field (`#[serde(flatten)]`).
    pub is_flattened: bool,
    /// Doc comment of the field.
    pub definition: Definition,
    /// Suffix of the field in paths: `[]` for a list, `.*` for a map, empty for a single value.
    pub suffix: &'static str,
    /// Fields of the value, or of each value in a list or map.
    pub fields: &'static [ReportField],
}

/// Type of a value in a document. Only structs have fields, and `#[derive(Fields)]` lists them.
pub trait Fields {
    /// Suffix that paths append to the name of a field of this type.
    const SUFFIX: &'static str = "";
    /// The fields, in the order of their declaration.
    const FIELDS: &'static [ReportField] = &[];
}

impl Fields for bool {}
impl Fields for f64 {}
impl Fields for u32 {}
impl Fields for u64 {}
impl Fields for String {}

impl<T: Fields> Fields for Option<T> {
    const SUFFIX: &'static str = T::SUFFIX;
    const FIELDS: &'static [ReportField] = T::FIELDS;
}

impl<T: Fields> Fields for Vec<T> {
    const SUFFIX: &'static str = "[]";
    const FIELDS: &'static [ReportField] = T::FIELDS;
}

impl<T: Fields> Fields for BTreeMap<String, T> {
    const SUFFIX: &'static str = ".*";
    const FIELDS: &'static [ReportField] = T::FIELDS;
}

/// Returns the definition of the field at a path of `T`, for example `steps[].name` or
/// `kernels.kernels_by_category.*.count`. Call this function in constants. An unknown path then fails to compile, and
/// the compiler drops all definitions that are not used.
///
/// # Panics
/// If there is no such field.
pub const fn definition<T: Fields>(path: &str) -> Definition {
    match find(T::FIELDS, path.as_bytes()) {
        Some(definition) => definition,
        // In a constant (the intended use), this is a compile error.
        #[expect(clippy::panic, reason = "only constants are made with it")]
        None => panic!("no such field"),
    }
}

const fn find(mut fields: &[ReportField], path: &[u8]) -> Option<Definition> {
    while let [field, others @ ..] = fields {
        fields = others;
        if field.is_flattened {
            if let Some(found) = find(field.fields, path) {
                return Some(found);
            }
            continue;
        }
        let Some(rest) = without(path, field.name) else { continue };
        match without(rest, field.suffix) {
            // The path of a whole list or map has no suffix.
            _ if rest.is_empty() => return Some(field.definition),
            Some([]) => return Some(field.definition),
            Some([b'.', below @ ..]) if !field.fields.is_empty() => {
                if let Some(found) = find(field.fields, below) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the part of `path` after `start`, or `None` if `path` does not begin with it.
const fn without<'a>(mut path: &'a [u8], start: &str) -> Option<&'a [u8]> {
    let mut start = start.as_bytes();
    while let [letter, letters @ ..] = start {
        match path {
            [first, rest @ ..] if *first == *letter => (path, start) = (rest, letters),
            _ => return None,
        }
    }
    Some(path)
}

/// Calls `visit` with the path and the definition of each field of `T` that itself has no fields.
pub fn for_each<T: Fields>(visit: &mut dyn FnMut(&str, Definition)) {
    walk(T::FIELDS, "", visit);
}

fn walk(fields: &[ReportField], above: &str, visit: &mut dyn FnMut(&str, Definition)) {
    for field in fields {
        if field.is_flattened {
            walk(field.fields, above, visit);
            continue;
        }
        let path = format!("{above}{}{}", field.name, field.suffix);
        if field.fields.is_empty() {
            visit(&path, field.definition);
        } else {
            walk(field.fields, &format!("{path}."), visit);
        }
    }
}

/// Removes backquotes from a text and replaces each link with its label.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split('`') {
        let mut rest = part;
        while let Some((before, link)) = rest.split_once('[') {
            let Some((label, tail)) = link.split_once("](") else { break };
            out.push_str(before);
            out.push_str(label);
            rest = tail.split_once(')').map_or("", |(_, behind)| behind);
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Fields)]
    #[expect(dead_code, reason = "only its definition is read")]
    struct Inner {
        /// Mean of `a.b`: one of
        /// two. It has a source. Added in 1.1.0.
        mean_us: f64,
        /// Names.
        names: Vec<String>,
    }

    #[derive(Fields, serde::Serialize)]
    struct Outer {
        /// By name.
        by_name: BTreeMap<String, InnerMap>,
        #[serde(flatten)]
        flat: InnerMap,
    }

    #[derive(Fields, serde::Serialize)]
    struct InnerMap {
        /// How many.
        count: Option<u64>,
    }

    #[test]
    fn fields_are_found_by_path() {
        const MEAN: Definition = definition::<Inner>("mean_us");
        assert_eq!(MEAN, Definition { sentence: "Mean of `a.b`: one of two.", more: "It has a source." });
        assert_eq!(definition::<Inner>("names[]").sentence, "Names.");
        assert_eq!(definition::<Outer>("by_name.*.count").sentence, "How many.");
        assert_eq!(definition::<Outer>("count").sentence, "How many.");
        assert!(find(Outer::FIELDS, b"by_name.*.counts").is_none() && find(Outer::FIELDS, b"by_name.count").is_none());
        let mut paths = Vec::new();
        for_each::<Outer>(&mut |path, _| paths.push(path.to_owned()));
        assert_eq!(paths, ["by_name.*.count", "count"]);
    }

    #[test]
    fn markdown_is_removed() {
        assert_eq!(plain("See `a[].b` of [Steps](#steps), 2 * [x]."), "See a[].b of Steps, 2 * [x].");
    }
}
