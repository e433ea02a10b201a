//! Reads compiled programs from separate files, as `--xla_dump_to` writes them. The programs form a run without events.
//!
//! ```text
//! module_0004.jit_f.before_optimizations.txt                        an earlier stage: read when it is opened
//! module_0004.jit_f.cpu_after_optimizations.txt                     the last stage
//! module_0004.jit_f.cpu_after_optimizations-buffer-assignment.txt   its memory: joined to the text of the same name
//! module_0004.jit_f.cpu_after_optimizations-live-range.txt          when its values live: also joined
//! module_0004.jit_f.cpu_after_optimizations.hlo.pb                  the same stage as a proto, which wins
//! ```

use std::collections::BTreeMap;

use base::format::counted;
use base::wire::{Reader, Value};
use base::{Warning, WarningCode};
use input::plan::{self, PlannedRun};
use run::Run;
use trace::{EarlierStage, HloProto, Trace};

use super::intake::{Content, Member};

/// Text files that belong to a program: their first bytes, and the suffix that follows the program's name in their file
/// names.
const PARTS: [(&[u8], &str); 2] = [(b"BufferAssignment:", "-buffer-assignment"), (b"HloLiveRange", "-live-range")];

/// Maximum total size of the earlier stages that are kept. A dump of every pass (`--xla_dump_hlo_pass_re`) contains
/// hundreds of stages.
const MOST_STAGE_BYTES: usize = 128 << 20;

/// Returns the programs of a planned run as a trace without events, and adds their files to `run`. The last stage
/// represents the program.
pub(super) fn take(members: &mut [Member], planned: &PlannedRun, run: &mut Run) -> Trace {
    let mut found: Vec<Found> = Vec::new();
    // Buffer assignments and lifetimes by the name of their program.
    let mut parts: BTreeMap<(String, usize), (String, Vec<u8>)> = BTreeMap::new();
    for &file in &planned.programs {
        let Some(member) = members.get_mut(file) else { continue };
        run.warnings.append(&mut member.warnings);
        if let Content::Program(bytes) = std::mem::replace(&mut member.content, Content::Taken) {
            run.files.push(member.source_file(None));
            let name = plan::file_name(&member.path);
            let part = PARTS.iter().position(|(start, _)| bytes.starts_with(start));
            match part.and_then(|at| Some((name.split_once(PARTS.get(at)?.1).map_or(name, |(name, _)| name), at))) {
                Some((program, at)) => {
                    parts.insert((program.to_owned(), at), (member.path.clone(), bytes));
                }
                None => found.push(Found::new(name, bytes, found.len())),
            }
        }
    }
    for program in found.iter_mut().filter(|program| hlo::is_text(&program.bytes)) {
        for at in 0..PARTS.len() {
            if let Some((_, part)) = parts.remove(&(program.stem.clone(), at)) {
                program.bytes.push(b'\n');
                program.bytes.extend(part);
                program.heading.is_compiled = true;
            }
        }
    }
    for ((stem, at), (path, part)) in parts {
        if at == 0 && found.iter().all(|program| program.stem != stem) {
            let message =
                format!("The instructions of this program are missing. Open this file together with {stem}.txt.");
            run.warnings.push(Warning::new(WarningCode::ProgramWithoutInstructions, message).with_file(path));
            found.push(Found::of_values(&stem, &part, found.len()));
        }
    }
    let mut of_program: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    let mut order = Vec::new();
    for program in found {
        let stages = of_program.entry(program.heading.name()).or_default();
        if stages.is_empty() {
            order.push(program.heading.name());
        }
        stages.push(program);
    }
    let mut trace = Trace::default();
    let (mut room, mut left_out) = (MOST_STAGE_BYTES, 0);
    for name in order {
        let mut stages = of_program.remove(&name).unwrap_or_default();
        stages.sort_by(|a, b| a.stage().cmp(&b.stage()));
        let Some(last) = stages.pop() else { continue };
        let (program_id, name) = (last.heading.id, trace.strings.intern(&name));
        // A text and a proto of one stage are one program. The proto follows the text in the order.
        let mut earlier: Vec<Found> = Vec::new();
        for stage in stages.into_iter().filter(|stage| stage.stem != last.stem) {
            match earlier.last_mut() {
                Some(same) if same.stem == stage.stem => *same = stage,
                _ => earlier.push(stage),
            }
        }
        trace.hlo.push(HloProto { program_id, name, host: 0, bytes: last.bytes.into() });
        // The latest stages get the room first.
        let kept = earlier.iter().rev().take_while(|stage| {
            let fits = stage.bytes.len() <= room;
            room = if fits { room.saturating_sub(stage.bytes.len()) } else { 0 };
            fits
        });
        let dropped = earlier.len().saturating_sub(kept.count());
        left_out += dropped;
        for stage in earlier.into_iter().skip(dropped) {
            let label = trace.strings.intern(stage.label());
            let program = HloProto { program_id, name, host: 0, bytes: stage.bytes.into() };
            trace.earlier_stages.push(EarlierStage { stage: label, program });
        }
    }
    if left_out > 0 {
        let message = format!(
            "{} not kept: crossprof keeps at most {} MiB of them.",
            counted(left_out as u64, "earlier stage"),
            MOST_STAGE_BYTES >> 20,
        );
        run.warnings.push(Warning::new(WarningCode::ProgramStagesLeftOut, message));
    }
    trace
}

