//! Precision of float32 products, which may forbid the device's fast arithmetic.

use super::numbers::Numbers;
use facts::Arithmetic;
use hlo::Precision;
use metrics::{Op, OpFamily, is_amd};

/// Arithmetic of a float32 product whose precision forbids a faster arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slower {
    /// Full float32 on an NVIDIA GPU. Other precisions use TF32 on the tensor cores.
    WithoutTensorCores,
    /// Number of bfloat16 passes on a TPU. The default precision uses one pass.
    Passes(u8),
}

impl Slower {
    /// Returns the arithmetic of an op. `None` if the op is not a float32 product, uses the fastest arithmetic for float32, or
    /// is not in the file's HLO.
    pub(crate) fn of(numbers: &Numbers<'_>, op: &Op) -> Option<Slower> {
        let is_product = matches!(op.family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
        if !is_product || op.data_type.is_none_or(|data_type| data_type.name() != "f32") {
            return None;
        }
        let (module, instruction) = numbers.instruction(op)?;
        match hlo::precision(module, instruction)? {
            Precision::Default => None,
            Precision::High => numbers.is_tpu().then_some(Slower::Passes(3)),
            Precision::Highest if numbers.is_tpu() => Some(Slower::Passes(6)),
            Precision::Highest => {
                let has_tf32 = numbers.is_gpu() && !is_amd(&numbers.profile.metadata.device_type);
                (has_tf32 && numbers.has_bf16_units() == Some(true)).then_some(Slower::WithoutTensorCores)
            }
        }
    }

    pub(crate) fn precision(self) -> &'static str {
        if self == Slower::Passes(3) { "HIGH" } else { "HIGHEST" }
    }

    /// Returns the peak of this arithmetic, in FLOP/s. `None` if the peak is unknown.
    pub(crate) fn peak(self, numbers: &Numbers<'_>) -> Option<f64> {
        let rates = &numbers.context.analysis.roofline.peaks.as_ref()?.rates;
        match self {
            Slower::WithoutTensorCores => rates.get(Arithmetic::Fp32),
            Slower::Passes(passes) => Some(rates.get(Arithmetic::Bf16)? / f64::from(passes)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::testing::{SGEMM, gpu_steps, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use trace::{Framework, StatValue, Trace, TraceBuilder};
    use wire_writer::message;

    /// Adds a program with a product of float32 matrices at this precision: 0 default, 1 high, 2 highest.
    fn add_product(b: &mut TraceBuilder, precision: i64) {
        let dot = instruction("dot.1", "dot", "f32[4096,4096]").of(&["x.1", "x.1"]);
        let numbers = message().int(1, 1).int(2, 0);
        let dot = dot.message(30, numbers).message(51, message().int(1, precision).int(1, precision));
        add_program(b, 7, vec![("main", vec![instruction("x.1", "parameter", "f32[4096,4096]"), dot])]);
    }

    /// Builds steps of 1000 us on an H100 in which a product of float32 matrices (137 GFLOP) takes `time` us.
    pub(crate) fn with_precision(time: i64, precision: i64) -> Trace {
        let mut trace = gpu_steps(12, |b, at| {
            let line = b.line("/device:GPU:0", "Stream #7(Compute)");
            if at == 0 {
                add_product(b, precision);
                let stats = [("compute_cap_major", 9), ("core_count", 132), ("clock_rate", 1_980_000)];
                for (name, value) in stats {
                    b.plane_stat("/device:GPU:0", name, StatValue::Int(value));
                }
                b.plane_stat("/device:GPU:0", "compute_cap_minor", StatValue::Int(0));
            }
            let mut add = |name: &str, op: &str, start: i64, length: i64| {
                let event = b.event(line, name, start, length).hlo_op(op).hlo_module("jit_f");
                event.args(|args| args.program_id = Some(7));
            };
            add(SGEMM, "dot.1", at, time);
            add("loop_add_fusion", "add.1", at + time, 1000 - time);
        });
        trace.framework = Framework::Jax;
        trace
    }

    /// Builds TPU steps of 1000 us in which the product of [`with_precision`] takes 500 us.
    pub(crate) fn on_tpu(precision: i64) -> Trace {
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_product(b, precision);
                b.plane_stat("/device:TPU:0", "peak_teraflops_per_second", StatValue::Double(918.0));
                b.plane_stat("/device:TPU:0", "peak_hbm_bw_gigabytes_per_second", StatValue::Double(1640.0));
            }
            let line = b.line("/device:TPU:0", "XLA Ops");
            let dot = b.event(line, "dot.1", at, 500).hlo_category("convolution").hlo_module("jit_f");
            dot.args(|args| {
                (args.program_id, args.flops, args.bytes_accessed) =
                    (Some(7), Some(137_000_000_000), Some(201_000_000));
            });
            op_of(b, 7, ("add.1", "loop fusion"), at + 500, 500);
        })
    }
}
