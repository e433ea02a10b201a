//! Measures collectives between TPU slices (DCN): slack, stalls and required bandwidth.
//!
//! ```text
//! XLA Ops   [send)[fusion    )[send-done)[fusion  )[recv-done   )
//!           |      '--------'            '------'  |            |
//!           |         slack: the device computes   |            |
//!           '----------- observed duration --------'------------'    stall: the time in the four ops
//! ```
//!
//! Reads the TPU ops that transfer data to and from the host. The instructions of these ops come from the embedded HLO,
//! or from the text of the op. All instructions of a collective have the collective's rendezvous name, or share a
//! channel with an instruction that has it.

use rustc_hash::FxHashMap;

use crate::device::devices::{Device, Devices};
use base::{Ps, sort};
use facts::hlo_categories::{HOST_RECV, HOST_RECV_DONE, HOST_SEND, HOST_SEND_DONE};
use hlo::{Module, Modules};
use report::{Megascale, MegascaleCollective};
use trace::{Args, Platform, StrId, Trace};

const RENDEZVOUS: &str = "_xla_host_transfer_rendezvous";
const TRANSFER_TYPE: &str = "_xla_megascale_transfer_type";

/// Role of an op in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Send,
    Recv,
    SendDone,
    RecvDone,
}

impl Role {
    /// Categories of the ops with a role.
    const CATEGORIES: [&str; 4] = [HOST_SEND, HOST_RECV, HOST_SEND_DONE, HOST_RECV_DONE];

