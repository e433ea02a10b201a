//! Text of an instruction, in the format of HLO dumps and XProf.
//!
//! ```text
//! %dot.3 = f32[8,16]{1,0} dot(f32[8,4]{1,0} %a, f32[4,16]{1,0} %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//! ```
//!
//! The text leaves out metadata and backend configuration (which have separate columns), control dependencies, and the
//! settings of instructions that no kernel is named after.

use std::fmt::Write as _;

use super::attributes::{Attributes, ReplicaGroups};
use super::link::{Link, Target};
use super::shape::join;
use super::{ConvolutionDimensions, Instruction, MeshAxes, Module};

/// Maximum length in bytes. Longer expressions, for example with thousands of operands, are cut at a character
/// boundary.
const MAX_BYTES: usize = 10_000;

/// Returns `%name = shape opcode(operands), attributes`.
pub fn expression(module: &Module, instruction: &Instruction) -> String {
    let mut out = Writer { operand_shapes: true, limit: MAX_BYTES, ..Writer::default() };
    out.expression(module, instruction);
    truncate(out.text)
}

/// Writes instructions as text.
#[derive(Debug)]
pub(super) struct Writer {
    /// Text so far.
    pub text: String,
    /// Names of operands and called computations in the text.
    pub links: Vec<Link>,
    /// True to write the shape of each operand before its name, as XProf does.
    pub operand_shapes: bool,
    /// Length of the text at which the list of operands is cut.
    pub limit: usize,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { text: String::new(), links: Vec::new(), operand_shapes: false, limit: usize::MAX }
    }
}

impl Writer {
    /// Appends `%name = shape opcode(operands), attributes`.
    pub(crate) fn expression(&mut self, module: &Module, instruction: &Instruction) {
        let out = &mut self.text;
        let _ = write!(out, "%{} = ", instruction.name);
        instruction.shape.write(out, true);
        let wrapped = wrapped(module, instruction);
        match (instruction.opcode.strip_prefix("async"), wrapped) {
            (Some(phase), Some(inner)) => {
                let _ = write!(out, " {}{phase}(", inner.opcode);
            }
            _ => {
                let _ = write!(out, " {}(", instruction.opcode);
            }
        }
        match instruction.opcode.as_str() {
            "constant" => out.push_str(constant(instruction)),
            "parameter" => {
                let _ = write!(out, "{}", instruction.attributes().parameter_number.unwrap_or(0));
            }
            _ => self.operands(module, instruction),
        }
        self.text.push(')');
        match wrapped {
            Some(inner) if instruction.is("async-start") => self.attributes(module, inner),
            Some(_) => {}
            None => self.attributes(module, instruction),
        }
    }

    fn operands(&mut self, module: &Module, instruction: &Instruction) {
        let operands = instruction.operands.iter().filter_map(|&index| Some((index, module.at(index)?)));
        for (i, (index, operand)) in operands.enumerate() {
            if self.text.len() > self.limit {
                return;
            }
            if i > 0 {
                self.text.push_str(", ");
                if i % 5 == 0 {
                    let _ = write!(self.text, "/*index={i}*/");
                }
            }
            if self.operand_shapes {
                operand.shape.write(&mut self.text, true);
                self.text.push(' ');
            }
            self.name(&operand.name, Target::Instruction(index));
        }
    }

    fn attributes(&mut self, module: &Module, instruction: &Instruction) {
        let own = instruction.attributes();
        let _ = own_attributes(instruction.opcode.as_str(), own, &mut self.text);
        self.called(module, instruction);
        let out = &mut self.text;
        if !own.sharding.is_empty() {
            let _ = write!(out, ", sharding={}", own.sharding);
        }
        if !own.frontend_attributes.is_empty() {
            let entries = own.frontend_attributes.iter().map(|(k, v)| format!("{k}={}", quoted(v)));
            let _ = write!(out, ", frontend_attributes={{{}}}", entries.collect::<Vec<_>>().join(","));
        }
    }

