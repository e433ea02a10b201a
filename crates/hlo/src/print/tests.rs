use super::*;
use crate::Target;

fn read(name: &str) -> Module {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hlo").join(name);
    crate::read_module(&std::fs::read(path).expect("a sample"))
}

#[test]
fn every_instruction_has_its_line() {
    for name in ["jit_attention.pb", "jit_cond.pb", "jit_scan.pb", "collectives.pb", "library_calls.pb"] {
        let module = read(name);
        let printed = print(&module);
        let lines: Vec<&str> = printed.text.lines().collect();
        assert_eq!(lines.len(), printed.lines.len(), "{name}");
        let mut seen = 0;
        for (text, line) in lines.iter().zip(&printed.lines) {
            if let Line::Instruction(index) = line {
                let expected = module.at(*index).expect("an instruction");
                let text = text.trim_start().trim_start_matches("ROOT ");
                assert!(text.starts_with(&format!("%{} = ", expected.name)), "{name}: {text}");
                seen += 1;
            }
        }
        assert_eq!(seen, module.instructions().len(), "{name}");
        let operands: usize = module.instructions().iter().map(|it| it.operands.len()).sum();
        let to_instructions = printed.links.iter().filter(|link| matches!(link.target, Target::Instruction(_)));
        assert_eq!(to_instructions.count(), operands, "{name}");
        for link in &printed.links {
            let expected = match link.target {
                Target::Instruction(index) => &module.at(index).expect("an instruction").name,
                Target::Computation(index) => &module.computation(index).expect("a computation").name,
            };
            assert_eq!(printed.text.get(link.range.clone()), Some(format!("%{expected}").as_str()), "{name}");
        }
    }
}

#[test]
fn a_computation_is_part_of_the_module() {
    let module = read("jit_scan.pb");
    let whole = print(&module).text;
    for index in 0..module.computations().len() as u32 {
        let part = print_computation(&module, index);
        assert!(!part.text.is_empty() && whole.contains(&part.text), "{}", part.text);
    }
    assert_eq!(print_computation(&module, 9_999), Printed::default());
}

#[test]
fn strings_are_escaped() {
    assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
    let mut out = String::new();
    backend_config("opaque \"text\"", &mut out);
    out.push(' ');
    backend_config("{\"a\":1}", &mut out);
    assert_eq!(out, r#""opaque \"text\"" {"a":1}"#);
}
