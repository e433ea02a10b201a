//! Compiled programs of a run with the measured numbers of their ops.

use std::sync::Arc;

use base::Ps;
use graph::{Measured, Numbers, Program};
use hlo::diff::Totals;
use hlo::{Conventions, Module};
use memory::{MAIN, ProgramMemory};
use metrics::roofline::Level;
use metrics::{Context, Op, Text};
use reproduce::Unsupported;
use run::Settings;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use trace::Platform;

use super::Session;

/// Numbers of an op that the comment at the head of its script lists.
pub use reproduce::Measured as OpNumbers;

/// A compiled program of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HloProgram {
    /// Name with the number of the program: `jit_f(17)`. The name of an earlier stage follows a colon:
    /// `jit_f(17):before_optimizations`.
    pub name: String,
    /// Text that identifies the program in links. Usually, the key is the name. If another program of the run has the
    /// same name and number, the host follows the number.
    pub key: String,
    /// Id of the program, which `program_id` columns show as an unsigned number.
    pub id: i64,
    /// Host whose file contains the program.
    pub host: u16,
    /// Stage of the compilation. `None` for the last stage, which ran.
    pub stage: Option<String>,
    /// Number of instructions. `None` for an earlier stage, which is read only when the caller requests it.
    pub instructions: Option<usize>,
    /// Self time of the program's ops in the window. `None` if no op of the program was measured.
    pub time: Option<Ps>,
}

/// A program that another worker or process receives.
#[derive(Clone, Debug)]
pub struct HloProgramBytes {
    /// HLO proto or text.
    pub bytes: Arc<[u8]>,
    /// Numbers of the program's ops, by name.
    pub ops: Vec<(String, Numbers)>,
}

impl HloProgram {
    /// Returns the name of the program without its number.
    pub fn module_name(&self) -> &str {
        base_name(&self.name)
    }

    /// Returns the indices of the programs that `wanted` names. `wanted` is compared with keys first, then with names
    /// that include the number, then with numbers, and finally with names without the number. To name an earlier stage,
    /// `wanted` must contain the stage after a colon: `jit_f:before_optimizations`.
    pub fn named<'a>(all: impl Iterator<Item = &'a HloProgram> + Clone, wanted: &str) -> Vec<usize> {
        const WAYS: [fn(&HloProgram, &str) -> bool; 2] = [
            |program, name| program.id.cast_unsigned().to_string() == name,
            |program, name| program.module_name() == name,
        ];
        let matching = |fits: &dyn Fn(&HloProgram) -> bool| -> Vec<usize> {
            all.clone().enumerate().filter(|(_, program)| fits(program)).map(|(at, _)| at).collect()
        };
        let mut found = matching(&|program| program.key == wanted);
        if found.is_empty() {
            found = matching(&|program| program.name == wanted);
        }
        for fits in WAYS {
            if found.is_empty() {
                found = matching(&|program| {
                    let name = match &program.stage {
                        Some(stage) => wanted.strip_suffix(stage.as_str()).and_then(|rest| rest.strip_suffix(':')),
                        None => Some(wanted),
                    };
                    name.is_some_and(|name| fits(program, name))
                });
            }
        }
        found
    }
}

/// Returns the name of a program without its number.
fn base_name(name: &str) -> &str {
    name.split_once('(').map_or(name, |(name, _)| name)
}

/// A compiled program by itself, without the times of a run.
#[derive(Clone, Debug)]
pub struct CompiledProgram {
    /// The program.
    pub module: Arc<Module>,
    /// Conventions by which the costs of the program are counted.
    pub conventions: Conventions,
    /// Size and cost of one execution.
    pub totals: Totals,
    /// Peak of device memory according to the buffer assignment. `None` if the file contains no buffer assignment.
    pub peak_bytes: Option<u64>,
}

impl Session {
    /// Returns a program for comparison with other programs. `None` if there is no such program.
    pub fn hlo_compiled(&mut self, run: u32, settings: &Settings, program: &HloProgram) -> Option<CompiledProgram> {
        self.timeline(run, settings, |context, _| {
            let modules = &context.run.programs().modules;
            let (bytes, module) = modules.at_stage(program.host, program.id, program.stage.as_deref())?;
            let conventions = match context.analysis.devices.platform {
                Some(Platform::Gpu) => Conventions::Gpu,
                _ => Conventions::Cpu,
            };
            let memory = ProgramMemory::of(module, bytes);
            Some(CompiledProgram {
                module: Arc::clone(module),
                conventions,
                totals: Totals::of(module, conventions),
                peak_bytes: memory.and_then(|memory| Some(memory.space(MAIN)?.peak_bytes())),
            })
        })?
    }

