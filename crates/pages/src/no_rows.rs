//! Explains why no row of a table passes a filter: names the condition that no row passes, and the values that the column has.

use base::format::{printable, shorten};
use table::{Cell, Column, Filter, Query, Sort, Table, Unit, is_called, terms, unit};

/// Explains in one or two sentences why no row passes. `ask` runs queries on the table.
pub(super) fn why(filter: &str, columns: &[Column], ask: &mut dyn FnMut(&Query) -> Table) -> String {
    let mistakes = Filter::parse(filter).mistakes(columns, 0);
    if !mistakes.is_empty() {
        return mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    }
    let mut matches = |term: &str| ask(&Query { filter: term.to_owned(), sort: None, top: Some(0) }).matched_rows;
    let Some(term) = terms(filter).into_iter().find(|term| matches(term) == 0) else {
        return "Each condition of the filter matches some rows, but no row passes all conditions.".to_owned();
    };
    let said = format!("No row passes {}", shorten(&printable(&term), 60));
    let parsed = Filter::parse(&term);
    let column = parsed.columns().find_map(|name| columns.iter().find(|it| is_called(it.key, it.title, name)));
    let Some(column) = column else { return format!("{said}.") };
    let mut end = |descending: bool| {
        let sort = Some(Sort { column: column.key.to_owned(), descending });
        let found = ask(&Query { filter: String::new(), sort, top: Some(1) });
        let at = found.columns.iter().position(|it| it.key == column.key)?;
        found.rows.first()?.get(at).cloned()
    };
    let number = |cell: Cell| match cell {
        Cell::Int(value) => Some(value as f64),
        Cell::Float(value) => Some(value),
        _ => None,
    };
    let title = column.title;
    match (end(false), end(true)) {
        (None | Some(Cell::Absent), _) => format!("{said}: {title} has no values in this run."),
        (Some(_), _) if matches!(column.unit, Unit::Text | Unit::Flag) => format!("{said}."),
        (Some(least), Some(most)) => match number(least).zip(number(most)) {
            Some((least, most)) => {
                let [least, most] = [least, most].map(|value| unit::short(value, column.unit));
                format!("{said}: {title} ranges from {least} to {most}.")
            }
            None => format!("{said}."),
        },
        _ => format!("{said}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::{column, query};

    #[test]
    fn the_condition_that_nothing_passes_is_named() {
        let columns = vec![
            column("name", "Kernel", Unit::Text, ""),
            column("avg_us", "Mean", Unit::TimeUs, ""),
            column("bytes", "Bytes", Unit::Bytes, ""),
        ];
        let row = |name: &str, mean: f64| vec![Cell::Text(name.to_owned()), Cell::Float(mean), Cell::Absent];
        let table = Table::new("test", columns, vec![row("gemm", 3.0), row("copy", 30.2)]);
        let why = |filter: &str| why(filter, &table.columns, &mut |asked| query(&table, asked));
        assert_eq!(why("gemm mean>50us"), "No row passes mean>50us: Mean ranges from 3.00 µs to 30.2 µs.");
        assert_eq!(why("bytes>1"), "No row passes bytes>1: Bytes has no values in this run.");
        assert_eq!(
            why("gemm mean>20"),
            "Each condition of the filter matches some rows, but no row passes all \
            conditions."
        );
        assert_eq!(why("kernel=conv"), "No row passes kernel=conv.");
        assert_eq!(why("conv"), "No row passes conv.");
        assert_eq!(why("self>1ms"), "There is no column self in this table.");
        assert_eq!(why("avg>1%"), "There is no column avg in this table. Did you mean Mean (avg_us)?");
    }
}
