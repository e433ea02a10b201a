//! A compiled program that a user explores: pictures, text, details and exports of one program, with measured times.

use base::format::{bytes, count, printable, si, time_us};
use hlo::{InstructionIndex, Module, read_proto};
use serde::{Deserialize, Serialize};

use crate::flow::Users;
use crate::listing::{Listing, Text};
use crate::numbers::{Measured, Numbers};
use crate::picture::{Look, Picture, computation, instruction, picture, select};
use crate::source::Source;
use crate::{dot, draw, model_explorer, svg};

/// Maximum number of matches of a search.
const MOST_MATCHES: usize = 30;

/// Maximum number of users in the details of an instruction.
const MOST_USERS: usize = 12;

/// Maximum number of lines of one listing.
const MOST_LINES: u32 = 1_000;

/// A program with its measured numbers.
#[derive(Debug)]
pub struct Program {
    name: String,
    module: Module,
    measured: Measured,
    users: Users,
    text: Option<Text>,
}

/// Formats of a saved graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Picture.
    Svg,
    /// Graph for Graphviz.
    Dot,
    /// Graph collection for Model Explorer.
    ModelExplorer,
    /// HLO text of the whole program.
    Text,
}

/// An instruction that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Name of the instruction.
    pub name: String,
    /// Time and scope of the instruction.
    pub note: String,
}

/// Facts about an instruction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Details {
    /// Name of the instruction.
    pub name: String,
    /// Labels and values, in display order.
    pub facts: Vec<(String, String)>,
    /// Names of the first instructions that use the instruction's result.
    pub users: Vec<String>,
    /// Names of the computations that the instruction calls.
    pub called: Vec<String>,
    /// True if the self time was measured, so that tables of ops contain the instruction.
    pub is_measured: bool,
}

impl Program {
    /// Reads a program from an HLO proto or text. `ops` contains the measured numbers of the program's ops, by name.
    pub fn read(name: &str, bytes: &[u8], ops: &[(String, Numbers)]) -> Program {
        let module = read_proto(bytes);
        let measured = Measured::new(&module, ops.iter().map(|(name, numbers)| (name.as_str(), numbers.clone())));
        let users = Users::new(&module);
        Program { name: name.to_owned(), module, measured, users, text: None }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    fn source(&self, look: &Look) -> Source<'_> {
        Source { module: &self.module, measured: &self.measured, choices: look.choices, grouping: look.grouping }
    }

    /// Draws a part of the program.
    ///
    /// # Errors
    ///
    /// Returns a sentence if the program has no such computation, or if the picture would be too large.
    pub fn picture(&self, look: &Look) -> Result<Picture, String> {
        let missing = look.op.clone().filter(|name| instruction(&self.module, name).is_err());
        let op = look.op.clone().filter(|_| missing.is_none());
        let (source, look) = (self.source(look), Look { op, ..look.clone() });
        Ok(Picture { missing, ..picture(source, &select(source, &self.users, &look)?) })
    }

    /// Returns a part of the program as a file.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`picture`](Self::picture).
    pub fn export(&self, look: &Look, format: Format) -> Result<String, String> {
        if format == Format::Text {
            return Ok(hlo::print(&self.module).text);
        }
        let source = self.source(look);
        let part = select(source, &self.users, look)?;
        Ok(match format {
            Format::Svg => svg(&self.name, &part.visible, &draw(&self.module, &part.visible)),
            Format::Dot => dot(&self.name, &part.visible, &draw(&self.module, &part.visible)),
            _ => model_explorer::collection(source, &self.name, Some(&part.selection)) + "\n",
        })
    }

    /// Returns lines of a computation's text. `centre` names the instruction whose line [`Listing::centre`] reports.
    ///
    /// # Errors
    ///
    /// Returns a sentence if the program has no such computation.
    pub fn listing(&mut self, name: &str, centre: Option<&str>, first: u32, lines: u32) -> Result<Listing, String> {
        let index = computation(&self.module, name)?;
        let text = self.text.take().filter(|text| text.computation == index);
        let text = self.text.insert(text.unwrap_or_else(|| Text::new(&self.module, index)));
        Ok(text.listing(&self.module, &self.measured, centre, (first, lines.min(MOST_LINES))))
    }

    /// Returns facts about an instruction.
    ///
    /// # Errors
    ///
    /// Returns a sentence if the program has no such instruction.
    pub fn details(&self, name: &str) -> Result<Details, String> {
        let index = instruction(&self.module, name)?;
        let Some(it) = self.module.at(index) else { return Ok(Details::default()) };
        let mut facts: Vec<(String, String)> = Vec::new();
        let mut fact = |label: &str, value: Option<String>| {
            facts.extend(value.filter(|value| !value.is_empty()).map(|value| (label.to_owned(), value)));
        };
        let (own, whole) = (self.measured.own(index), self.measured.whole(index));
        let time = |numbers: Option<&Numbers>| numbers.and_then(|it| it.time).map(|time| time_us(time.as_us()));
        fact("Opcode", Some(it.opcode.clone()));
        fact("Shape", Some(it.shape.text(true)));
        fact("Self time", time(own));
        fact("Time including called computations", time(whole).filter(|_| whole != own));
        fact("FLOPs", whole.and_then(|it| it.flops).map(|flops| si(flops, "FLOP")));
        fact("Bytes", whole.and_then(|it| it.bytes).map(|size| bytes(size as u64)));
        fact("Bound by", own.map(|it| it.bound_by.clone()));
        fact("Source", self.module.source_of(it));
        fact("Scope", Some(printable(&it.metadata.op_name)));
        let users = self.users.of(index);
        fact("Users", Some(count(users.len() as u64)));
        let called = it.called.iter().filter_map(|&index| self.module.computation(index));
        Ok(Details {
            name: it.name.clone(),
            users: users
                .iter()
                .filter_map(|&user| self.module.at(user))
                .take(MOST_USERS)
                .map(|it| it.name.clone())
                .collect(),
            called: called.map(|it| it.name.clone()).collect(),
            is_measured: own.is_some_and(|it| it.time.is_some()),
            facts,
        })
    }

    /// Finds instructions whose name or scope contains `text`, most time first.
    pub fn search(&self, text: &str) -> Vec<Match> {
        let wanted = text.trim().trim_start_matches('%').to_lowercase();
        let contains = |text: &str| text.to_lowercase().contains(&wanted);
        let all = (0..).zip(self.module.instructions());
        let found = all.filter(|(_, it)| contains(&it.name) || contains(&it.metadata.op_name));
        let time = |index: InstructionIndex| self.measured.own(index).and_then(|it| it.time);
        let mut found: Vec<(InstructionIndex, &hlo::Instruction)> = found.collect();
        base::sort::first_by(&mut found, MOST_MATCHES, |(a, x), (b, y)| {
            // An exact match precedes longer names.
            (y.name == wanted).cmp(&(x.name == wanted)).then(time(*b).cmp(&time(*a))).then(a.cmp(b))
        });
        let found = found.into_iter().map(|(index, it)| {
            let parts = [time(index).map(|time| time_us(time.as_us())), Some(it.metadata.op_name.clone())];
            let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
            Match { name: it.name.clone(), note: printable(&parts.join("  ")) }
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests;
