//! Tests of whole scripts. python/tests/test_reproduce.py runs the scripts of real programs with JAX.

use base::Ps;
use hlo::Module;
use proptest::prelude::*;

use crate::{Measured, Unsupported, script};

fn module(text: &str) -> Module {
    let module = hlo::read_module(text.as_bytes());
    assert!(!module.damaged(), "{text}");
    module
}

fn made(module: &Module, op: &str) -> Result<String, Unsupported> {
    script(module, "jit_f(1)", module.instruction(op).expect("an instruction"), None)
}

/// Returns the definition of `op`.
fn definition(text: &str, op: &str) -> String {
    let script = made(&module(text), op).expect("a script");
    script.split("def op(").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a definition").to_owned()
}

const DOT: &str = "\
HloModule jit_f

ENTRY %main (a: bf16[8,16], b: bf16[16,4]) -> f32[8,4] {
  %a = bf16[8,16]{0,1} parameter(0)
  %b = bf16[16,4]{1,0} parameter(1)
  ROOT %dot.1 = f32[8,4]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}, metadata={op_name=\"jit(f)/layer/dot_general\" source_file=\"f.py\" source_line=3}
}
";

#[test]
fn a_dot_has_its_dimensions_types_and_layouts() {
    let script = made(&module(DOT), "dot.1").expect("a script");
    for expected in [
        "def op(a, b):\n    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), precision=(lax.Precision.HIGHEST, \
         lax.Precision.HIGHEST), preferred_element_type=jnp.float32)\n",
        "jax.device_put(random(0, (8, 16), jnp.bfloat16), placement(2, order=(1, 0))),  # a: bf16[8,16]{0,1}\n",
        "jax.device_put(random(1, (16, 4), jnp.bfloat16), placement(2)),  # b: bf16[16,4]{1,0}\n",
        "RESULT = [\n    ((8, 4), jnp.float32),  # f32[8,4]{1,0}\n]\n",
        "# JAX name:   jit(f)/layer/dot_general\n",
        "# Source:     f.py:3\n",
        "# Work:       1.02 kFLOP per call\n",
    ] {
        assert!(script.contains(expected), "{expected}\n{script}");
    }
    assert!(!script.contains("enable_x64"));
}

#[test]
fn the_head_has_the_numbers_of_the_trace() {
    let module = module(DOT);
    let measured = Measured {
        device: "TPU v6e".to_owned(),
        executions: 4,
        time: Ps::from_us(8),
        flops: Some(4096.0),
        bytes: Some(2048.0),
        bound_by: "HBM".to_owned(),
        peak_flops_per_s: Some(918e12),
        peak_bytes_per_s: Some(1.64e12),
        roofline_efficiency: Some(0.25),
    };
    let dot = module.instruction("dot.1").expect("the dot");
    let script = script(&module, "jit_f(1)", dot, Some(&measured)).expect("a script");
    for expected in [
        "# Program:    jit_f(1)\n",
        "# Time:       2.00 µs per call (mean of 4 calls on TPU v6e)\n",
        "# Work:       1.02 kFLOP per call, 512 MFLOP/s (peak 918 TFLOP/s)\n",
        "# Memory:     512 B per call, 256 MB/s (peak 1.64 TB/s)\n",
        "# Bound by:   HBM, 25 % of the roofline\n",
    ] {
        assert!(script.contains(expected), "{expected}\n{script}");
    }
}

#[test]
fn a_fusion_is_a_function_with_one_call_per_instruction() {
    let text = "\
HloModule jit_f

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x, %y)
}

