//! Resolves tallies to ops: finds the instruction and program of each, and its cost.

use rustc_hash::{FxHashMap, FxHashSet};

use super::tally::{DeviceRange, Tallies, Tally};
use super::text::{Text, Texts};
use super::{CostSource, CustomCall, Op, Ops, PROGRAM};
use crate::device::device_time::copy_space::crosses_host_link;
use crate::device::devices::Devices;
use crate::op::categories::{Categorizer, CategoryId};
use base::{Ps, sort, source_line};
use hlo::{Conventions, DataType, Instruction, Module, Modules, Phases};
use report::Phase;
use trace::{Args, ArgsId, EventColumn, Numbering, Platform, StrId, Trace, in_blocks, in_blocks_mut};

/// Identity of an op: its program, and the name with the expression (TPU), the instruction (GPU, CPU), or the kernel
/// name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct OpKey {
    program_id: Option<i64>,
    module: StrId,
    name: Text,
    detail: StrId,
    /// Category of a copy. The same kernel copies in all directions, and the category distinguishes the directions.
    copy: Option<CategoryId>,
}

struct Resolver<'a> {
    trace: &'a Trace,
    modules: &'a Modules,
    platform: Option<Platform>,
    host: u16,
    categorizer: Categorizer<'a>,
    categories: Vec<Text>,
    programs: FxHashMap<i64, Text>,
    /// Ids that hosts gave to programs with different names.
    ambiguous: FxHashSet<i64>,
    /// Source lines of ops. The key is the recorded source and the call stack.
    sources: FxHashMap<(StrId, StrId), Text>,
    /// Phases of the instructions of each module that was used. `None` for a module without gradients.
    phases: FxHashMap<*const Module, Option<Phases>>,
    /// Phase that each framework path names. A million ops may have a few thousand paths.
    named_phases: FxHashMap<Text, Phase>,
    numbers: Numbering<OpKey>,
    /// Number of runs of each kernel of an op (GPU). The key is the row of the op and the kernel name.
    kernels: FxHashMap<(usize, StrId), u64>,
    /// Time that each op spends in kernels of each category (GPU).
    times: FxHashMap<(usize, CategoryId), Ps>,
    /// For each row, the longest of its times in `times`.
    longest: Vec<Ps>,
    ops: Ops,
}

/// Returns one row per op, sorted by descending self time.
pub(super) fn resolve(trace: &Trace, devices: &Devices, tallies: &Tallies, modules: &Modules) -> Ops {
    let mut resolver = Resolver {
        trace,
        modules,
        platform: devices.platform,
        host: devices.used.first().map_or(0, |device| device.host),
        categorizer: Categorizer::new(trace, &devices.recognised),
        categories: Vec::new(),
        programs: FxHashMap::default(),
        ambiguous: modules.ambiguous_ids(),
        sources: FxHashMap::default(),
        phases: FxHashMap::default(),
        named_phases: FxHashMap::default(),
        numbers: Numbering::with_capacity(tallies.entries.len()),
        kernels: FxHashMap::default(),
        times: FxHashMap::default(),
        longest: Vec::new(),
        ops: Ops::default(),
    };
    // Ops are large, so capacity is reserved to avoid moving them.
    resolver.ops.rows.reserve(tallies.entries.len());
    let mut entries = Vec::with_capacity(tallies.entries.len());
    in_blocks(&tallies.entries, |&((name, args), ref tally)| {
        let row = resolver.add(name, args, tally);
        entries.push(((name, args), row as u32));
    });
    let executions = executions(&resolver.kernels);
    let has_phases_of_programs = resolver.phases.values().any(Option::is_some);
    let Ops { mut rows, mut texts, .. } = resolver.ops;
    for (row, count) in executions {
        if let Some(op) = rows.get_mut(row) {
            op.executions = count;
        }
    }
    in_blocks_mut(&mut rows, |op| cost(trace, op));
    count_devices(&mut rows, &entries, tallies);
    let name = |op: &Op| (texts.get(trace, op.name), op.program_id);
    let places = sort::by_number(&mut rows, |op| op.self_time.as_ps(), |a, b| name(a).cmp(&name(b)));
    in_blocks_mut(&mut entries, |(_, row)| *row = places.get(*row as usize).copied().unwrap_or_default());
    let has_gradients = rows.iter().any(|op| op.phase == Phase::Backward);
    if !has_gradients {
        rows.iter_mut().for_each(|op| op.phase = Phase::Other);
    }
    // This text is the name of the roofline's first row.
    texts.keep(trace, PROGRAM);
    Ops { rows, texts, entries, has_gradients, has_phases_of_programs, ..Ops::default() }
}

