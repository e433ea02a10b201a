//! Compares communication in real profiles with facts from other sources.

use crate::support;
use std::path::Path;

use crossprof::table::{Cell, Table};
use crossprof::{Query, Session, TableName, UnifiedProfile};

fn read(path: &str) -> (Session, UnifiedProfile) {
    let mut session = support::xprof::open(&support::samples::real(path));
    let profile = session.report(0, &support::xprof::active()).unwrap();
    (session, profile)
}

fn table(session: &mut Session, variant: &str) -> Table {
    session.table(0, &support::xprof::active(), TableName::Collectives, variant, &Query::default()).unwrap()
}

fn cell<'t>(table: &'t Table, row: usize, key: &str) -> &'t Cell {
    let column = table.columns.iter().position(|column| column.key == key).unwrap();
    &table.rows[row][column]
}

/// Four chips have one all-reduce of 5 GiB, which runs three times on each chip. The durations were read from the
/// xplane file.
#[test]
#[ignore = "reads real profiles"]
fn all_reduces_of_four_chips() {
    let (mut session, profile) = read("tpu-v6e-4chip/*.xplane.pb");
    let found = profile.communication.unwrap();
    assert_eq!((found.num_collectives, found.kinds.len()), (12, 1));
    // The time is measured by the chips' own clocks. On the host's clock it is 1,460,406.
    assert!((found.total_time_us - 1_460_345.258_75).abs() < 1e-3, "{}", found.total_time_us);
    let kinds = table(&mut session, "kind");
    assert_eq!(cell(&kinds, 0, "kind"), &Cell::Text("all-reduce".to_owned()));
    let runs = table(&mut session, "run");
    assert_eq!(runs.rows.len(), 12);
    let ops = table(&mut session, "");
    assert_eq!(cell(&ops, 0, "bytes"), &Cell::Int(5 * 1024 * 1024 * 256 * 4));
    assert_eq!(cell(&ops, 0, "group_size"), &Cell::Int(2));
    // The groups are {0,4},{1,5},{2,6},{3,7}, and the file contains only chips 4 to 7: the partner of each chip is on the
    // other host.
    assert_eq!((found.wait_time_us, found.transfer_time_us, found.straggler), (None, None, None));
    assert!(profile.not_measured.iter().any(|it| it.field == "communication.wait_time_us"));
}

/// Eight CPU devices form a 4 x 2 mesh. Each op waits only in the groups that the program specifies. The test lists
/// these groups by hand.
#[test]
fn waits_are_those_of_the_groups_of_a_mesh() {
    let columns: &[&[usize]] = &[&[0, 2, 4, 6], &[1, 3, 5, 7]];
    let pairs: &[&[usize]] = &[&[0, 1], &[2, 3], &[4, 5], &[6, 7]];
    let everyone: &[&[usize]] = &[&[0, 1, 2, 3, 4, 5, 6, 7]];
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/jax-cpu-rows/plugins/profile/2026_11_22_02_23_10/host.xplane.pb");
    let mut session = support::xprof::open(&path);
    let (ops, runs) = (table(&mut session, ""), table(&mut session, "run"));
    let number = |cell: &Cell| match cell {
        Cell::Float(value) => *value,
        other => panic!("{other:?}"),
    };
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    // On CPUs, all devices meet before a permute, although its pairs form two rings.
    for (kind, groups) in
        [("all-reduce", everyone), ("collective-permute", everyone), ("all-to-all", columns), ("reduce-scatter", pairs)]
    {
        let mut durations: Vec<Vec<f64>> = vec![Vec::new(); 8];
        for row in (0..runs.rows.len()).filter(|&row| text(cell(&runs, row, "kind")) == kind) {
            let device: usize = text(cell(&runs, row, "device_name")).strip_prefix("CPU:").unwrap().parse().unwrap();
            durations[device].push(number(cell(&runs, row, "duration_us")));
        }
        let mut waited = 0.0;
        for (step, group) in (0..3).flat_map(|step| groups.iter().map(move |group| (step, group))) {
            let shortest = group.iter().map(|&device| durations[device][step]).fold(f64::INFINITY, f64::min);
            waited += group.iter().map(|&device| durations[device][step] - shortest).sum::<f64>();
        }
        let row = (0..ops.rows.len()).find(|&row| text(cell(&ops, row, "kind")) == kind).unwrap();
        let found = number(cell(&ops, row, "wait_time_us"));
        assert!(waited > 0.0 && (found - waited).abs() < 1e-6 * waited, "{kind}: {found} is not {waited}");
        assert!(text(cell(&ops, row, "tf_op_name")).starts_with("jit(exchange)/shard_map/"), "{kind}");
    }
}