    /// Appends a name with `%` and records its position in the text.
    fn name(&mut self, name: &str, target: Target) {
        let start = self.text.len();
        self.text.push('%');
        self.text.push_str(name);
        self.links.push(Link { range: start..self.text.len(), target });
    }

    /// Appends the computations that an instruction calls.
    fn called(&mut self, module: &Module, instruction: &Instruction) {
        let count = instruction.called.len();
        match instruction.opcode.as_str() {
            "while" => {
                self.one(module, instruction, "condition", 1);
                self.one(module, instruction, "body", 0);
            }
            "select-and-scatter" => {
                self.one(module, instruction, "select", 0);
                self.one(module, instruction, "scatter", 1);
            }
            "conditional" if count == 2 && is_boolean(module, instruction) => {
                self.one(module, instruction, "true_computation", 0);
                self.one(module, instruction, "false_computation", 1);
            }
            "conditional" => self.list(module, instruction, "branch_computations"),
            "call" | "map" | "reduce" | "reduce-window" | "sort" | "scatter" | "all-reduce" | "all-reduce-start"
            | "reduce-scatter" | "topk" => self.one(module, instruction, "to_apply", 0),
            "custom-call" if count > 1 => self.list(module, instruction, "called_computations"),
            "async-update" | "async-done" => {}
            _ => self.one(module, instruction, "calls", 0),
        }
    }

    fn one(&mut self, module: &Module, instruction: &Instruction, key: &str, n: usize) {
        let Some(&index) = instruction.called.get(n) else { return };
        let Some(computation) = module.computation(index) else { return };
        let _ = write!(self.text, ", {key}=");
        self.name(&computation.name, Target::Computation(index));
    }

    fn list(&mut self, module: &Module, instruction: &Instruction, key: &str) {
        let _ = write!(self.text, ", {key}={{");
        let called = instruction.called.iter().filter_map(|&index| Some((index, module.computation(index)?)));
        for (i, (index, computation)) in called.enumerate() {
            self.text.push_str(if i > 0 { ", " } else { "" });
            self.name(&computation.name, Target::Computation(index));
        }
        self.text.push('}');
    }
}

/// Returns the instruction that an asynchronous instruction runs. HLO text writes `reduce-scatter-start` for an
/// `async-start` of a reduce-scatter.
fn wrapped<'m>(module: &'m Module, instruction: &'m Instruction) -> Option<&'m Instruction> {
    let mut start = instruction;
    // The chain consists of a start, updates and a done.
    for _ in 0..64 {
        match start.opcode.as_str() {
            "async-start" => return module.root(module.called(start, 0)?),
            "async-update" | "async-done" => start = module.operand(start, 0)?,
            _ => return None,
        }
    }
    None
}

fn constant(instruction: &Instruction) -> &str {
    match instruction.attributes().literal.as_str() {
        "" => "{...}",
        literal => literal,
    }
}

fn truncate(mut out: String) -> String {
    if out.len() > MAX_BYTES {
        let mut end = MAX_BYTES;
        while !out.is_char_boundary(end) {
            end -= 1;
        }
        out.truncate(end);
    }
    out
}

/// Quotes a value unless it is a list in braces.
fn quoted(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') { value.to_owned() } else { format!("\"{value}\"") }
}

