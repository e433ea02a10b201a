//! Compares program arguments with the shardings in the script that made the capture (tests/data/capture.py). `x` has
//! 1024 x 256 floats, which are split over 8 devices by rows, and `w` has 256 x 256 floats on each device.

use crossprof::table::{Cell, Query, Table};
use crossprof::{Session, Settings, TableName};

const MESH: &str = "tests/data/jax-cpu-mesh/plugins/profile/2026_11_21_02_00_07/host.xplane.pb";

fn arguments() -> Table {
    let mut session = Session::new();
    let file = session.begin("host.xplane.pb", None);
    session.push(file, &std::fs::read(MESH).expect("a fixture"));
    session.finish(file);
    assert_eq!(session.runs().len(), 1);
    let query = Query::default();
    session.table(0, &Settings::default(), TableName::Arguments, "", &query).expect("a table")
}

#[test]
fn arguments_have_the_shardings_of_the_script() {
    let table = arguments();
    let at = |key: &str| table.columns.iter().position(|column| column.key == key).expect("a column");
    let row = |name: &str| {
        let is_it = |row: &&Vec<Cell>| {
            row[at("argument")] == Cell::Text(name.to_owned())
                && matches!(&row[at("module")], Cell::Text(module) if module.starts_with("jit_train_step"))
        };
        table.rows.iter().find(is_it).unwrap_or_else(|| panic!("no argument {name}: {:?}", table.rows))
    };
    let text = |value: &str| Cell::Text(value.to_owned());
    let (x, w) = (row("x"), row("w"));
    assert_eq!((&x[at("placement")], &x[at("split")]), (&text("sharded"), &text("0 into 8")));
    assert_eq!((&x[at("shape")], &x[at("bytes_per_device")]), (&text("f32[128,256]"), &Cell::Float(131_072.0)));
    assert_eq!((&x[at("copies")], &x[at("whole_bytes")]), (&Cell::Int(1), &Cell::Float(1_048_576.0)));
    assert_eq!((&w[at("placement")], &w[at("split")]), (&text("replicated"), &Cell::Absent));
    assert_eq!((&w[at("shape")], &w[at("bytes_per_device")]), (&text("f32[256,256]"), &Cell::Float(262_144.0)));
    assert_eq!((&w[at("copies")], &w[at("devices")]), (&Cell::Int(8), &Cell::Int(8)));
    assert_eq!(w[at("whole_bytes")], Cell::Float(262_144.0));
}
