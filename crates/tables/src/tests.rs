//! Checks all tables: each column is declared once, with its definition, and rows have only declared columns.

use std::collections::BTreeSet;

use super::*;
use metrics::analyse;
use run::{Run, Settings};

#[test]
fn columns_are_those_of_all_forms() {
    let run = Run::default();
    let examined = analyse(&run, &Settings::default());
    let context = examined.context(&run);
    let profile = ::report::example::profile();
    let recorded = Recorded::default();
    for name in TableName::ALL {
        let declared = columns_of(name);
        let mut made = BTreeSet::new();
        for form in name.forms().iter().chain(&[""]) {
            let of_memory = rows_of_memory(&recorded, name, form);
            assert_eq!(of_memory.is_some(), name.is_of_memory(), "{}", name.key());
            for column in of_memory.unwrap_or_else(|| rows(&context, name, form)).columns() {
                assert!(declared.contains(column), "{}: {}", name.key(), column.key);
                made.insert(column.key);
            }
        }
        assert_eq!(of_report(&profile, name).is_some(), name.is_of_profile(), "{}", name.key());
        for column in of_report(&profile, name).into_iter().flat_map(|table| table.columns) {
            let same = declared.iter().find(|known| known.key == column.key);
            assert!(
                same.is_some_and(|known| (known.title, known.unit) == (column.title, column.unit)),
                "{}",
                column.key
            );
        }
        let keys: BTreeSet<&str> = declared.iter().map(|column| column.key).collect();
        assert_eq!((&keys, keys.len()), (&made, declared.len()), "{}", name.key());
    }
}

#[test]
fn the_columns_of_a_form_are_those_of_its_table() {
    let run = Run::default();
    let examined = analyse(&run, &Settings::default());
    let context = examined.context(&run);
    let recorded = Recorded::default();
    for name in TableName::ALL {
        assert!(name.about().ends_with('.') && name.about().len() < 120, "{}", name.about());
        for form in name.forms().iter().chain(&[""]) {
            let rows = rows_of_memory(&recorded, name, form).unwrap_or_else(|| rows(&context, name, form));
            // Another function makes the tables that cover an area.
            if !name.is_of_area() {
                assert_eq!(rows.columns(), columns_of_form(name, form), "{} by {form}", name.key());
            }
        }
    }
}

#[test]
fn every_column_has_a_definition_of_one_sentence() {
    let all: Vec<Column> = TableName::ALL.into_iter().flat_map(columns_of).collect();
    assert!(all.len() > 300, "{}", all.len());
    for Column { key, definition, .. } in all {
        assert!(definition.ends_with(['.', ':']) || definition.ends_with(".`"), "{key}: {definition}");
        assert!(definition.len() < 240, "{key}: {definition}");
        assert!(!definition.starts_with(|c: char| c.is_lowercase()), "{key}: {definition}");
    }
    assert!(any_has_column("hlo_op_name") && !any_has_column("layer"));
}
