//! Compares pairs of compilations with a known difference (tests/data/program-changes), programs with themselves in
//! another order and without one instruction, and damaged programs.

use std::collections::BTreeMap;
use std::io::Read;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::cost::Conventions;
use crate::instruction::Instruction;

/// Returns the files of a fixture archive, by name.
fn files(name: &str) -> BTreeMap<String, Vec<u8>> {
    let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut tar).unwrap();
    let mut files = BTreeMap::new();
    let mut rest = tar.as_slice();
    while rest.len() > 512 && rest[0] != 0 {
        let text = |from: usize, to: usize| String::from_utf8_lossy(&rest[from..to]).trim_matches('\0').to_owned();
        let size = usize::from_str_radix(text(124, 135).trim(), 8).unwrap();
        let prefix = text(345, 500);
        let name = if prefix.is_empty() { text(0, 100) } else { format!("{prefix}/{}", text(0, 100)) };
        files.insert(name, rest[512..512 + size].to_vec());
        rest = &rest[512 + size.next_multiple_of(512)..];
    }
    files
}

/// A pair of programs from the fixture, at one stage of the compilation, with the expected result that the fixture's
/// script computed.
struct Case {
    a: Module,
    b: Module,
    found: Difference,
    truth: Value,
}

fn case(files: &BTreeMap<String, Vec<u8>>, name: &str, stage: &str) -> Case {
    let [a, b] = ["a", "b"].map(|side| {
        let is_it = |path: &&String| {
            path.starts_with(&format!("{name}/{side}/")) && path.ends_with(&format!("{stage}_optimizations.txt"))
        };
        crate::read_module(&files[files.keys().find(is_it).unwrap()])
    });
    let truth: Value = serde_json::from_slice(&files["truth.json"]).unwrap();
    Case { found: Difference::of(&a, &b), a, b, truth: truth[name].clone() }
}

impl Case {
    fn added(&self) -> Vec<&Instruction> {
        self.found.new.iter().map(|&at| self.b.at(at).unwrap()).collect()
    }

    fn gone(&self) -> Vec<&Instruction> {
        self.found.gone.iter().map(|&at| self.a.at(at).unwrap()).collect()
    }

    /// Instructions of `b` that differ in an aspect.
    fn changed(&self, aspect: Aspect) -> Vec<&Instruction> {
        let with_it = self.found.changed.iter().filter(|it| it.aspects.contains(&aspect));
        with_it.map(|it| self.b.at(it.b).unwrap()).collect()
    }

    fn number(&self, key: &str) -> usize {
        usize::try_from(self.truth[key].as_u64().unwrap()).unwrap()
    }
}

fn count(instructions: &[&Instruction], opcode: &str) -> usize {
    instructions.iter().filter(|it| it.is(opcode)).count()
}

fn all_in(instructions: &[&Instruction], scope: &str) -> bool {
    instructions.iter().all(|it| it.metadata.op_name.contains(scope))
}

const CASES: [&str; 8] = ["activation", "data_type", "fusion", "layer", "layout", "names", "order", "sharding"];

