use super::*;
use trace::TraceBuilder;

fn category_of(name: &str, hlo_op: &str, tf_op: &str) -> String {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:GPU:0", "Stream #1");
    b.event(line, name, 0, 1).hlo_op(hlo_op).tf_op(tf_op);
    let trace = b.build();
    let event = trace.events.iter().next().unwrap();
    category(&trace, event.name, event.args).to_owned()
}

/// The names come from real traces. Rules based on substrings would give these names the wrong category.
#[test]
fn library_kernels_are_what_they_compute() {
    for (name, expected) in [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all-reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce-scatter"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "send-recv"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all-gather"),
        ("ncclDevKernel_Generic_4", "collective"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(", "matmul"),
        ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16>(", "convolution"),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc", "convolution"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "matmul"),
        ("ampere_sgemm_128x64_nn", "matmul"),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "matmul"),
        ("Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16x16x1_SN_1LDSB1.kd", "matmul"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>(", "matmul"),
        ("void explicit_convolve_sgemm<float, int, 1024, 5, 5, 3, 3, 3, 0, false>(", "convolution"),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "convolution"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(", "normalization"),
        ("void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaBwdConvertQGradKernel<", "attention"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7", "attention"),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(", "attention"),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16>(", "softmax"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16>(", "normalization"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(", "elementwise"),
        ("void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>(", "copy"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps>>(", "reduction"),
        ("void at::native::_scatter_gather_elementwise_kernel<128, 4>(", "scatter"),
        ("void fbgemm_gpu::permute_2D_data_kernel<false, int>(", "data formatting"),
        ("void fbgemm_gpu::(anonymous namespace)::_get_FP8_qparam_cuda_kernel<float>(", "other"),
        ("void split_embedding_codegen_forward_unweighted_kernel<c10::Half>(", "embedding"),
        ("void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long>>(", "sort"),
        ("_ZN5Eigen8internal15EigenMetaKernelINS_15TensorEvaluatorIKNS_14TensorAssignOp", "elementwise"),
        ("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(", "convolution"),
        ("MemcpyH2D", "memcpy h2d"),
        ("Memset (Device)", "memset"),
        ("vendor_kernel_17", "other"),
    ] {
        assert_eq!(category_of(name, "", ""), expected, "{name}");
    }
}

#[test]
fn a_custom_call_is_what_its_kernel_or_its_function_computes() {
    let path = |of: &str| format!("jit(step_fun)/model/attention/{of}/pallas_call:");
    for (name, of, expected) in [
        ("RPA-bq_32-bkvp_32-p_128-.37", "jit(ragged_paged_attention)/RPA-bq_32-bkvp_32-p_128-", "attention"),
        ("quantized_matmul_kernel_512_6400_1024.93", "quantized_matmul_kernel_512_6400_1024", "matmul"),
        ("tpu_custom_call.3", "jit(splash_attention)/shard_map/splash_mha_fwd", "attention"),
        ("tpu_custom_call.4", "jit(ring_permutation)/kernel", "custom-call"),
        ("custom-call.7", "", "custom-call"),
    ] {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        let category = b.trace_mut().strings.intern("custom-call");
        b.event(line, name, 0, 1).tf_op(&path(of)).args(|args| args.hlo_category = category);
        let trace = b.build();
        let event = trace.events.iter().next().unwrap();
        let mut categorizer = Categorizer::new(&trace, &Recognised::default());
        let found = categorizer.of(event.name, event.args);
        assert_eq!(categorizer.name(found), expected, "{name}");
    }
}

#[test]
fn instructions_are_recognised_by_their_names() {
    for (name, expected) in [
        ("convolution_add_fusion", "convolution"),
        ("convolution.3", "convolution"),
        ("convert_fusion.2", "loop fusion"),
        ("dot.3", "matmul"),
        ("gemm_fusion_dot_general.1", "matmul"),
        ("loop_add_tanh_fusion", "loop fusion"),
        ("broadcast_add_fusion.1", "loop fusion"),
        ("wrapped_broadcast", "elementwise"),
        ("wrapped_sqrt.2", "elementwise"),
        ("input_reduce_fusion.1", "reduction"),
        ("triton_softmax.4", "softmax"),
        ("loop_all_gather_fusion", "all-gather"),
        ("all-reduce-start.7", "all-reduce"),
        ("reduce-scatter.1", "reduce-scatter"),
        ("collective-permute-done.2", "collective-permute"),
        ("all-to-all", "all-to-all"),
        ("input_concatenate_fusion", "data formatting"),
        ("loop_transpose_fusion.1", "data formatting"),
        ("copy.7", "copy"),
        ("copy-done.2", "copy-done"),
        ("while.3", "while"),
        ("fusion.44", "fusion"),
        ("ynn_fusion.18", "custom fusion"),
        ("custom-call.1", "custom-call"),
    ] {
        assert_eq!(category_of(name, name, ""), expected, "{name}");
    }
}

#[test]
fn the_framework_op_decides_if_names_do_not() {
    assert_eq!(category_of("fusion_44", "fusion.44", "jit(f)/jit(main)/reduce_sum:"), "reduction");
    assert_eq!(category_of("vendor_kernel", "custom-call.1", "jit(f)/dot_general"), "matmul");
    assert_eq!(category_of("vendor_kernel", "", "block_1/conv:Conv2DBackpropFilter"), "convolution");
    assert_eq!(category_of("vendor_kernel", "custom-call.1", "XlaModule:"), "custom-call");
    assert_eq!(category_of("Cijk_Ailk_Bljk", "custom-call.1", "jit(f)/dot_general"), "matmul");
}

#[test]
fn xlas_own_category_is_kept() {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:TPU:0", "XLA Ops");
    b.event(line, "broadcast_add_fusion.1", 0, 1).hlo_category("loop fusion");
    let trace = b.build();
    let event = trace.events.iter().next().unwrap();
    let own = category(&trace, event.name, event.args);
    assert_eq!((own, family_of(own).class()), ("loop fusion", OpClass::Compute));
    let mut categorizer = Categorizer::new(&trace, &Recognised::default());
    let id = categorizer.of(event.name, event.args);
    assert_eq!((categorizer.name(id), categorizer.family(id)), ("loop fusion", OpFamily::Elementwise));
}

#[test]
fn every_category_has_the_colour_of_what_it_does() {
    for (category, family) in hlo_categories::all() {
        assert_eq!(family_of(category).label(), family, "{category}");
    }
    assert_eq!(family_of("All-Reduce-Start"), OpFamily::Communication);
    assert_eq!(family_of("copy-done"), OpFamily::DataMovement);
    assert_eq!(family_of("dot_general"), OpFamily::Matmul);
    assert_eq!(family_of("something new"), OpFamily::OtherCompute);
    assert_eq!(family_of("GEMM"), OpFamily::Matmul);
}