%fused (p0: f32[4,8], p1: s32[2,1]) -> f32[2] {
  %p0 = f32[4,8]{1,0} parameter(0)
  %p1 = s32[2,1]{1,0} parameter(1)
  %half = f32[] constant(0.5)
  %halves = f32[4,8]{1,0} broadcast(%half), dimensions={}
  %scaled = f32[4,8]{1,0} multiply(%p0, %halves)
  %rows = f32[2,8]{1,0} gather(%scaled, %p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
  %zero = f32[] constant(0)
  ROOT %total = f32[2]{0} reduce(%rows, %zero), dimensions={1}, to_apply=%sum
}

ENTRY %main (a: f32[4,8], i: s32[2,1]) -> f32[2] {
  %a = f32[4,8]{1,0} parameter(0)
  %i = s32[2,1]{1,0} parameter(1)
  ROOT %fusion.1 = f32[2]{0} fusion(%a, %i), kind=kLoop, calls=%fused
}
";
    let script = made(&module(text), "fusion.1").expect("a script");
    let expected = "\
def fused(p0, p1):
    half = jnp.float32(0.5)
    halves = lax.broadcast_in_dim(half, (4, 8), ())
    scaled = lax.mul(p0, halves)
    rows = lax.gather(scaled, p1, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 8), mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    zero = jnp.float32(0)
    total = lax.reduce(rows, zero, lax.add, (1,))
    return total


def op(a, i):
    return fused(a, i)
";
    assert!(script.contains(expected), "{script}");
    // The table has four rows, so the indices are below 4.
    assert!(script.contains("indices(1, (2, 1), jnp.int32, 4)"), "{script}");
}

#[test]
fn bitcasts_go_through_the_order_of_memory() {
    let text = "\
HloModule jit_f

%fused (p: f32[2,3,4]) -> f32[4,6] {
  %p = f32[2,3,4]{0,1,2} parameter(0)
  ROOT %b = f32[6,4]{0,1} bitcast(%p)
}

ENTRY %main (a: f32[2,3,4]) -> f32[6,4] {
  %a = f32[2,3,4]{0,1,2} parameter(0)
  ROOT %fusion = f32[6,4]{0,1} fusion(%a), kind=kLoop, calls=%fused
}
";
    let script = made(&module(text), "fusion").expect("a script");
    let expected = "b = lax.transpose(lax.reshape(lax.transpose(p, (2, 1, 0)), (4, 6)), (1, 0))\n";
    assert!(script.contains(expected), "{script}");
    assert!(script.contains("return jax.jit(op, out_shardings=placement(2, order=(1, 0)))"), "{script}");
}

#[test]
fn loops_start_from_the_constants_of_the_program() {
    let text = "\
HloModule jit_f

%body (s: (s32[], f32[4])) -> (s32[], f32[4]) {
  %s = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %v = f32[4]{0} get-tuple-element(%s), index=1
  ROOT %t = (s32[], f32[4]{0}) tuple(%next, %v)
}

%condition (c: (s32[], f32[4])) -> pred[] {
  %c = (s32[], f32[4]{0}) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(7)
  ROOT %less = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x: f32[4]) -> (s32[], f32[4]) {
  %x = f32[4]{0} parameter(0)
  %start = s32[] constant(3)
  %copied = s32[] copy(%start)
  %init = (s32[], f32[4]{0}) tuple(%copied, %x)
  ROOT %while.1 = (s32[], f32[4]{0}) while(%init), condition=%condition, body=%body
}
";
    assert_eq!(definition(text, "while.1"), "x):\n    return lax.while_loop(condition, body, (jnp.int32(3), x))");
}

fn collective(groups: &str, opcode: &str) -> String {
    format!(
        "HloModule jit_f, num_partitions=4\n\n%sum (x: f32[], y: f32[]) -> f32[] {{\n  %x = f32[] parameter(0)\n  \
         %y = f32[] parameter(1)\n  ROOT %add = f32[] {opcode}(%x, %y)\n}}\n\nENTRY %main (a: f32[8,4]) -> f32[8,4] \
         {{\n  %a = f32[8,4]{{1,0}} parameter(0)\n  ROOT %ar = f32[8,4]{{1,0}} all-reduce(%a), channel_id=1, \
         replica_groups={groups}, use_global_device_ids=true, to_apply=%sum\n}}\n"
    )
}

