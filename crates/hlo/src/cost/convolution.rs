//! Counts the FLOPs of convolutions. A kernel element is included only if it meets an element of the input, not padding
//! or a hole of a dilation.

use super::moves;
use super::work::Work;
use crate::{ArrayShape, Instruction, Module, WindowDimension};

/// Maximum number of positions. If a window or an output has more positions, the analysis assumes that every position
/// is valid, so that a damaged file cannot stall the analysis.
const MAX_POSITIONS: u64 = 1 << 22;

/// Maximum number of spatial dimensions. A file with more dimensions is damaged.
const MAX_DIMENSIONS: usize = 8;

/// Returns the work of a convolution instruction.
pub(super) fn work(module: &Module, instruction: &Instruction) -> Work {
    let array = |n| module.operand(instruction, n).and_then(|operand| operand.shape.array());
    let flops = match (array(0), array(1), instruction.shape.array()) {
        (Some(input), Some(kernel), Some(output)) => flops(instruction, input, kernel, output),
        _ => None,
    };
    match (flops, module.operand(instruction, 0)) {
        (Some(flops), Some(operand)) => moves::default(module, instruction).product(flops, &operand.shape),
        _ => Work::UNKNOWN,
    }
}

/// Returns the FLOPs: a multiply-add for each combination of input feature of the group, output feature, batch and
/// valid position.
///
/// ```text
/// input   . x x x x .      (. padding)      kernel of 3, stride 1: 4 outputs
/// output 0 [k k k]          2 valid
/// output 1   [k k k]        3 valid
/// output 2     [k k k]      3 valid
/// output 3       [k k k]    2 valid         10 positions in this dimension; dimensions multiply
/// ```
pub(super) fn flops(
    instruction: &Instruction,
    input: &ArrayShape,
    kernel: &ArrayShape,
    output: &ArrayShape,
) -> Option<f64> {
    let own = instruction.attributes();
    let numbers = own.convolution.as_deref()?;
    if own.window.len() > MAX_DIMENSIONS {
        return None;
    }
    let mut positions = 1.0;
    for (i, window) in own.window.iter().enumerate() {
        let input = input.dimension(*numbers.input_spatial.get(i)?)?;
        let kernel = kernel.dimension(*numbers.kernel_spatial.get(i)?)?;
        let output = output.dimension(*numbers.output_spatial.get(i)?)?;
        positions *= valid_positions(window, input, kernel, output);
    }
    let group = |count: i64| count.max(1) as f64;
    let input_features = input.dimension(numbers.input_feature)? as f64 / group(own.feature_group_count);
    let output_features = output.dimension(numbers.output_feature)? as f64;
    let batches = input.dimension(numbers.input_batch)? as f64 / group(own.batch_group_count);
    Some(2.0 * input_features.floor() * output_features * batches.floor() * positions)
}

/// Counts the pairs of an output position and a kernel element for which the kernel element meets an element of the
/// input.
fn valid_positions(window: &WindowDimension, input: u64, kernel: u64, output: u64) -> f64 {
    let base = window.base_dilation.max(1);
    let looked_at = if base == 1 && window.stride > 0 { kernel } else { kernel.saturating_mul(output) };
    if looked_at > MAX_POSITIONS {
        return kernel as f64 * output as f64;
    }
    // The dilated input ends after its last element.
    let end = i64::try_from(input).unwrap_or(i64::MAX).saturating_sub(1).saturating_mul(base).saturating_add(1);
    let (kernel, output) = (kernel as i64, i64::try_from(output).unwrap_or(i64::MAX));
    let mut count = 0.0;
    for k in 0..kernel {
        let offset = k.saturating_mul(window.window_dilation).saturating_sub(window.padding_low);
        if base == 1 && window.stride > 0 {
            // Output o is at o * stride + offset. Counts the outputs from the first one that is not negative to the last
            // one before the end.
            let up = |distance: i64| distance.max(0).saturating_add(window.stride - 1) / window.stride;
            let (first, past) = (up(0i64.saturating_sub(offset)), up(end.saturating_sub(offset)));
            count += past.min(output).saturating_sub(first).max(0) as f64;
            continue;
        }
        for o in 0..output {
            let at = o.saturating_mul(window.stride).saturating_add(offset);
            count += f64::from(u8::from(at >= 0 && at < end && at % base == 0));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(stride: i64, padding_low: i64, window_dilation: i64, base_dilation: i64) -> WindowDimension {
        WindowDimension {
            size: 0,
            stride,
            padding_low,
            padding_high: 0,
            window_dilation,
            base_dilation,
            reversal: false,
        }
    }

    #[test]
    fn padding_and_holes_are_not_counted() {
        assert_eq!(valid_positions(&window(1, 1, 1, 1), 4, 3, 4), 10.0);
        assert_eq!(valid_positions(&window(1, 0, 1, 1), 4, 3, 2), 6.0);
        // With two padded ends, there are 34 positions. The kernel covers each of them once.
        assert_eq!(valid_positions(&window(1, 1, 1, 1), 32, 1, 34), 32.0);
        assert_eq!(valid_positions(&window(1, 0, 1, 2), 3, 1, 5), 3.0);
        assert_eq!(valid_positions(&window(2, 0, 1, 1), 5, 1, 3), 3.0);
        assert_eq!(valid_positions(&window(1, -1, 1, 1), 4, 1, 3), 3.0);
    }

    #[test]
    fn absurd_sizes_end_at_once() {
        assert!(valid_positions(&window(1, 0, 1, 1), u64::MAX, u64::MAX, u64::MAX).is_finite());
        assert_eq!(valid_positions(&window(i64::MAX, i64::MIN, i64::MAX, i64::MIN), 9, 3, 3), 0.0);
    }
}
