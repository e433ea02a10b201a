//! The order of rows.

use std::cmp::Ordering;

use crossprof::export::tables::{Cell, Column};

use super::cell;

/// By which column, and which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Index of the column.
    pub column: usize,
    /// Largest or last first.
    pub descending: bool,
}

impl Order {
    /// The order after a click on a column's heading: numbers start with the largest, texts with the first; a second
    /// click turns the order around, a third returns to the table's own.
    pub fn clicked(current: Option<Order>, column: usize, of: &Column) -> Option<Order> {
        let first = cell::is_number(of.unit);
        match current {
            Some(order) if order.column == column && order.descending == first => {
                Some(Order { column, descending: !first })
            }
            Some(order) if order.column == column => None,
            _ => Some(Order { column, descending: first }),
        }
    }
}

/// Sorts rows; equal ones keep their order, absent values come last either way.
pub fn sort(rows: &mut [Vec<Cell>], order: Order) {
    rows.sort_by(|a, b| {
        let (a, b) = (a.get(order.column), b.get(order.column));
        match (absent(a), absent(b)) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if order.descending => compare(b, a),
            (false, false) => compare(a, b),
        }
    });
}

fn absent(cell: Option<&Cell>) -> bool {
    matches!(cell, None | Some(Cell::Absent))
}

fn compare(a: Option<&Cell>, b: Option<&Cell>) -> Ordering {
    match (a, b) {
        (Some(Cell::Text(a)), Some(Cell::Text(b))) => a.cmp(b),
        (Some(Cell::Int(a)), Some(Cell::Int(b))) => a.cmp(b),
        (Some(a), Some(b)) => number(a).total_cmp(&number(b)),
        _ => Ordering::Equal,
    }
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Int(value) => *value as f64,
        Cell::Float(value) => *value,
        Cell::Flag(yes) => f64::from(u8::from(*yes)),
        Cell::Text(_) | Cell::Absent => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::export::tables::Unit;

    #[test]
    fn absent_values_come_last_either_way() {
        for descending in [false, true] {
            let mut rows =
                vec![vec![Cell::Absent], vec![Cell::Float(1.0)], vec![Cell::Float(3.0)], vec![Cell::Float(2.0)]];
            sort(&mut rows, Order { column: 0, descending });
            let expected = if descending { [3.0, 2.0, 1.0] } else { [1.0, 2.0, 3.0] };
            assert_eq!(rows[..3], expected.map(|value| vec![Cell::Float(value)]));
            assert_eq!(rows[3], [Cell::Absent]);
        }
    }

    #[test]
    fn clicks_go_round() {
        let number = Column { key: "n", title: "N", unit: Unit::Count };
        let text = Column { unit: Unit::Text, ..number };
        let first = Order::clicked(None, 0, &number);
        assert_eq!(first, Some(Order { column: 0, descending: true }));
        let second = Order::clicked(first, 0, &number);
        assert_eq!(second, Some(Order { column: 0, descending: false }));
        assert_eq!(Order::clicked(second, 0, &number), None);
        assert_eq!(Order::clicked(second, 1, &text), Some(Order { column: 1, descending: false }));
    }
}
