//! Compiled programs in files of their own, as written by `--xla_dump_to`. They are the programs of a run without events.

use std::collections::BTreeSet;

use base::wire::{Reader, Value};
use input::plan::PlannedRun;
use run::Run;
use trace::{HloProto, Trace};

use super::intake::{Content, Member};

/// Returns the programs of a planned run as a trace without events, and adds their files to `run`. XLA dumps a program
/// before and after compilation: if one dump has a buffer assignment, dumps of the same name without one are skipped.
pub(super) fn take(members: &mut [Member], planned: &PlannedRun, run: &mut Run) -> Trace {
    let mut trace = Trace::default();
    let mut found = Vec::new();
    for &file in &planned.programs {
        let Some(member) = members.get_mut(file) else { continue };
        run.warnings.append(&mut member.warnings);
        if let Content::Program(bytes) = std::mem::replace(&mut member.content, Content::Taken) {
            run.files.push(member.source_file(None));
            found.push((Heading::of(&bytes), bytes));
        }
    }
    let compiled: BTreeSet<String> =
        found.iter().filter(|(heading, _)| heading.is_compiled).map(|(heading, _)| heading.name()).collect();
    for (heading, bytes) in found {
        let name = heading.name();
        if heading.is_compiled || !compiled.contains(&name) {
            let name = trace.strings.intern(&name);
            trace.hlo.push(HloProto { program_id: heading.id, name, host: 0, bytes: bytes.into() });
        }
    }
    trace
}

/// Identity of a program, known without decoding all of it.
#[derive(Default)]
struct Heading {
    module: String,
    id: i64,
    /// True if the program has a buffer assignment.
    is_compiled: bool,
}

impl Heading {
    fn of(hlo_proto: &[u8]) -> Heading {
        let mut heading = Heading::default();
        let mut proto = Reader::new(hlo_proto);
        while let Ok(Some(field)) = proto.field() {
            match (field.number, field.value) {
                (1, Value::Bytes(module)) => heading.read_module(module),
                (3, Value::Bytes(_)) => heading.is_compiled = true,
                _ => {}
            }
        }
        heading
    }

    fn read_module(&mut self, module: &[u8]) {
        let mut module = Reader::new(module);
        while let Ok(Some(field)) = module.field() {
            match (field.number, field.value) {
                (1, Value::Bytes(name)) => self.module = String::from_utf8_lossy(name).into_owned(),
                (5, Value::Varint(id)) => self.id = id as i64,
                _ => {}
            }
        }
    }

    /// Name and number in XProf's format.
    fn name(&self) -> String {
        format!("{}({})", self.module, self.id.cast_unsigned())
    }
}