    /// Returns the compiled programs of a run, most time first. If several hosts embed the same bytes, the list
    /// contains the program only once. Each program is followed by its earlier stages, last stage first. `None` if
    /// there is no such run, or if it is an imported result, which has no programs.
    pub fn hlo_programs(&mut self, run: u32, settings: &Settings) -> Option<Vec<HloProgram>> {
        self.timeline(run, settings, |context, _| {
            let mut seen = FxHashSet::default();
            let mut found = Vec::new();
            for (host, id, name, module) in context.run.programs().modules.all() {
                if seen.insert((std::ptr::from_ref(module), id)) {
                    let mut program = HloProgram {
                        name: if name.is_empty() { module.name().to_owned() } else { name.to_owned() },
                        key: context.run.programs().modules.key(module).unwrap_or_default(),
                        id,
                        host,
                        stage: None,
                        instructions: Some(module.instructions().len()),
                        time: None,
                    };
                    program.time =
                        ops(&context, &program).filter_map(|(_, _, numbers)| numbers.time).reduce(|a, b| a + b);
                    found.push(program);
                }
            }
            base::sort::sort_by(&mut found, |a, b| {
                b.time.cmp(&a.time).then_with(|| (&a.name, a.host).cmp(&(&b.name, b.host)))
            });
            let with_stages = |program: HloProgram| {
                let stages = context.run.programs().modules.stages(program.host, program.id);
                let earlier = |stage: &str| HloProgram {
                    name: format!("{}:{stage}", program.name),
                    key: format!("{}:{stage}", program.key),
                    stage: Some(stage.to_owned()),
                    instructions: None,
                    time: None,
                    ..program.clone()
                };
                let mut all: Vec<HloProgram> = stages.map(earlier).collect();
                all.push(program);
                all.into_iter().rev()
            };
            found.into_iter().flat_map(with_stages).collect()
        })
    }

    /// Returns the bytes of a program (an HLO proto or text), and the numbers of the program's ops by name. `None` if there
    /// is no such program.
    pub fn hlo_program_bytes(
        &mut self,
        run: u32,
        settings: &Settings,
        program: &HloProgram,
    ) -> Option<HloProgramBytes> {
        self.timeline(run, settings, |context, _| {
            let modules = &context.run.programs().modules;
            let bytes = modules.at_stage(program.host, program.id, program.stage.as_deref())?.0.clone();
            let ops = ops(&context, program).map(|(name, _, numbers)| (name.to_owned(), numbers)).collect();
            Some(HloProgramBytes { bytes, ops })
        })?
    }

    /// Returns the index of the program that a link refers to. If `wanted` is given, the result is the only program
    /// with this key, name or number. Without `wanted`, the result is the program in which `op` took the most time. If
    /// neither is given, the result is the first program. Returns `None` if no program or several programs fit.
    pub fn hlo_program_of(
        &mut self,
        run: u32,
        settings: &Settings,
        programs: &[HloProgram],
        wanted: Option<&str>,
        op: Option<&str>,
    ) -> Option<usize> {
        let Some(op) = op.filter(|_| wanted.is_none()) else {
            let Some(wanted) = wanted else { return (!programs.is_empty()).then_some(0) };
            let mut found = HloProgram::named(programs.iter(), wanted);
            if found.is_empty() {
                // Another capture of the program gives it another number.
                found = HloProgram::named(programs.iter(), base_name(wanted));
            }
            return found.first().copied().filter(|_| found.len() == 1);
        };
        let mut found: Option<(usize, Option<Ps>)> = None;
        for (at, program) in programs.iter().enumerate().filter(|(_, it)| it.stage.is_none()) {
            let time = self.hlo_program(run, settings, program, |module, measured| {
                let index = module.instruction(op).and_then(|it| module.index_of(it))?;
                Some(measured.own(index).and_then(|numbers| numbers.time))
            });
            if let Some(Some(time)) = time
                && found.is_none_or(|(_, longest)| time > longest)
            {
                found = Some((at, time));
            }
        }
        found.map(|(at, _)| at)
    }

    /// Calls `look` with a program and the numbers of its ops, as in the ops table. `None` if there is no such program.
    pub fn hlo_program<T>(
        &mut self,
        run: u32,
        settings: &Settings,
        program: &HloProgram,
        look: impl FnOnce(&Module, &Measured) -> T,
    ) -> Option<T> {
        self.timeline(run, settings, |context, _| {
            let modules = &context.run.programs().modules;
            let (_, module) = modules.at_stage(program.host, program.id, program.stage.as_deref())?;
            let numbers = ops(&context, program).map(|(name, _, numbers)| (name, numbers));
            Some(look(module, &Measured::new(module, numbers)))
        })?
    }

