//! Finds the program, op and computation that the user names.

use base::format::{count, counted, time_us};
use base::suggest;
use crossprof::export::text::titles;
use crossprof::graph::Measured;
use crossprof::hlo::{ComputationIndex, InstructionIndex, Module, module_fingerprint};
use crossprof::session::HloProgram;
use crossprof::{Session, Settings, UnifiedProfile};

use crate::cli::args::Hlo;

/// Maximum number of programs that an error lists.
const MOST_LISTED: usize = 20;

/// Runs to search for programs.
pub(crate) struct Runs<'a> {
    /// Session that contains the runs.
    pub session: &'a mut Session,
    /// Settings for the analysis of the runs.
    pub settings: &'a Settings,
    pub profiles: &'a [UnifiedProfile],
    /// Index of the only run to search. If `None`, all runs are searched.
    pub only: Option<u32>,
    /// Index of the only run in which to search for the other program of a comparison. If `None`, the same runs are
    /// searched as for the first program.
    pub only_other: Option<u32>,
}

impl<'a> Runs<'a> {
    /// Creates a search in all runs of a session.
    pub(crate) fn all(session: &'a mut Session, settings: &'a Settings, profiles: &'a [UnifiedProfile]) -> Runs<'a> {
        Runs { session, settings, profiles, only: None, only_other: None }
    }

    /// Calls `look` with a program and the numbers of its ops.
    pub(crate) fn look<T>(&mut self, found: &Found, look: impl FnOnce(&Module, &Measured) -> T) -> Option<T> {
        self.session.hlo_program(found.run, self.settings, &found.program, look)
    }
}

/// A program that was found in a run.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub run: u32,
    pub title: String,
    /// The program.
    pub program: HloProgram,
}

/// Returns the program that the command names, or the only program that contains the op.
pub(super) fn program(command: &Hlo, runs: &mut Runs<'_>) -> Result<Found, String> {
    let all = all(runs)?;
    let mut matching = match &command.program {
        Some(wanted) => named("--program", wanted, all, runs)?,
        None => all.into_iter().filter(|it| it.program.stage.is_none()).collect(),
    };
    let option = command.program.is_none().then_some("--program");
    let Some(op) = command.op.as_deref().filter(|_| matching.len() > 1) else { return only(matching, option, "") };
    // Programs that contain the op.
    let before = matching.clone();
    matching.retain(|it| {
        let contains = |module: &Module, _: &_| module.instruction(op).is_some();
        runs.look(it, contains) == Some(true)
    });
    if matching.is_empty() {
        return Err(format!("--op: no program contains an instruction {op}. The programs:\n{}", listed(&before)));
    }
    only(matching, option, &format!(" contain an instruction {op}"))
}

/// Returns the program with which `program` is compared. The other program is the program that the command names, or
/// else the program with the same name.
pub(super) fn other(command: &Hlo, program: &HloProgram, runs: &mut Runs<'_>) -> Result<Found, String> {
    let mut all = all(runs)?;
    if let Some(wanted) = &command.against_program {
        return only(named("--against-program", wanted, all, runs)?, None, "");
    }
    all.retain(|it| it.program.stage == program.stage);
    if let (Some(stage), true) = (&program.stage, all.is_empty()) {
        return Err(format!("--against: no program has the stage {stage}"));
    }
    let named = |key: fn(&HloProgram) -> &str| all.iter().position(|it| key(&it.program) == key(program));
    if let Some(same) = named(|it| &it.key).or_else(|| named(|it| &it.name)) {
        return Ok(all.swap_remove(same));
    }
    let same: Vec<_> = all.iter().filter(|it| it.program.module_name() == program.module_name()).cloned().collect();
    only(if same.is_empty() { all } else { same }, Some("--against-program"), "")
}

/// Returns all programs of the runs.
fn all(runs: &mut Runs<'_>) -> Result<Vec<Found>, String> {
    let mut all: Vec<Found> = Vec::new();
    for (run, title) in (0..).zip(titles(runs.profiles)).filter(|(run, _)| runs.only.is_none_or(|only| only == *run)) {
        let programs = runs.session.hlo_programs(run, runs.settings).unwrap_or_default();
        all.extend(programs.into_iter().map(|program| Found { run, title: title.clone(), program }));
    }
    if all.is_empty() {
        return Err("no compiled program (HLO) is in the input: capture with JAX's profiler, or dump programs with \
                    --xla_dump_to and --xla_dump_hlo_as_proto"
            .to_owned());
    }
    Ok(all)
}

