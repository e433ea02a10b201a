//! Compiled programs of a run with the measured numbers of their ops.

use std::sync::Arc;

use base::Ps;
use graph::{Measured, Numbers};
use hlo::diff::Totals;
use hlo::{Conventions, Module};
use memory::{MAIN, ProgramMemory};
use metrics::Context;
use run::Settings;
use rustc_hash::FxHashSet;
use trace::Platform;

use super::Session;

/// A compiled program of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HloProgram {
    /// Name with the number of the program: `jit_f(17)`.
    pub name: String,
    /// Number of the program. The columns `program_id` show it without a sign.
    pub id: i64,
    /// Host whose file contains the program.
    pub host: u16,
    /// Number of instructions.
    pub instructions: usize,
    /// Self time of the program's ops in the window. `None` if none was measured.
    pub time: Option<Ps>,
}

impl HloProgram {
    /// Returns the name without the number.
    pub fn module_name(&self) -> &str {
        self.name.split_once('(').map_or(&self.name, |(name, _)| name)
    }
}

/// A compiled program by itself, without the times of a run.
#[derive(Clone, Debug)]
pub struct CompiledProgram {
    /// The program.
    pub module: Arc<Module>,
    /// Conventions that its costs are counted by.
    pub conventions: Conventions,
    /// Size and cost of one execution.
    pub totals: Totals,
    /// Peak of device memory by the buffer assignment. `None` if the file contains none.
    pub peak_bytes: Option<u64>,
}

impl Session {
    /// Returns a program to compare it with others. `None` if there is no such program.
    pub fn hlo_compiled(&mut self, run: u32, settings: &Settings, program: &HloProgram) -> Option<CompiledProgram> {
        self.timeline(run, settings, |context, _| {
            let mut all = context.run.programs().modules.with_bytes();
            let (proto, _, module) = all.find(|(it, ..)| (it.host, it.program_id) == (program.host, program.id))?;
            let conventions = match context.analysis.devices.platform {
                Some(Platform::Gpu) => Conventions::Gpu,
                _ => Conventions::Cpu,
            };
            let memory = ProgramMemory::of(module, &proto.bytes);
            Some(CompiledProgram {
                module: Arc::clone(module),
                conventions,
                totals: Totals::of(module, conventions),
                peak_bytes: memory.and_then(|memory| Some(memory.space(MAIN)?.peak_bytes())),
            })
        })?
    }

    /// Returns the compiled programs of a run, most time first. Hosts that embed the same bytes share a program. `None` if
    /// there is no such run, or if it is an imported result, which has no programs.
    pub fn hlo_programs(&mut self, run: u32, settings: &Settings) -> Option<Vec<HloProgram>> {
        self.timeline(run, settings, |context, _| {
            let mut seen = FxHashSet::default();
            let mut found = Vec::new();
            for (host, id, name, module) in context.run.programs().modules.all() {
                if seen.insert((std::ptr::from_ref(module), id)) {
                    let mut program = HloProgram {
                        name: if name.is_empty() { module.name().to_owned() } else { name.to_owned() },
                        id,
                        host,
                        instructions: module.instructions().len(),
                        time: None,
                    };
                    program.time = ops(&context, &program).filter_map(|(_, numbers)| numbers.time).reduce(|a, b| a + b);
                    found.push(program);
                }
            }
            base::sort::sort_by(&mut found, |a, b| {
                b.time.cmp(&a.time).then_with(|| (&a.name, a.host).cmp(&(&b.name, b.host)))
            });
            found
        })
    }

    /// Calls `look` with a program and the numbers of its ops, as the table of ops has them. `None` if there is no such
    /// program.
    pub fn hlo_program<T>(
        &mut self,
        run: u32,
        settings: &Settings,
        program: &HloProgram,
        look: impl FnOnce(&Module, &Measured) -> T,
    ) -> Option<T> {
        self.timeline(run, settings, |context, _| {
            let module = context.run.programs().modules.find(program.host, program.id)?;
            Some(look(module, &Measured::new(module, ops(&context, program))))
        })?
    }
}

/// Returns the ops of a program. The table of ops belongs to the programs of one host. On other hosts, a program has its
/// numbers only if it consists of the same bytes.
fn ops<'a>(context: &Context<'a>, program: &HloProgram) -> impl Iterator<Item = (&'a str, Numbers)> {
    let (trace, analysis) = (context.trace(), context.analysis);
    let modules = &context.run.programs().modules;
    let host = analysis.devices.used.first().map_or(0, |device| device.host);
    let (own, measured) = (modules.find(program.host, program.id), modules.find(host, program.id));
    let is_measured = own.zip(measured).is_some_and(|(own, measured)| std::ptr::eq(own, measured));
    // Some traces name only the module of an op.
    let by_name = modules.find_by_name(host, program.module_name()).zip(own);
    let is_named = by_name.is_some_and(|(named, own)| std::ptr::eq(named, own));
    let id = program.id;
    let name = program.module_name().to_owned();
    analysis.ops.rows.iter().filter_map(move |op| {
        let belongs = match op.program_id {
            Some(of) => is_measured && of == id,
            None => is_named && analysis.ops.text(trace, op.module) == name,
        };
        let counts = !op.is_left_out();
        belongs.then(|| {
            let numbers = Numbers {
                time: Some(op.self_time),
                flops: op.flops.filter(|_| counts),
                bytes: op.bytes.filter(|_| counts),
                bound_by: analysis.bound_by(op).unwrap_or_default().to_owned(),
            };
            (analysis.ops.text(trace, op.name), numbers)
        })
    })
}
