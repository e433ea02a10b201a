//! Formats table values as text for all exports that people read.

use crate::{Cell, Unit, unit};
use base::format;

/// Formats a value for readers.
pub fn display(cell: &Cell, unit: Unit) -> String {
    match (cell, unit) {
        (Cell::Absent, _) => format::DASH.to_owned(),
        (Cell::Text(text), _) => format::printable(text),
        (Cell::Flag(true), _) => "yes".to_owned(),
        (Cell::Flag(false), _) => String::new(),
        (Cell::Int(value), Unit::Bytes) => format::bytes(*value),
        (Cell::Int(value), Unit::Text | Unit::Count | Unit::Number | Unit::Flag) => format::count(*value),
        // A number without a fraction may be an integer cell, whatever its unit.
        (Cell::Int(value), _) => unit::short(*value as f64, unit),
        (Cell::Float(value), _) => unit::short(*value, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_unit() {
        let shown = |value: f64, unit: Unit| display(&Cell::Float(value), unit);
        for (unit, text) in [
            (Unit::TimeUs, "1.50 s"),
            (Unit::Percent, "1\u{202f}500\u{202f}000 %"),
            (Unit::Bytes, "1.43 MiB"),
            (Unit::GigabytesPerSecond, "1.50 PB/s"),
            (Unit::GibibytesPerSecond, "1.61 PB/s"),
            (Unit::GigaflopsPerSecond, "1.50 PFLOP/s"),
            (Unit::Flops, "1.50 MFLOP"),
            (Unit::FlopsPerByte, "1\u{202f}500\u{202f}000 FLOP/B"),
            (Unit::Number, "1\u{202f}500\u{202f}000"),
        ] {
            assert_eq!(shown(1.5e6, unit), text);
        }
        // A whole number of microseconds is still a time.
        assert_eq!(display(&Cell::Int(1000), Unit::TimeUs), "1.00 ms");
        assert_eq!(display(&Cell::Int(1000), Unit::Count), "1\u{202f}000");
    }
}
