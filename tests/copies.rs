//! On ROCm, the direction of a copy is known only from the host call. All sections, tables and pages must treat such
//! copies alike.
//!
//! A separate script counted the expected values in the files: the events named `__amd_rocclr_copyBuffer` or
//! `__amd_rocclr_fillBufferAligned` on streams, classified by the name of the first host event with the same
//! correlation id.

use crate::support;
use crate::support::xprof::{Row, number, ours};
use crossprof::{Query, Session, Settings, TableName, WindowChoice};

/// Copies in a file: direction, category in the report, part of the step, count, summed microseconds, and microseconds
/// during which a device runs only copies of this kind (mean over devices).
type Truth = (&'static str, &'static str, &'static str, u64, f64, f64);

const TRUTHS: [(&str, &[Truth]); 3] = [
    ("mi300x-elementwise", &[("h2d", "memcpy h2d", "h2d", 10, 44.8, 44.8)]),
    (
        "mi300x-8gpu-conv",
        &[
            ("d2d", "memcpy d2d", "d2d", 33, 532.16, 527.96 / 8.0),
            // These copies were launched by `hipLaunchHostFunc` and `hipStreamWaitEvent`, which do not state a direction.
            ("other", "memcpy", "data_movement", 2, 31.361, f64::NAN),
        ],
    ),
    ("gfx950-te-attention", &[("memset", "memset", "data_movement", 20, 166.482, f64::NAN)]),
];

/// Settings that measure the active span of each device, which includes every copy. The traces do not confirm the
/// number of steps, so parts are not divided by it.
fn whole_capture() -> Settings {
    Settings { window: WindowChoice::Active, num_steps: Some(977), ..Settings::default() }
}

fn close(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs()
}

fn filtered(session: &mut Session, name: TableName, filter: &str) -> Vec<Row> {
    let query = Query { filter: filter.to_owned(), ..Query::default() };
    let table = session.table(0, &whole_capture(), name, "", &query).unwrap();
    let keys: Vec<&str> = table.columns.iter().map(|column| column.key).collect();
    let row =
        |row: &Vec<_>| keys.iter().zip(row).map(|(&k, c)| (k.to_owned(), serde_json::to_value(c).unwrap())).collect();
    table.rows.iter().map(row).collect()
}

#[test]
#[ignore = "reads real profiles"]
fn every_table_uses_the_calls_direction() {
    for (name, truths) in TRUTHS {
        let (mut session, _) = support::xprof::read(name, "kernel_stats");
        let profile = session.report(0, &whole_capture()).unwrap();
        let memory = profile.memory_operations.as_ref().unwrap();
        let categories = &profile.kernels.kernels_by_category;
        let parts = serde_json::to_value(&profile.step_breakdown.as_ref().unwrap().parts).unwrap();
        let all = ours(&mut session, &whole_capture(), TableName::Ops);
        assert_eq!(memory.transfers.len(), truths.len(), "{name}");
        for &(direction, category, part, count, time, exposed) in truths {
            let section = memory.transfers.iter().find(|it| it.direction == direction).unwrap();
            assert_eq!(section.count, count, "{name}: memory_operations {direction}");
            assert!(close(section.total_time_us, time), "{name}: {direction} {}", section.total_time_us);
            assert_eq!(categories[category].count, count, "{name}: kernels_by_category {category}");
            let transfers = filtered(&mut session, TableName::Transfers, &format!("direction={direction}"));
            let sum: f64 = transfers.iter().map(|row| number(row, "total_time_us")).sum();
            assert!(close(sum, time), "{name}: table transfers {direction} {sum}");
            // The fills in attention belong to the attention op.
            let is_own_op = direction != "memset";
            let of_category = |row: &&Row| {
                row["category"] == category && row["hlo_op_name"].as_str().is_some_and(|it| it.contains("amd_rocclr"))
            };
            let ops: Vec<&Row> = all.iter().filter(of_category).collect();
            let occurrences: f64 = ops.iter().map(|row| number(row, "occurrences")).sum();
            assert!(!is_own_op || occurrences == count as f64, "{name}: table ops {category} {occurrences}");
            let time_of_ops: f64 = ops.iter().map(|row| number(row, "total_self_time_us")).sum();
            assert!(!is_own_op || close(time_of_ops, time), "{name}: table ops {category} {time_of_ops}");
            let filter = format!("part={part} kernel_name:amd_rocclr");
            let named = filtered(&mut session, TableName::StepEvents, &filter).len();
            let unnamed =
                filtered(&mut session, TableName::StepEvents, &format!("part={part} hlo_op_name:amd_rocclr")).len();
            assert_eq!((named + unnamed) as u64, count, "{name}: table step-events {part}");
            if exposed.is_finite() {
                let found = parts[format!("{part}_us")].as_f64().unwrap();
                assert!(close(found, exposed), "{name}: step_breakdown.parts.{part}_us {found}");
            }
        }
        // ROCm runs copies as kernels, so they stay in the kernels table whatever their direction.
        let kernels = filtered(&mut session, TableName::Kernels, "kernel_name:copyBuffer");
        let occurrences: f64 = kernels.iter().map(|row| number(row, "occurrences")).sum();
        let copies: u64 = truths.iter().filter(|truth| truth.0 != "memset").map(|truth| truth.3).sum();
        assert_eq!(occurrences, copies as f64, "{name}: table kernels");
    }
}
