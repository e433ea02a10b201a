//! `crossprof hlo`: prints a compiled program, or the neighbourhood of one of its ops.

mod difference;
mod find;
mod text;

pub(super) use find::{Found, Runs};

use std::io::Write as _;

use base::format::printable;
use base::home;
use crossprof::graph::{
    Choices, Grouping, Measured, Opens, Selection, Source, Users, Visible, dot, draw, model_explorer, neighbourhood,
    open, svg, whole,
};
use crossprof::hlo::{InstructionIndex, Module};
use rustc_hash::FxHashSet;

use super::args::{Hlo, HloFormat, HloGroups, Inputs};
use super::output::{self, Outputs};
use super::{FAILED, complain, print_result};

/// Maximum number of visible nodes in a picture. Larger pictures are unreadable.
const MOST_NODES: usize = 5_000;

const UNREADABLE: &str = "the program cannot be read";

/// Reads the inputs, prints the program, and returns the exit status.
pub(super) fn run(command: &Hlo) -> u8 {
    match printed(command) {
        Ok(status) => status,
        Err(message) => {
            // Lists have one line per program.
            let (first, list) = message.split_once('\n').unwrap_or((&message, ""));
            complain(first);
            for line in list.lines() {
                let _ = writeln!(std::io::stderr().lock(), "{}", printable(line));
            }
            FAILED
        }
    }
}

fn printed(command: &Hlo) -> Result<u8, String> {
    let mut reports = super::analyze::reports(&command.inputs, &Outputs::new(&command.output))?;
    if reports.profiles.is_empty() {
        return Ok(FAILED);
    }
    let mut status = reports.status();
    let settings = reports.settings.clone();
    let mut runs = Runs::all(&mut reports.session, &settings, &reports.profiles);
    let (found, text) = match &command.against {
        Some(path) => {
            let model = command.inputs.model.clone();
            let inputs = Inputs { files: vec![path.clone()], trace_file: Vec::new(), price: None, model };
            let mut others = super::analyze::reports(&inputs, &Outputs::new(&command.output))?;
            status = status.max(others.status());
            if others.profiles.is_empty() {
                return Err(format!("--against {}: no program could be read", path.display()));
            }
            let settings = others.settings.clone();
            let mut against = Runs::all(&mut others.session, &settings, &others.profiles);
            let made = made(command, &mut runs, Some(&mut against))?;
            others.print_warnings();
            made
        }
        None => made(command, &mut runs, None)?,
    };
    let shown = match &command.output {
        Some(path) => {
            output::write(path, text)?;
            format!("{}: {} of {}\n", path.display(), found.program.name, found.title)
        }
        None => text,
    };
    reports.print_warnings();
    Ok(print_result(&shown, status))
}

/// Returns the program that the command names, and the output for that program. `against` contains the runs that
/// `--against` names.
pub(super) fn made(
    command: &Hlo,
    runs: &mut Runs<'_>,
    against: Option<&mut Runs<'_>>,
) -> Result<(Found, String), String> {
    let found = find::program(command, runs)?;
    let text = if against.is_some() || command.compares() {
        difference::of(command, runs, &found, against)?
    } else if command.format() == HloFormat::Jax {
        script(command, &found, runs).ok_or(UNREADABLE)??
    } else {
        let name = found.program.name.clone();
        runs.look(&found, |module, measured| result(command, &name, module, measured)).ok_or(UNREADABLE)??
    };
    Ok((found, home::shared(text)))
}

/// Returns the JAX script of `--op`.
fn script(command: &Hlo, found: &Found, runs: &mut Runs<'_>) -> Option<Result<String, String>> {
    let Some(op) = command.op.as_deref() else {
        return Some(Err("--format jax: name the instruction with --op".to_owned()));
    };
    let exists = |module: &Module, _: &Measured| find::op(module, &found.program.name, op).map(drop);
    if let Err(message) = runs.look(found, exists)? {
        return Some(Err(message));
    }
    let script = runs.session.jax_script(found.run, runs.settings, &found.program, op)?;
    Some(script.map_err(|reason| format!("--format jax: {reason}")))
}

/// Returns the output for a program, in the format that the command selects.
fn result(command: &Hlo, name: &str, module: &Module, measured: &Measured) -> Result<String, String> {
    let choices = choices(command);
    let op = command.op.as_deref().map(|op| find::op(module, name, op)).transpose()?;
    let computation =
        command.computation.as_deref().map(|wanted| find::computation(module, name, wanted)).transpose()?;
    let near = op.map(|op| neighbourhood(module, &Users::new(module), op, command.radius, choices));
    if command.critical_path {
        return text::critical_path(module, measured, name, computation.map_or_else(|| find::entry(module), Ok)?);
    }
    let grouping = match command.by {
        HloGroups::Layers => Grouping::Layers,
        HloGroups::Scopes => Grouping::Scopes,
        HloGroups::Computations => Grouping::Computations,
    };
    let source = Source { module, measured, choices, grouping };
    let format = command.format();
    match format {
        HloFormat::Text | HloFormat::Jax => Ok(text::program(module, measured, near.as_ref(), computation)),
        HloFormat::Json | HloFormat::NodeData => {
            let selection = near.or_else(|| computation.map(|index| whole(module, index, choices)));
            Ok(match format {
                HloFormat::Json => model_explorer::collection(source, name, selection.as_ref()),
                _ => model_explorer::node_data(source, selection.as_ref()),
            } + "\n")
        }
        HloFormat::Dot | HloFormat::Svg => {
            let selection = match near {
                Some(near) => near,
                None => whole(module, computation.map_or_else(|| find::entry(module), Ok)?, choices),
            };
            let visible = visible(command, source, &selection, op)?;
            let drawing = draw(module, &visible);
            Ok(if format == HloFormat::Svg { svg(name, &visible, &drawing) } else { dot(name, &visible, &drawing) })
        }
    }
}

fn choices(command: &Hlo) -> Choices {
    let usual = Choices::default();
    Choices {
        hides_tuples: !command.tuples,
        inlines_constants: !command.constants,
        frees_bitcasts: !command.bitcasts,
        most_users: usual.most_users.filter(|_| !command.all_users),
    }
}

/// Returns the nodes that are visible if the groups of `--open` are open. The groups around `--op` are always open.
fn visible(
    command: &Hlo,
    source: Source<'_>,
    selection: &Selection,
    op: Option<InstructionIndex>,
) -> Result<Visible, String> {
    let mut opened: FxHashSet<String> = command.open.iter().cloned().collect();
    let opens = match (opened.remove("all"), op) {
        (true, _) => Opens::All,
        // A neighbourhood is small, so its groups need not be closed.
        (false, Some(_)) => Opens::Groups,
        (false, None) => Opens::Around(None),
    };
    let (_, visible) = open(source, selection, opened, opens, MOST_NODES);
    if visible.nodes.len() > MOST_NODES {
        return Err(format!(
            "the graph has {} nodes, and a picture shows at most {MOST_NODES}: open fewer groups, or use --op",
            visible.nodes.len()
        ));
    }
    let unknown = command
        .open
        .iter()
        .find(|wanted| *wanted != "all" && !visible.nodes.iter().any(|node| node.is_open && node.id == **wanted));
    if let Some(unknown) = unknown {
        let ids: Vec<&str> = visible.nodes.iter().filter(|node| node.opens).map(|node| node.id.as_str()).collect();
        let question = base::suggest::question(&base::suggest::words(unknown, &ids));
        return Err(format!("--open: no visible group or calling instruction has the path {unknown}.{question}"));
    }
    Ok(visible)
}
