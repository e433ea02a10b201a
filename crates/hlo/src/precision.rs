//! Precision that a program requests for its products (`xla.PrecisionConfig`).

use serde_json::Value;

use super::backend_config::{member, parse};
use super::{Instruction, Module, fused};

/// Precision of a product of float32 operands. The lowest precision is first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// The fastest arithmetic of the device: TF32 on NVIDIA's GPUs, one bfloat16 pass on TPUs.
    #[default]
    Default,
    /// TF32 on NVIDIA's GPUs, 3 bfloat16 passes on TPUs.
    High,
    /// Full float32: no tensor cores on NVIDIA's GPUs, 6 bfloat16 passes on TPUs.
    Highest,
}

/// Number of the algorithm that multiplies float32 values without rounding them (`xla.PrecisionConfig.Algorithm`).
const F32_F32_F32: i64 = 11;
/// Name of this algorithm in a backend configuration.
const F32_F32_F32_NAME: &str = "ALG_DOT_F32_F32_F32";

/// Returns the highest precision of the products in an instruction: a dot, a convolution, a fusion that contains either, or
/// a library call whose configuration records the precision. Returns `None` if the instruction contains no product.
pub fn precision(module: &Module, instruction: &Instruction) -> Option<Precision> {
    let of_call = parse(&instruction.attributes().backend_config)
        .filter(|_| instruction.is("custom-call"))
        .and_then(|config| of_config(member(&config, "precision_config")?));
    let inside = fused(module, instruction).iter().filter_map(of_product).max();
    of_product(instruction).max(of_call).max(inside)
}

/// Returns the precision in the attributes of a dot, a convolution, or the library call that replaced one.
fn of_product(instruction: &Instruction) -> Option<Precision> {
    let own = instruction.attributes();
    let is_product = instruction.is("dot") || instruction.is("convolution");
    if !is_product && own.operand_precision.is_empty() {
        return None;
    }
    Some(match own.dot_algorithm {
        0 => own.operand_precision.iter().map(|&it| by_number(it)).max().unwrap_or_default(),
        F32_F32_F32 => Precision::Highest,
        _ => Precision::Default,
    })
}

/// Reads the precision in the configuration of a library call. The configuration contains names or numbers, depending on
/// the version of the compiler.
fn of_config(config: &Value) -> Option<Precision> {
    match config.get("algorithm").and_then(Value::as_str) {
        Some(F32_F32_F32_NAME) => return Some(Precision::Highest),
        Some(name) if name != "ALG_UNSET" => return Some(Precision::Default),
        _ => {}
    }
    let of_operand = |value: &Value| match value.as_str() {
        Some(name) if name.eq_ignore_ascii_case("highest") => Precision::Highest,
        Some(name) if name.eq_ignore_ascii_case("high") => Precision::High,
        _ => value.as_i64().map_or(Precision::Default, by_number),
    };
    config.get("operand_precision")?.as_array()?.iter().map(of_operand).max()
}

fn by_number(number: i64) -> Precision {
    match number {
        1 => Precision::High,
        2 => Precision::Highest,
        _ => Precision::Default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = r#"HloModule jit_f

%gemm_fusion_dot_computation (a: f32[8,8], b: f32[8,8]) -> f32[8,8] {
  %a = f32[8,8]{1,0} parameter(0)
  %b = f32[8,8]{1,0} parameter(1)
  ROOT %dot.2 = f32[8,8]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
}

ENTRY %main (x: f32[8,8], y: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  %y = f32[8,8]{1,0} parameter(1)
  %plain = f32[8,8]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %high = f32[8,8]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={high,default}
  %algorithm = f32[8,8]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_f32_f32_f32
  %sum = f32[8,8]{1,0} add(%x, %y)
  %call = (f32[8,8]{1,0}, s8[64]{0}) custom-call(%x, %y), custom_call_target="__cublas$lt$matmul", backend_config={"gemm_backend_config":{"precision_config":{"operand_precision":["HIGHEST","HIGHEST"],"algorithm":"ALG_UNSET"}}}
  %tf32 = (f32[8,8]{1,0}, s8[64]{0}) custom-call(%x, %y), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"precision_config":{"operand_precision":["DEFAULT","DEFAULT"],"algorithm":"ALG_UNSET"}}}
  ROOT %gemm_fusion_dot = f32[8,8]{1,0} fusion(%x, %y), kind=kCustom, calls=%gemm_fusion_dot_computation
}
"#;

    #[test]
    fn dots_fusions_and_library_calls_have_a_precision() {
        let module = crate::read_proto(PROGRAM.as_bytes());
        let of = |name: &str| precision(&module, module.instruction(name).unwrap());
        assert_eq!(of("plain"), Some(Precision::Default));
        assert_eq!(of("high"), Some(Precision::High));
        assert_eq!(of("algorithm"), Some(Precision::Highest));
        assert_eq!(of("sum"), None);
        assert_eq!(of("call"), Some(Precision::Highest));
        assert_eq!(of("tf32"), Some(Precision::Default));
        assert_eq!(of("gemm_fusion_dot"), Some(Precision::Highest));
    }
}