/// Sets [`Op::devices`]. `entries` contains the row of each entry of `tallies`. A device that ran an op with several
/// argument sets is counted once.
fn count_devices(rows: &mut [Op], entries: &[((StrId, ArgsId), u32)], tallies: &Tallies) {
    let row = |entry: usize| entries.get(entry).map(|&(_, row)| row);
    let last = tallies.entries.iter().enumerate().map(|(entry, (_, tally))| (entry, tally.devices));
    let all = tallies.earlier.iter().map(|&(entry, range)| (entry as usize, range)).chain(last);
    let mut ranges: Vec<(u32, DeviceRange)> = all.filter_map(|(entry, range)| Some((row(entry)?, range))).collect();
    sort::sort_by(&mut ranges, Ord::cmp);
    for of_row in ranges.chunk_by(|a, b| a.0 == b.0) {
        let (mut count, mut end) = (0, 0);
        for (_, range) in of_row {
            count += range.end.saturating_sub(range.first.max(end));
            end = end.max(range.end);
        }
        if let Some(op) = of_row.first().and_then(|(row, _)| rows.get_mut(*row as usize)) {
            op.devices = count;
        }
    }
}

impl Resolver<'_> {
    /// Adds a tally to the row of its op, and returns that row.
    fn add(&mut self, name: StrId, args_id: ArgsId, tally: &Tally) -> usize {
        let args = self.trace.args.get(args_id);
        let key = self.key(name, args_id, &args);
        let at = self.numbers.number(key) as usize;
        if at == self.ops.rows.len() {
            let op = self.op(key, name, args_id, &args);
            self.ops.rows.push(op);
        }
        if self.platform == Some(Platform::Gpu) && !args.hlo_op.is_empty() {
            if tally.count > 0 {
                *self.kernels.entry((at, name)).or_default() += tally.count;
            }
            self.lead(at, name, args_id, tally);
        }
        if let Some(op) = self.ops.rows.get_mut(at) {
            op.occurrences += tally.count;
            op.executions += tally.count - tally.parts;
            op.total += tally.total;
            op.self_time += tally.self_time;
            op.min = op.min.min(tally.min);
            op.max = op.max.max(tally.max);
            op.dma_stall = op.dma_stall.map(|stall| stall + tally.dma_stall);
            op.missing = op.missing.saturating_add(tally.missing);
        }
        at
    }

    /// Sets the category of an op with several kernels to the category of the kernels that take most of its time. For
    /// example, attention that clears its workspace first is not a fill.
    fn lead(&mut self, at: usize, name: StrId, args_id: ArgsId, tally: &Tally) {
        let category = self.categorizer.of(name, args_id);
        let text = self.category(category);
        let time = self.times.entry((at, category)).or_default();
        *time += tally.self_time;
        self.longest.resize(self.ops.rows.len().max(self.longest.len()), Ps::ZERO);
        let (Some(longest), Some(op)) = (self.longest.get_mut(at), self.ops.rows.get_mut(at)) else { return };
        if *time <= *longest {
            return;
        }
        *longest = *time;
        op.family = self.categorizer.family(category);
        if op.cost_source.is_none() && op.expression.is_empty() {
            // There is no HLO that gives a better category.
            op.category = text;
        }
    }

    fn key(&mut self, name: StrId, args_id: ArgsId, args: &Args) -> OpKey {
        let is_identified = args.program_id.is_some_and(|id| !self.ambiguous.contains(&id));
        let module = if is_identified { StrId::EMPTY } else { args.hlo_module };
        if self.platform == Some(Platform::Tpu) {
            let detail = args.long_name;
            return OpKey { program_id: args.program_id, module, name: Texts::of_trace(name), detail, copy: None };
        }
        if args.hlo_op.is_empty() {
            // A library kernel or a copy. If two framework ops run it, it has two rows.
            let detail = args.tf_op;
            let tells = !args.memcpy_details.is_empty() || !args.copy_call.is_empty();
            let copy = tells.then(|| self.categorizer.of(name, args_id));
            return OpKey { program_id: args.program_id, module, name: Texts::of_trace(name), detail, copy };
        }
        let name = self.ops.texts.instruction(self.trace, args.hlo_op);
        OpKey { program_id: args.program_id, module, name, detail: StrId::EMPTY, copy: None }
    }

    /// Returns the text of a category. Looks up each category once.
    fn category(&mut self, id: CategoryId) -> Text {
        while self.categories.len() <= id.index() {
            let next = self.categorizer.names().nth(self.categories.len()).unwrap_or_default();
            self.categories.push(self.ops.texts.keep(self.trace, next));
        }
        self.categories.get(id.index()).copied().unwrap_or_default()
    }

    /// Returns the id of a program as XProf writes it. Formats each id once.
    fn program(&mut self, id: Option<i64>) -> Text {
        let Some(id) = id else { return Text::default() };
        let (texts, trace) = (&mut self.ops.texts, self.trace);
        *self.programs.entry(id).or_insert_with(|| texts.keep(trace, &id.cast_unsigned().to_string()))
    }

    /// Creates the row of a new op, without its times.
    fn op(&mut self, key: OpKey, name: StrId, args_id: ArgsId, args: &Args) -> Op {
        let category = self.categorizer.of(name, args_id);
        let family = self.categorizer.family(category);
        // The table of ops shows XLA's own category.
        let category = match args.hlo_category {
            StrId::EMPTY => self.category(category),
            stated => Texts::of_trace(stated),
        };
        let program = self.program(args.program_id);
        let path = self.trace.text(args.tf_op);
        let mut op = Op {
            program_id: args.program_id,
            program,
            module: Texts::of_trace(args.hlo_module),
            category,
            family,
            name: key.name,
            expression: Texts::of_trace(args.long_name),
            framework_path: if path.starts_with("XlaModule") { Text::default() } else { Texts::of_trace(args.tf_op) },
            source: self.source(args),
            function: Text::default(),
            deduplicated_name: Texts::of_trace(args.deduplicated_name),
            sharding: Text::default(),
            args: args_id,
            occurrences: 0,
            executions: 0,
            total: Default::default(),
            self_time: Default::default(),
            min: base::Ps::MAX,
            max: Default::default(),
            dma_stall: (!self.trace.events.column(EventColumn::DmaStall).is_empty()).then_some(Ps::ZERO),
            flops: None,
            model_flops: None,
            bytes: None,
            memory: args.memory,
            cost_source: None,
            custom_call: None,
            data_type: None,
            rematerialized: None,
            missing: 0,
            devices: 0,
            over_host_link: false,
            phase: Phase::Other,
            is_mixed: false,
            pair: None,
        };
        let modules = self.modules;
        let program = self.instruction(modules, &op, args);
        let [stated, expression] = [op.category, op.expression].map(|text| self.ops.texts.get(self.trace, text));
        op.custom_call = CustomCall::of(program, stated, expression);
        if let Some((module, instruction)) = program {
            self.describe(&mut op, module, instruction);
        }
        let path = self.ops.texts.get(self.trace, op.framework_path);
        let name = self.ops.texts.get(self.trace, op.name);
        // XProf examines the name: the text left of the "=" of the expression.
        let has_text = !name.is_empty() || !path.is_empty();
        let category = self.ops.texts.get(self.trace, op.category);
        op.over_host_link = crosses_host_link(category, self.ops.texts.get(self.trace, op.expression));
        op.rematerialized = has_text.then(|| name.contains(".remat") || path.contains("rematted_computation"));
        match program {
            Some((module, instruction)) => self.set_phase(&mut op, module, instruction),
            None => {
                let named = self.named_phases.entry(op.framework_path);
                op.phase = *named.or_insert_with(|| hlo::named_phase(path).unwrap_or_default());
            }
        }
        if op.data_type.is_none() {
            op.data_type = result_type(self.ops.texts.get(self.trace, op.expression));
        }
        op
    }

    fn set_phase(&mut self, op: &mut Op, module: &Module, instruction: &Instruction) {
        let phases = self.phases.entry(std::ptr::from_ref(module)).or_insert_with(|| Phases::of(module));
        let Some((phases, at)) = phases.as_ref().zip(module.index_of(instruction)) else {
            // The program only applies gradients.
            op.phase = hlo::named_phase(&instruction.metadata.op_name).unwrap_or_default();
            return;
        };
        op.phase = phases.phase(at);
        op.is_mixed = phases.is_mixed(module, instruction);
    }

    fn source(&mut self, args: &Args) -> Text {
        let (texts, trace) = (&mut self.ops.texts, self.trace);
        *self.sources.entry((args.source, args.source_stack)).or_insert_with(|| texts.keep(trace, trace.source(args)))
    }

    fn instruction<'m>(&self, modules: &'m Modules, op: &Op, args: &Args) -> Option<(&'m Module, &'m Instruction)> {
        let module = modules.of_op(self.host, args.program_id, self.trace.text(args.hlo_module))?;
        Some((module, module.instruction(self.ops.texts.get(self.trace, op.name))?))
    }

    /// Adds details from the embedded HLO. On a TPU the profile's own values take precedence.
    fn describe(&mut self, op: &mut Op, module: &Module, instruction: &Instruction) {
        let (texts, trace) = (&mut self.ops.texts, self.trace);
        if op.module.is_empty() {
            op.module = texts.keep(trace, module.name());
        }
        if op.expression.is_empty() {
            op.expression = texts.keep(trace, &hlo::expression(module, instruction));
        }
        // A kernel's event may name only the scope, without the operation itself.
        let is_better = self.platform != Some(Platform::Tpu) && !instruction.metadata.op_name.is_empty();
        if op.framework_path.is_empty() || is_better {
            op.framework_path = texts.keep(trace, &instruction.metadata.op_name);
        }
        if (op.source.is_empty() || source_line::is_library(texts.get(trace, op.source)))
            && let Some(source) = module.source_of(instruction)
        {
            op.source = texts.keep(trace, &source);
        }
        if let Some(function) = module.function_of(instruction) {
            op.function = texts.keep(trace, function);
        }
        if op.deduplicated_name.is_empty() {
            op.deduplicated_name = texts.keep(trace, &instruction.metadata.deduplicated_name);
        }
        op.sharding = texts.keep(trace, &instruction.attributes().sharding);
        if self.platform != Some(Platform::Tpu) {
            op.category = texts.keep(trace, &hlo::category(module, instruction));
        }
        let conventions = Conventions::of(self.platform);
        let Some(cost) = hlo::cost_by(module, instruction, conventions) else { return };
        op.data_type = cost.data_type;
        let is_uncounted = || op.custom_call.is_some_and(|call| !call.is_counted(&trace.args.get(op.args)));
        if self.platform != Some(Platform::Tpu) || is_uncounted() {
            // Cost of one occurrence until `cost` below multiplies it.
            op.flops = Some(cost.flops);
            op.bytes = Some(cost.bytes_accessed);
            op.cost_source = Some(match cost.source {
                hlo::CostSource::Hlo => CostSource::Hlo,
                hlo::CostSource::Shapes => CostSource::Shapes,
            });
        }
    }
}

