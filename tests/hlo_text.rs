//! Compares HLO text with the serialised modules from which XLA printed the text, and with XLA's own numbers. The
//! programs are in tests/data/hlo-text, and make.py in that folder wrote them.

use std::collections::BTreeMap;

use crate::support::samples;
use crossprof::hlo::{self, Conventions, Instruction, Metadata, Module, Modules};
use crossprof::memory::{Assignment, MAIN, ProgramMemory};
use crossprof::session::HloProgram;
use crossprof::{FileKind, Query, Session, Settings, TableName, Unpacked, Unpacker};
use serde_json::Value;

/// Returns the files of the fixture by name.
pub(crate) fn fixture() -> BTreeMap<String, Vec<u8>> {
    let archive = std::fs::read(samples::root().join("tests/data/hlo-text/programs.tar.gz")).unwrap();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut current = String::new();
    let mut unpacker = Unpacker::new("programs.tar.gz");
    let mut sink = |piece: Unpacked<'_>| match piece {
        Unpacked::Begin { path, .. } => current = path.replace("programs.tar.gz/", ""),
        Unpacked::Data(bytes) => files.entry(current.clone()).or_default().extend_from_slice(bytes),
        Unpacked::Warning(warning) => panic!("{warning:?}"),
        Unpacked::End => {}
    };
    unpacker.push(&archive, &mut sink);
    unpacker.finish(&mut sink);
    files
}

/// Returns the text of each program, with its name.
fn texts(files: &BTreeMap<String, Vec<u8>>) -> impl Iterator<Item = (&str, &[u8])> {
    files
        .iter()
        .filter_map(|(path, text)| Some((path.strip_suffix(".txt")?, text.as_slice())))
        .filter(|(name, _)| !name.starts_with("dump"))
}

/// Returns all properties of an instruction as text, one for each field. Other instructions and computations are
/// represented by their names, because text and proto may list computations in different orders. The id is left out,
/// because text has none.
fn facts(module: &Module, instruction: &Instruction) -> Vec<String> {
    let Instruction { id: _, name, opcode, shape, operands: _, called, computation, metadata, .. } = instruction;
    let Metadata { op_type, op_name, source_file, source_line, deduplicated_name, stack_frame } = metadata;
    let operands: Vec<&str> = module.operands(instruction).map(|it| it.name.as_str()).collect();
    let computation_name = |&index: &u32| module.computation(index).map(|it| it.name.as_str());
    let called: Vec<_> = called.iter().map(computation_name).collect();
    // The entries of a map in a proto may have any order.
    let mut own = instruction.attributes().clone();
    own.frontend_attributes.sort();
    // Some protos store these numbers for custom calls, but text leaves out the default.
    own.feature_group_count = own.feature_group_count.max(1);
    own.batch_group_count = own.batch_group_count.max(1);
    if own.operand_precision.iter().all(|&it| it == 0) {
        own.operand_precision.clear();
    }
    if instruction.is("custom-call") {
        own.api_version = own.api_version.max(1);
    }
    let mut facts = vec![
        format!("{name} {opcode} {shape:?} {operands:?} {called:?} {:?}", computation_name(computation)),
        format!("{op_type} {op_name} {source_file} {source_line} {deduplicated_name} {stack_frame}"),
        format!("{:?} {:?}", module.stack_of(instruction), module.function_of(instruction)),
        format!("{:?}", hlo::cost(module, instruction)),
        format!("{:?}", hlo::collective(module, instruction)),
        hlo::expression(module, instruction),
    ];
    facts.extend(format!("{own:#?}").lines().map(str::to_owned));
    facts
}