    /// Returns the role of the ops of a category.
    fn of(category: &str) -> Option<Role> {
        Some(match category {
            HOST_SEND => Role::Send,
            HOST_RECV => Role::Recv,
            HOST_SEND_DONE => Role::SendDone,
            HOST_RECV_DONE => Role::RecvDone,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
struct Part {
    role: Role,
    channel: i64,
    rendezvous: Option<String>,
    transfer_type: Option<String>,
    bytes: Option<u64>,
}

/// A collective that has begun on a device.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    start: Ps,
    send_op: StrId,
    /// Time spent in ops of each [`Role`].
    times: [Ps; 4],
    stall: Ps,
    /// Time of sends and receives of all collectives since the start of this collective.
    overlapped: Ps,
    group_size: Option<i64>,
    has_begun: bool,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    send_op: StrId,
    recv_op: StrId,
    transfer_type: Option<String>,
    bytes: Option<u64>,
    devices: Vec<u32>,
    slack: Ps,
    observed: Ps,
    times: [Ps; 4],
    stall: Ps,
    recv_done: Vec<Ps>,
}

/// Measures the collectives between slices. Returns `None` if no collective runs between slices.
pub(crate) fn section(trace: &Trace, devices: &Devices, modules: &Modules) -> Option<Megascale> {
    // Most traces have no such op, and up to a million others.
    if Role::CATEGORIES.iter().all(|category| trace.strings.find(category).is_none()) {
        return None;
    }
    let mut all: FxHashMap<String, Sums> = FxHashMap::default();
    for (number, device) in (0u32..).zip(&devices.used).filter(|(_, device)| device.platform == Platform::Tpu) {
        of_device(trace, modules, number, device, &mut all);
    }
    let mut collectives: Vec<MegascaleCollective> =
        all.into_iter().map(|(name, sums)| sums.collective(trace, name)).collect();
    sort::sort_by(&mut collectives, |a, b| {
        b.total_stall_us.total_cmp(&a.total_stall_us).then_with(|| a.rendezvous_name.cmp(&b.rendezvous_name))
    });
    let total_stall_us = collectives.iter().map(|it| it.total_stall_us).sum::<f64>();
    let spans: Ps = devices.used.iter().map(|device| device.span.length()).sum();
    let stall_percent = if spans > Ps::ZERO { (100.0 * total_stall_us / spans.as_us()).min(100.0) } else { 0.0 };
    (!collectives.is_empty()).then_some(Megascale { stall_percent, total_stall_us, collectives })
}

fn of_device(trace: &Trace, modules: &Modules, number: u32, device: &Device, all: &mut FxHashMap<String, Sums>) {
    let mut parts: FxHashMap<(StrId, trace::ArgsId), Option<Part>> = FxHashMap::default();
    let mut channels: FxHashMap<i64, String> = FxHashMap::default();
    let mut open: FxHashMap<String, Open> = FxHashMap::default();
    for event in device.ops.iter().filter_map(|&id| trace.events.get(id)) {
        let known = parts.entry((event.name, event.args));
        let Some(part) = known.or_insert_with(|| {
            let args = trace.args.get(event.args);
            part(trace, modules, device.host, trace.text(event.name), &args)
        }) else {
            continue;
        };
        if let Some(name) = &part.rendezvous {
            channels.insert(part.channel, name.clone());
        }
        // A `done` has only the channel of its send or receive.
        let Some(name) = part.rendezvous.as_ref().or_else(|| channels.get(&part.channel)).cloned() else { continue };
        let state = open.entry(name.clone()).or_default();
        if part.role == Role::Send {
            *state = Open {
                start: event.start,
                send_op: event.name,
                group_size: trace.args.get(event.args).dcn_group_size,
                has_begun: true,
                ..Open::default()
            };
        }
        if let Some(time) = state.times.get_mut(part.role as usize) {
            *time = event.duration;
        }
        state.stall += event.duration;
        if part.role == Role::RecvDone && state.has_begun {
            let sums = all.entry(name).or_default();
            sums.add(number, state, event.start, event.end());
            sums.recv_op = event.name;
            let group = trace.args.get(event.args).dcn_group_size.or(state.group_size);
            sums.transfer_type.clone_from(&part.transfer_type);
            sums.bytes =
                part.bytes.zip(group).and_then(|(bytes, group)| sent(part.transfer_type.as_deref(), bytes, group));
        }
        open.values_mut().for_each(|state| state.overlapped += event.duration);
    }
}

impl Sums {
    fn add(&mut self, device: u32, run: &Open, recv_done: Ps, end: Ps) {
        self.send_op = run.send_op;
        if !self.devices.contains(&device) {
            self.devices.push(device);
        }
        self.slack += recv_done - run.start - run.overlapped;
        self.observed += end - run.start;
        self.times.iter_mut().zip(run.times).for_each(|(sum, time)| *sum += time);
        self.stall += run.stall;
        self.recv_done.push(end - recv_done);
    }

    fn collective(mut self, trace: &Trace, rendezvous_name: String) -> MegascaleCollective {
        let runs = self.recv_done.len();
        let mean = |time: Ps| time.as_us() / runs.max(1) as f64;
        let [send, recv, send_done, recv_done] = self.times.map(mean);
        let slack_time_us = mean(self.slack).max(0.0);
        sort::sort_by_key(&mut self.recv_done, |time| *time);
        let percentile = |percent: usize| {
            let rank = (runs * percent).div_ceil(100).saturating_sub(1);
            self.recv_done.get(rank).map_or(0.0, |time| time.as_us())
        };
        MegascaleCollective {
            rendezvous_name,
            recv_op_name: trace.text(self.recv_op).to_owned(),
            send_op_name: trace.text(self.send_op).to_owned(),
            transfer_type: self.transfer_type,
            occurrences: runs as u64,
            num_devices: self.devices.len() as u64,
            slack_time_us,
            observed_duration_us: mean(self.observed),
            send_stall_us: send,
            send_done_stall_us: send_done,
            recv_stall_us: recv,
            recv_done_stall_us: recv_done,
            recv_done_p50_us: percentile(50),
            recv_done_p90_us: percentile(90),
            recv_done_p99_us: percentile(99),
            stall_duration_us: mean(self.stall),
            total_stall_us: self.stall.as_us(),
            net_tx_bytes: self.bytes,
            required_gb_per_sec: self
                .bytes
                .filter(|_| slack_time_us > 0.0)
                .map(|bytes| bytes as f64 / slack_time_us * 1e-3),
        }
    }
}

/// Returns the bytes that one device sends for a result of `bytes` in a group of `group` members.
fn sent(transfer_type: Option<&str>, bytes: u64, group: i64) -> Option<u64> {
    let group = u64::try_from(group).ok().filter(|&group| group > 0)?;
    let others = bytes as f64 * (group - 1) as f64;
    let shared = others / group as f64;
    Some(match transfer_type? {
        "ONE_TO_ONE" => bytes,
        "ALL_GATHER" | "ALL_TO_ALL" => shared as u64,
        "ALL_REDUCE" => (2.0 * shared) as u64,
        "REDUCE_SCATTER" => others as u64,
        _ => return None,
    })
}

/// Reads the instruction of an op. Returns `None` for ops that do not transfer to or from the host.
fn part(trace: &Trace, modules: &Modules, host: u16, name: &str, args: &Args) -> Option<Part> {
    let role = Role::of(trace.text(args.hlo_category))?;
    let name = if args.hlo_op.is_empty() { name } else { trace.text(args.hlo_op) };
    let module = modules.of_op(host, args.program_id, trace.text(args.hlo_module));
    let found = module.and_then(|module| of_module(module, role, name));
    found.or_else(|| of_text(trace.text(args.long_name), role))
}

fn of_module(module: &Module, role: Role, name: &str) -> Option<Part> {
    let instruction = module.instruction(name)?;
    let of = |instruction: &hlo::Instruction, key: &str| {
        let attributes = &instruction.attributes().frontend_attributes;
        attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    };
    // The operand of a `done` is its send or receive.
    let begin = module.operand(instruction, 0).filter(|_| matches!(role, Role::SendDone | Role::RecvDone));
    let own = |key: &str| of(instruction, key).or_else(|| of(begin?, key));
    Some(Part {
        role,
        channel: instruction.attributes().channel_id,
        rendezvous: own(RENDEZVOUS),
        transfer_type: own(TRANSFER_TYPE),
        bytes: Some(instruction.shape.bytes() as u64).filter(|&bytes| bytes > 0),
    })
}

/// Parses `%recv.1 = (f32[8]{0}, u32[], token[]) recv(...), channel_id=6, frontend_attributes={name="value",...}`.
fn of_text(expression: &str, role: Role) -> Option<Part> {
    let value = |key: &str| {
        let (_, rest) = expression.split_once(key)?;
        Some(rest.strip_prefix("=\"")?.split('"').next()?.to_owned())
    };
    let channel = expression.split_once("channel_id=").and_then(|(_, rest)| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    let result = expression.split_once(" = ").and_then(|(_, call)| call.split_once(" recv-done("));
    let bytes = result.map(|(result, _)| crate::op::collectives::shapes_bytes(result)).filter(|&bytes| bytes > 0);
    Some(Part { role, channel: channel?, rendezvous: value(RENDEZVOUS), transfer_type: value(TRANSFER_TYPE), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    /// Builds two runs of a collective from the text of its ops, with a collective of another name inside the first.
    fn capture() -> Trace {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        let attributes = |name: &str| {
            format!(
                "frontend_attributes={{_xla_host_transfer_rendezvous=\"{name}\",_xla_megascale_transfer_type=\"ALL_GATHER\"}}"
            )
        };
        let mut op = |name: &str, at: i64, duration: i64, channel: i64, of: Option<&str>| {
            let kind = name.split('.').next().unwrap();
            let result = "(f32[1024,1024]{1,0}, token[])";
            let text = format!(
                "%{name} = {result} {kind}(%x), channel_id={channel}, {}",
                of.map(attributes).unwrap_or_default()
            );
            b.event(line, name, at, duration).hlo_category(&format!("host {kind}")).long_name(&text);
        };
        for at in [0, 1000] {
            op("send.1", at, 10, 1, Some("a"));
            op("recv.1", at + 10, 5, 2, Some("a"));
            if at == 0 {
                op("send.2", 100, 20, 3, Some("b"));
            }
            op("send-done.1", at + 200, 4, 1, None);
            op("recv-done.1", at + 400, 30 + at / 10, 2, None);
        }
        b.build()
    }

    #[test]
    fn slack_excludes_all_sends_and_receives() {
        let trace = capture();
        let found = section(&trace, &Devices::of(&trace), &Modules::new(&trace)).unwrap();
        // The other collective has no recv-done.
        assert_eq!(found.collectives.len(), 1);
        let of = found.collectives.first().unwrap();
        assert_eq!((of.rendezvous_name.as_str(), of.occurrences), ("a", 2));
        assert_eq!((of.send_op_name.as_str(), of.recv_op_name.as_str()), ("send.1", "recv-done.1"));
        // The slack is 400 - 10 - 5 - 4, and 20 less in the first run.
        assert!((of.slack_time_us - 371.0).abs() < 1e-9, "{of:?}");
        assert!((of.observed_duration_us - 480.0).abs() < 1e-9);
        assert!((of.stall_duration_us - (19.0 + 80.0)).abs() < 1e-9);
        assert_eq!((of.recv_done_p50_us, of.recv_done_p90_us, of.recv_done_p99_us), (30.0, 130.0, 130.0));
        assert_eq!(of.net_tx_bytes, None, "the size of the group is unknown");
        assert!((found.total_stall_us - 198.0).abs() < 1e-9);
    }

    #[test]
    fn bytes_depend_on_the_type() {
        let bytes = |of, group| sent(Some(of), 1024, group);
        assert_eq!(bytes("ALL_REDUCE", 4), Some(1536));
        assert_eq!(bytes("ALL_GATHER", 4), Some(768));
        assert_eq!(bytes("REDUCE_SCATTER", 4), Some(3072));
        assert_eq!(bytes("ONE_TO_ONE", 1), Some(1024));
        assert_eq!((bytes("RAGGED_ALL_TO_ALL", 4), bytes("ALL_REDUCE", 0)), (None, None));
    }
}
