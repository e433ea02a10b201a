//! Matrix products run in an order that needs more work than another order.
//!
//! A product forms a matrix that is only multiplied by thin matrices, as in `C = x.T @ g`, `C @ b`. The order `x.T @ (g
//! @ b)` needs only a small part of the FLOPs. The backward pass of an adapter of low rank that is added to the weights
//! forms such a product: for `x @ (w + a @ b)`, it computes the gradient of all weights, and then projects this
//! gradient onto `a` and `b`.
//!
//! ```text
//! [m, k] x [k, n], then [m, n] x [n, r]      2 m k n + 2 m n r FLOPs
//! [k, n] x [n, r], then [m, k] x [k, r]      2 k n r + 2 m k r FLOPs
//! ```
//!
//! The rule looks for two cases:
//!
//! * a product whose result is only read by other products, directly or through conversions, changes of shape, and
//!   multiplications by a single number. The other order needs at most a quarter of the FLOPs of all these products
//!   (ours). The time of the other order is estimated as the time of the products that read the result, multiplied by
//!   the ratio of the bytes, or by the ratio of the FLOPs if that ratio is larger.
//! * a product with a short contraction (at most an eighth of both sides, ours) whose result is added to a matrix that
//!   only other products read: `w + a @ b`. The other order, `x @ w + (x @ a) @ b`, does not form the sum, but reads
//!   and writes rows as long as the rows of `x` and of the result. The other order is faster if `x` has few rows.
//!
//! The impact is the difference between the times of the two orders. Severity: note from 5 % of the op time (ours: half
//! of the limit for a warning), warning from 10 % (JAX guide, overheads), critical from 50 %, or a note if the loss is
//! less than 10 % of the window. Confidence: medium, because the time of the other order is estimated. Remedy: change
//! the order. The rule is skipped if the compiled program is missing.

use std::collections::BTreeMap;

use super::conversions::element_index;
use super::draft::{Draft, equals};
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::scopes;
use base::{Ps, format};
use hlo::{Instruction, InstructionIndex, Module, cost, fused};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "product_order",
    title: "Matrix products in an order that needs more work",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum ratio of the FLOPs of the two orders. We chose this limit because a smaller ratio hardly saves time: thin
/// products are limited by memory.
const FLOPS_RATIO: f64 = 4.0;
/// Minimum ratio of the sides of a product to its contraction, for a product that is added to a matrix.
const SIDES_PER_CONTRACTION: f64 = 8.0;
/// Minimum share of the op time for an op to be examined. We chose this limit because smaller ops hardly change the
/// sum.
const EXAMINED_PERCENT: f64 = 0.1;
/// Maximum number of instructions between a product and the products that read its result. Longer paths are not worth a
/// search.
const MOST_STEPS: usize = 64;

/// Sizes of a product `[batches, rows, contraction] x [batches, contraction, columns]`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    batches: f64,
    rows: f64,
    contraction: f64,
    columns: f64,
}

impl Sizes {
    /// Returns the sizes of a product. The sizes follow from the FLOPs and the elements of the three matrices, for any
    /// order of the dimensions.
    fn of(module: &Module, product: &Instruction) -> Option<Sizes> {
        let elements = |it: &Instruction| it.shape.first_array().map(|array| array.elements());
        let (left, right) = (elements(module.operand(product, 0)?)?, elements(module.operand(product, 1)?)?);
        let (result, pairs) = (elements(product)?, cost(module, product)?.flops / 2.0);
        let is_known = left > 0.0 && right > 0.0 && result > 0.0 && pairs > 0.0;
        let sizes = Sizes {
            batches: left * right * result / (pairs * pairs),
            rows: pairs / right,
            contraction: pairs / result,
            columns: pairs / left,
        };
        // A convolution with a window, or a product of ragged groups, has other ratios.
        let is_whole = |size: f64| size >= 0.999 && (size - size.round()).abs() < 1e-6 * size.max(1.0);
        let all = [sizes.batches, sizes.rows, sizes.contraction, sizes.columns];
        (is_known && all.into_iter().all(is_whole)).then_some(sizes)
    }

    fn flops(self) -> f64 {
        2.0 * self.batches * self.rows * self.contraction * self.columns
    }
}

/// A product that reads the result of another product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reader {
    /// The instruction that runs: the product, or the fusion that contains it.
    runs: InstructionIndex,
    product: InstructionIndex,
    /// Number of the operand that is the other product's result.
    operand: usize,
}