/// Compares all fields except the ids of modules, computations, instructions and devices, which the text lacks.
fn compare(name: &str, text: &Module, proto: &Module) {
    assert!(!text.damaged(), "{name}");
    assert_eq!((text.name(), text.files()), (proto.name(), proto.files()), "{name}");
    assert_eq!(text.is_scheduled(), proto.is_scheduled(), "{name}");
    let entry = |module: &Module| module.entry().map(|it| it.name.clone());
    assert_eq!(entry(text), entry(proto), "{name}");
    assert_eq!(text.instructions().len(), proto.instructions().len(), "{name}");
    for argument in 0..64 {
        let outputs = |module: &Module| module.outputs_with_buffer_of(argument).collect::<Vec<_>>();
        assert_eq!(outputs(text), outputs(proto), "{name} {argument}");
    }
    /// Facts about the instructions of a computation, the name of its root, and whether all its instructions are elementwise.
    type Facts = (Vec<Vec<String>>, Option<String>, bool);
    let computations = |module: &Module| -> BTreeMap<String, Facts> {
        let of = |it: &hlo::Computation| {
            let mut all: Vec<_> = module.instructions_of(it).iter().map(|it| facts(module, it)).collect();
            // XLA writes text in the order of the schedule, and a proto in another order.
            all.sort();
            (it.name.clone(), (all, module.root(it).map(|it| it.name.clone()), it.elementwise))
        };
        module.computations().iter().map(of).collect()
    };
    let (mut text, proto) = (computations(text), computations(proto));
    for (computation, from_proto) in proto {
        let from_text = text.remove(&computation).unwrap_or_else(|| panic!("{name}: no {computation}"));
        for (ours, theirs) in from_text.0.iter().zip(&from_proto.0) {
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert_eq!(ours, theirs, "{name} {computation}");
            }
        }
        assert_eq!(from_text, from_proto, "{name} {computation}");
    }
    assert!(text.is_empty(), "{name}");
}

#[test]
fn the_module_of_a_text_is_that_of_its_proto() {
    let files = fixture();
    let mut compared = 0;
    for (name, text) in texts(&files) {
        // XLA writes an async-start of a single instruction in a short form, without the names inside. See below.
        if name.ends_with("/asyncs") {
            continue;
        }
        let proto = &files[&format!("{}.pb", name.replace("long/", "hlo/"))];
        compare(name, &hlo::read_module(text), &hlo::read_module(proto));
        compared += 1;
    }
    assert!(compared > 130, "{compared}");
}

#[test]
fn the_short_form_of_asynchronous_instructions_is_expanded() {
    let files = fixture();
    for name in ["hlo/asyncs.txt", "long/asyncs.txt"] {
        let (text, proto) = (hlo::read_module(&files[name]), hlo::read_module(&files["hlo/asyncs.pb"]));
        assert!(!text.damaged());
        let start = text.instruction("start").unwrap();
        let wrapped = text.root(text.called(start, 0).unwrap()).unwrap();
        let truth = proto.instruction("rs").unwrap();
        assert_eq!((wrapped.opcode.as_str(), &wrapped.shape), ("reduce-scatter", &truth.shape));
        assert_eq!(wrapped.attributes(), truth.attributes());
        assert_eq!(text.instructions().len(), proto.instructions().len());
        for (ours, theirs) in text.instructions().iter().zip(proto.instructions()) {
            assert_eq!((&ours.opcode, &ours.shape, &ours.operands), (&theirs.opcode, &theirs.shape, &theirs.operands));
            assert_eq!((&ours.called, ours.attributes()), (&theirs.called, theirs.attributes()));
            assert_eq!(hlo::cost(&text, ours), hlo::cost(&proto, theirs));
            assert_eq!(hlo::collective(&text, ours), hlo::collective(&proto, theirs));
        }
    }
}

/// Returns the FLOPs of one execution of the program.
fn flops(module: &Module, conventions: Conventions) -> f64 {
    let entry = module.entry().unwrap();
    module
        .instructions_of(entry)
        .iter()
        .map(|it| hlo::cost_by(module, it, conventions).map_or(0.0, |cost| cost.flops))
        .sum()
}

#[test]
fn costs_from_text_are_those_of_the_executable() {
    let files = fixture();
    let mut compared = 0;
    for (name, text) in texts(&files).filter(|(name, _)| name.starts_with("jit_")) {
        let module = hlo::read_module(text);
        // XLA counts one iteration of a loop, one branch of a conditional, and nothing for library calls.
        let is_plain = module
            .instructions()
            .iter()
            .all(|it| !["while", "conditional", "custom-call", "call", "fft"].contains(&it.opcode.as_str()));
        let truth: Value = serde_json::from_slice(&files[&format!("{name}.json")]).unwrap();
        let expected = truth["flops"].as_f64().unwrap();
        if is_plain && expected > 0.0 {
            let ours = flops(&module, Conventions::General);
            assert!((ours - expected).abs() <= 1e-6 * expected, "{name}: {ours}, XLA {expected}");
            compared += 1;
        }
    }
    assert!(compared > 25, "{compared}");
}

