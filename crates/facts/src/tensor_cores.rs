//! Kernels that use tensor or matrix cores, ops that could use such cores, and data types (`tensor_cores.csv`).

use std::sync::LazyLock;

use super::pattern::{Name, Pattern, Patterns};
use super::table;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoreKind {
    Uses,
    Type,
    Eligible,
}

struct TensorCoreRow {
    kind: CoreKind,
    pattern: Pattern,
    value: &'static str,
}

static ROWS: LazyLock<Vec<TensorCoreRow>> = LazyLock::new(|| {
    let text = include_str!("tensor_cores.csv");
    table::rows(text).filter_map(|cells| parse(&cells)).collect()
});

fn parse(cells: &[&'static str]) -> Option<TensorCoreRow> {
    let &[kind, how, pattern, value, _source] = cells else { return None };
    let kind = match kind {
        "uses" => CoreKind::Uses,
        "type" => CoreKind::Type,
        "eligible" => CoreKind::Eligible,
        _ => return None,
    };
    Some(TensorCoreRow { kind, pattern: Pattern::parse(how, pattern)?, value })
}

struct OfKind {
    patterns: Patterns,
    /// Value of each pattern, in the order of the patterns.
    values: Vec<&'static str>,
}

impl OfKind {
    fn new(kind: CoreKind) -> OfKind {
        let rows = || ROWS.iter().filter(|row| row.kind == kind);
        let patterns = Patterns::new(rows().map(|row| row.pattern).collect());
        OfKind { patterns, values: rows().map(|row| row.value).collect() }
    }

    fn find(&self, name: &Name) -> Option<&'static str> {
        self.values.get(self.patterns.first_match(name)?).copied()
    }
}

static USES: LazyLock<OfKind> = LazyLock::new(|| OfKind::new(CoreKind::Uses));
static TYPE: LazyLock<OfKind> = LazyLock::new(|| OfKind::new(CoreKind::Type));
static ELIGIBLE: LazyLock<OfKind> = LazyLock::new(|| OfKind::new(CoreKind::Eligible));

/// Returns true if the kernel with this name uses tensor cores. Returns false for unknown names.
pub fn kernel_uses(name: &Name) -> bool {
    USES.find(name) == Some("yes")
}

/// Returns the data type of the matrix product that the kernel computes, in HLO's spelling. Returns `None` if the
/// kernel's name contains no data type.
pub fn data_type(name: &Name) -> Option<&'static str> {
    TYPE.find(name)
}

/// Returns true if a framework op of this type (the last part of its path) could use tensor cores.
pub fn op_eligible(op_type: &Name) -> bool {
    ELIGIBLE.find(op_type) == Some("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("tensor_cores.csv")).count());
        assert!(ROWS.iter().all(|row| row.kind != CoreKind::Uses || matches!(row.value, "yes" | "no")));
    }

    /// Names that a library or compiler gives to kernels. Each entry has the name of a kernel, true if the kernel uses
    /// tensor cores, and the kernel's data type.
    const KERNELS: &[(&str, bool, Option<&str>)] = &[
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_NNN", true, Some("bf16")),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTN", true, Some("f16")),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
            true,
            Some("bf16"),
        ),
        (
            "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4",
            true,
            Some("tf32"),
        ),
        (
            "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize32x32x8_stage3_warpsize1x2x1_g1_ffma_aligna4",
            false,
            Some("f32"),
        ),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", true, Some("f16")),
        ("ampere_bf16_s1688gemm_bf16_128x128_ldg8_f2f_nt", true, Some("bf16")),
        ("ampere_sgemm_128x64_tn", false, Some("f32")),
        ("maxwell_sgemm_128x32_nt", false, Some("f32")),
        ("maxwell_scudnn_winograd_128x128_ldg1_ldg4_mobile_relu_tile148t_nt_v0", false, Some("f32")),
        ("volta_h884gemm_256x128_ldg8_nn", true, None),
        ("turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_interior_nhwc_tn_v1", true, Some("f16")),
        ("cutlass_80_simt_sgemm_128x32_8x5_tn_align1", false, Some("f32")),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_nn_align8>", true, Some("bf16")),
        ("cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64", true, None),
        ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, true>", false, None),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16, float, __nv_bfloat16>", false, Some("bf16")),
        (
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_32_64x256x256_4x1x1_cga1x1x1_kernel0_0",
            true,
            None,
        ),
        ("void fmha_cutlassF_bf16_aligned_64x64_rf_sm80", true, Some("bf16")),
        (
            "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>",
            true,
            Some("bf16"),
        ),
        ("void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64>>", false, None),
        ("void flash_bwd_convert_dq_kernel<Flash_bwd_kernel_traits<128, 64>>", false, None),
        ("gemm_fusion_dot_12", true, None),
        ("triton_softmax_3", false, None),
        ("loop_add_fusion", false, None),
        ("input_reduce_fusion_1.kd", false, None),
        ("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN_1LDSB0", true, Some("bf16")),
        ("Cijk_Alik_Bljk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_CMS", true, Some("f16")),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16_SE_K1", false, Some("f32")),
        (
            "void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync<",
            true,
            None,
        ),
        (
            "void ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::FmhaBwdDQDKDVKernel<ck_tile::BlockFmhaBwdDQDKDVPipeline<",
            true,
            None,
        ),
        ("void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaBwdOGradDotOKernel<", false, None),
        ("void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaBwdConvertQGradKernel<", false, None),
        ("void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<", true, None),
        ("igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt256x128x32_wt32x32x8", true, Some("f16")),
        ("miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", false, None),
        ("transformer_engine::fused_attn_rocm::populate_rng_state_kernel(long*, long const*, long)", false, None),
        ("Im3d2Col.kd", false, None),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", false, Some("bf16")),
        ("__amd_rocclr_copyBuffer.kd", false, None),
        ("Memset (Device)", false, None),
    ];

    #[test]
    fn tensor_cores_and_types_are_detected_by_names() {
        for &(name, uses, data_type) in KERNELS {
            assert_eq!(kernel_uses(&Name::new(name)), uses, "{name}");
            assert_eq!(super::data_type(&Name::new(name)), data_type, "{name}");
        }
    }

    #[test]
    fn products_and_convolutions_are_eligible() {
        let eligible = |op| op_eligible(&Name::new(op));
        assert!(
            ["dot_general", "conv_general_dilated", "MatMul", "Einsum", "Conv2DBackpropFilter"]
                .into_iter()
                .all(eligible)
        );
        assert!(!["add", "transpose", "reduce_sum", "conv", "BiasAdd", ""].into_iter().any(eligible));
    }
}
