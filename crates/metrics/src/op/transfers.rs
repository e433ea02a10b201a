//! Adds up copies and fills by direction: number, time and bytes.
//!
//! Reads the copy and fill events of GPU streams ([`trace::copies`]). This section is absent on a TPU: the copies
//! between host and chip are not ops of the chip, and the host's `TransferToDevice` spans measure the dispatch instead
//! of the copy. `copy-start`, `copy-done`, `infeed`, `outfeed` and copy kernels are reported as ops of their category.

use rustc_hash::FxHashMap;

use crate::device::devices::Devices;
use base::Ps;
use report::{MemoryOperations, Transfer};
use trace::copies::{Direction, bytes, direction};
use trace::{ArgsId, Platform, StrId, Trace, in_blocks};

#[derive(Clone, Copy)]
struct SizedCopy {
    direction: Direction,
    bytes: Option<u64>,
}

/// Returns the bytes that a part of a copy moves.
pub(crate) fn part_of(bytes: u64, part: Ps, whole: Ps) -> u64 {
    if whole > Ps::ZERO {
        (u128::from(bytes) * part.as_ps().max(0) as u128 / whole.as_ps() as u128) as u64
    } else {
        bytes
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    time: Ps,
    bytes: u64,
    sized_count: u64,
    sized_time: Ps,
}

/// Adds up the copies and fills of all GPUs in use. Returns `None` on other platforms.
pub fn memory_operations(trace: &Trace, devices: &Devices) -> Option<MemoryOperations> {
    if devices.platform != Some(Platform::Gpu) {
        return None;
    }
    let mut sums = [Sum::default(); Direction::ALL.len()];
    let mut known: FxHashMap<(StrId, ArgsId), Option<SizedCopy>> = FxHashMap::default();
    for device in &devices.used {
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id) else { return };
            let copy = *known.entry((event.name, event.args)).or_insert_with(|| {
                let direction = direction(trace, event.name, event.args)?;
                Some(SizedCopy { direction, bytes: bytes(trace, &trace.args.get(event.args)) })
            });
            let Some(SizedCopy { direction, bytes }) = copy else { return };
            let Some(sum) = sums.get_mut(direction as usize) else { return };
            let counted = u64::from(!trace.events.began_before(id));
            sum.count += counted;
            sum.time += event.duration;
            if let Some(bytes) = bytes {
                let bytes =
                    trace.events.whole(id).map_or(bytes, |whole| part_of(bytes, event.duration, whole.length()));
                sum.bytes = sum.bytes.saturating_add(bytes);
                sum.sized_count += counted;
                sum.sized_time += event.duration;
            }
        });
    }
    let transfers: Vec<Transfer> = Direction::ALL.into_iter().zip(sums).filter_map(transfer).collect();
    let find = |direction: Direction| transfers.iter().find(|it| it.direction == direction.label());
    let count = |direction| find(direction).map(|it| it.count);
    let time = |direction| find(direction).map(|it| it.total_time_us);
    Some(MemoryOperations {
        h2d_count: count(Direction::HostToDevice),
        h2d_total_time_us: time(Direction::HostToDevice),
        d2h_count: count(Direction::DeviceToHost),
        d2h_total_time_us: time(Direction::DeviceToHost),
        d2d_count: count(Direction::WithinDevice),
        d2d_total_time_us: time(Direction::WithinDevice),
        total_memory_ops: transfers.iter().map(|it| it.count).sum(),
        transfers,
    })
}