/// Reads two compilations of a train step on a TPU, from a version of XLA from 2025. The test is skipped if the files
/// are absent.
#[test]
fn dumps_of_a_tpu_are_read_whole() {
    for name in ["module_0262", "module_0449"] {
        let path =
            samples::root().join(format!("../shared/cases/hlo-text/{name}.jit_train_step.after_optimizations.hlo.gz"));
        let Ok(packed) = std::fs::read(&path) else {
            eprintln!("skipped: {} is absent", path.display());
            return;
        };
        let text = crate::support::gunzip(&packed);
        let module = hlo::read_module(&text);
        assert!(!module.damaged());
        let text = String::from_utf8(text).unwrap();
        let assigns = |line: &&str| line.starts_with("  ") && line.contains(" = ");
        assert_eq!(module.instructions().len(), text.lines().filter(assigns).count());
        assert_eq!(
            module.computations().len(),
            text.lines().filter(|line| line.ends_with(") {") || line.ends_with("] {") || line.ends_with("} {")).count()
        );
        assert_eq!((module.name(), module.devices()), ("jit_train_step", Some((1, 8))));
        assert_eq!(module.entry().unwrap().name, "main.46_spmd");
        let splash = module.instruction("splash_mha_fwd_residuals.2").unwrap();
        assert_eq!(splash.custom_call_target(), Some("tpu_custom_call"));
        assert!(splash.metadata.op_name.contains("/splash_mha_fwd_residuals/"), "{}", splash.metadata.op_name);
        assert!(module.stack_of(splash).len() > 3 && module.source_of(splash).unwrap().contains("/app/trainer/"));
        // Llama 3 8B with 32,768 tokens per device: a layer of 218 M parameters takes 1.43e13 FLOPs forward. The bodies of
        // the forward, backward and recomputation loops each process one layer.
        let products = module.instructions().iter().filter(|it| ["dot", "convolution"].contains(&it.opcode.as_str()));
        let total: f64 = products.filter_map(|it| hlo::cost(&module, it)).map(|cost| cost.flops).sum();
        assert!(total > 3.0 * 1.43e13 && total < 12.0 * 1.43e13, "{total:e}");
    }
}

/// Opens the files of a dump for which `fits` returns true.
fn open(folder: &str, fits: impl Fn(&str) -> bool) -> Session {
    let mut session = Session::new();
    for (path, bytes) in
        fixture().iter().filter(|(path, _)| path.starts_with(folder) && fits(path) && !path.ends_with("-report.pb"))
    {
        let file = session.begin(path, Some(bytes.len() as u64));
        session.push(file, bytes);
        let result = session.finish(file);
        let is_program = result.members[0].kind == FileKind::Program;
        assert_eq!(result.error, None, "{path}");
        assert_eq!(is_program, !path.contains("-memory-usage-report.") && !path.contains("-values."), "{path}");
    }
    session
}

/// Returns the name, memory and instructions of each program.
fn programs(session: &mut Session) -> Vec<(String, Option<ProgramMemory>, usize)> {
    let mut found = Vec::new();
    session.runs();
    session.timeline(0, &Settings::default(), |context, _| {
        let modules = Modules::new(context.captured_trace());
        for (proto, name, module) in modules.with_bytes() {
            assert!(!module.damaged());
            found.push((name.to_owned(), ProgramMemory::of(module, &proto.bytes), module.instructions().len()));
        }
    });
    found
}

/// Returns the buffer assignment without ids and with sorted lists, because the text has neither ids nor the order.
fn assigned(program: &ProgramMemory) -> Vec<String> {
    let Assignment { buffers, allocations, .. } = &program.assignment;
    let mut facts: Vec<String> = allocations
        .iter()
        .map(|it| {
            let buffer = |&index: &usize| {
                let of = &buffers[index];
                format!("{} {} {} {} {}", of.id, program.name(index), of.size, of.offset, of.space)
            };
            let mut own: Vec<String> = it.buffers.iter().map(buffer).collect();
            own.sort();
            format!("{:?}", crossprof::memory::Allocation { buffers: Vec::new(), ..it.clone() }) + &own.join("; ")
        })
        .collect();
    facts.sort();
    facts
}

