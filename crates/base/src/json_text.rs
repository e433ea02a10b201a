//! Writes JSON text, compact or indented. One serializer produces both layouts, because the code that writes a profile
//! is large and is compiled for each type of serializer.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Writes the value on one line.
pub fn compact(value: &impl Serialize) -> String {
    text(value, Layout(None))
}

/// Writes the value with an indentation of two spaces, which people can read.
pub fn pretty(value: &impl Serialize) -> String {
    text(value, Layout(Some(PrettyFormatter::new())))
}

fn text(value: &impl Serialize, layout: Layout) -> String {
    let mut bytes = Vec::new();
    let written =
        value.serialize(&mut Serializer::with_formatter(&mut bytes, layout)).map_err(|error| error.to_string());
    let text = written.and_then(|()| String::from_utf8(bytes).map_err(|error| error.to_string()));
    // Only a map with keys other than strings can fail here, and no document has such a map. In that case, the text names
    // the problem, because an empty file would look like a success.
    text.unwrap_or_else(|error| serde_json::json!({ "not_written": error }).to_string())
}

/// Formatter for indented output. If it is `None`, the output is compact.
struct Layout(Option<PrettyFormatter<'static>>);

macro_rules! either {
    ($($name:ident($($argument:ident: $type:ty)?)),* $(,)?) => {
        impl Formatter for Layout {
            $(
                #[inline(never)]
                fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $type)?) -> Result<()> {
                    match &mut self.0 {
                        Some(pretty) => pretty.$name(writer $(, $argument)?),
                        None => CompactFormatter.$name(writer $(, $argument)?),
                    }
                }
            )*
        }
    };
}

either!(
    begin_array(),
    end_array(),
    begin_array_value(first: bool),
    end_array_value(),
    begin_object(),
    end_object(),
    begin_object_key(first: bool),
    begin_object_value(),
    end_object_value(),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_match_serde_json() {
        let value = serde_json::json!({"a": [1, 2.5, null], "b": {}, "c": [], "d": {"e": "x\"y"}});
        assert_eq!(compact(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn a_value_that_json_cannot_represent_is_named() {
        let without_text_keys = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert_eq!(compact(&without_text_keys), r#"{"not_written":"key must be a string"}"#);
    }
}
