//! Finds the scores that attention writes to memory, and the ops that read or write them.
//!
//! Scores are the result of a batched matrix product with at least 4 million elements and at least 4 times as many as its
//! operands. The program also computes an exponential of an array of this size, and a product that reduces such an array.

use super::colliding_scatter;
use super::numbers::Numbers;
use base::Ps;
use hlo::{Instruction, Module};
use metrics::Op;

/// Minimum number of elements of the scores: 16 MiB in float32, less than the caches of a large GPU.
const FEWEST_SCORES: f64 = 4.0 * 1024.0 * 1024.0;
/// Minimum ratio of the scores' size to that of their product's operands. Below this ratio, the sequence is short and a
/// fused kernel gains little.
const SCORES_PER_OPERAND: f64 = 4.0;
/// The scores of a program: their number and the product that computes them.
pub(super) struct Scores<'a> {
    program: i64,
    /// Number of the scores.
    pub elements: f64,
    /// Shape of the scores: `f32[4,2048,2048]`.
    pub shape: String,
    /// Module and product that compute the scores.
    pub product: (&'a Module, &'a Instruction),
}

/// Time of the ops that read or write scores.
pub(super) struct Cost<'a> {
    /// The scores.
    pub scores: Scores<'a>,
    /// Self time of these ops.
    pub time: Ps,
    /// Time of the ops that are not products.
    pub without_products: Ps,
    /// The op with the longest self time.
    pub largest: &'a Op,
}

/// Returns the scores of all programs that ran, with their cost.
pub(super) fn costs<'a>(numbers: &Numbers<'a>) -> Vec<Cost<'a>> {
    let scores = numbers.programs().flat_map(|(id, module)| scores_of(id, module));
    scores.filter_map(|scores| cost(numbers, scores)).collect()
}

/// Returns the distinct scores that a program writes.
fn scores_of(program: i64, module: &Module) -> Vec<Scores<'_>> {
    let all = || module.instructions().iter();
    let elements = |it: &Instruction| it.shape.first_array().map_or(0.0, |array| array.elements());
    let exponentials: Vec<f64> = all().filter(|it| it.is("exponential")).map(elements).collect();
    let products: Vec<&Instruction> = all().filter(|it| it.is_matrix_product()).collect();
    let operands = |it: &Instruction| -> Vec<f64> { module.operands(it).take(2).map(elements).collect() };
    let mut found: Vec<Scores<'_>> = Vec::new();
    for &product in &products {
        let (scores, read) = (elements(product), operands(product).iter().sum::<f64>());
        // Logits can be as large as scores, but the operands of their product are not batched.
        let is_batched =
            module.operands(product).take(2).all(|it| it.shape.array().is_some_and(|it| it.dimensions.len() > 2));
        let is_large = scores >= FEWEST_SCORES && scores >= SCORES_PER_OPERAND * read && read > 0.0;
        let is_reduced =
            || products.iter().any(|it| operands(it).contains(&scores) && elements(it) * SCORES_PER_OPERAND <= scores);
        if is_batched
            && is_large
            && exponentials.contains(&scores)
            && is_reduced()
            && !found.iter().any(|it| it.elements == scores)
        {
            // A library call also returns its scratch memory.
            let shape = product.shape.tuple().first().unwrap_or(&product.shape).text(false);
            found.push(Scores { program, elements: scores, shape, product: (module, product) });
        }
    }
    found
}

/// Sums the time of the ops that read or write the scores. `None` if no such op ran.
fn cost<'a>(numbers: &Numbers<'a>, scores: Scores<'a>) -> Option<Cost<'a>> {
    let module = scores.product.0;
    let ops = &numbers.context.analysis.ops;
    let has_scores = |it: &Instruction| it.shape.arrays().iter().any(|array| array.elements() == scores.elements);
    let moves = |op: &&Op| {
        let instruction =
            module.instruction(ops.text(numbers.trace, op.name)).filter(|_| op.program_id == Some(scores.program));
        instruction.is_some_and(|it| has_scores(it) || module.operands(it).any(has_scores))
    };
    // A scatter into a small array only reads an array of this size, and no fused kernel replaces it.
    let scatters = |op: &&Op| {
        let instruction = module.instruction(ops.text(numbers.trace, op.name));
        instruction.is_some_and(|it| colliding_scatter::of_instruction(module, it).is_some() && !has_scores(it))
    };
    let found: Vec<&Op> = ops.rows.iter().filter(moves).filter(|op| !scatters(op)).collect();
    let largest = found.iter().copied().max_by_key(|op| op.self_time)?;
    let multiplies = |op: &Op| {
        let instruction = module.instruction(ops.text(numbers.trace, op.name));
        let fused = instruction.and_then(|it| module.called(it, 0)).map_or(&[][..], |it| module.instructions_of(it));
        instruction.is_some_and(Instruction::is_matrix_product) || fused.iter().any(Instruction::is_matrix_product)
    };
    let others = found.iter().filter(|op| !multiplies(op));
    let (time, without_products) = (found.iter().map(|op| op.self_time).sum(), others.map(|op| op.self_time).sum());
    Some(Cost { scores, time, without_products, largest })
}
