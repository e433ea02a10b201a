//! Sorting after a click on a heading.

use crossprof::document::ColumnBlock;
use crossprof::table::Sort;

use super::cell;

/// Returns the sort order after a click on a column's heading. The first click sorts numbers from largest to smallest,
/// and text alphabetically. The second click reverses the order, and the third restores the table's own order.
pub fn clicked(current: Option<&Sort>, column: &ColumnBlock) -> Option<Sort> {
    let first = cell::is_number(column.unit);
    let to = |descending| Some(Sort { column: column.key.clone(), descending });
    match current {
        Some(sort) if sort.column == column.key && sort.descending == first => to(!first),
        Some(sort) if sort.column == column.key => None,
        _ => to(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::table::Unit;

    #[test]
    fn clicks_cycle_through_the_orders() {
        let column = |key: &str, unit| ColumnBlock {
            key: key.into(),
            title: key.into(),
            unit,
            definition: String::new(),
            empty: None,
            may_be_bound: false,
            is_folded: false,
        };
        let (number, text) = (column("n", Unit::Count), column("t", Unit::Text));
        let sort = |text| Some(Sort::parse(text));
        assert_eq!(clicked(None, &number), sort("-n"));
        assert_eq!(clicked(sort("-n").as_ref(), &number), sort("n"));
        assert_eq!(clicked(sort("n").as_ref(), &number), None);
        assert_eq!(clicked(sort("n").as_ref(), &text), sort("t"));
    }
}
