//! Selects and orders the columns of a table on a page: the leading columns, or the columns that the user chose.
//! Columns by which the table is sorted or filtered are always visible. Step parts that occur in no row are hidden.

use crate::PageQuery;
use document::{ColumnBlock, TableBlock};
use table::{Cell, Filter, is_called};
use tables::TableName;

/// Returns the key of the option that contains the chosen columns of a table, as comma-separated
/// keys.
pub fn option(name: TableName) -> String {
    format!("columns.{}", name.key())
}

/// Orders the columns, visible columns first, and marks the other columns as folded.
pub(crate) fn arrange(block: &mut TableBlock, query: &PageQuery) {
    let leading = block.table.shown().leading;
    let chosen = query.options.get(&option(block.table)).filter(|chosen| !chosen.is_empty());
    let filter = Filter::parse(&block.filter);
    let is_asked = |column: &ColumnBlock| {
        block.sort.as_ref().is_some_and(|sort| sort.column == column.key)
            || filter.columns().any(|name| is_called(&column.key, &column.title, name))
    };
    let is_seen = |key: &str| match chosen {
        Some(chosen) => chosen.split(',').any(|column| column == key),
        None => leading.is_empty() || leading.contains(&key),
    };
    let place = |key: &str| leading.iter().position(|column| *column == key).unwrap_or(leading.len());
    // Hides parts that no step has, such as compilation.
    let folds_zeros = block.table == TableName::StepBreakdown && chosen.is_none();
    let is_folded = |(at, column): (usize, &ColumnBlock)| {
        let is_empty = folds_zeros && block.rows.iter().all(|row| is_zero(row.get(at)));
        (is_empty || !is_seen(&column.key)) && !is_asked(column)
    };
    let folded: Vec<bool> = block.columns.iter().enumerate().map(is_folded).collect();
    for (column, is_folded) in block.columns.iter_mut().zip(folded) {
        column.is_folded = is_folded;
    }
    let mut order: Vec<usize> = (0..block.columns.len()).collect();
    base::sort::sort_by(&mut order, |a, b| {
        let rank = |at: &usize| block.columns.get(*at).map(|column| (column.is_folded, place(&column.key), *at));
        rank(a).cmp(&rank(b))
    });
    block.columns = order.iter().filter_map(|&at| block.columns.get(at).cloned()).collect();
    for row in &mut block.rows {
        let mut cell = |&at: &usize| row.get_mut(at).map_or(Cell::Absent, |it| std::mem::replace(it, Cell::Absent));
        *row = order.iter().map(&mut cell).collect();
    }
}

fn is_zero(cell: Option<&Cell>) -> bool {
    match cell {
        Some(Cell::Float(value)) => *value == 0.0,
        None | Some(Cell::Absent) => true,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::{Sort, Unit, column};

    fn seen(query: &PageQuery, sort: Option<&str>, filter: &str) -> Vec<(String, Cell)> {
        let keys = ["rank", "kernel_name", "registers_per_thread", "total_duration_us", "in_graph"];
        let mut table = TableBlock {
            columns: keys.map(|key| ColumnBlock::from(&column(key, key, Unit::Number, ""))).to_vec(),
            rows: vec![(0..5).map(Cell::Int).collect()],
            sort: sort.map(Sort::parse),
            filter: filter.to_owned(),
            ..TableBlock::empty(TableName::Kernels)
        };
        arrange(&mut table, query);
        let shown = table.columns.iter().zip(&table.rows[0]).filter(|(column, _)| !column.is_folded);
        assert_eq!((table.columns.len(), table.rows[0].len()), (5, 5));
        shown.map(|(column, cell)| (column.key.clone(), cell.clone())).collect()
    }

    #[test]
    fn columns_come_by_importance_and_their_cells_with_them() {
        let expect = |found: &[(&str, u64)]| -> Vec<(String, Cell)> {
            found.iter().map(|&(key, value)| (key.to_owned(), Cell::Int(value))).collect()
        };
        let plain = PageQuery::default();
        assert_eq!(seen(&plain, None, ""), expect(&[("kernel_name", 1), ("total_duration_us", 3)]));
        let sorted = expect(&[("kernel_name", 1), ("total_duration_us", 3), ("registers_per_thread", 2)]);
        assert_eq!(seen(&plain, Some("-registers_per_thread"), ""), sorted);
        assert_eq!(seen(&plain, None, "registers_per_thread>3"), sorted);
        let options = [(option(TableName::Kernels), "in_graph,kernel_name".to_owned())].into();
        let chosen = PageQuery { options, ..PageQuery::default() };
        assert_eq!(seen(&chosen, None, ""), expect(&[("kernel_name", 1), ("in_graph", 4)]));
    }

    #[test]
    fn parts_of_steps_that_no_row_has_are_folded() {
        let keys = ["name", "compute_us", "compile_us", "h2d_us"];
        let row = |parts: [f64; 3]| [Cell::Int(0)].into_iter().chain(parts.map(Cell::Float)).collect();
        let mut table = TableBlock {
            columns: keys.map(|key| ColumnBlock::from(&column(key, key, Unit::TimeUs, ""))).to_vec(),
            rows: vec![row([5.0, 0.0, 0.0]), row([5.0, 0.0, 2.0])],
            ..TableBlock::empty(TableName::StepBreakdown)
        };
        arrange(&mut table, &PageQuery::default());
        let shown: Vec<&str> =
            table.columns.iter().filter(|column| !column.is_folded).map(|column| column.key.as_str()).collect();
        assert_eq!(shown, ["name", "compute_us", "h2d_us"]);
    }
}
