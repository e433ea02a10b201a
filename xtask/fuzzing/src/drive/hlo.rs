//! Wraps a compiled module in an xplane file in which a device runs every instruction of the module.

use crossprof::hlo::diff::Difference;
use crossprof::hlo::{self, Module};

use super::{Kept, promise};
use crate::wire::{bytes, message, number, write};

const PROGRAM: u64 = 5;
/// Maximum number of instructions that the device runs. A damaged module may name millions of instructions.
const MOST_OPS: usize = 500;

/// Returns the bytes of an `XSpace` that embeds `module`, an `HloModuleProto`.
pub(super) fn in_an_xplane(module: &[u8]) -> Vec<u8> {
    let read = hlo::read_module(module);
    let module_name = format!("{}({PROGRAM})", read.name());
    let mut metadata = Vec::new();
    let (mut ops, mut runs) = (Vec::new(), Vec::new());
    let mut at_ps = 0;
    for (id, instruction) in (2..).zip(read.instructions().iter().take(MOST_OPS)) {
        let event = [number(1, id), bytes(2, &instruction.name), message(5, &[number(1, 1), number(4, PROGRAM)])];
        metadata.push(entry(4, id, &event));
        ops.push(message(4, &[number(1, id), number(2, at_ps), number(3, 1_000_000)]));
        at_ps += 1_500_000;
    }
    runs.push(message(4, &[number(1, 1), number(2, 0), number(3, at_ps.max(1))]));
    metadata.push(entry(4, 1, &[number(1, 1), bytes(2, &module_name)]));
    let line = |id, name: &str, events: Vec<_>| {
        let head = [number(1, id), bytes(2, name), number(3, 1_000_000_000)];
        message(3, &head.into_iter().chain(events).collect::<Vec<_>>())
    };
    let mut device = vec![number(1, 1), bytes(2, "/device:TPU:0")];
    device.extend([line(1, "XLA Modules", runs), line(2, "XLA Ops", ops)]);
    device.extend(metadata);
    device.push(entry(5, 1, &[number(1, 1), bytes(2, "program_id")]));

    let proto = write(&[bytes(1, module)]);
    let stat = message(5, &[number(1, 1), bytes(6, proto)]);
    let embedded = entry(4, PROGRAM, &[number(1, PROGRAM), bytes(2, &module_name), stat]);
    let host =
        [number(1, 2), bytes(2, "/host:metadata"), embedded, entry(5, 1, &[number(1, 1), bytes(2, "Hlo Proto")])];
    write(&[message(1, &device), message(1, &host)])
}

/// Compares a module with itself and with an empty module. Checks that each instruction is in exactly one list.
pub(super) fn difference(module: &Module) -> Kept {
    let count = module.instructions().len();
    let found = Difference::of(module, module);
    let pairs = found.same + found.changed.len();
    promise::equal(
        "the instructions of a difference",
        &(pairs + found.gone.len(), pairs + found.new.len()),
        &(count, count),
    )?;
    for changed in found.changed.iter().take(100) {
        for &aspect in &changed.aspects {
            found.texts(module, module, changed, aspect);
        }
    }
    promise::equal("new instructions", &Difference::of(&Module::default(), module).new.len(), &count)
}

/// Builds an entry of a protobuf map from ids to messages.
fn entry(field: u64, id: u64, value: &[crate::wire::Field]) -> crate::wire::Field {
    message(field, &[number(1, id), message(2, value)])
}

#[cfg(test)]
mod tests {
    use crossprof::{Query, Session, Settings, TableName};

    #[test]
    fn the_ops_of_an_embedded_module_have_its_costs() {
        let file = format!("{}/../../tests/data/hlo/dots.pb", env!("CARGO_MANIFEST_DIR"));
        let mut session = Session::new();
        let id = session.begin("h.xplane.pb", None);
        session.push(id, &super::in_an_xplane(&std::fs::read(file).unwrap()));
        assert_eq!(session.finish(id).error, None);
        session.runs();
        let table = session.table(0, &Settings::default(), TableName::Roofline, "", &Query::default()).unwrap();
        assert!(table.rows.len() > 5, "{table:?}");
    }
}