#[test]
fn collectives_have_a_mesh_of_their_groups() {
    let script = made(&module(&collective("{{0,2},{1,3}}", "add")), "ar").expect("a script");
    for expected in [
        "DEVICES = 4\n",
        "MESH = Mesh(np.array(jax.devices())[np.array([[0, 2], [1, 3]])], (\"group\", \"member\"))\n",
        "return lax.psum(a, \"member\")\n",
        "jax.device_put(random(0, (32, 4), jnp.float32), placement(2)),",
        "into = (P(MESH.axis_names),)\n    outof = P(MESH.axis_names)\n",
    ] {
        assert!(script.contains(expected), "{expected}\n{script}");
    }
    let iota = made(&module(&collective("[1,4]<=[4]", "maximum")), "ar").expect("a script");
    assert!(iota.contains("np.array([0, 1, 2, 3])], (\"member\",))") && iota.contains("lax.pmax("), "{iota}");
    let uneven = made(&module(&collective("{{0,1,2},{3}}", "add")), "ar").expect_err("no script");
    assert_eq!(uneven.to_string(), "JAX has no call for a collective whose groups have different sizes");
    let product = made(&module(&collective("{{0,1},{2,3}}", "multiply")), "ar").expect_err("no script");
    assert_eq!(product.to_string(), "JAX has no call for an all-reduce that is not a sum, maximum or minimum");
}

#[test]
fn cudnn_attention_is_the_call_of_jax() {
    let text = "\
HloModule jit_f

ENTRY %main (q: bf16[2,64,8,32], k: bf16[2,96,8,32], v: bf16[2,96,8,32]) -> (bf16[2,8,64,32], u8[0]) {
  %q = bf16[2,64,8,32]{3,2,1,0} parameter(0)
  %k = bf16[2,96,8,32]{3,2,1,0} parameter(1)
  %v = bf16[2,96,8,32]{3,2,1,0} parameter(2)
  ROOT %attention = (bf16[2,8,64,32]{3,2,1,0}, u8[0]{0}) custom-call(%q, %k, %v), custom_call_target=\"__cudnn$fmhaSoftmax\", backend_config={\"cudnn_fmha_backend_config\":{\"fmha_scale\":0.125,\"intermediate_tensor_shape\":{\"dimensions\":[\"2\",\"8\",\"64\",\"96\"]},\"mask_type\":\"CAUSAL\"}}
}
";
    assert_eq!(
        definition(text, "attention"),
        "q, k, v):\n    return (lax.transpose(jax.nn.dot_product_attention(q, k, v, scale=0.125, is_causal=True, \
         implementation=\"cudnn\" if jax.default_backend() == \"gpu\" else None), (0, 2, 1, 3)),)"
    );
}

/// The variable of the forward convolution must not hide an operand with the same name.
#[test]
fn gradients_of_convolutions_are_transposed_convolutions() {
    let text = "\
HloModule jit_f

ENTRY %main (g: f32[2,16,15,17], x: f32[16,8,3,5]) -> (f32[2,8,15,17], u8[1000]) {
  %g = f32[2,16,15,17]{3,2,1,0} parameter(0)
  %x = f32[16,8,3,5]{3,2,1,0} parameter(1)
  ROOT %conv = (f32[2,8,15,17]{3,2,1,0}, u8[1000]{0}) custom-call(%g, %x), window={size=3x5 pad=1_1x2_2}, dim_labels=bf01_oi01->bf01, custom_call_target=\"__cudnn$convBackwardInput\"
}
";
    assert_eq!(
        definition(text, "conv"),
        "g, x):\n    return (jax.linear_transpose(lambda _x: lax.conv_general_dilated(_x, x, (1, 1), ((1, 1), (2, 2)), \
         dimension_numbers=lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))), \
         jax.ShapeDtypeStruct((2, 8, 15, 17), jnp.float32))(g)[0],)"
    );
}