/// Returns the programs with a name, number or fingerprint.
fn named(option: &str, wanted: &str, all: Vec<Found>, runs: &mut Runs<'_>) -> Result<Vec<Found>, String> {
    let named = HloProgram::named(all.iter().map(|it| &it.program), wanted);
    let mut found: Vec<Found> = named.into_iter().filter_map(|at| all.get(at).cloned()).collect();
    if found.is_empty() && wanted.len() == 16 && wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let of = |module: &Module, _: &_| module_fingerprint(module);
        found = all.iter().filter(|it| runs.look(it, of).as_deref() == Some(wanted)).cloned().collect();
    }
    if found.is_empty() {
        let names: Vec<&str> = all.iter().map(|it| it.program.key.as_str()).collect();
        let bare: Vec<&str> = all.iter().map(|it| it.program.module_name()).collect();
        let mut near = suggest::words(wanted, &names);
        if near.is_empty() {
            near = suggest::words(wanted, &bare);
            near.dedup();
        }
        return Err(format!(
            "{option}: no program matches {wanted}.{} The programs:\n{}",
            suggest::question(&near),
            listed(&all)
        ));
    }
    Ok(found)
}

/// Returns the only program in `matching`, or the only program in it whose ops were measured. `option` is the option
/// with which the user can name a program, or `None` if the user has already set it.
fn only(mut matching: Vec<Found>, option: Option<&str>, verb: &str) -> Result<Found, String> {
    let mut measured = (0..).zip(&matching).filter(|(_, it)| it.program.time.is_some()).map(|(at, _)| at);
    if let (Some(one), None) = (measured.next(), measured.next()) {
        return Ok(matching.swap_remove(one));
    }
    if matching.len() > 1 {
        let how = option.map_or("with its number".to_owned(), |option| format!("with {option}"));
        let verb = if verb.is_empty() { " match" } else { verb };
        let programs = count(matching.len() as u64);
        return Err(format!("{programs} programs{verb}; name one {how}:\n{}", listed(&matching)));
    }
    matching.pop().ok_or_else(|| "no compiled program is in the input".to_owned())
}

/// Lists programs, one per line, with their times.
fn listed(programs: &[Found]) -> String {
    let several_runs = programs.iter().any(|it| programs.first().is_some_and(|first| first.run != it.run));
    let line = |it: &Found| {
        let time = match (&it.program.stage, it.program.time) {
            (Some(_), _) => "earlier stage".to_owned(),
            (None, Some(time)) => time_us(time.as_us()),
            (None, None) => "not measured".to_owned(),
        };
        let run = if several_runs { format!("  {}", it.title) } else { String::new() };
        let size = it.program.instructions.map(|size| format!("  {}", counted(size as u64, "instruction")));
        format!("  {:<40} {time:>12}{}{run}", it.program.key, size.unwrap_or_default())
    };
    let mut lines: Vec<String> = programs.iter().take(MOST_LISTED).map(line).collect();
    if programs.len() > MOST_LISTED {
        lines.push(format!("  and {} more", count((programs.len() - MOST_LISTED) as u64)));
    }
    lines.join("\n")
}

pub(super) fn op(module: &Module, program: &str, name: &str) -> Result<InstructionIndex, String> {
    let found = module.instruction(name).and_then(|it| module.index_of(it));
    found.ok_or_else(|| {
        let names: Vec<&str> = module.instructions().iter().map(|it| it.name.as_str()).collect();
        let question = suggest::question(&suggest::words(name.trim_start_matches('%'), &names));
        format!("--op: the program {program} has no instruction {name}.{question}")
    })
}

pub(super) fn computation(module: &Module, program: &str, name: &str) -> Result<ComputationIndex, String> {
    let bare = name.trim_start_matches('%');
    let found = (0..).zip(module.computations()).find(|(_, it)| it.name == bare).map(|(index, _)| index);
    found.ok_or_else(|| {
        let names: Vec<&str> = module.computations().iter().map(|it| it.name.as_str()).collect();
        let question = suggest::question(&suggest::words(bare, &names));
        format!("--computation: the program {program} has no computation {name}.{question}")
    })
}

pub(super) fn entry(module: &Module) -> Result<ComputationIndex, String> {
    module.entry_index().ok_or_else(|| {
        "the program names no entry computation, probably because the file is cut; name one with --computation"
            .to_owned()
    })
}