/// For each opcode, the pairs and the unmatched instructions add up to the number of instructions in XLA's text.
#[test]
fn pairs_and_rest_add_up_to_the_programs() {
    let files = files("program-changes/pairs.tar.gz");
    let mut checked = 0;
    for name in CASES {
        for stage in ["before", "after"] {
            let case = case(&files, name, stage);
            let truth = |side: &str| case.truth[stage][side].as_object().unwrap().clone();
            let (in_a, in_b) = (truth("a"), truth("b"));
            let number =
                |of: &serde_json::Map<String, Value>, opcode: &str| of.get(opcode).map_or(0, |it| it.as_u64().unwrap());
            for opcode in in_a.keys().chain(in_b.keys()) {
                let pairs_a = number(&in_a, opcode) - count(&case.gone(), opcode) as u64;
                let pairs_b = number(&in_b, opcode) - count(&case.added(), opcode) as u64;
                assert_eq!(pairs_a, pairs_b, "{name} {stage} {opcode}");
                checked += 1;
            }
            let pairs = case.found.same + case.found.changed.len();
            assert_eq!(pairs + case.found.gone.len(), case.a.instructions().len(), "{name} {stage}");
            assert_eq!(pairs + case.found.new.len(), case.b.instructions().len(), "{name} {stage}");
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn other_names_and_another_order_are_no_difference() {
    let files = files("program-changes/pairs.tar.gz");
    for (name, stage) in [("names", "before"), ("names", "after"), ("order", "before"), ("order", "after")] {
        let case = case(&files, name, stage);
        assert_eq!(case.truth["same"], true);
        assert!(case.found.is_empty(), "{name} {stage}: {:?}", case.found);
    }
}

#[test]
fn one_more_layer_is_new_and_nothing_is_gone() {
    let files = files("program-changes/pairs.tar.gz");
    let before = case(&files, "layer", "before");
    let (new, more) = (before.added(), before.b.instructions().len() - before.a.instructions().len());
    assert!(before.gone().is_empty());
    assert_eq!((new.len(), count(&new, "dot")), (more, before.number("new_dots")));
    let in_scope = new.iter().filter(|it| it.metadata.op_name.contains("layer_3")).count();
    assert_eq!(in_scope, before.truth["new_scope"]["layer_3"].as_u64().unwrap() as usize);
    // The remaining instructions update the two parameters of the layer, or are inside its two sums.
    let rest: Vec<_> = new.iter().filter(|it| !it.metadata.op_name.contains("layer_3")).collect();
    assert!(rest.iter().all(|it| it.metadata.op_name.contains("/optimizer/") || it.metadata.op_name == "reduce_sum"));
    // The loss reads a different layer, its gradient reads a different product, and the result has two more elements.
    let changed: Vec<_> = before.found.changed.iter().map(|it| it.aspects.as_slice()).collect();
    assert_eq!(changed, [&[Aspect::Operands][..], &[Aspect::Operands], &[Aspect::Shape, Aspect::Operands]]);
    let after = case(&files, "layer", "after");
    assert_eq!(count(&after.added(), "dot") - count(&after.gone(), "dot"), after.number("new_dots"));
}

#[test]
fn another_activation_is_new_and_gone_in_its_layer() {
    let files = files("program-changes/pairs.tar.gz");
    for stage in ["before", "after"] {
        let case = case(&files, "activation", stage);
        for (side, list) in [("new", case.added()), ("gone", case.gone())] {
            for (opcode, number) in case.truth[side].as_object().unwrap() {
                assert_eq!(count(&list, opcode) as u64, number.as_u64().unwrap(), "{stage} {side} {opcode}");
            }
            let named: Vec<_> = list.into_iter().filter(|it| !it.metadata.op_name.is_empty()).collect();
            assert!(all_in(&named, case.truth["scope"].as_str().unwrap()), "{stage} {side}: {named:?}");
        }
        assert!(case.changed(Aspect::Shape).is_empty() && case.changed(Aspect::DataType).is_empty());
    }
    // In the program that runs, the difference is inside two fusions of that layer.
    let after = case(&files, "activation", "after");
    let fusions = after.changed(Aspect::Contents);
    assert!(fusions.len() == 2 && all_in(&fusions, "layer_1"), "{fusions:?}");
}

#[test]
fn another_data_type_changes_the_products_of_its_layer() {
    let files = files("program-changes/pairs.tar.gz");
    let case = case(&files, "data_type", "before");
    let scope = case.truth["scope"].as_str().unwrap();
    let changed = case.changed(Aspect::DataType);
    assert_eq!(count(&changed, "dot"), case.number("changed_dots"));
    assert!(all_in(&changed, scope), "{changed:?}");
    assert!(case.gone().is_empty() && case.added().iter().all(|it| it.is("convert")) && all_in(&case.added(), scope));
}

#[test]
fn another_sharding_changes_the_weights() {
    let files = files("program-changes/pairs.tar.gz");
    let before = case(&files, "sharding", "before");
    assert_eq!(before.changed(Aspect::Sharding).len(), before.number("parameters"));
    assert!(before.found.changed.iter().all(|it| it.aspects == [Aspect::Sharding]));
    assert!(before.added().is_empty() && before.gone().is_empty());
    // Each device has a different part of the weights, and the products are the same.
    let after = case(&files, "sharding", "after");
    let weights = after.changed(Aspect::Shape).into_iter().filter(|it| it.metadata.op_name.contains("['w']"));
    assert_eq!(weights.filter(|it| it.is("parameter")).count(), after.number("parameters"));
    assert_eq!((count(&after.added(), "dot"), count(&after.gone(), "dot")), (0, 0));
    let text = &before.found.texts(&before.a, &before.b, &before.found.changed[0], Aspect::Sharding);
    assert!(text[0].starts_with("{devices=[1,2,4]") && text[1].starts_with("{devices=[2,1,4]"), "{text:?}");
}

#[test]
fn another_layout_changes_its_argument() {
    let files = files("program-changes/pairs.tar.gz");
    let case = case(&files, "layout", "after");
    let arguments: Vec<_> = case.found.changed.iter().filter(|it| it.aspects == [Aspect::Layout]).collect();
    let paths: Vec<_> = arguments.iter().map(|it| case.b.at(it.b).unwrap().metadata.op_name.as_str()).collect();
    assert!(paths.contains(&case.truth["parameter"].as_str().unwrap()), "{paths:?}");
    assert!(case.added().iter().filter(|it| it.is("copy")).count() == 2 && case.gone().is_empty());
}

/// Without the fusion pass, the same work is in different fusions, but no product is new or gone.
#[test]
fn other_fusions_do_the_same_products() {
    let files = files("program-changes/pairs.tar.gz");
    let before = case(&files, "fusion", "before");
    assert!(before.found.is_empty());
    let after = case(&files, "fusion", "after");
    assert_eq!((count(&after.added(), "dot"), count(&after.gone(), "dot")), (0, 0));
    let fusions = |list: &[&Instruction]| count(list, "fusion");
    assert!(fusions(&after.added()) > 20 && fusions(&after.gone()) < 6, "{:?}", after.gone());
    assert!(after.changed(Aspect::Contents).len() > 5);
}

/// A product has 2 n m k FLOPs, and one more layer adds three such products.
#[test]
fn totals_count_one_execution() {
    let files = files("program-changes/pairs.tar.gz");
    let case = case(&files, "layer", "before");
    let [a, b] = [&case.a, &case.b].map(|module| Totals::of(module, Conventions::Cpu));
    let products = 3.0 * 2.0 * 16.0 * 32.0 * 32.0;
    assert!(b.flops - a.flops > products && b.flops - a.flops < 1.2 * products, "{} {}", a.flops, b.flops);
    assert_eq!((a.instructions, b.instructions), (110, 139));
    assert_eq!((a.unknown, b.unknown), (0, 0));
}

/// A random number generator whose numbers depend only on the seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Returns the module with other names, and the instructions of each computation in another order, operands before their
/// users.
fn shuffled(module: &Module, seed: u64) -> Module {
    let mut dice = Dice(seed);
    let mut out = module.clone();
    let mut place = vec![0u32; module.instructions.len()];
    let mut order: Vec<u32> = Vec::new();
    for computation in &module.computations {
        let mut rest: Vec<u32> = computation.instructions.clone().collect();
        while !rest.is_empty() {
            let ready: Vec<usize> = (0..rest.len())
                .filter(|&at| module.instructions[rest[at] as usize].operands.iter().all(|it| !rest.contains(it)))
                .collect();
            // Cyclic programs keep the rest of their order.
            let next = if ready.is_empty() { 0 } else { ready[dice.below(ready.len())] };
            place[rest[next] as usize] = order.len() as u32;
            order.push(rest.remove(next));
        }
    }
    out.instructions = order.iter().map(|&at| module.instructions[at as usize].clone()).collect();
    for (at, instruction) in out.instructions.iter_mut().enumerate() {
        instruction.name = format!("{}.{}", instruction.opcode, 5000 + (at * 7919 + seed as usize) % 100_003);
        instruction.operands.iter_mut().for_each(|operand| *operand = place[*operand as usize]);
    }
    for computation in &mut out.computations {
        computation.root = computation.root.map(|root| place[root as usize]);
    }
    out.schedule = Vec::new();
    out.by_name = crate::by_name::ByName::new(&out.instructions);
    out
}

/// Returns JAX programs: the programs with text, and the training steps whose phases are known.
fn programs() -> Vec<(String, Module)> {
    let is_program = |path: &String| path.ends_with(".pb") && !path.contains('/');
    let mut all: Vec<(String, Module)> = files("hlo-text/programs.tar.gz")
        .into_iter()
        .filter(|(path, _)| is_program(path))
        .map(|(path, bytes)| (path, crate::read_module(&bytes)))
        .collect();
    for name in ["adamw", "clipped", "checkpointed", "accumulated.optimized", "adamw.optimized"] {
        let path = format!("{}/../../tests/data/phases/{name}.pb.gz", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
        all.push((name.to_owned(), crate::read_module(&bytes)));
    }
    all
}

#[test]
fn programs_in_another_order_do_not_differ() {
    let programs = programs();
    for (name, module) in &programs {
        for seed in 0..30 {
            let found = Difference::of(module, &shuffled(module, seed));
            assert!(found.is_empty(), "{name} {seed}: {:?}", found.changed);
            // The programs are also compared without framework paths.
            let (mut a, mut b) = (module.clone(), shuffled(module, seed));
            a.instructions.iter_mut().chain(&mut b.instructions).for_each(|it| it.metadata.op_name.clear());
            let found = Difference::of(&a, &b);
            assert!(found.is_empty(), "{name} {seed} without paths: {found:?}");
        }
    }
    assert!(programs.len() > 60, "{}", programs.len());
}

#[test]
fn text_equals_proto() {
    let files = files("hlo-text/programs.tar.gz");
    let mut checked = 0;
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".pb") && !path.contains('/')) {
        let text = crate::read_module(&files[&path.replace(".pb", ".txt")]);
        let found = Difference::of(&crate::read_module(bytes), &text);
        assert!(found.is_empty(), "{path}: {found:?}");
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}

/// The test removes an instruction that only passes on one operand of the same shape. Nothing else is gone, and nothing is new.
#[test]
fn one_instruction_less_is_one_gone() {
    let mut checked = 0;
    for (name, module) in programs() {
        for (at, instruction) in module.instructions.iter().enumerate() {
            let same_shape = |operand: &Instruction| operand.shape == instruction.shape;
            let [operand] = instruction.operands[..] else { continue };
            let is_root = module.computations.iter().any(|it| it.root == Some(at as u32));
            if is_root || !instruction.called.is_empty() || !module.at(operand).is_some_and(same_shape) {
                continue;
            }
            let mut without = module.clone();
            for it in &mut without.instructions {
                it.operands.iter_mut().filter(|it| **it == at as u32).for_each(|it| *it = operand);
            }
            // The instruction is taken out of use. It cannot be moved into a computation that nothing calls, so it becomes
            // unused and gets an opcode that no other instruction has.
            without.instructions[at].opcode = "left-over".to_owned();
            let found = Difference::of(&module, &without);
            assert_eq!((found.gone.len(), found.new.len()), (1, 1), "{name} {}: {found:?}", instruction.name);
            assert_eq!(module.instructions[found.gone[0] as usize].opcode, instruction.opcode, "{name}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

/// Returns a module with layers of two instructions each, with a shared argument and without paths.
fn layers(count: u32) -> Module {
    let mut text = "HloModule jit_f\n\nENTRY main {\n  x = f32[8]{0} parameter(0)\n".to_owned();
    let mut last = "x".to_owned();
    for layer in 0..count {
        text.push_str(&format!(
            "  m.{layer} = f32[8]{{0}} multiply({last}, x)\n  a.{layer} = f32[8]{{0}} tanh(m.{layer})\n"
        ));
        last = format!("a.{layer}");
    }
    text.push_str(&format!("  ROOT r = f32[8]{{0}} negate({last})\n}}\n"));
    crate::read_module(text.as_bytes())
}

#[test]
fn equal_layers_are_counted() {
    let found = Difference::of(&layers(20_000), &layers(20_003));
    assert_eq!((found.gone.len(), found.new.len()), (0, 6));
    assert_eq!(found.changed.len(), 1, "one instruction reads another layer: {:?}", &found.changed[..1]);
    assert!(Difference::of(&layers(0), &layers(3)).new.len() == 6);
    assert_eq!(Difference::of(&Module::default(), &layers(3)).new.len(), 8);
    assert_eq!(Difference::of(&layers(3), &Module::default()).gone.len(), 8);
}

#[test]
fn cyclic_programs_have_a_difference() {
    let mut cyclic = layers(50);
    for at in 1..cyclic.instructions.len() {
        let other = (at * 37 % cyclic.instructions.len()) as u32;
        cyclic.instructions[at].operands.push(other);
        cyclic.instructions[at].called.push(0);
        cyclic.instructions[at].opcode = "fusion".to_owned();
    }
    let found = Difference::of(&cyclic, &cyclic);
    assert_eq!(found.same + found.changed.len() + found.gone.len(), cyclic.instructions.len());
    Difference::of(&cyclic, &layers(50));
    // These fusions call themselves and each other.
    let text = "HloModule m\n\n%f {\n  p = f32[] parameter(0)\n  ROOT g = f32[] fusion(p), kind=kLoop, calls=%f\n}\n\nENTRY e {\n  \
                q = f32[] parameter(0)\n  ROOT h = f32[] fusion(q), kind=kLoop, calls=%e\n}\n";
    let module = crate::read_module(text.as_bytes());
    assert!(Difference::of(&module, &module).is_empty());
}

proptest! {
    #[test]
    fn damaged_programs_have_a_difference(seed in any::<u64>(), cuts in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..20)) {
        let bytes = include_bytes!("../../../../tests/data/hlo/jit_scan.pb");
        let mut damaged = bytes.to_vec();
        for (at, value) in cuts {
            let at = usize::from(at) % damaged.len();
            damaged[at] = value;
        }
        damaged.truncate(Dice(seed).below(damaged.len() * 2).max(10));
        let (a, b) = (crate::read_module(bytes), crate::read_module(&damaged));
        let found = Difference::of(&a, &b);
        prop_assert_eq!(found.same + found.changed.len() + found.gone.len(), a.instructions.len());
        prop_assert_eq!(found.same + found.changed.len() + found.new.len(), b.instructions.len());
        for changed in &found.changed {
            for &aspect in &changed.aspects {
                found.texts(&a, &b, changed, aspect);
            }
        }
        prop_assert!(Difference::of(&b, &b).is_empty());
    }
}

/// Matching an instruction with many users and operands takes linear time. If the time were quadratic, this test would
/// take minutes.
#[test]
fn hubs_are_matched_in_linear_time() {
    let star = |users: u32, opcode: &str| {
        let mut text = "HloModule m\n\nENTRY e {\n  p = f32[8]{0} parameter(0)\n".to_owned();
        let names: Vec<String> = (0..users).map(|at| format!("n.{at}")).collect();
        names.iter().for_each(|name| text.push_str(&format!("  {name} = f32[8]{{0}} {opcode}(p)\n")));
        text.push_str(&format!("  ROOT t = (f32[8]{{0}}) tuple({})\n}}\n", names.join(", ")));
        crate::read_module(text.as_bytes())
    };
    let found = Difference::of(&star(30_000, "negate"), &star(30_001, "negate"));
    assert_eq!((found.same, found.changed.len(), found.new.len(), found.gone.len()), (30_001, 1, 1, 0));
    let found = Difference::of(&star(30_000, "negate"), &star(30_000, "abs"));
    assert_eq!((found.same, found.changed.len(), found.new.len(), found.gone.len()), (1, 1, 30_000, 30_000));
}
