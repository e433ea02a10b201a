//! JAX returns serialised modules without the surrounding `HloProto` (`as_serialized_hlo_module_proto()`). Such a
//! module must be recognised among other protobufs, and read like the same program inside an `HloProto`.

use crossprof::hlo::{self, Module};
use crossprof::session::HloProgram;
use crossprof::{FileKind, Session, Settings, Unpacked, Unpacker};
use wire_writer::message;

use crate::support::samples;
use crate::{hlo_text, support};

/// Returns the modules that JAX and XLA wrote for the tests, by name.
fn modules() -> Vec<(String, Vec<u8>)> {
    let own = std::fs::read_dir(samples::root().join("tests/data/hlo")).unwrap().map(|entry| entry.unwrap().path());
    let own = own.filter(|path| path.extension().is_some_and(|it| it == "pb"));
    let own = own.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()));
    let from_jax = hlo_text::fixture().into_iter().filter(|(name, _)| name.ends_with(".pb"));
    let from_jax = from_jax.filter(|(name, _)| !name.starts_with("dump"));
    own.chain(from_jax).collect()
}

/// Returns the kind of a file and its programs, each with its number of instructions and its text.
fn read(name: &str, bytes: &[u8], chunk: usize) -> (FileKind, Vec<(HloProgram, String)>) {
    let (mut session, settings) = (Session::new(), Settings::default());
    let file = session.begin(name, Some(bytes.len() as u64));
    bytes.chunks(chunk).for_each(|part| session.push(file, part));
    let result = session.finish(file);
    let kind = result.members.first().map_or(FileKind::Unknown, |member| member.kind);
    session.runs();
    let programs = session.hlo_programs(0, &settings).unwrap_or_default();
    let text = |module: &Module, _: &_| hlo::print(module).text;
    let found = programs.into_iter().map(|program| {
        let printed = session.hlo_program(0, &settings, &program, text).unwrap();
        (program, printed)
    });
    (kind, found.collect())
}

#[test]
fn a_module_by_itself_is_read_like_the_same_program_in_an_hlo_proto() {
    let modules = modules();
    assert!(modules.len() > 90, "{}", modules.len());
    for (name, bytes) in &modules {
        let direct = hlo::read_module(bytes);
        let alone = read(name, bytes, usize::MAX);
        let (kind, programs) = &alone;
        let [(program, text)] = programs.as_slice() else { panic!("{name}: {kind:?}, {} programs", programs.len()) };
        assert_eq!((*kind, program.id), (FileKind::Program, direct.id()), "{name}");
        assert_eq!((program.module_name(), text), (direct.name(), &hlo::print(&direct).text), "{name}");
        let wrapped = message().bytes(1, bytes).0;
        assert_eq!(alone, read(name, &wrapped, usize::MAX), "{name}");
        // The first chunk decides the kind.
        assert_eq!(alone, read(name, bytes, 1000), "{name}");
    }
}

#[test]
fn no_other_protobuf_is_taken_for_a_module() {
    let kinds = [(".xplane.pb.gz", 20, FileKind::XPlane), (".hlo.pb.gz", 5, FileKind::Program)];
    for (suffix, least, expected) in kinds {
        let files = samples::files(&samples::root().join("tests/data"), &[suffix]);
        assert!(files.len() >= least, "{suffix}: {}", files.len());
        for path in files {
            let name = path.to_string_lossy();
            let mut plain = Vec::new();
            let mut unpacker = Unpacker::new(&name);
            let mut sink = |piece: Unpacked<'_>| {
                if let Unpacked::Data(bytes) = piece {
                    plain.extend_from_slice(bytes);
                }
            };
            unpacker.push(&std::fs::read(&path).unwrap(), &mut sink);
            unpacker.finish(&mut sink);
            let (result, _) = support::load("file", &plain);
            assert_eq!(result.members.first().map(|member| member.kind), Some(expected), "{name}");
        }
    }
    // The bytes start with two names and a message, like many formats.
    let named = |inner: Vec<u8>| message().bytes(1, b"jit_f").bytes(2, b"main").bytes(3, &inner).0;
    let instruction = |opcode: &[u8]| message().bytes(1, b"add.1").bytes(2, opcode).0;
    let computation = |opcode: &[u8]| message().bytes(1, b"main").bytes(2, instruction(opcode)).0;
    let kind = |bytes: Vec<u8>| support::load("file", &bytes).0.members.first().map(|member| member.kind);
    assert_eq!(kind(named(computation(b"add"))), Some(FileKind::Program));
    let memory = message().bytes(1, message().int(1, 1).int(2, 2).0).bytes(2, b"").bytes(6, b"").0;
    assert_eq!(kind(memory), Some(FileKind::MemoryProfile));
    for other in [named(computation(b"Add")), named(computation(b"")), named(b"text".to_vec()), named(Vec::new())] {
        assert_ne!(kind(other), Some(FileKind::Program));
    }
}

/// If the end of a module is missing, the instructions before the cut are still shown, and the module is marked as
/// damaged.
#[test]
fn a_cut_module_is_read_as_far_as_possible() {
    let (_, bytes) = modules().into_iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let whole = hlo::read_module(&bytes).instructions().len();
    let (kind, programs) = read("cut.pb", &bytes[..bytes.len() / 2], usize::MAX);
    assert_eq!((kind, programs.len()), (FileKind::Program, 1));
    let left = programs[0].0.instructions.unwrap();
    assert!(left > 0 && left < whole, "{left} of {whole}");
}