    /// Returns the measured numbers of an op, for the comment at the head of its script. `None` if the op did not run
    /// in the window.
    pub fn op_numbers(&mut self, run: u32, settings: &Settings, program: &HloProgram, op: &str) -> Option<OpNumbers> {
        self.timeline(run, settings, |context, _| measured(&context, program, op))?
    }

    /// Returns a JAX script that reproduces an op of a program. A comment at the head of the script lists the op's
    /// numbers in the trace. `None` if there is no such program or op.
    pub fn jax_script(
        &mut self,
        run: u32,
        settings: &Settings,
        program: &HloProgram,
        op: &str,
    ) -> Option<Result<String, Unsupported>> {
        self.timeline(run, settings, |context, _| {
            let modules = &context.run.programs().modules;
            let (_, module) = modules.at_stage(program.host, program.id, program.stage.as_deref())?;
            let instruction = module.instruction(op)?;
            let measured = measured(&context, program, &instruction.name);
            Some(reproduce::script(module, &program.name, instruction, measured.as_ref()))
        })?
    }
}

/// Writes the JAX script of an op, for a program that was sent to another worker. `None` if the program has no such
/// instruction.
pub fn jax_script_of(program: &Program, op: &str, measured: Option<&OpNumbers>) -> Option<Result<String, Unsupported>> {
    let instruction = program.module().instruction(op)?;
    Some(reproduce::script(program.module(), program.name(), instruction, measured))
}

/// The rows of the ops table belong to the programs of one host. A program of another host gets these numbers only if
/// its bytes are identical.
pub(super) fn ops<'a>(context: &Context<'a>, program: &HloProgram) -> impl Iterator<Item = (&'a str, &'a Op, Numbers)> {
    let (trace, analysis) = (context.trace(), context.analysis);
    let modules = &context.run.programs().modules;
    let host = analysis.devices.used.first().map_or(0, |device| device.host);
    // An earlier stage did not run.
    let own = program.stage.is_none().then(|| modules.find(program.host, program.id)).flatten();
    let id = program.id;
    // A few programs have many ops, so each module is looked up only once.
    let mut known: FxHashMap<(Option<i64>, Text), bool> = FxHashMap::default();
    analysis.ops.rows.iter().filter_map(move |op| {
        let key = (op.program_id, op.module);
        let belongs = op.program_id.is_none_or(|of| of == id)
            && *known.entry(key).or_insert_with(|| {
                let module = modules.of_op(host, op.program_id, analysis.ops.text(trace, op.module));
                module.zip(own).is_some_and(|(module, own)| std::ptr::eq(module, own))
            });
        let counts = !op.is_left_out();
        belongs.then(|| {
            let numbers = Numbers {
                time: Some(op.self_time),
                flops: op.flops.filter(|_| counts),
                bytes: op.bytes.filter(|_| counts),
                bound_by: analysis.bound_by(op).unwrap_or_default().to_owned(),
            };
            (analysis.ops.text(trace, op.name), op, numbers)
        })
    })
}

/// Returns the numbers of an instruction. Returns `None` if the instruction did not run in the window.
fn measured(context: &Context<'_>, program: &HloProgram, instruction: &str) -> Option<OpNumbers> {
    let mut found: Option<OpNumbers> = None;
    let roofline = &context.analysis.roofline;
    for (_, op, numbers) in ops(context, program).filter(|it| it.0.trim_start_matches('%') == instruction) {
        let point = roofline.point(op);
        let peaks = roofline.peaks.as_ref();
        let own = found.get_or_insert_with(|| OpNumbers {
            device: context.profile.metadata.device_type.clone(),
            bound_by: numbers.bound_by.clone(),
            peak_flops_per_s: point.and_then(|point| point.peak_flop_rate),
            peak_bytes_per_s: peaks.and_then(|peaks| peaks.level(Level::Hbm)).map(|it| it.bytes_per_second),
            roofline_efficiency: point.and_then(|point| point.roofline_efficiency),
            ..OpNumbers::default()
        });
        own.executions = own.executions.saturating_add(op.executions);
        own.time = Some(own.time.unwrap_or_default() + op.total);
        // Cycles are not FLOPs.
        let flops = numbers.flops.filter(|_| !roofline.counts_cycles(op));
        own.flops = sum(own.flops, flops);
        own.bytes = sum(own.bytes, numbers.bytes);
    }
    found
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map_or(a.or(b), |(a, b)| Some(a + b))
}