/// The products that read a matrix.
#[derive(Default)]
struct Readers {
    products: Vec<Reader>,
    /// True if the matrix was added to another matrix.
    is_added: bool,
}

/// Time that another order saves, the FLOPs of both orders, and the thin dimension; see [`Avoidable`].
type Saving = (Ps, Option<(f64, f64)>, f64);

/// A product that another order avoids.
struct Avoidable<'a> {
    op: &'a Op,
    product: &'a Instruction,
    readers: usize,
    is_added: bool,
    /// The dimension of the thin matrices: the columns of the second product, or the contraction of a product that is added.
    thin: f64,
    /// FLOPs of both orders, per execution. `None` for a product that is added.
    flops: Option<(f64, f64)>,
    time: Ps,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let found: Vec<Avoidable<'_>> =
        numbers.programs().flat_map(|(id, module)| Program::new(numbers, id, module).avoidable()).collect();
    let share = numbers.op_percent(found.iter().map(|it| it.time).sum());
    let Some(largest) = found.iter().max_by_key(|it| it.time).filter(|_| share >= OVERHEAD_NOTED_PERCENT) else {
        return Verdict::Fine;
    };
    let of_op = numbers.of_window(share);
    let (severity, limit) = match OVERHEAD_PERCENT.severity(share) {
        _ if share < OVERHEAD_PERCENT.good => (FindingSeverity::Note, OVERHEAD_NOTED_PERCENT),
        (_, limit) if of_op < OVERHEAD_PERCENT.good => (FindingSeverity::Note, limit),
        severity => severity,
    };
    let title =
        format!("Multiplying matrices in another order would save about {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message(numbers, &found, largest))
        .remedy(&remedy(largest))
        .passed("product_order_percent", share, limit)
        .count("avoidable_products", found.len() as u64)
        .evidence("thin_dimension", largest.thin)
        .at_stake(of_op)
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.op.name)))
        .fires()
}

fn message(numbers: &Numbers<'_>, found: &[Avoidable<'_>], largest: &Avoidable<'_>) -> String {
    let path = numbers.context.analysis.ops.text(numbers.trace, largest.op.framework_path);
    let scope = scopes(path).last().map_or(String::new(), |scope| format!(" in {}", shown(scope)));
    let all: Ps = found.iter().map(|it| it.op.self_time).sum();
    let of = format::counted(largest.readers as u64, "product");
    let shape = largest.product.shape.first_array().map(|array| hlo::Shape::Array(array.clone()).text(false));
    let shape = shown(&shape.unwrap_or_default());
    let thin = format::count(largest.thin.round() as u64);
    let source = numbers.op_with_source(largest.op);
    let first = match largest.flops {
        Some((now, then)) => format!(
            "{source}{scope} computes {shape} as a product, and only {of} with a dimension of at most {thin} use it. \
             Together they need {}. In the other order, they would need {}.",
            format::si(now, "FLOP"),
            format::si(then, "FLOP"),
        ),
        None => format!(
            "{source}{scope} adds a product of rank {thin} to a matrix, {shape}, that only {of} with few rows read."
        ),
    };
    format!(
        "{first} {} of this kind {} {} of the op time.",
        format::counted(found.len() as u64, "product"),
        if found.len() == 1 { "takes" } else { "take" },
        format::percent(numbers.op_percent(all)),
    )
}

fn remedy(largest: &Avoidable<'_>) -> String {
    let is_backward = base::framework_path::training_pass(&largest.product.metadata.op_name) == Some("backward");
    let adapter = "If the weights are the sum of frozen weights and a product of low rank (an adapter such as LoRA), do not add them \
                   before the product: compute x @ w + (x @ a) @ b instead of x @ (w + a @ b).";
    match largest.is_added {
        true => adapter.to_owned(),
        false if is_backward => {
            format!(
                "{adapter} Then the backward pass forms no gradient of all weights. In other programs, multiply the thin matrices first."
            )
        }
        false => format!(
            "Multiply the thin matrices first: x @ (w @ v) instead of (x @ w) @ v. jnp.linalg.multi_dot chooses the order. {adapter}"
        ),
    }
}

/// A program with its ops, and with the users of each instruction.
struct Program<'a> {
    numbers: &'a Numbers<'a>,
    module: &'a Module,
    users: Vec<Vec<InstructionIndex>>,
    ops: BTreeMap<InstructionIndex, &'a Op>,
}