/// A file that contains one program, at one stage of its compilation.
struct Found {
    stem: String,
    heading: Heading,
    bytes: Vec<u8>,
}

impl Found {
    /// Reads the identity of the program at position `place` in the folder.
    fn new(name: &str, bytes: Vec<u8>, place: usize) -> Found {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let suffixes = [".txt", ".hlo", ".hlo.pb", ".hlo_proto.pb", ".pb"];
        let stem = suffixes.iter().filter_map(|suffix| name.strip_suffix(suffix)).min_by_key(|stem| stem.len());
        let heading = if hlo::is_text(&bytes) { Heading::of_text(&bytes, name, place) } else { Heading::of(&bytes) };
        Found { stem: stem.unwrap_or(name).to_owned(), heading, bytes }
    }

    /// Returns a program without instructions, which has only the values of a buffer assignment.
    fn of_values(stem: &str, assignment: &[u8], place: usize) -> Found {
        let module = stem.split('.').nth(1).unwrap_or(stem);
        let mut text = format!("HloModule {module}\n\nENTRY values {{\n");
        for line in String::from_utf8_lossy(assignment).lines() {
            // ` value: <36 tuple.5{} @0> (size=16,offset=0): (f32[8]{0}, f32[2]{0})`: this is a whole value and not an
            // element.
            let parts = line.strip_prefix(" value: <").and_then(|rest| rest.split_once("): "));
            let Some((name, shape)) = parts.and_then(|(value, shape)| Some((value.split(' ').nth(1)?, shape))) else {
                continue;
            };
            let name = name.strip_suffix("{}").unwrap_or(name);
            if !name.contains('{') {
                text.push_str(&format!("  {name} = {shape} value()\n"));
            }
        }
        text.push_str("}\n\n");
        let mut bytes = text.into_bytes();
        let mut heading = Heading::of_text(&bytes, stem, place);
        bytes.extend(assignment);
        heading.is_compiled = true;
        Found { stem: stem.to_owned(), heading, bytes }
    }

    /// Returns the name of the stage. The name of the stage is the part of the file's name after `module_0004.jit_f.`,
    /// or the whole file name if it has another form. The label is not derived from the module's name, because XLA
    /// replaces some characters of that name in file names.
    fn label(&self) -> &str {
        let of_module = self.stem.strip_prefix("module_").and_then(|rest| rest.split_once('.'));
        of_module.and_then(|(_, rest)| rest.split_once('.')).map_or(&self.stem, |(_, stage)| stage)
    }

    /// Returns a sort key that is larger for later stages and, within a stage, for better files.
    fn stage(&self) -> (bool, u8, &str, bool) {
        let place = match &self.stem {
            name if name.contains("before_optimizations") => 0,
            name if name.contains("after_optimizations") => 2,
            _ => 1,
        };
        (self.heading.is_compiled, place, &self.stem, !hlo::is_text(&self.bytes))
    }
}

/// Identity of a program, which can be read without decoding the whole program.
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

    /// Reads the identity from the first line of HLO text (`HloModule jit_f, ...`). HLO text contains no id, so the id
    /// comes from the name of the file (`module_0004.jit_f`). If the name contains no id, the position of the program
    /// in the folder is used.
    fn of_text(text: &[u8], file: &str, place: usize) -> Heading {
        let line = text.split(|&byte| byte == b'\n').next().map(String::from_utf8_lossy).unwrap_or_default();
        let name = line.trim_start_matches("HloModule").trim_start();
        let module = name.split([',', ' ']).next().unwrap_or_default().trim_end().to_owned();
        let digits = file.strip_prefix("module_").map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        let id = digits.flatten().and_then(|digits| digits.parse().ok());
        let id = id.unwrap_or_else(|| i64::try_from(place).unwrap_or(i64::MAX).saturating_add(1));
        Heading { module, id, is_compiled: false }
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
