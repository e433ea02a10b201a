//! Tests that need a browser.

#![cfg(target_arch = "wasm32")]

use crossprof::document::{Block, Page, TableBlock};
use crossprof::pages::{PageQuery, View};
use crossprof::session::Settings;
use crossprof::session::plan::FileKind;
use crossprof::table::{AreaQuery, LineQuery};
use crossprof::table::{Cell, Query, Sort};
use crossprof::timeline::Sight;
use crossprof::{TableName, Warning, WarningCode};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use www::protocol::RequestId;
use www::protocol::analyst::{
    AnalyseRequest, AnalystRequest, ColourRequest, DocumentRequest, Form, MedianStepRequest, MemoryRequest,
    PageRequest, ReportRequest, RunChunk, StoreMemoryRequest, SubjectEntry, Subjects, TableRequest, TextFormat,
};
use www::protocol::files::{FileDone, FileEntry};
use www::protocol::reader::{DecodeProgress, DecodeRequest, FileChunk, LookRequest, ReaderRequest, UnpackRequest};
use www::protocol::timeline::FrameRequest;
use www::protocol::wire::{self, Body, Document, Kind as Does, Message, Packed};

wasm_bindgen_test_configure!(run_in_browser);

/// Returns the value that arrives when this body is sent.
fn sent<T: Body>(body: &T) -> Option<T> {
    T::from_js(body.to_js(&Array::new())?)
}

#[wasm_bindgen_test]
fn requests_arrive_as_they_were_sent() {
    let entry = FileEntry { path: "a/\u{202e}b.xplane.pb".into(), size_bytes: u64::MAX, kind: FileKind::XPlane };
    for request in [
        ReaderRequest::from(UnpackRequest { files: vec![entry.clone()] }),
        DecodeRequest { files: vec![entry.clone()], left_out: vec![entry] }.into(),
        LookRequest { paths: vec!["a".into(), "b".into()] }.into(),
    ] {
        assert_eq!(sent(&request), Some(request));
    }
    let mut settings = Settings { num_steps: Some(7), ..Settings::default() };
    settings.model.total_params = Some(u64::MAX);
    let mut query = PageQuery { filter: "a \"b\"".into(), ..PageQuery::default() };
    query.sorts.set("ops", Some(Sort { column: "time_us".into(), descending: true }));
    query.options.insert("group".into(), "scope".into());
    let sort = query.sorts.get("ops").cloned();
    let table = Query { filter: String::new(), sort, top: Some(5) };
    let subject = SubjectEntry {
        name: "a".into(),
        batch_size: Some(32),
        seq_length: Some(u64::MAX),
        watts_per_device: Some(700.0),
        dollars_per_device_hour: None,
        group: None,
    };
    let subjects = Subjects { subjects: vec![subject], baseline: 0, weak_scaling: Some(true) };
    for request in [
        AnalystRequest::from(AnalyseRequest),
        ReportRequest { run: 3, settings: settings.into() }.into(),
        PageRequest { run: 1, view: View::Ops, query }.into(),
        TableRequest {
            run: 1,
            name: TableName::Range,
            variant: "".into(),
            area: AreaQuery {
                from_ps: Some(i64::MAX),
                to_ps: None,
                lines: LineQuery::Indices(vec![7]),
                counters: None,
            },
            query: table,
            format: TextFormat::Csv,
        }
        .into(),
        // Times beyond the range of exact JavaScript numbers.
        FrameRequest { run: 1, sight: Sight { range_ps: Some((i64::MIN, i64::MAX)), ..Sight::default() } }.into(),
        DocumentRequest { subjects: subjects.clone(), form: Form::Json }.into(),
        DocumentRequest { subjects, form: Form::Changes { side: 1 } }.into(),
        MedianStepRequest { run: 1 }.into(),
        ColourRequest { run: 2 }.into(),
        MemoryRequest { run: 3 }.into(),
        StoreMemoryRequest { run: 4 }.into(),
    ] {
        assert_eq!(sent(&request), Some(request));
    }
}

#[wasm_bindgen_test]
fn responses_arrive_as_they_were_sent() {
    let warning = Warning::new(WarningCode::JsonCutOff, "The file ends early.").with_offset(1 << 40).with_file("a");
    let done = FileDone { warnings: vec![warning.clone()], kind: Some(FileKind::TraceJson), ..FileDone::default() };
    let progress = DecodeProgress::FilesDone(vec![done]);
    assert_eq!(sent(&progress), Some(progress));
    let chunk = FileChunk::Warning(warning);
    assert_eq!(sent(&chunk), Some(chunk));
    assert_eq!(sent(&RunChunk::Bytes(9)), Some(RunChunk::Bytes(9)));
    assert_eq!(sent(&()), Some(()));
    let rows =
        vec![vec![Cell::Absent, Cell::Int(u64::MAX), Cell::Float(-1.5), Cell::Flag(true), Cell::Text("é".into())]];
    let table = TableBlock { rows, matched_rows: 1, ..TableBlock::empty(TableName::Ops) };
    let page = Packed(Page { blocks: vec![Block::Table(table), Block::Note { text: "a\u{202e}b".into() }] });
    assert_eq!(sent(&page), Some(page));
    assert_eq!(sent(&Document::new("é\0")).map(|document| document.text()).as_deref(), Some("é\0"));
}

#[wasm_bindgen_test]
fn large_things_are_transferred() {
    let transferred = Array::new();
    let body = Packed(Page::default()).to_js(&transferred).unwrap();
    let document = Document::new("text").to_js(&transferred).unwrap();
    assert_eq!(transferred.to_vec(), [body, document]);
}

#[wasm_bindgen_test]
fn a_message_names_its_request() {
    let sent = wire::message(RequestId(7), Does::Error, &"No.".into(), &["port".into()]);
    let Message { id, kind, body, attachments } = Message::read(sent.into()).unwrap();
    assert_eq!((id, kind, body.as_string().as_deref()), (RequestId(7), Does::Error, Some("No.")));
    assert_eq!(attachments.to_vec(), [JsValue::from_str("port")]);
}

#[wasm_bindgen_test]
fn foreign_messages_are_ignored() {
    let of = |parts: &[JsValue]| parts.iter().collect::<Array>().into();
    for message in [
        JsValue::NULL,
        "hello".into(),
        of(&[]),
        of(&[1.into()]),
        of(&["a".into(), 1.into()]),
        of(&[1.into(), 255.into()]),
    ] {
        assert!(Message::read(message).is_none());
    }
    for body in [JsValue::NULL, 7.into(), "Nothing".into(), of(&[])] {
        assert_eq!(AnalystRequest::from_js(body), None);
    }
    assert!(Packed::<Page>::from_js(js_sys::ArrayBuffer::new(3).into()).is_none());
}
