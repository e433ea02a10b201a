//! Explains why no row can pass a filter: describes each mistake in a sentence with suggestions.

use base::suggest;
use expression::{Dimension, Error, Relation};

use super::filter::{Condition, Operator, number, place_of, unit_of};
use super::{Column, Filter, Unit, is_called, unit};

/// Maximum number of suggestions.
const MOST: usize = 4;

impl Filter {
    /// Returns the filter's mistakes for a table with these columns. `matched_rows` is the number of rows that passed
    /// the filter.
    ///
    /// A word with a colon or an equals sign may be part of a name (`layer:3`, `dim_labels=b01f`). If a row contains
    /// the word, it is not a mistake.
    pub fn mistakes(&self, columns: &[Column], matched_rows: u64) -> Vec<Error> {
        let mut found = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            let wrong = |message: String| Error::new(term.span.clone(), message);
            let Some(condition) = &term.condition else {
                let next = self.terms.get(at + 1).filter(|next| next.condition.is_none());
                let message = next.and_then(|next| Some((next, without_sign(columns, &term.word, &next.word)?)));
                found.extend(message.map(|(next, message)| Error::new(term.span.start..next.span.end, message)));
                continue;
            };
            let column = place_of(columns, &condition.column).and_then(|(place, _)| columns.get(place));
            match column {
                Some(column) => found.extend(misfit(condition, column).map(wrong)),
                None if condition.is_comparison() || matched_rows == 0 => {
                    let message = format!("There is no column {} in this table.", condition.column);
                    found.push(wrong(message).suggest(similar(columns, &condition.column)));
                }
                None => {}
            }
        }
        found
    }
}

impl Condition {
    /// Returns true if the condition uses `<`, `>` or a similar sign. No op name contains such a sign.
    fn is_comparison(&self) -> bool {
        !matches!(self.operator, Operator::Contains | Operator::Is(Relation::Equal))
    }
}

/// Returns columns whose heading or key has a word that begins with `name`. If there are no such columns, returns
/// columns with a similar name.
fn similar(columns: &[Column], name: &str) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase).collect()
    };
    let wanted = words(name).concat();
    let begins = |column: &&Column| {
        [column.key, column.title].iter().any(|text| {
            let words = words(text);
            (0..words.len()).any(|from| words.get(from..).unwrap_or_default().concat().starts_with(&wanted))
        })
    };
    // The text contains the heading that the user sees, and the name in commands and exports.
    let named = |column: &Column| format!("{} ({})", column.title, column.key);
    let found: Vec<String> = columns.iter().filter(begins).take(MOST).map(named).collect();
    if !found.is_empty() && !wanted.is_empty() {
        return found;
    }
    let keys: Vec<&str> = columns.iter().map(|column| column.key).collect();
    let near = suggest::words(name, &keys).into_iter();
    near.map(|key| columns.iter().find(|column| column.key == key).map_or(key, named)).collect()
}

/// Explains why no cell of the column can pass.
fn misfit(condition: &Condition, column: &Column) -> Option<String> {
    if column.unit == Unit::Text {
        let name = column.key;
        return condition
            .is_comparison()
            .then(|| format!("{name} is a text. Write {name}:WORD or {name}=\"WHOLE TEXT\"."));
    }
    if column.unit == Unit::Flag {
        return None;
    }
    // `30days` is a number with an unknown unit.
    let has_digits = condition.text.starts_with(|c: char| c.is_ascii_digit());
    match condition.number {
        _ if condition.number_in(column.unit).is_some() => None,
        None if !has_digits => {
            let unit = unit::word(column.unit);
            let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
            Some(format!("{} is a number{unit}. Compare it with a number.", column.key))
        }
        _ => Some(match unit_of(column.unit) {
            Some(unit) => {
                let units = listed(&unit.alternatives());
                format!("{} is {}. Give it in {units}.", column.key, noun(unit.dimension))
            }
            None => format!("{} is a plain number. Omit the unit.", column.key),
        }),
    }
}

/// Explains a missing sign: `mean 50us` consists of two words, and no row contains both.
fn without_sign(columns: &[Column], name: &str, value: &str) -> Option<String> {
    let is_it = |column: &&Column| column.unit != Unit::Text && is_called(column.key, column.title, name);
    let column = columns.iter().find(is_it)?;
    number(value)?;
    Some(format!("Put a sign between {name} and {value}: {}>{value}.", column.key))
}

/// Lists names: `a, b or c`.
fn listed(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    }
}

fn noun(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "a time",
        Dimension::Percent => "a share",
        Dimension::Bytes => "a size",
        Dimension::ByteRate => "a bandwidth",
        Dimension::Flops => "a number of operations",
        Dimension::FlopRate => "a rate of operations",
        Dimension::Intensity => "an intensity",
        Dimension::PerSecond => "a rate",
    }
}

#[cfg(test)]
mod tests {
    use super::super::column;
    use super::*;

    fn columns() -> Vec<Column> {
        let of = |key, title, unit| column(key, title, unit, "");
        vec![
            of("hlo_op_name", "Op", Unit::Text),
            of("total_self_time_us", "Self time", Unit::TimeUs),
            of("avg_self_time_us", "Mean self time", Unit::TimeUs),
            of("bound_by", "Bound by", Unit::Text),
            of("occurrences", "Occurrences", Unit::Count),
            of("measured_memory_bw_gibps", "Bandwidth", Unit::GibibytesPerSecond),
        ]
    }

    fn mistakes(filter: &str, matched_rows: u64) -> Vec<String> {
        let found = Filter::parse(filter).mistakes(&columns(), matched_rows);
        assert!(found.iter().all(|it| filter.get(it.span.clone()).is_some_and(|text| !text.is_empty())), "{found:?}");
        found.iter().map(Error::to_string).collect()
    }

    #[test]
    fn an_impossible_filter_is_explained() {
        for (filter, said) in [
            (
                "self>1ms",
                "There is no column self in this table. Did you mean Self time (total_self_time_us) or Mean self time (avg_self_time_us)?",
            ),
            ("bound:HBM", "There is no column bound in this table. Did you mean Bound by (bound_by)?"),
            ("ocurrences>5", "There is no column ocurrences in this table. Did you mean Occurrences (occurrences)?"),
            ("share>5", "There is no column share in this table."),
            ("selftime>5%", "total_self_time_us is a time. Give it in ps, ns, us, ms, s, min or h."),
            ("selftime>30days", "total_self_time_us is a time. Give it in ps, ns, us, ms, s, min or h."),
            ("occurrences>5ms", "occurrences is a plain number. Omit the unit."),
            ("occurrences>many", "occurrences is a number. Compare it with a number."),
            ("op>5", "hlo_op_name is a text. Write hlo_op_name:WORD or hlo_op_name=\"WHOLE TEXT\"."),
            ("occurrences 5", "Put a sign between occurrences and 5: occurrences>5."),
        ] {
            assert_eq!(mistakes(filter, 0), [said], "{filter}");
        }
    }

    #[test]
    fn right_filters_and_names_with_signs_are_no_mistakes() {
        let right = [
            "fusion -copy",
            "self-time > 1.5 ms",
            "bound_by:HBM",
            "bandwidth>=900GB/s",
            "occurrences>5 fusion",
            "\"op 5\"",
        ];
        for filter in right {
            assert!(mistakes(filter, 0).is_empty(), "{filter}: {:?}", mistakes(filter, 0));
        }
        assert!(mistakes("layer:3 dims={1}", 2).is_empty(), "names that rows have");
        assert_eq!(mistakes("layer>3", 2).len(), 1, "no name has such a sign");
    }
}
