//! Tests forms of HLO text that the fixtures lack, and damaged text.

use proptest::prelude::*;

use super::*;
use crate::attributes::ReplicaGroups;

const TEXT: &str = r#"HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (1, {}, may-alias), {1,0}: (2, {}, must-alias) }, num_partitions=8

FileNames
1 "train.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=4 end_column=4}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%cond (p: (s32[])) -> pred[] {
  %p = (s32[]) parameter(0)
  ROOT %less = pred[] constant(true)
}, execution_thread="main"

%body (q: (s32[])) -> (s32[]) {
  ROOT %q = (s32[]) parameter(0)
}

ENTRY %main.1 (a: f32[8], b: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0), sharding={mesh['x'=2,'y'=4], [{'x'}, {}]}
  %b = f32[8]{0} parameter(1), sharding={{replicated}, /*index=1*/{devices=[2,1]<=[2]}}
  %n = (s32[]) parameter(2)
  %loop = (s32[]) while(%n), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  %call = f32[8]{0} custom-call(%a, /*index=1*/%b), custom_call_target="mosaic", frontend_attributes={kernel={
"a":"{\"b\": 1}"
}}, backend_config="say \"hi\", {not json", control-predecessors={%loop}, metadata={op_type="t" op_name="jit(f)/\"x\" {y}" stack_frame_id=1 deduplicated_name="d" profile_type={1}}
  %ag = f32[16]{0} all-gather(%call), channel_id=3, replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}, use_global_device_ids=true
  ROOT %sum = f32[8]{0} add(f32[8]{0} %a, f32[8]{0} %call)
}
"#;

fn read(text: &str) -> Module {
    module(text.as_bytes())
}

#[test]
fn what_the_text_says_is_in_the_module() {
    let module = read(TEXT);
    assert!(!module.damaged());
    assert_eq!((module.name(), module.devices(), &module.aliases), ("jit_f", Some((1, 8)), &vec![(0, 1)]));
    assert_eq!(module.entry().map(|it| it.name.as_str()), Some("main.1"));
    let at = |name: &str| module.instruction(name).unwrap();
    assert_eq!(at("a").attributes().sharding, "{mesh['x'=2,'y'=4], [{'x'}, {}]}");
    assert_eq!(at("b").attributes().sharding, "{{replicated}, {devices=[2,1]<=[2]}}");
    let called: Vec<&str> = (0..2).map(|n| module.called(at("loop"), n).unwrap().name.as_str()).collect();
    assert_eq!(called, ["body", "cond"]);
    let call = at("call");
    assert_eq!(call.attributes().backend_config, "say \"hi\", {not json");
    assert_eq!(call.attributes().frontend_attributes[0].1, "{\n\"a\":\"{\\\"b\\\": 1}\"\n}");
    assert_eq!((call.metadata.op_name.as_str(), call.metadata.op_type.as_str()), ("jit(f)/\"x\" {y}", "t"));
    assert_eq!(module.stack_of(call), ["train.py:9"]);
    assert_eq!(call.operands.len(), 2);
    let iota = ReplicaGroups::Iota { groups: 4, group_size: 2, reshape: vec![2, 4], transpose: vec![1, 0] };
    assert_eq!(at("ag").attributes().replica_groups, Some(iota));
    assert_eq!(module.root(module.entry().unwrap()).map(|it| it.name.as_str()), Some("sum"));
}

#[test]
fn text_behind_the_module_is_ignored() {
    let module = read(&format!("{TEXT}\nBufferAssignment:\nallocation 0: size 4, constant:\n"));
    assert_eq!((module.instructions().len(), module.damaged()), (read(TEXT).instructions().len(), false));
}

#[test]
fn damage_leaves_the_rest() {
    let whole = read(TEXT).instructions().len();
    for (from, to) in [
        ("add(f32[8]{0} %a,", "add(f32[8]{0} %missing,"),
        ("to", ""),
        ("custom-call(", "custom-call"),
        ("pred[] constant", "x99[] constant"),
    ] {
        let damaged = read(&TEXT.replacen(from, to, 1));
        assert!(damaged.instructions().len() >= whole - 1, "{from}");
        assert!(from == "to" || damaged.damaged(), "{from}");
    }
    let cut = read(TEXT.split("  %ag").next().unwrap());
    assert!(cut.damaged() && cut.entry().is_some() && cut.instruction("call").is_some());
    assert!(read("HloModule").instructions().is_empty());
}

#[test]
fn a_computation_that_calls_itself_ends() {
    let text = "HloModule m\n\nENTRY %e () -> f32[] {\n  ROOT %x = f32[] call(%x), to_apply=%e\n}\n";
    let module = read(text);
    assert_eq!(module.instructions()[0].operands, [0]);
    crate::read::tests::ask(&module);
}

/// Reading takes time in proportion to the length, even for brackets and quotes that never close.
#[test]
fn absurd_text_ends() {
    for part in ["(", "{", "[", "\"", "%x = (", "/*", "%x = f32[] add(\"\\", "  %x = f32[]{:T(", "ROOT ", "\n"] {
        let text = format!("HloModule m\n\nENTRY e {{\n{}", part.repeat(200_000));
        let _ = read(&text);
    }
}

proptest! {
    #[test]
    fn any_change_of_a_text_is_read(at in 0usize..3000, with: u8, cut in 0usize..4000) {
        let mut bytes = TEXT.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = with;
        bytes.truncate(cut.max(9));
        crate::read::tests::ask(&module(&bytes));
    }

    #[test]
    fn any_text_is_read(text in "HloModule m\n[%a-c ={}()\\[\\]\"\\\\,/*\nR01f32xT:<>-]{0,300}") {
        crate::read::tests::ask(&module(text.as_bytes()));
    }
}
