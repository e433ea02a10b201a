//! Communication in real profiles against what is known of them by other means.

mod support;

use crossprof::table::{Cell, Table};
use crossprof::{Query, Session, Settings, TableName, UnifiedProfile};

fn read(path: &str) -> Option<(Session, UnifiedProfile)> {
    let mut session = support::xprof::open(&support::samples::traces()?.join(path));
    let profile = session.report(0, &Settings::default())?;
    Some((session, profile))
}

fn table(session: &mut Session, variant: &str) -> Table {
    session.table(0, &Settings::default(), TableName::Collectives, variant, &Query::default()).unwrap()
}

fn cell<'t>(table: &'t Table, row: usize, key: &str) -> &'t Cell {
    let column = table.columns.iter().position(|column| column.key == key).unwrap();
    &table.rows[row][column]
}

/// Four chips, one all-reduce of 5 GiB, three runs on each chip: durations read from the xplane.
#[test]
fn all_reduces_of_four_chips() {
    let Some((mut session, profile)) = read("tpu-v6e-4chip/host.xplane.pb") else { return };
    let found = profile.communication.unwrap();
    assert_eq!((found.num_collectives, found.kinds.len()), (12, 1));
    // On the chips' own clocks; on the host's it is 1,460,406.
    assert!((found.total_time_us - 1_460_345.258_75).abs() < 1e-3, "{}", found.total_time_us);
    let kinds = table(&mut session, "kind");
    assert_eq!(cell(&kinds, 0, "kind"), &Cell::Text("all-reduce".to_owned()));
    let runs = table(&mut session, "run");
    assert_eq!(runs.rows.len(), 12);
    let ops = table(&mut session, "");
    assert_eq!(cell(&ops, 0, "bytes"), &Cell::Int(5 * 1024 * 1024 * 256 * 4));
    assert_eq!(cell(&ops, 0, "group_size"), &Cell::Int(2));
    // Matched by the number of the run: 4 + 3 + 3 chips; two runs of the first chip have no counterpart.
    let (wait, transfer) = (found.wait_time_us.unwrap(), found.transfer_time_us.unwrap());
    assert!((wait - 69.53).abs() < 1e-6 && (transfer - 1_216_902.275).abs() < 1e-6, "{wait} {transfer}");
}

#[test]
fn one_of_two_runs_has_all_to_alls() {
    let Some((_, a)) = read("tpu-qwen3-runs/run-a.trace.json.gz") else { return };
    let Some((_, b)) = read("tpu-qwen3-runs/run-b.trace.json.gz") else { return };
    let count = |profile: &UnifiedProfile| {
        let kinds = profile.communication.iter().flat_map(|it| &it.kinds);
        kinds.filter(|kind| kind.kind == "all-to-all").map(|kind| kind.count).sum::<u64>()
    };
    assert_eq!((count(&a), count(&b)), (256, 0));
}

#[test]
fn one_nccl_all_reduce_a_step() {
    let Some((_, profile)) = read("synth-gpu-7steps/vm.xplane.pb") else { return };
    let found = profile.communication.unwrap();
    assert_eq!((found.num_collectives, found.total_time_us), (7, 350.0));
    assert_eq!(found.kinds[0].kind, "all-reduce");
}
