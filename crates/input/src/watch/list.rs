//! Collects the names and values of an event's arguments.

/// Maximum size in bytes of a value that is stored completely. All known texts of HLO instructions are shorter.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// Maximum number of arguments. No profiler writes so many arguments.
const MAX_ARGUMENTS: usize = 250;

/// The arguments of an event in file order.
#[derive(Debug, Default)]
pub(crate) struct ArgumentList {
    arguments: Vec<(String, String)>,
    more: u64,
}

impl ArgumentList {
    /// Adds an argument. If the name already has a different value, the new name gets a number: `shape (2)`.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        if self.arguments.len() >= MAX_ARGUMENTS {
            self.more += 1;
            return;
        }
        let value = cut(value);
        let (mut free, mut number) = (name.to_owned(), 1);
        while let Some((_, known)) = self.arguments.iter().find(|(other, _)| *other == free) {
            if *known == value {
                return;
            }
            number += 1;
            free = format!("{name} ({number})");
        }
        self.arguments.push((free, value));
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|(known, _)| known == name)
    }

    /// Returns all arguments. If the event has too many arguments, the last entry contains the number of missing
    /// arguments.
    pub(crate) fn finish(mut self) -> Vec<(String, String)> {
        if self.more > 0 {
            self.arguments.push(("...".to_owned(), format!("{} more arguments are not shown", self.more)));
        }
        self.arguments
    }
}

/// Returns the value. If the value is too long, returns its start and its length.
fn cut(value: &str) -> String {
    if value.len() <= MAX_VALUE_BYTES {
        return value.to_owned();
    }
    let shown = value.get(..value.floor_char_boundary(MAX_VALUE_BYTES)).unwrap_or_default();
    format!("{shown}... (the first {} of {} bytes)", shown.len(), value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn every_value_has_a_unique_name() {
        let mut list = ArgumentList::default();
        [("a", "1"), ("b", "2"), ("a", "1"), ("a", "3"), ("a", "3"), ("a", "4")]
            .iter()
            .for_each(|(name, value)| list.add(name, value));
        assert!(list.has("b") && !list.has("c"));
        assert_eq!(list.finish(), [text("a", "1"), text("b", "2"), text("a (2)", "3"), text("a (3)", "4")]);
    }

    #[test]
    fn long_values_and_long_lists_are_cut_with_a_note() {
        let mut list = ArgumentList::default();
        list.add("long", &"é".repeat(MAX_VALUE_BYTES));
        let value = list.finish().remove(0).1;
        assert!(value.ends_with("é... (the first 65536 of 131072 bytes)"), "{}", &value[value.len() - 60..]);
        let mut list = ArgumentList::default();
        (0..MAX_ARGUMENTS + 5).for_each(|number| list.add(&number.to_string(), ""));
        let all = list.finish();
        assert_eq!((all.len(), all.last()), (MAX_ARGUMENTS + 1, Some(&text("...", "5 more arguments are not shown"))));
    }
}