impl<'a> Program<'a> {
    fn new(numbers: &'a Numbers<'a>, id: i64, module: &'a Module) -> Program<'a> {
        let mut users: Vec<Vec<InstructionIndex>> = vec![Vec::new(); module.instructions().len()];
        for (index, it) in (0..).zip(module.instructions()) {
            for &operand in &it.operands {
                if let Some(list) = users.get_mut(operand as usize).filter(|list| list.last() != Some(&index)) {
                    list.push(index);
                }
            }
        }
        let all = &numbers.context.analysis.ops;
        let of_program = all.rows.iter().filter(|op| op.program_id == Some(id));
        let index = |op: &Op| module.index_of(module.instruction(all.text(numbers.trace, op.name))?);
        let ops = of_program.filter_map(|op| Some((index(op)?, op))).collect();
        Program { numbers, module, users, ops }
    }

    /// Returns the products that the program would avoid with another order.
    fn avoidable(&self) -> Vec<Avoidable<'a>> {
        let large = self.ops.iter().filter(|(_, op)| self.numbers.op_percent(op.self_time) >= EXAMINED_PERCENT);
        large.filter_map(|(&index, &op)| self.in_other_order(index, op)).collect()
    }

    /// Examines an op that is a product, or a fusion that contains one.
    fn in_other_order(&self, index: InstructionIndex, op: &'a Op) -> Option<Avoidable<'a>> {
        let instruction = self.module.at(index)?;
        let mut inside = fused(self.module, instruction).iter().filter(|it| is_product(it));
        let (product, around) = match inside.next() {
            Some(product) if inside.next().is_none() => (product, Some(index)),
            Some(_) => return None,
            None => (Some(instruction).filter(|it| is_product(it))?, None),
        };
        if !returns_only_the_product(product) {
            return None;
        }
        let sizes = Sizes::of(self.module, product)?;
        let mut readers = Readers::default();
        self.follow(self.module.index_of(product)?, around, &mut readers, &mut 0)?;
        let (time, flops, thin) = match readers.is_added {
            true => self.without_sum(op, sizes, &readers.products)?,
            false => self.thin_first(op, (product, sizes), &readers.products)?,
        };
        let count = readers.products.len();
        Some(Avoidable { op, product, readers: count, is_added: readers.is_added, thin, flops, time })
    }

    /// For a matrix to which a low-rank product is added, returns how much longer this sum takes than two thin products
    /// for each product that reads the sum.
    fn without_sum(&self, op: &Op, sizes: Sizes, readers: &[Reader]) -> Option<Saving> {
        let Sizes { rows, contraction, columns, .. } = sizes;
        if contraction * SIDES_PER_CONTRACTION > rows.min(columns) || readers.is_empty() {
            return None;
        }
        // The sum reads a matrix and writes another one. Instead, each reader's result is read and written again.
        let now = 2.0 * sizes.batches * rows * columns;
        let mut then = 0.0;
        for reader in readers {
            let read = self.read_of(*reader)?;
            then += read.sizes.batches * read.columns * (read.sizes.contraction + 2.0 * read.rows);
        }
        let time = op.self_time.as_ps() as f64 * (1.0 - then / now);
        (time > 0.0).then_some((Ps::new(time as i64), None, contraction))
    }

    /// Returns the time that the products would save if the thin products came first, and the FLOPs of both orders.
    fn thin_first(&self, op: &Op, (product, sizes): (&Instruction, Sizes), readers: &[Reader]) -> Option<Saving> {
        let operands: f64 = self.module.operands(product).take(2).map(|it| it.shape.elements()).sum();
        let first = op.self_time.as_ps() as f64;
        let (mut now, mut then, mut time, mut thin) = (sizes.flops(), 0.0, first, 0.0_f64);
        for reader in readers {
            let Read { sizes: of, rows, columns } = self.read_of(*reader)?;
            let divides = |part: f64, whole: f64| part > 0.0 && whole % part == 0.0;
            let is_side = |kept, summed| divides(rows, kept) && divides(of.contraction, summed);
            if !is_side(sizes.rows, sizes.columns) && !is_side(sizes.columns, sizes.rows) {
                return None;
            }
            let flops = 2.0 * of.batches * sizes.contraction * columns * (of.contraction + rows);
            let vectors = of.batches * columns * (of.contraction + rows);
            let moved_now = of.batches * rows * of.contraction + vectors;
            let moved_then = operands + vectors + 2.0 * of.batches * sizes.contraction * columns;
            let sharing = readers.iter().filter(|it| it.runs == reader.runs).count().max(1) as f64;
            let runs = self.ops.get(&reader.runs).map_or(0.0, |op| op.self_time.as_ps() as f64 / sharing);
            time += runs - (runs * moved_then / moved_now).max(first * flops / sizes.flops());
            now += of.flops();
            then += flops;
            thin = thin.max(columns);
        }
        let is_less = !readers.is_empty() && now >= FLOPS_RATIO * then && time > 0.0;
        is_less.then_some((Ps::new(time as i64), Some((now, then)), thin))
    }

    fn read_of(&self, reader: Reader) -> Option<Read> {
        let sizes = Sizes::of(self.module, self.module.at(reader.product)?)?;
        let (rows, columns) =
            if reader.operand == 0 { (sizes.rows, sizes.columns) } else { (sizes.columns, sizes.rows) };
        Some(Read { sizes, rows, columns })
    }

    /// Collects the products that read a value. `around` is the fusion that contains the value. Returns `None` if
    /// anything but a product reads the value.
    fn follow(
        &self,
        value: InstructionIndex,
        around: Option<InstructionIndex>,
        found: &mut Readers,
        steps: &mut usize,
    ) -> Option<()> {
        *steps += 1;
        let instruction = self.module.at(value).filter(|_| *steps <= MOST_STEPS)?;
        if self.module.computation(instruction.computation)?.root == Some(value) {
            // The result of a computation that no fusion calls is read elsewhere.
            self.follow(around?, None, found, steps)?;
        }
        for &user in self.users.get(value as usize)? {
            let it = self.module.at(user)?;
            let positions: Vec<usize> =
                it.operands.iter().enumerate().filter(|(_, operand)| **operand == value).map(|(n, _)| n).collect();
            let &[position] = positions.as_slice() else { return None };
            match it.opcode.as_str() {
                _ if is_product(it) && position < 2 => {
                    found.products.push(Reader { runs: around.unwrap_or(user), product: user, operand: position });
                }
                "convert" | "bitcast" | "reshape" | "transpose" | "copy" | "negate" => {
                    self.follow(user, around, found, steps)?;
                }
                // A library call also returns its scratch memory.
                "get-tuple-element" if element_index(it) != Some(0) && is_product(instruction) => {}
                "get-tuple-element" if is_product(instruction) => self.follow(user, around, found, steps)?,
                "multiply" if self.is_number(it, 1 - position.min(1)) => self.follow(user, around, found, steps)?,
                "divide" if position == 0 && self.is_number(it, 1) => self.follow(user, around, found, steps)?,
                "add" if self.is_argument(*it.operands.get(1 - position.min(1))?, around) => {
                    found.is_added = true;
                    self.follow(user, around, found, steps)?;
                }
                "fusion" if around.is_none() => {
                    let number = i64::try_from(position).ok();
                    let is_operand =
                        |it: &&Instruction| it.is("parameter") && it.attributes().parameter_number == number;
                    let parameter = fused(self.module, it).iter().find(is_operand)?;
                    self.follow(self.module.index_of(parameter)?, Some(user), found, steps)?;
                }
                // One of several results of a fusion.
                "tuple" => {
                    for &result in self.users.get(around? as usize)? {
                        if element_index(self.module.at(result)?)? == position {
                            self.follow(result, None, found, steps)?;
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Returns true if the `n`-th operand is one number, possibly broadcast.
    fn is_number(&self, instruction: &Instruction, n: usize) -> bool {
        let mut value = self.module.operand(instruction, n);
        while let Some(it) = value.filter(|it| matches!(it.opcode.as_str(), "broadcast" | "convert" | "bitcast")) {
            if it.shape.elements() == 1.0 {
                break;
            }
            value = self.module.operand(it, 0);
        }
        value.is_some_and(|it| it.shape.elements() == 1.0)
    }

    /// Returns true for an argument of the program or an element of a loop's state, also after conversions and slices.
    fn is_argument(&self, value: InstructionIndex, around: Option<InstructionIndex>) -> bool {
        let (mut value, mut around) = (value, around);
        for _ in 0..MOST_STEPS {
            let Some(it) = self.module.at(value) else { return false };
            let next = match it.opcode.as_str() {
                "parameter" => match around.take().and_then(|fusion| self.module.at(fusion)) {
                    Some(fusion) => {
                        let number = it.attributes().parameter_number.and_then(|number| usize::try_from(number).ok());
                        number.and_then(|number| fusion.operands.get(number))
                    }
                    None => return true,
                },
                "convert" | "bitcast" | "reshape" | "transpose" | "copy" | "dynamic-slice" | "slice"
                | "get-tuple-element" => it.operands.first(),
                _ => None,
            };
            match next {
                Some(&next) => value = next,
                None => return false,
            }
        }
        false
    }
}

/// A product that reads a matrix, with its sizes as seen from this matrix.
struct Read {
    sizes: Sizes,
    /// Rows of the matrix, and of the product's result.
    rows: f64,
    /// Columns of the other operand.
    columns: f64,
}

/// Returns true for a product of two matrices. On TPUs, such a product is a convolution without a window.
fn is_product(instruction: &Instruction) -> bool {
    let dimensions = &instruction.attributes().convolution;
    let has_window = dimensions.as_ref().is_none_or(|it| !it.input_spatial.is_empty());
    instruction.is_matrix_product() || (instruction.is("convolution") && !has_window)
}

/// Returns false for a library call that adds a matrix to the product, or applies a function to it.
fn returns_only_the_product(product: &Instruction) -> bool {
    let config = &product.attributes().backend_config;
    let has_function = config.contains("\"epilogue\":") && !config.contains("\"epilogue\":\"DEFAULT\"");
    product.operands.len() == 2 && !has_function
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{Instruction, add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Note, Warning};
    use trace::Trace;
    use wire_writer::message;

    const BACKWARD: &str = "jit(f)/transpose(jvp(adapter))/dot_general";

    /// Returns a product `[m, k] x [k, n]`. `left` and `right` are the contracted dimensions.
    fn dot(name: &'static str, shape: &'static str, of: &[&'static str], (left, right): (i64, i64)) -> Instruction {
        instruction(name, "dot", shape).of(of).message(30, message().int(1, left).int(2, right)).path(BACKWARD)
    }

    /// Builds steps of 1000 us in which dot.1 takes `time` us and each op that reads its result takes 10 us.
    fn steps(time: i64, program: fn() -> Vec<Instruction>, readers: &'static [&'static str]) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                add_program(b, 7, vec![("main", program())]);
            }
            op_of(b, 7, ("dot.1", "convolution"), at, time);
            let mut now = at + time;
            for reader in readers {
                op_of(b, 7, (reader, "convolution"), now, 10);
                now += 10;
            }
            op_of(b, 7, ("tanh.1", "loop fusion"), now, at + 1000 - now);
        })
    }

    fn arguments(thin: &'static str) -> Vec<Instruction> {
        vec![
            instruction("x.1", "parameter", "f32[2048,1024]"),
            instruction("g.1", "parameter", "f32[2048,1024]").int(9, 1),
            instruction("b.1", "parameter", thin).int(9, 2),
            instruction("tanh.1", "tanh", "f32[2048,1024]").of(&["x.1"]),
        ]
    }

    /// Builds the gradient of all weights, which only two thin products read.
    fn projected() -> Vec<Instruction> {
        let mut main = arguments("f32[1024,16]");
        main.extend([
            dot("dot.1", "f32[1024,1024]", &["x.1", "g.1"], (0, 0)),
            instruction("convert.1", "convert", "bf16[1024,1024]").of(&["dot.1"]),
            instruction("two.1", "constant", "bf16[]"),
            instruction("twos.1", "broadcast", "bf16[1024,1024]").of(&["two.1"]),
            instruction("scaled.1", "multiply", "bf16[1024,1024]").of(&["convert.1", "twos.1"]),
            dot("dot.2", "f32[1024,16]", &["scaled.1", "b.1"], (1, 0)),
            dot("dot.3", "f32[16,1024]", &["b.1", "dot.1"], (0, 0)),
            instruction("out.1", "tuple", "").of(&["dot.2", "dot.3"]),
        ]);
        main
    }

    #[test]
    fn fires_above_its_limits() {
        let trace = |time| steps(time, projected, &["dot.2", "dot.3"]);
        // Each of the two readers reads two matrices of 2048 x 1024 instead of one of 1024 x 1024, so they take 79 us instead of
        // 20.
        let found = finding(trace(300), &RULE);
        let title = "Multiplying matrices in another order would save about 24.1 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        let start = "dot.1 in adapter computes f32[1024,1024] as a product, and only 2 products with a dimension of at most 16 use it.";
        assert!(found.message.starts_with(start), "{}", found.message);
        assert!(found.message.ends_with("1 product of this kind takes 30.0 % of the op time."), "{}", found.message);
        assert!(found.remedy.contains("x @ w + (x @ a) @ b"), "{}", found.remedy);
        assert_eq!(finding(trace(700), &RULE).severity, Critical);
        assert_eq!(finding(trace(140), &RULE).severity, Note);
        fine(trace(100), &RULE);
    }

    #[test]
    fn matrices_that_something_else_reads_are_fine() {
        // The optimizer updates the weights with their gradient.
        let updated = || {
            let mut main = projected();
            main.push(instruction("out.2", "tuple", "").of(&["dot.2", "dot.3", "dot.1"]));
            main
        };
        fine(steps(300, updated, &["dot.2", "dot.3"]), &RULE);
        // An activation between two layers.
        let activated = || {
            let mut main = arguments("f32[1024,16]");
            main.extend([
                dot("dot.1", "f32[1024,1024]", &["x.1", "g.1"], (0, 0)),
                instruction("relu.1", "tanh", "f32[1024,1024]").of(&["dot.1"]),
                dot("dot.2", "f32[1024,16]", &["relu.1", "b.1"], (1, 0)),
            ]);
            main
        };
        fine(steps(300, activated, &["dot.2"]), &RULE);
        // The program returns the result.
        let returned = || {
            let mut main = arguments("f32[1024,16]");
            main.push(dot("dot.1", "f32[1024,1024]", &["x.1", "g.1"], (0, 0)));
            main
        };
        fine(steps(300, returned, &[]), &RULE);
    }

    #[test]
    fn products_in_the_better_order_are_fine() {
        // The other matrix is not thin.
        let wide = || {
            let mut main = arguments("f32[1024,512]");
            main.extend([
                dot("dot.1", "f32[1024,1024]", &["x.1", "g.1"], (0, 0)),
                dot("dot.2", "f32[1024,512]", &["dot.1", "b.1"], (1, 0)),
                instruction("out.1", "tuple", "").of(&["dot.2"]),
            ]);
            main
        };
        fine(steps(300, wide, &["dot.2"]), &RULE);
        // The first product is thin: the other order would form a matrix of 1024 x 1024.
        let first = || {
            let mut main = arguments("f32[1024,16]");
            main.extend([
                dot("dot.1", "f32[2048,16]", &["x.1", "b.1"], (1, 0)),
                dot("dot.2", "f32[2048,1024]", &["dot.1", "b.1"], (1, 1)),
                instruction("out.1", "tuple", "").of(&["dot.2"]),
            ]);
            main
        };
        fine(steps(300, first, &["dot.2"]), &RULE);
    }

    /// Builds the sum of weights and a product of rank 16. A product with `rows` reads the sum.
    fn adapted(rows: &'static str, result: &'static str, addend: &'static str) -> Vec<Instruction> {
        vec![
            instruction("w.1", "parameter", "f32[1024,1024]"),
            instruction("a.1", "parameter", "f32[1024,16]").int(9, 1),
            instruction("x.1", "parameter", rows).int(9, 2),
            instruction("tanh.1", "tanh", rows).of(&["x.1"]),
            instruction("exp.1", "exponential", "f32[1024,1024]").of(&["w.1"]),
            dot("dot.1", "f32[1024,1024]", &["a.1", "a.1"], (1, 1)),
            instruction("sum.1", "add", "f32[1024,1024]").of(&[addend, "dot.1"]),
            dot("dot.2", result, &["x.1", "sum.1"], (1, 0)),
            instruction("out.1", "tuple", "").of(&["dot.2"]),
        ]
    }

    #[test]
    fn weights_that_an_adapter_is_added_to_for_few_rows() {
        let few = finding(steps(300, || adapted("f32[8,1024]", "f32[8,1024]", "w.1"), &["dot.2"]), &RULE);
        assert_eq!(few.severity, Warning);
        let start = "dot.1 in adapter adds a product of rank 16 to a matrix, f32[1024,1024], that only 1 product with few rows read";
        assert!(few.message.starts_with(start), "{}", few.message);
        // As many rows as the weights: the sum is as cheap as the thin products.
        fine(steps(300, || adapted("f32[1024,1024]", "f32[1024,1024]", "w.1"), &["dot.2"]), &RULE);
        // The other addend is not an argument.
        fine(steps(300, || adapted("f32[8,1024]", "f32[8,1024]", "exp.1"), &["dot.2"]), &RULE);
    }
}