/// Writes the attributes that the opcode defines, in XLA's order.
pub(super) fn own_attributes(opcode: &str, own: &Attributes, out: &mut String) -> std::fmt::Result {
    let custom = opcode == "custom-call";
    let windowed = matches!(opcode, "convolution" | "reduce-window" | "select-and-scatter") || custom;
    if windowed && !own.window.is_empty() {
        write!(out, ", window={}", window(own))?;
    }
    if let Some(dimensions) = own.convolution.as_deref().filter(|_| windowed) {
        write!(out, ", dim_labels={}", dim_labels(dimensions))?;
    }
    if own.feature_group_count > 1 {
        write!(out, ", feature_group_count={}", own.feature_group_count)?;
    }
    if own.batch_group_count > 1 {
        write!(out, ", batch_group_count={}", own.batch_group_count)?;
    }
    if let Some(dot) = own.dot.as_deref() {
        let mut list = |name: &str, dimensions: &[i64], always: bool| match (dimensions, always) {
            ([], false) => Ok(()),
            _ => write!(out, ", {name}={{{}}}", join(dimensions)),
        };
        list("lhs_batch_dims", &dot.lhs_batch, false)?;
        list("lhs_contracting_dims", &dot.lhs_contracting, true)?;
        list("rhs_batch_dims", &dot.rhs_batch, false)?;
        list("rhs_contracting_dims", &dot.rhs_contracting, true)?;
        list("lhs_ragged_dims", &own.ragged_dimensions, false)?;
        list("rhs_group_dims", &own.group_dimensions, false)?;
    }
    match opcode {
        "get-tuple-element" => write!(out, ", index={}", own.tuple_index)?,
        "compare" => write!(out, ", direction={}", own.comparison_direction)?,
        "slice" => {
            let strided = own.slices.iter().any(|slice| slice.stride != 1);
            let stride = |stride| if strided { format!(":{stride}") } else { String::new() };
            let ranges = own.slices.iter().map(|s| format!("[{}:{}{}]", s.start, s.limit, stride(s.stride)));
            write!(out, ", slice={{{}}}", ranges.collect::<Vec<_>>().join(", "))?;
        }
        "dynamic-slice" => write!(out, ", dynamic_slice_sizes={{{}}}", join(&own.dynamic_slice_sizes))?,
        "pad" => {
            let spread = own.padding.iter().any(|padding| padding.2 != 0);
            let interior = |interior| if spread { format!("_{interior}") } else { String::new() };
            let padding = own.padding.iter().map(|&(low, high, inner)| format!("{low}_{high}{}", interior(inner)));
            write!(out, ", padding={}", padding.collect::<Vec<_>>().join("x"))?;
        }
        "fft" => {
            let name = ["FFT", "IFFT", "RFFT", "IRFFT"].get(usize::try_from(own.fft_type).unwrap_or(9));
            write!(out, ", fft_type={}, fft_length={{{}}}", name.unwrap_or(&"?"), join(&own.fft_length))?;
        }
        "gather" => gather(own, out)?,
        "scatter" => scatter(own, out)?,
        "iota" => write!(out, ", iota_dimension={}", own.dimensions.first().unwrap_or(&0))?,
        "topk" => write!(out, ", k={}", own.k)?,
        _ => {}
    }
    let lists_dimensions = matches!(
        opcode,
        "broadcast"
            | "reduce"
            | "concatenate"
            | "transpose"
            | "reverse"
            | "sort"
            | "map"
            | "all-gather"
            | "all-to-all"
            | "all-gather-start"
            | "reduce-scatter"
            | "get-dimension-size"
    );
    let communicates = own.replica_groups.is_some() || own.channel_id > 0;
    if communicates && opcode != "custom-call" {
        collective(own, out)?;
    }
    if lists_dimensions && !(opcode == "all-to-all" && own.dimensions.is_empty()) {
        write!(out, ", dimensions={{{}}}", join(&own.dimensions))?;
    }
    if !own.source_target_pairs.is_empty() {
        let pairs = own.source_target_pairs.iter().map(|(source, target)| format!("{{{source},{target}}}"));
        write!(out, ", source_target_pairs={{{}}}", pairs.collect::<Vec<_>>().join(","))?;
    }
    if own.is_host_transfer {
        out.push_str(", is_host_transfer=true");
    }
    if custom {
        custom_call(own, out)?;
    }
    if own.operand_precision.iter().any(|&precision| precision != 0) {
        let name = |&precision: &i64| ["default", "high", "highest"].get(usize::try_from(precision).ok()?).copied();
        let names: Vec<_> = own.operand_precision.iter().filter_map(name).collect();
        write!(out, ", operand_precision={{{}}}", names.join(","))?;
    }
    if opcode == "fusion" {
        write!(out, ", kind={}", own.fusion_kind)?;
        aliasing(own, out)?;
    }
    Ok(())
}