#[test]
fn a_folder_of_text_is_as_good_as_one_of_protos() {
    let (mut text, mut proto) = (open("dump/", |_| true), open("dump.pb/", |_| true));
    assert_eq!(text.runs().len(), 1, "the programs of a folder are one run");
    let (texts, protos) = (programs(&mut text), programs(&mut proto));
    let names =
        |list: &[(String, Option<ProgramMemory>, usize)]| list.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&texts), ["jit_loop(0)", "jit_train(2)"]);
    assert_eq!(names(&texts), names(&protos));
    for ((name, ours, instructions), (_, theirs, of_proto)) in texts.iter().zip(&protos) {
        let (ours, theirs) = (ours.as_ref().unwrap(), theirs.as_ref().unwrap());
        assert_eq!(instructions, of_proto, "{name}: the last stage");
        assert_eq!(assigned(ours), assigned(theirs), "{name}");
        assert_eq!(ours.problems().to_string(), "");
        let (main, truth) = (ours.space(MAIN).unwrap(), theirs.space(MAIN).unwrap());
        assert_eq!((main.untraced_bytes, main.resident_bytes), (truth.untraced_bytes, truth.resident_bytes), "{name}");
        // XLA writes the lifetimes of values next to the text.
        assert_eq!(main.peak_bytes(), truth.peak_bytes(), "{name}");
    }
    let buffers = |session: &mut Session| {
        session.table(0, &Settings::default(), TableName::Buffers, "", &Query::default()).unwrap().rows.len()
    };
    let counts = (buffers(&mut text), buffers(&mut proto));
    assert!(counts.0 == counts.1 && counts.0 > 0, "{counts:?}");
}

#[test]
fn the_last_stage_that_is_there_is_read() {
    let is_early = |path: &str| path.contains("before_optimizations");
    let early = programs(&mut open("dump/", is_early));
    let all = programs(&mut open("dump/", |_| true));
    let names =
        |list: &[(String, Option<ProgramMemory>, usize)]| list.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&early), names(&all));
    assert!(early.iter().all(|it| it.1.is_none()) && all.iter().all(|it| it.1.is_some()));
    assert!(early.iter().zip(&all).all(|(early, all)| early.2 != all.2));
}

#[test]
fn every_stage_of_a_dump_can_be_opened() {
    let settings = Settings::default();
    let text_of = |session: &mut Session, program: &HloProgram| {
        session.hlo_program(0, &settings, program, |module, _| hlo::print(module).text).unwrap()
    };
    let mut all = open("dump/", |_| true);
    all.runs();
    let programs = all.hlo_programs(0, &settings).unwrap();
    let early = |program: &HloProgram| program.stage.as_deref() == Some("before_optimizations");
    let last: Vec<&HloProgram> = programs.iter().filter(|program| program.stage.is_none()).collect();
    assert_eq!(programs.iter().filter(|program| early(program)).count(), last.len(), "{programs:?}");
    assert!(programs.iter().all(|program| program.stage.is_none() || program.time.is_none()));
    let mut alone = open("dump/", |path| path.contains("before_optimizations"));
    alone.runs();
    for program in alone.hlo_programs(0, &settings).unwrap() {
        let named = format!("{}:before_optimizations", program.name);
        let at = all.hlo_program_of(0, &settings, &programs, Some(&named), None);
        let at = at.unwrap_or_else(|| panic!("{named} of {programs:?}"));
        assert_eq!(programs[at].key, named);
        assert_eq!(text_of(&mut all, &programs[at]), text_of(&mut alone, &program), "{named}");
        // A name without a stage is the last stage.
        let last = all.hlo_program_of(0, &settings, &programs, Some(&program.name), None).unwrap();
        assert_eq!((programs[last].stage.as_deref(), last + 1), (None, at));
        assert_ne!(text_of(&mut all, &programs[last]), text_of(&mut alone, &program), "{named}");
    }
}

#[test]
fn a_buffer_assignment_alone_shows_its_values() {
    let mut session = open("dump/", |path| path.contains("jit_train") && path.ends_with("-buffer-assignment.txt"));
    let alone = programs(&mut session);
    let program = alone[0].1.as_ref().unwrap();
    let all = programs(&mut open("dump/", |path| path.contains("jit_train")));
    let whole = all[0].1.as_ref().unwrap();
    assert_eq!((alone.len(), alone[0].0.as_str()), (1, "jit_train(2)"));
    assert_eq!(program.space(MAIN).unwrap().total_bytes, whole.space(MAIN).unwrap().total_bytes);
    let named =
        |program: &ProgramMemory| program.assignment.buffers.iter().filter(|it| it.instruction.is_some()).count();
    assert!(named(program) * 10 > named(whole) * 8, "{} of {}", named(program), named(whole));
    let report = session.report(0, &Settings::default()).unwrap();
    assert!(report.warnings.iter().any(|it| it.code == "program_without_instructions"), "{:?}", report.warnings);
}