/// Counts the executions of each row's instruction. A library call launches several kernels per execution, some of them
/// more than once. In addition, the capture may cut the last execution short.
///
/// ```text
/// kernels of one op    Im3d2Col 39   gemm 40           40 executions, the first or last one cut
///                      fill 10   dot 5   convert 5      5 executions with two fills each
/// ```
///
/// The result is therefore the largest count that is at most one and a half times the smallest.
fn executions(kernels: &FxHashMap<(usize, StrId), u64>) -> FxHashMap<usize, u64> {
    let mut least: FxHashMap<usize, u64> = FxHashMap::default();
    for (&(row, _), &count) in kernels {
        let least = least.entry(row).or_insert(count);
        *least = count.min(*least);
    }
    let mut executions = least.clone();
    for (&(row, _), &count) in kernels {
        let (Some(&least), Some(most)) = (least.get(&row), executions.get_mut(&row)) else { continue };
        if 2 * count <= 3 * least {
            *most = count.max(*most);
        }
    }
    executions
}

/// Computes the cost of all occurrences from the cost of one occurrence. The profile's own cost takes precedence.
fn cost(trace: &Trace, op: &mut Op) {
    let args = trace.args.get(op.args);
    let count = op.executions_of_cost();
    let stated = args.flops.or(args.model_flops);
    if op.custom_call.is_some_and(|call| !call.is_counted(&args)) {
        op.memory = None;
    } else if op.cost_source.is_none() && (stated.is_some() || args.bytes_accessed.is_some()) {
        op.flops = stated.map(|flops| flops as f64);
        op.model_flops = args.model_flops.map(|flops| flops as f64 * count);
        op.bytes = args.bytes_accessed.map(|bytes| bytes as f64);
        op.cost_source = Some(CostSource::Profile);
    }
    op.flops = op.flops.map(|flops| flops * count);
    op.bytes = op.bytes.map(|bytes| bytes * count);
}

/// Returns the element type of an expression's (first) result: `bf16` for `%fusion.1 = (bf16[8,128]{1,0}, f32[8])
/// fusion(...)`.
fn result_type(expression: &str) -> Option<DataType> {
    let (_, shape) = expression.split_once(" = ")?;
    let shape = shape.trim_start_matches('(');
    DataType::from_name(shape.get(..shape.find('[')?)?)
}