fn custom_call(own: &Attributes, out: &mut String) -> std::fmt::Result {
    write!(out, ", custom_call_target=\"{}\"", own.custom_call_target)?;
    if !own.operand_layouts.is_empty() {
        let shapes: Vec<_> = own.operand_layouts.iter().map(|shape| shape.text(true)).collect();
        write!(out, ", operand_layout_constraints={{{}}}", shapes.join(", "))?;
    }
    let version = match own.api_version {
        2 => "API_VERSION_STATUS_RETURNING",
        3 => "API_VERSION_STATUS_RETURNING_UNIFIED",
        4 => "API_VERSION_TYPED_FFI",
        _ => "",
    };
    if !version.is_empty() {
        write!(out, ", api_version={version}")?;
    }
    aliasing(own, out)
}

fn aliasing(own: &Attributes, out: &mut String) -> std::fmt::Result {
    if own.aliasing.is_empty() {
        return Ok(());
    }
    let entry = |(output, operand, index): &(Vec<i64>, i64, Vec<i64>)| {
        format!("{{{}}}: ({operand}, {{{}}})", join(output), join(index))
    };
    let entries: Vec<_> = own.aliasing.iter().map(entry).collect();
    write!(out, ", output_to_operand_aliasing={{{}}}", entries.join(", "))
}

fn collective(own: &Attributes, out: &mut String) -> std::fmt::Result {
    if own.channel_id > 0 {
        write!(out, ", channel_id={}", own.channel_id)?;
    }
    match &own.replica_groups {
        Some(ReplicaGroups::Lists(lists)) => {
            let groups: Vec<_> = lists.iter().map(|group| format!("{{{}}}", join(group))).collect();
            write!(out, ", replica_groups={{{}}}", groups.join(","))?;
        }
        Some(ReplicaGroups::Iota { groups, group_size, reshape, transpose }) => {
            write!(out, ", replica_groups=[{groups},{group_size}]<=[{}]", join(reshape))?;
            if transpose.len() > 1 {
                write!(out, "T({})", join(transpose))?;
            }
        }
        Some(ReplicaGroups::Mesh(mesh)) => write!(out, ", replica_groups={}", mesh_text(mesh))?,
        None => {}
    }
    if own.use_global_device_ids {
        out.push_str(", use_global_device_ids=true");
    }
    Ok(())
}

/// Returns text like `mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'a','b':(1)2}`.
fn mesh_text(mesh: &MeshAxes) -> String {
    let axes: Vec<_> = mesh.axes.iter().map(|(name, size)| format!("'{name}'={size}")).collect();
    let mut out = format!("mesh[{}]", axes.join(","));
    let (reshape, transpose) = &mesh.device_iota;
    if !reshape.is_empty() {
        let order = if transpose.len() > 1 { format!("T({})", join(transpose)) } else { String::new() };
        let _ = write!(out, ", device_ids=([{}]{order})", join(reshape));
    } else if !mesh.device_ids.is_empty() {
        let _ = write!(out, ", device_ids=({})", join(&mesh.device_ids));
    }
    let grouped = mesh.grouped.iter().map(|&(axis, part)| {
        let name = usize::try_from(axis).ok().and_then(|axis| mesh.axes.get(axis)).map_or("?", |axis| axis.0.as_str());
        let part = part.map_or(String::new(), |(before, size)| format!(":({before}){size}"));
        format!("'{name}'{part}")
    });
    let _ = write!(out, " {{{}}}", grouped.collect::<Vec<_>>().join(","));
    out
}

