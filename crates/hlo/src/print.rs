//! Prints programs in the text format of XLA's dumps.
//!
//! ```text
//! HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}
//!
//! ENTRY %main (x: f32[8]) -> f32[8] {
//!   %x = f32[8]{0} parameter(0), metadata={op_name="x"}
//!   ROOT %sine.1 = f32[8]{0} sine(%x), metadata={op_name="jit(f)/sin" source_file="f.py" source_line=3}
//! }
//! ```
//!
//! The text contains everything that [`Module`] contains. Constants with several elements are written as `{...}`, as
//! XLA writes large constants. The text omits control dependencies, random-number settings and settings of the module
//! that only a compiler needs.

use std::fmt::Write as _;

use super::expression::Writer;
use super::instruction::{ComputationIndex, Instruction, InstructionIndex, Metadata};
use super::link::Link;
use super::module::{Computation, Module};

/// Text of a program, with the content of each line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed {
    /// The text. Every line ends with a newline.
    pub text: String,
    /// Content of each line.
    pub lines: Vec<Line>,
    /// Names of operands and called computations, in text order.
    pub links: Vec<Link>,
}

/// Content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The header of the module, its tables, an empty line or the end of a computation.
    Other,
    /// The first line of a computation.
    Computation(ComputationIndex),
    /// An instruction.
    Instruction(InstructionIndex),
}

/// Prints a module.
pub fn print(module: &Module) -> Printed {
    let mut out = Printer::default();
    header(module, &mut out.writer.text);
    out.end(Line::Other);
    stack_frames(module, &mut out);
    for (index, computation) in (0..).zip(module.computations()) {
        out.end(Line::Other);
        out.computation(module, index, computation);
    }
    out.finish()
}

/// Prints one computation. Returns an empty text if the module has no such computation.
pub fn print_computation(module: &Module, index: ComputationIndex) -> Printed {
    let mut out = Printer::default();
    if let Some(computation) = module.computation(index) {
        out.computation(module, index, computation);
    }
    out.finish()
}

#[derive(Default)]
struct Printer {
    writer: Writer,
    lines: Vec<Line>,
}

impl Printer {
    fn end(&mut self, line: Line) {
        self.writer.text.push('\n');
        self.lines.push(line);
    }

    fn computation(&mut self, module: &Module, index: ComputationIndex, computation: &Computation) {
        let is_entry = module.entry == Some(index);
        let out = &mut self.writer.text;
        let _ = write!(out, "{}%{} (", if is_entry { "ENTRY " } else { "" }, computation.name);
        for (i, parameter) in parameters(module, computation).iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            let _ = write!(out, "{}: ", parameter.name);
            parameter.shape.write(out, false);
        }
        out.push_str(") -> ");
        match module.root(computation) {
            Some(root) => root.shape.write(out, false),
            None => out.push_str("()"),
        }
        out.push_str(" {");
        self.end(Line::Computation(index));
        for (index, instruction) in module.in_order(computation) {
            self.writer.text.push_str(if computation.root == Some(index) { "  ROOT " } else { "  " });
            self.writer.expression(module, instruction);
            metadata(&instruction.metadata, &mut self.writer.text);
            let config = instruction.attributes().backend_config.as_str();
            if !config.is_empty() {
                self.writer.text.push_str(", backend_config=");
                backend_config(config, &mut self.writer.text);
            }
            self.end(Line::Instruction(index));
        }
        self.writer.text.push('}');
        self.end(Line::Other);
    }

    fn finish(self) -> Printed {
        Printed { text: self.writer.text, lines: self.lines, links: self.writer.links }
    }
}

/// Returns the parameters of a computation by number.
fn parameters<'m>(module: &'m Module, computation: &Computation) -> Vec<&'m Instruction> {
    let all = module.instructions_of(computation).iter().filter(|it| it.is("parameter"));
    let mut found: Vec<&Instruction> = all.collect();
    base::sort::sort_by_key(&mut found, |it| it.attributes().parameter_number);
    found
}

