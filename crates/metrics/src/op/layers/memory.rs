//! Adds up, by layer, the sizes of the values that are alive when the main program uses the most memory.

use rustc_hash::FxHashMap;

use super::{LayerGrouping, Layers, is_scope, of_path, of_source, program_name};
use crate::op::ops::Ops;
use base::framework_path::layered;
use hlo::Phases;
use memory::{MAIN, ProgramMemory};
use run::Run;

impl Layers {
    /// Returns, for each row, the bytes of the layer's results that are alive at the peak. Covers only the program with
    /// the most self time among the programs with a buffer assignment. Arguments belong to no layer. `None` if no
    /// program has a buffer assignment.
    pub fn bytes_at_peak(&self, run: &Run, ops: &Ops, grouping: LayerGrouping) -> Option<Vec<u64>> {
        let program = main_program(run, ops)?;
        let module = &program.module;
        let space = program.space(MAIN)?;
        let phases = Phases::of(module);
        let rows: FxHashMap<String, usize> = (0..self.rows.len()).map(|at| (self.path(at), at)).collect();
        let mut bytes = vec![0u64; self.rows.len()];
        for live in program.live_at_peak(space) {
            let buffer = program.assignment.buffers.get(live.buffer);
            let Some(at) = buffer.and_then(|buffer| buffer.instruction) else { continue };
            let Some(instruction) = module.at(at).filter(|it| !it.is("parameter")) else { continue };
            let path = &instruction.metadata.op_name;
            let names = match grouping {
                LayerGrouping::Source => of_source(
                    &module.source_of(instruction).unwrap_or_default(),
                    module.function_of(instruction).unwrap_or_default(),
                ),
                LayerGrouping::Phase => of_path(phases.as_ref().map_or("other", |phases| phases.phase(at).key()), path),
                _ => of_path(program_name(module.name()), path),
            };
            let is_merged = matches!(grouping, LayerGrouping::Layer | LayerGrouping::Phase);
            let mut known = String::new();
            for (level, name) in names.iter().enumerate() {
                if level > 0 {
                    known.push('/');
                }
                match is_merged && is_scope(level, names.len()) {
                    true => known.push_str(&layered(name)),
                    false => known.push_str(name),
                }
                let Some(bytes) = rows.get(&known).and_then(|&row| bytes.get_mut(row)) else { break };
                *bytes = bytes.saturating_add(live.bytes);
            }
        }
        Some(bytes)
    }
}

/// Returns the memory of the program whose ops take the most self time, among the programs with a buffer assignment.
fn main_program(run: &Run, ops: &Ops) -> Option<ProgramMemory> {
    let mut times: FxHashMap<i64, i64> = FxHashMap::default();
    for op in &ops.rows {
        if let Some(program) = op.program_id {
            *times.entry(program).or_default() += op.self_time.as_ps();
        }
    }
    let mut programs: Vec<(i64, i64)> = times.into_iter().map(|(program, time)| (time, program)).collect();
    programs.sort_unstable_by(|a, b| b.cmp(a));
    programs.into_iter().find_map(|(_, program)| {
        let (proto, _, module) = run.programs().modules.with_bytes().find(|(proto, ..)| proto.program_id == program)?;
        ProgramMemory::of(module, &proto.bytes)
    })
}