fn gather(own: &Attributes, out: &mut String) -> std::fmt::Result {
    let Some(numbers) = own.gather.as_deref() else { return Ok(()) };
    write!(
        out,
        ", offset_dims={{{}}}, collapsed_slice_dims={{{}}}, start_index_map={{{}}}, index_vector_dim={}, slice_sizes={{{}}}",
        join(&numbers.offset),
        join(&numbers.collapsed),
        join(&numbers.start_index_map),
        numbers.index_vector,
        join(&own.gather_slice_sizes)
    )
}

fn scatter(own: &Attributes, out: &mut String) -> std::fmt::Result {
    let Some(numbers) = own.gather.as_deref() else { return Ok(()) };
    write!(
        out,
        ", update_window_dims={{{}}}, inserted_window_dims={{{}}}, scatter_dims_to_operand_dims={{{}}}, index_vector_dim={}",
        join(&numbers.offset),
        join(&numbers.collapsed),
        join(&numbers.start_index_map),
        numbers.index_vector
    )
}

/// Returns text like `{size=1x2 stride=2x2 pad=0_1x1_0 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0}`, without
/// default values.
fn window(own: &Attributes) -> String {
    let window = &own.window;
    let list =
        |value: &dyn Fn(&super::WindowDimension) -> String| window.iter().map(value).collect::<Vec<_>>().join("x");
    let mut out = format!("{{size={}", list(&|d| d.size.to_string()));
    let mut add = |name: &str, wanted: bool, value: &dyn Fn(&super::WindowDimension) -> String| {
        if wanted {
            let _ = write!(out, " {name}={}", list(value));
        }
    };
    add("stride", window.iter().any(|d| d.stride != 1), &|d| d.stride.to_string());
    let padded = window.iter().any(|d| d.padding_low != 0 || d.padding_high != 0);
    add("pad", padded, &|d| format!("{}_{}", d.padding_low, d.padding_high));
    add("lhs_dilate", window.iter().any(|d| d.base_dilation != 1), &|d| d.base_dilation.to_string());
    add("rhs_dilate", window.iter().any(|d| d.window_dilation != 1), &|d| d.window_dilation.to_string());
    add("rhs_reversal", window.iter().any(|d| d.reversal), &|d| u8::from(d.reversal).to_string());
    out.push('}');
    out
}

/// Returns the labels of the dimensions of input, kernel and output, like `bf01_oi01->bf01`.
fn dim_labels(dimensions: &ConvolutionDimensions) -> String {
    let labels = |first: (i64, char), second: (i64, char), spatial: &[i64]| {
        let mut labels: Vec<(i64, String)> = vec![(first.0, first.1.to_string()), (second.0, second.1.to_string())];
        labels.extend(spatial.iter().enumerate().map(|(i, &dimension)| (dimension, i.to_string())));
        sort_labels(&mut labels);
        labels.into_iter().map(|(_, label)| label).collect::<String>()
    };
    let d = dimensions;
    format!(
        "{}_{}->{}",
        labels((d.input_batch, 'b'), (d.input_feature, 'f'), &d.input_spatial),
        labels((d.kernel_output_feature, 'o'), (d.kernel_input_feature, 'i'), &d.kernel_spatial),
        labels((d.output_batch, 'b'), (d.output_feature, 'f'), &d.output_spatial)
    )
}

/// Sorts a handful of labels. An insertion sort needs less code than the standard library's sort.
fn sort_labels(labels: &mut [(i64, String)]) {
    for i in 1..labels.len() {
        let mut j = i;
        while j > 0 && labels.get(j - 1).map(|l| l.0) > labels.get(j).map(|l| l.0) {
            labels.swap(j - 1, j);
            j -= 1;
        }
    }
}

/// Returns true if a conditional has a boolean condition, and therefore a true and a false computation.
fn is_boolean(module: &Module, instruction: &Instruction) -> bool {
    let condition = module.operand(instruction, 0).and_then(|operand| operand.shape.array());
    condition.is_some_and(|array| array.data_type == super::DataType::PRED)
}
