//! Tables of memory: what compiled programs keep in it, and what allocators report of it.

pub(super) mod allocations;
pub(super) mod buffers;
pub(super) mod heap;
pub(super) mod programs;
pub(super) mod timeline;

use crate::table::{Column, Unit, column};
use base::Ps;
use hlo::{Module, Modules};
use memory::ProgramMemory;
use metrics::Context;

/// A program that a file embeds, with its memory where the file says it.
struct Program<'m> {
    /// Its name with its number: `jit_f(17)`.
    name: &'m str,
    program_id: i64,
    memory: Option<ProgramMemory<'m>>,
}

/// The programs of a run. Only here are buffer assignments decoded.
fn programs<'m>(modules: &'m Modules<'_>) -> Vec<Program<'m>> {
    let program = |(proto, name, module): (&'m trace::HloProto, &'m str, &'m Module)| Program {
        name,
        program_id: proto.program_id,
        memory: ProgramMemory::read(&proto.bytes, module),
    };
    modules.with_bytes().map(program).collect()
}

/// When something happened.
const TIME: Column = column("time_us", "Time", Unit::TimeUs, "When, from the start of the capture.")
    .caveat("XProf's memory profile counts from the start of the event's line.");

/// The start of the capture.
fn origin(context: &Context<'_>) -> Ps {
    context.analysis.devices.capture.map_or(Ps::ZERO, |capture| capture.start)
}

/// `TPU`, `GPU` or `CPU`, for the names of memory spaces.
fn platform<'a>(context: &Context<'a>) -> &'a str {
    &context.profile.metadata.platform
}
