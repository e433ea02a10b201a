//! Checks that the link of an op opens the op's own program, or no program. The traces have several programs with one
//! name, hosts that give the same number to different programs, and runs without programs.

use crossprof::hlo::Module;
use crossprof::session::HloProgram;
use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, TableName};
use serde_json::Value;
use wire_writer::{Message, message};

/// Returns an `HloProto` whose entry computation is `%fusion.1 = OPCODE(%p, %p)`, in this name scope.
fn program(name: &str, opcode: &str, scope: &str) -> Message {
    let shape = message().int(2, 11).int(3, 8);
    let named = |name: &str, opcode: &str, id: i64| {
        message().bytes(1, name).bytes(2, opcode).message(3, shape.clone()).int(35, id)
    };
    let metadata = message().bytes(2, format!("jit({name})/{scope}/{opcode}"));
    let fusion = named("fusion.1", opcode, 2).message(7, metadata).int(36, 1).int(36, 1);
    let main = message().bytes(1, "main").message(2, named("p", "parameter", 1)).message(2, fusion).int(5, 1).int(6, 2);
    message().message(1, message().bytes(1, name).bytes(2, "main").message(3, main).int(6, 1))
}

/// An execution of `fusion.1`: module name, program number, and length in microseconds. An empty name, or a number that
/// is `None`, is not recorded.
type Run<'a> = (&'a str, Option<i64>, i64);

/// Returns a profile of one GPU with these programs, each of which has a name and a number.
fn host(programs: &[(&str, i64, Message)], runs: &[Run<'_>]) -> Vec<u8> {
    let mut line = message().int(1, 1).bytes(2, "Stream #1(Compute)").int(3, 1_000_000_000);
    let mut at_ps = 0;
    for &(module, number, us) in runs {
        let mut event = message().int(1, 1).int(2, at_ps).int(3, us * 1_000_000);
        event = event.message(4, message().int(1, 1).bytes(5, "fusion.1"));
        if !module.is_empty() {
            event = event.message(4, message().int(1, 2).bytes(5, module));
        }
        if let Some(number) = number {
            event = event.message(4, message().int(1, 3).int(4, number));
        }
        line = line.message(4, event);
        at_ps += us * 1_000_000 + 1_000_000;
    }
    let mut device = message().int(1, 1).bytes(2, "/device:GPU:0").message(3, line).event_metadata(1, "kernel_1");
    for (id, stat) in [(1, "hlo_op"), (2, "hlo_module"), (3, "program_id")] {
        device = device.stat_metadata(id, stat);
    }
    let mut metadata = message().int(1, 2).bytes(2, "/host:metadata").stat_metadata(1, "Hlo Proto");
    for (name, number, proto) in programs {
        let stat = message().int(1, 1).bytes(6, &proto.0);
        metadata = metadata.entry(4, *number, message().bytes(2, format!("{name}({number})")).message(5, stat));
    }
    message().message(1, device).message(1, metadata).0
}

fn session(hosts: &[Vec<u8>]) -> Session {
    let mut session = Session::new();
    for (index, bytes) in hosts.iter().enumerate() {
        let file = session.begin(&format!("log/plugins/profile/r/host{index}.xplane.pb"), None);
        session.push(file, bytes);
        assert_eq!(session.finish(file).error, None);
    }
    assert_eq!(session.runs().len(), 1);
    session
}

/// Returns the key of the program that the details of an op link to.
fn linked(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) if fields.get("view").is_some_and(|view| view == "graph") => {
            fields.get("program").and_then(Value::as_str).map(str::to_owned)
        }
        Value::Object(fields) => fields.values().find_map(linked),
        Value::Array(values) => values.iter().find_map(linked),
        _ => None,
    }
}

/// The program that the link of an op opens, as the opcode of `fusion.1` in that program and the program's time in
/// microseconds.
type Opened = Option<(String, Option<f64>)>;

/// For each op of the table, returns its time in microseconds and the program that its link opens. The largest time
/// comes first.
fn opened(session: &mut Session) -> Vec<(f64, Opened)> {
    let settings = Settings::default();
    let table = session.table(0, &settings, TableName::Ops, "", &Query::default()).unwrap();
    let time = table.columns.iter().position(|column| column.key == "total_self_time_us").unwrap();
    let programs: Vec<HloProgram> = session.hlo_programs(0, &settings).unwrap();
    (0..table.rows.len())
        .map(|row| {
            let page = session.row(0, &settings, TableName::Ops, "", &Query::default(), row as u32).unwrap();
            let key = linked(&serde_json::to_value(&page).unwrap());
            let found = key.map(|key| {
                let at = session.hlo_program_of(0, &settings, &programs, Some(&key), None).expect("a link opens");
                let opcode = |module: &Module, _: &_| module.instruction("fusion.1").unwrap().opcode.to_string();
                let opcode = session.hlo_program(0, &settings, &programs[at], opcode).unwrap();
                (opcode, programs[at].time.map(|time| time.as_us()))
            });
            let Cell::Float(us) = table.rows[row][time] else { panic!("no time") };
            (us, found)
        })
        .collect()
}