fn transfer((direction, sum): (Direction, Sum)) -> Option<Transfer> {
    let sized = sum.sized_count > 0 || sum.bytes > 0;
    // One byte per nanosecond is one gigabyte per second.
    let bandwidth =
        (sized && sum.sized_time > Ps::ZERO).then(|| sum.bytes as f64 / (sum.sized_time.as_ps() as f64 / 1e3));
    (sum.count > 0 || sum.time > Ps::ZERO).then(|| Transfer {
        direction: direction.label().to_owned(),
        count: sum.count,
        total_time_us: sum.time.as_us(),
        total_bytes: sized.then_some(sum.bytes),
        sized_count: sum.sized_count,
        bandwidth_gb_per_sec: bandwidth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn of(trace: &Trace) -> Option<MemoryOperations> {
        memory_operations(trace, &Devices::of(trace))
    }

    fn operations(events: &[(&str, &str, i64)]) -> MemoryOperations {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #7(MemcpyH2D)");
        for (index, &(name, details, bytes)) in events.iter().enumerate() {
            let event = b.event(line, name, index as i64 * 100, 10).memcpy_details(details);
            event.args(|args| args.copy_bytes = (bytes > 0).then_some(bytes));
        }
        let trace = b.build();
        of(&trace).unwrap()
    }

    fn directions(names: &[&str]) -> Vec<String> {
        let one = |name: &&str| operations(&[(*name, "", 0)]).transfers.first().map(|it| it.direction.clone());
        names.iter().filter_map(one).collect()
    }

    #[test]
    fn names_of_every_producer_have_directions() {
        assert_eq!(directions(&["MemcpyH2D", "MEMCPYHtoD", "Memcpy HtoD (Pageable -> Device)"]), ["h2d"; 3]);
        assert_eq!(directions(&["MemcpyD2H", "Memcpy DtoH (Device -> Pinned)", "CopyDeviceToHost"]), ["d2h"; 3]);
        assert_eq!(directions(&["MemcpyD2D", "Memcpy DtoD (Device -> Device)"]), ["d2d"; 2]);
        assert_eq!(directions(&["MemcpyP2P", "Memcpy PtoP (Device -> Device)"]), ["p2p"; 2]);
        assert_eq!(directions(&["Memset", "Memset (Device)", "__amd_rocclr_fillBufferAligned.kd"]), ["memset"; 3]);
        assert_eq!(directions(&["__amd_rocclr_copyBuffer.kd", "MemcpyOther"]), ["other"; 2]);
        assert!(directions(&["direct_copy_kernel", "loop_copy_fusion"]).is_empty());
    }

    #[test]
    fn details_have_the_direction_if_the_name_lacks_it() {
        let details = "kind_src:device kind_dst:pinned size:8 dest:0 async:1";
        assert_eq!(operations(&[("copy.1", details, 0)]).d2h_count, Some(1));
        assert_eq!(operations(&[("copy.1", "kind:Unknown size:0 dest:512 async:1", 0)]).total_memory_ops, 1);
    }

    #[test]
    fn bandwidth_is_over_the_copies_whose_size_is_known() {
        let sized = "kind_src:pageable kind_dst:device size:1048576 dest:0 async:1";
        let found = operations(&[("MemcpyH2D", sized, 0), ("MEMCPYHtoD", "", 0), ("MemcpyD2H", "", 2_000)]);
        assert_eq!((found.h2d_count, found.h2d_total_time_us), (Some(2), Some(20.0)));
        assert_eq!((found.d2d_count, found.total_memory_ops), (None, 3));
        let h2d = found.transfers.first().unwrap();
        assert_eq!((h2d.total_bytes, h2d.sized_count), (Some(1_048_576), 1));
        assert_eq!(h2d.bandwidth_gb_per_sec, Some(104.8576));
        assert_eq!(found.transfers.get(1).and_then(|it| it.bandwidth_gb_per_sec), Some(0.2));
    }

    #[test]
    fn a_tpu_has_none() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "copy-start.1", 0, 10).hlo_category("copy-start");
        let trace = b.build();
        assert_eq!(of(&trace), None);
    }

    #[test]
    fn the_call_has_the_details_that_the_copy_lacks() {
        let mut b = TraceBuilder::new();
        let stream = b.line("/device:GPU:0", "Stream #1");
        let thread = b.line("/host:CPU", "python");
        b.event(thread, "hipMemcpyDtoDAsync", 0, 5).correlation(1).memcpy_details("size:64 dest:0 async:1");
        b.event(stream, "__amd_rocclr_copyBuffer.kd", 10, 4).correlation(1);
        b.event(stream, "__amd_rocclr_copyBuffer.kd", 20, 4).correlation(2);
        let found = of(&b.build()).unwrap();
        let rows: Vec<_> = found.transfers.iter().map(|it| (it.direction.as_str(), it.count, it.total_bytes)).collect();
        assert_eq!(rows, [("d2d", 1, Some(64)), ("other", 1, None)]);
    }
}
