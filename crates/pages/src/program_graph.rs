//! Links to an op in the graph of its compiled program.

use document::{Block, Link};
use hlo::module_fingerprint;
use metrics::{Context, Op};

use crate::Source;

/// Reason and remedy if a run has no compiled programs.
pub const NO_PROGRAMS: [&str; 2] = [
    "This profile contains no compiled programs.",
    "JAX stores them in the xplane.pb file of a capture, not in trace.json.gz. You can also open a folder that \
     --xla_dump_to wrote.",
];

/// Returns the blocks of the view: none if the page can draw a program, and otherwise the reason why it cannot.
pub(crate) fn blocks(source: Source<'_>) -> Vec<Block> {
    let has_programs = source.context().is_some_and(|context| !context.run.programs().modules.is_empty());
    let [reason, remedy] = NO_PROGRAMS.map(str::to_owned);
    (!has_programs).then_some(Block::Empty { reason, remedy: Some(remedy) }).into_iter().collect()
}

/// Returns the instruction of an op and its module, if the program is embedded.
pub(crate) fn instruction<'a>(context: &Context<'a>, op: &Op) -> Option<(&'a hlo::Module, &'a hlo::Instruction)> {
    let modules = &context.run.programs().modules;
    let text = |text| context.analysis.ops.text(context.trace(), text);
    let (name, module_name) = (text(op.name), text(op.module));
    let mut hosts: Vec<u16> = context.analysis.devices.used.iter().map(|device| device.host).collect();
    hosts.dedup();
    let mut found: Vec<&hlo::Module> = Vec::new();
    for module in hosts.into_iter().filter_map(|host| modules.of_op(host, op.program_id, module_name)) {
        if found.iter().all(|known| !std::ptr::eq(*known, module)) {
            found.push(module);
        }
    }
    let (first, others) = found.split_first()?;
    // Each host numbers its programs independently, and the row of an op does not name its host.
    let same = |module: &&hlo::Module| module_fingerprint(module) == module_fingerprint(first);
    others.iter().all(same).then_some(())?;
    Some((first, first.instruction(name)?))
}

/// Returns a link to an op in the graph of its program, if the program is embedded.
pub(crate) fn link(context: &Context<'_>, op: &Op) -> Option<Link> {
    let (module, _) = instruction(context, op)?;
    let program = context.run.programs().modules.key(module)?;
    Some(Link::graph(context.analysis.ops.text(context.trace(), op.name), &program))
}

/// Returns a link to the op that a filter names (`hlo_op_name="fusion.3"`). `None` if no program or several programs
/// contain the op.
pub(crate) fn link_of_filter(context: &Context<'_>, filter: &str) -> Option<Link> {
    let name = filter.strip_prefix("hlo_op_name=\"")?.strip_suffix('"')?;
    let ops = &context.analysis.ops;
    let mut named = ops.rows.iter().filter(|op| ops.text(context.trace(), op.name) == name);
    let op = named.next()?;
    named.next().is_none().then(|| link(context, op))?
}
