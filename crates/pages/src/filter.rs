//! Applies a filter that was set on one page to the tables of all pages. For each table, selects the terms that apply, and
//! the columns that the table lacks.
//!
//! A condition on a column that a table lacks would hide all of its rows for no reason. Conditions on missing columns
//! are therefore ignored, and a note next to the table names them. A term that does not name a column of any table is a
//! plain search word.

use table::{Column, Filter, has_column, terms};

/// Key of a filter for two devices, `between=0-3`. Only one page uses this key (see [`pair`]), and no table has a
/// column with this name.
pub(crate) const BETWEEN: &str = "between";

/// Filter as it applies to a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Terms that apply to the table.
    pub filter: String,
    /// Columns that the table lacks, each once.
    pub lacking: Vec<String>,
}

/// Returns the part of `filter` that applies to a table with these columns.
pub(crate) fn applied(filter: &str, columns: &[Column]) -> Applied {
    let mut kept: Vec<String> = Vec::new();
    let mut lacking: Vec<String> = Vec::new();
    // The user is still typing `category=`.
    for term in terms(filter).into_iter().filter(|term| !is_unfinished(term)) {
        match column_of(&term).filter(|key| !has_column(columns, key)) {
            Some(key) if lacking.contains(&key) => {}
            Some(key) => lacking.push(key),
            None => kept.push(term),
        }
    }
    Applied { filter: kept.join(" "), lacking }
}

/// Returns the two numbers of a filter's term `key=1-2`, and the filter without this term.
pub(crate) fn pair(filter: &str, key: &str) -> (Option<(u32, u32)>, String) {
    let of = |term: &String| {
        let (from, to) = term.strip_prefix(key)?.strip_prefix('=')?.trim_matches('"').split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    };
    let (own, others): (Vec<String>, Vec<String>) = terms(filter).into_iter().partition(|term| of(term).is_some());
    (own.last().and_then(of), others.join(" "))
}

/// Returns the terms of a filter that name this column.
pub(crate) fn terms_on(filter: &str, key: &str) -> String {
    let is_about = |term: &String| {
        let term = term.strip_prefix('-').unwrap_or(term);
        term.strip_prefix(key).is_some_and(|rest| rest.len() > 1 && rest.starts_with([':', '=', '<', '>', '≤', '≥']))
    };
    terms(filter).into_iter().filter(is_about).collect::<Vec<_>>().join(" ")
}

/// Returns true if a term consists of a column and an operator, but has no value yet.
fn is_unfinished(term: &str) -> bool {
    let name = term.trim_end_matches([':', '=', '<', '>', '≤', '≥']);
    name.len() < term.len() && column_of(&format!("{term}0")).is_some()
}

/// Returns the column that a term names, if any table has it.
fn column_of(term: &str) -> Option<String> {
    let filter = Filter::parse(term);
    let key = filter.columns().next()?;
    (key == BETWEEN || tables::any_has_column(key)).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::{Unit, column};

    fn columns(keys: &[&'static str]) -> Vec<Column> {
        keys.iter().map(|&key| column(key, key, Unit::Text, "")).collect()
    }

    #[test]
    fn conditions_on_missing_columns_are_set_aside() {
        let steps = columns(&["step", "device_name"]);
        let of = |filter: &str| applied(filter, &steps);
        assert_eq!(of("step=3"), Applied { filter: "step=3".into(), lacking: vec![] });
        let found = of("Hlo_Op_Name=\"fusion 1\" -copy step>2 -hlo_op_name:x occurrences>10");
        assert_eq!(found.filter, "-copy step>2");
        assert_eq!(found.lacking, ["hlo_op_name", "occurrences"]);
        let of_memory = Applied { filter: "copy".into(), lacking: vec!["peak_heap_bytes".into()] };
        assert_eq!(of("copy peak_heap_bytes>1"), of_memory);
    }

    #[test]
    fn names_that_are_no_column_stay_words() {
        for filter in ["layer:3", "\"step=3 of 4\"", "dims={1}", "layer=", "fusion", "a \"b", "=x"] {
            assert_eq!(applied(filter, &columns(&["name"])).filter, filter);
        }
    }

    #[test]
    fn an_unfinished_condition_is_ignored() {
        assert_eq!(applied("fusion category= -step>=", &columns(&["name", "category"])).filter, "fusion");
    }

    #[test]
    fn an_equivalent_column_is_found() {
        assert!(applied("hlo_op_name=a program_id=1", &columns(&["operation", "hlo_module_id"])).lacking.is_empty());
        assert!(applied("hlo_op_name=a", &columns(&["kernel_name"])).lacking.is_empty());
    }

    #[test]
    fn a_pair_is_separated_from_the_rest() {
        assert_eq!(pair("kind=x between=3-15 -a", "between"), (Some((3, 15)), "kind=x -a".into()));
        assert_eq!(pair("between=3 between=a-b betweens=1-2", "between").0, None);
        assert_eq!(pair("", "between"), (None, String::new()));
    }
}
