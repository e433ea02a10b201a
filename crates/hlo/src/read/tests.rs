//! Tests damaged input: reading ends for any bytes, and every public method of the module returns.

use proptest::prelude::*;
use wire_writer::message;

use super::*;

/// Calls every method for every instruction.
pub(crate) fn ask(module: &Module) {
    for instruction in module.instructions() {
        let _ = crate::expression(module, instruction);
        let _ = crate::category(module, instruction);
        let _ = crate::cost(module, instruction);
        let _ = crate::collective(module, instruction);
        let _ = crate::fused(module, instruction);
        let _ = crate::is_rematerialized(module, instruction);
    }
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    message().bytes(number, content).0
}

fn number(number: u32, value: i64) -> Vec<u8> {
    message().int(number, value).0
}

fn instruction(name: &str, opcode: &str, id: i64, operands: &[i64], called: &[i64]) -> Vec<u8> {
    let mut out = [field(1, name.as_bytes()), field(2, opcode.as_bytes()), number(35, id)].concat();
    out.extend(field(3, &[0x10, 11, 0x1a, 1, 4, 0x2a, 3, 0x0a, 1, 0]));
    operands.iter().for_each(|&id| out.extend(number(36, id)));
    called.iter().for_each(|&id| out.extend(number(38, id)));
    field(2, &out)
}

#[test]
fn a_computation_that_calls_itself_ends() {
    for opcode in ["call", "fusion", "while", "conditional", "map", "reduce", "async-start", "sort"] {
        let body = [
            field(1, b"loop"),
            instruction("x", "parameter", 1, &[], &[]),
            instruction("again", opcode, 2, &[1, 2], &[7]),
            number(5, 7),
            number(6, 2),
        ];
        let bytes = field(3, &body.concat());
        let module = module(&[bytes, number(6, 7)].concat());
        assert_eq!(module.instructions().len(), 2);
        ask(&module);
    }
}

#[test]
fn ids_that_carry_their_computation_are_found_without_it() {
    let high = 9i64 << 32;
    let body = [
        field(1, b"main"),
        instruction("x", "parameter", high | 1, &[], &[]),
        instruction("y", "negate", high | 2, &[1], &[]),
        number(5, 9),
        number(6, 2),
    ];
    let module = module(&[field(3, &body.concat()), number(6, 9), field(1, b"jit_f")].concat());
    let root = module.entry().and_then(|entry| module.root(entry)).map(|root| root.name.as_str());
    assert_eq!((module.name(), root, module.damaged()), ("jit_f", Some("y"), false));
    assert_eq!(module.instruction("%y").map(|y| y.operands.clone()), Some(vec![0]));
}

/// Checks every opcode that the analyses handle, with operands and computations that do not match it.
#[test]
fn incomplete_instructions_are_handled() {
    let opcodes = "add dot ragged-dot convolution fusion reduce reduce-window select-and-scatter scatter gather sort fft while \
        conditional call map all-reduce all-reduce-start all-gather all-gather-start reduce-scatter all-to-all \
        collective-permute collective-permute-start async-start async-done async-update custom-call cholesky \
        triangular-solve slice dynamic-slice dynamic-update-slice pad broadcast concatenate tuple get-tuple-element \
        rng rng-bit-generator batch-norm-training infeed outfeed send recv topk constant iota transpose nonsense";
    let mut body = field(1, b"main");
    for (id, opcode) in (1i64..).zip(opcodes.split_whitespace()) {
        body.extend(instruction(opcode, opcode, id, &[], &[]));
        body.extend(instruction(&format!("{opcode}.1"), opcode, id + 1000, &[id], &[77]));
        body.extend(instruction(&format!("{opcode}.2"), opcode, id + 2000, &[id, id + 1000, 9999], &[9, 9]));
    }
    body.extend(number(5, 9));
    let module = module(&[field(3, &body), number(6, 9)].concat());
    assert!(module.instructions().len() > 100);
    ask(&module);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        ask(&proto(&bytes));
        ask(&module(&bytes));
        ask(&module(&field(3, &field(2, &bytes))));
    }

    #[test]
    fn any_change_of_a_real_module_is_read(at in 0usize..4000, with: u8, cut in 0usize..8000) {
        let mut bytes = include_bytes!("../../../../tests/data/hlo/jit_scan.pb").to_vec();
        bytes.truncate(cut.max(1));
        let at = at % bytes.len();
        bytes[at] = with;
        ask(&module(&bytes));
    }
}

/// Half-precision constants have the same value in the proto, which stores two bytes, and in XLA's text.
#[test]
fn constants_of_two_bytes_are_those_of_the_text() {
    for (name, number, field, bits, text) in [
        ("bf16", 16, 13, 0x3dcd_u16, "0.1001"),
        ("bf16", 16, 13, 0xff80, "-inf"),
        ("bf16", 16, 13, 0x7fc0, "nan"),
        ("f16", 10, 11, 0x2e66, "0.099976"),
        ("f16", 10, 11, 0x0001, "5.9605e-08"),
        ("s16", 3, 17, 0xfff9, "-7"),
        ("u16", 7, 16, 0xffff, "65535"),
    ] {
        let shape = || message().int(2, number);
        let literal = message().message(1, shape()).bytes(field, bits.to_le_bytes());
        let constant = message().bytes(1, "c").bytes(2, "constant").message(3, shape()).message(8, literal).int(35, 1);
        let computation = message().bytes(1, "main").message(2, constant).int(5, 1).int(6, 1);
        let proto = crate::read_module(&message().bytes(1, "m").message(3, computation).int(6, 1).0);
        let text = crate::read_module(
            format!("HloModule m\n\nENTRY %main () -> {name}[] {{\n  ROOT %c = {name}[] constant({text})\n}}\n")
                .as_bytes(),
        );
        let literal = |module: &Module| module.instruction("c").map(|it| it.attributes().literal.clone());
        assert!(literal(&text).is_some_and(|it| !it.is_empty()), "{name}");
        assert_eq!(literal(&text), literal(&proto), "{name}");
    }
}