fn leads_to(opcode: &str, us: f64) -> Opened {
    Some((opcode.to_owned(), Some(us)))
}

#[test]
fn programs_of_one_name_are_told_apart_by_their_numbers() {
    let programs = [("jit_f", 7, program("jit_f", "add", "a")), ("jit_f", 8, program("jit_f", "multiply", "b"))];
    let mut session = session(&[host(&programs, &[("jit_f", Some(7), 10), ("jit_f", Some(8), 30)])]);
    let found: Vec<Opened> = opened(&mut session).into_iter().map(|(_, found)| found).collect();
    assert_eq!(found, [leads_to("multiply", 30.0), leads_to("add", 10.0)]);
    // The name alone is ambiguous, so it opens nothing.
    let settings = Settings::default();
    let programs = session.hlo_programs(0, &settings).unwrap();
    let mut open = |wanted: &str| session.hlo_program_of(0, &settings, &programs, Some(wanted), None);
    assert_eq!((open("jit_f"), open("jit_f(7)"), open("8"), open("jit_f(9)")), (None, Some(1), Some(0), None));
}

#[test]
fn an_op_without_a_number_has_the_only_program_of_its_name() {
    let (f, g) = (("jit_f", 7, program("jit_f", "add", "a")), ("jit_g", 8, program("jit_g", "multiply", "b")));
    let again = ("jit_g", 9, program("jit_g", "subtract", "b"));
    let runs = [("jit_f", None, 10), ("jit_g", None, 30)];
    let of = |programs: &[(&str, i64, Message)]| -> Vec<Opened> {
        opened(&mut session(&[host(programs, &runs)])).into_iter().map(|(_, found)| found).collect()
    };
    assert_eq!(of(&[f.clone(), g.clone()]), [leads_to("multiply", 30.0), leads_to("add", 10.0)]);
    assert_eq!(of(&[f, g, again]), [None, leads_to("add", 10.0)], "two programs are named jit_g");
}

#[test]
fn a_number_means_another_program_on_another_host() {
    let f = ("jit_f", 7, program("jit_f", "add", "a"));
    let g = ("jit_g", 7, program("jit_g", "multiply", "b"));
    let hosts = [host(std::slice::from_ref(&f), &[("jit_f", Some(7), 10)]), host(&[g], &[("jit_g", Some(7), 30)])];
    assert_eq!(opened(&mut session(&hosts)), [(30.0, leads_to("multiply", 30.0)), (10.0, leads_to("add", 10.0))]);
    // The hosts run different programs with the same name and number, so the row of the op stands for both.
    let other = ("jit_f", 7, program("jit_f", "multiply", "a"));
    let hosts = [host(std::slice::from_ref(&f), &[("jit_f", Some(7), 10)]), host(&[other], &[("jit_f", Some(7), 30)])];
    let mut session = session(&hosts);
    assert_eq!(opened(&mut session), [(40.0, None)]);
    let keys: Vec<String> =
        session.hlo_programs(0, &Settings::default()).unwrap().into_iter().map(|program| program.key).collect();
    assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), 2, "{keys:?}");
}

#[test]
fn the_same_program_on_all_hosts_is_one() {
    let f = || ("jit_f", 7, program("jit_f", "add", "a"));
    let hosts = [host(&[f()], &[("jit_f", Some(7), 10)]), host(&[f()], &[("jit_f", Some(7), 30)])];
    let mut session = session(&hosts);
    let found: Vec<Opened> = opened(&mut session).into_iter().map(|(_, found)| found).collect();
    assert_eq!(found, [leads_to("add", 40.0)]);
    assert_eq!(session.hlo_programs(0, &Settings::default()).unwrap().len(), 1);
}

#[test]
fn a_profile_without_programs_has_no_links() {
    let mut session = session(&[host(&[], &[("jit_f", Some(7), 10)])]);
    let found = opened(&mut session);
    assert_eq!(found, [(10.0, None)]);
    assert_eq!(session.hlo_programs(0, &Settings::default()).unwrap(), []);
}
