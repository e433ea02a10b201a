//! Python identifiers and comments from the text of a program.

use rustc_hash::FxHashSet;

/// Maximum length of an identifier.
const MAX_NAME: usize = 60;

/// Maximum length of a text in a comment.
const MAX_COMMENT: usize = 300;

/// Identifiers that a name must not hide: keywords, and names that the script uses.
const RESERVED: &str = "\
    False None True and as assert async await break case class continue def del elif else except finally for \
    from global if import in is lambda match nonlocal not or pass raise return try type while with abs all any \
    bool complex dict float int iter len list map max min next object pow print range reversed round set slice \
    sorted str sum super tuple zip jax jnp lax np glob statistics tempfile time op operands main measure check \
    placement order memory random floats integers booleans dominant jitted function indices device_time DEVICES \
    MESH RESULT Format Layout Mesh NamedSharding SingleDeviceSharding SystemExit P";

/// Identifiers in use.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    used: FxHashSet<String>,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names { used: RESERVED.split_whitespace().map(str::to_owned).collect() }
    }

    /// Returns an identifier that resembles the text and is not in use yet: `dot_general_2` for `dot_general.2`.
    pub(crate) fn add(&mut self, text: &str) -> String {
        let mut name = String::new();
        for c in text.chars().take(MAX_NAME) {
            name.push(if c.is_ascii_alphanumeric() { c } else { '_' });
        }
        // Names that start with two underscores have a meaning in Python.
        let trimmed = name.trim_start_matches('_');
        let mut name = match trimmed.chars().next() {
            Some(first) if first.is_ascii_alphabetic() => trimmed.to_owned(),
            _ => format!("v{trimmed}"),
        };
        let bare = name.clone();
        let mut number = 1_u64;
        while !self.used.insert(name.clone()) {
            name = format!("{bare}_{number}");
            number += 1;
        }
        name
    }
}

/// Returns text for a comment: one line of printable characters.
pub(crate) fn comment(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(MAX_COMMENT) {
        // These characters affect editors and interpreters: line breaks, and marks that change the order of the text.
        let invisible =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        out.push(if c.is_control() || invisible { '?' } else { c });
    }
    if text.chars().nth(MAX_COMMENT).is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_unique() {
        let mut names = Names::new();
        let made: Vec<String> = ["dot.1", "dot_1", "lambda", "1x", "", "__import__('os')", "é", "jax", "a\nb"]
            .map(|it| names.add(it))
            .into();
        assert_eq!(made, ["dot_1", "dot_1_1", "lambda_1", "v1x", "v", "import____os__", "v_1", "jax_1", "a_b"]);
    }

    #[test]
    fn comments_are_one_line() {
        assert_eq!(comment("a\nimport os\r\u{2028}\u{85}\u{c}b"), "a?import os????b");
        assert_eq!(comment(&"x".repeat(400)).len(), 303);
    }
}