#[test]
fn a_kernel_without_a_call_is_named() {
    let call = |target: &str, path: &str| {
        let text = format!(
            "HloModule jit_f\n\nENTRY %main (a: f32[4]) -> f32[4] {{\n  %a = f32[4]{{0}} parameter(0)\n  ROOT %call = \
             f32[4]{{0}} custom-call(%a), custom_call_target=\"{target}\", metadata={{op_name=\"{path}\"}}\n}}\n"
        );
        made(&module(&text), "call").expect_err("no script").to_string()
    };
    assert_eq!(
        call("__gpu$xla.gpu.triton", "jit(f)/pallas_call[name=rms_norm]"),
        "JAX has no call for the custom call __gpu$xla.gpu.triton: it is a Triton kernel (JAX name: \
         jit(f)/pallas_call[name=rms_norm])"
    );
    assert_eq!(
        call("my_kernel", ""),
        "JAX has no call for the custom call my_kernel: it is a kernel that is not part of JAX"
    );
    let nothing = made(&module(DOT), "a").expect_err("no script");
    assert_eq!(nothing.to_string(), "a is a parameter, which computes nothing");
}

#[test]
fn text_of_a_program_is_never_code() {
    use wire_writer::message;
    let evil = "x\"\"\"\nimport os; os.system('x')\r#";
    let shape = || message().int(2, 11).int(3, 8);
    let metadata = || message().bytes(2, evil).bytes(3, evil).int(4, 3);
    let first = message().bytes(1, evil).bytes(2, "parameter").message(3, shape()).message(7, metadata()).int(35, 1);
    let second = message()
        .bytes(1, format!("{evil}2"))
        .bytes(2, "sine")
        .message(3, shape())
        .message(7, metadata())
        .int(35, 2)
        .int(36, 1);
    let computation = message().bytes(1, evil).message(2, first).message(2, second).int(5, 1).int(6, 2);
    let module = hlo::read_module(&message().bytes(1, evil).message(3, computation).int(6, 1).0);
    let sine = module.instructions().iter().find(|it| it.is("sine")).expect("the sine");
    let script = script(&module, evil, sine, None).expect("a script");
    let code: Vec<&str> = script.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
    assert!(!code.iter().any(|line| line.contains("import os") || line.contains("system(")), "{script}");
    assert!(script.contains("import_os"), "the name is still recognisable: {script}");
    assert!(script.lines().all(|line| !line.contains('\r')));
}

#[test]
fn absurd_programs_end() {
    // A computation that calls itself, and a chain of calls that is deeper than the limit.
    let cyclic = "\
HloModule m

%f (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %again = f32[4]{0} call(%p), to_apply=%f
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  ROOT %call = f32[4]{0} call(%a), to_apply=%f
}
";
    let cyclic = hlo::read_module(cyclic.as_bytes());
    assert!(made(&cyclic, "call").is_err());
    let mut deep = "HloModule m\n\n%f0 (p: f32[4]) -> f32[4] {\n  ROOT %p0 = f32[4]{0} parameter(0)\n}\n".to_owned();
    for n in 1..200 {
        deep += &format!(
            "\n%f{n} (p: f32[4]) -> f32[4] {{\n  %p{n} = f32[4]{{0}} parameter(0)\n  ROOT %c{n} = f32[4]{{0}} \
             call(%p{n}), to_apply=%f{}\n}}\n",
            n - 1
        );
    }
    deep += "\nENTRY %main (a: f32[4]) -> f32[4] {\n  %a = f32[4]{0} parameter(0)\n  ROOT %call = f32[4]{0} call(%a), to_apply=%f199\n}\n";
    assert!(made(&module(&deep), "call").expect_err("too deep").to_string().contains("too many for a script"));
}

fn fixtures() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hlo");
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("the samples").flatten().map(|it| it.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pb"));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a sample")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any damage to a program, the result is a script or a reason in one line.
    #[test]
    fn any_change_of_a_real_module_gives_a_script_or_a_reason(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let files = fixtures();
        let mut bytes = file.get(&files).clone();
        for (place, value) in changes {
            *place.get_mut(&mut bytes) = value;
        }
        let module = hlo::read_module(&bytes);
        for instruction in module.instructions() {
            if let Err(reason) = script(&module, "m", instruction, None) {
                let text = reason.to_string();
                prop_assert!(!text.is_empty() && !text.contains('\n'), "{}", text);
            }
        }
    }
}