fn header(module: &Module, out: &mut String) {
    let _ = write!(out, "HloModule {}", module.name());
    if module.is_scheduled() {
        out.push_str(", is_scheduled=true");
    }
    let Some(entry) = module.entry() else { return };
    let root = module.root(entry);
    if !module.aliases.is_empty() {
        let is_tuple = root.is_some_and(|root| !root.shape.tuple().is_empty());
        let entry = |&(output, argument): &(i64, i64)| match is_tuple {
            true => format!("{{{output}}}: ({argument}, {{}}, may-alias)"),
            false => format!("{{}}: ({argument}, {{}}, may-alias)"),
        };
        let entries: Vec<_> = module.aliases.iter().map(entry).collect();
        let _ = write!(out, ", input_output_alias={{ {} }}", entries.join(", "));
    }
    out.push_str(", entry_computation_layout={(");
    for (i, parameter) in parameters(module, entry).iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        if i > 0 && i % 5 == 0 {
            let _ = write!(out, "/*index={i}*/");
        }
        parameter.shape.write(out, true);
    }
    out.push_str(")->");
    match root {
        Some(root) => root.shape.write(out, true),
        None => out.push_str("()"),
    }
    out.push('}');
    if let Some((replicas, partitions)) = module.devices() {
        for (name, count) in [("replica_count", replicas), ("num_partitions", partitions)] {
            if count > 1 {
                let _ = write!(out, ", {name}={count}");
            }
        }
    }
}

/// Appends the tables of the call stacks.
fn stack_frames(module: &Module, out: &mut Printer) {
    let frames = &module.frames;
    if frames.frames.is_empty() {
        return;
    }
    let files = frames.files.iter().map(|name| quoted(name));
    let functions = frames.functions.iter().map(|name| quoted(name));
    let locations = frames
        .locations
        .iter()
        .map(|it| format!("{{file_name_id={} function_name_id={} line={}}}", it.file, it.function, it.line));
    // XLA writes the caller's number plus one, so that no caller is 1.
    let stacks = frames.frames.iter().map(|frame| {
        format!("{{file_location_id={} parent_frame_id={}}}", frame.location, frame.caller.saturating_add(1))
    });
    out.table("FileNames", files);
    out.table("FunctionNames", functions);
    out.table("FileLocations", locations);
    out.table("StackFrames", stacks);
    out.end(Line::Other);
}

impl Printer {
    fn table(&mut self, title: &str, rows: impl Iterator<Item = String>) {
        self.end(Line::Other);
        self.writer.text.push_str(title);
        self.end(Line::Other);
        for (number, row) in (1..).zip(rows) {
            let number: u64 = number;
            let _ = write!(self.writer.text, "{number} {row}");
            self.end(Line::Other);
        }
    }
}

fn metadata(metadata: &Metadata, out: &mut String) {
    let start = out.len();
    let mut text = |key: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(out, " {key}={}", quoted(value));
        }
    };
    text("op_type", &metadata.op_type);
    text("op_name", &metadata.op_name);
    text("source_file", &metadata.source_file);
    if metadata.source_line != 0 {
        let _ = write!(out, " source_line={}", metadata.source_line);
    }
    if !metadata.deduplicated_name.is_empty() {
        let _ = write!(out, " deduplicated_name={}", quoted(&metadata.deduplicated_name));
    }
    if metadata.stack_frame != 0 {
        let _ = write!(out, " stack_frame_id={}", metadata.stack_frame);
    }
    if out.len() > start {
        out.replace_range(start..=start, ", metadata={");
        out.push('}');
    }
}

/// Appends a backend configuration: JSON unchanged, and other text as a string.
fn backend_config(config: &str, out: &mut String) {
    if config.starts_with('{') && config.ends_with('}') && !config.contains('\n') {
        out.push_str(config);
    } else {
        out.push_str(&quoted(config));
    }
}

/// Returns `text` as a quoted string of HLO text.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' | '\'' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
