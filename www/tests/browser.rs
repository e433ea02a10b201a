//! Runs in a browser: the pieces that need one.

#![cfg(target_arch = "wasm32")]

use crossprof::input::plan::Kind;
use crossprof::metrics::Settings;
use crossprof::pages::PageQuery;
use crossprof::table::{Query, Sort};
use crossprof::warning::Warning;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use www::protocol::{FileDone, FileEntry, Image, News, Order, Piece, TextFormat};
use www::wire;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn messages_arrive_as_they_were_sent() {
    let entry = FileEntry { path: "a/\u{202e}b.xplane.pb".into(), size_bytes: u64::MAX, kind: Kind::XPlane };
    let mut settings = Settings { num_steps: Some(7), ..Settings::default() };
    settings.model.total_params = Some(8_030_261_248);
    let mut query = PageQuery { filter: "a \"b\"".into(), ..PageQuery::default() };
    query.sorts.insert("ops".into(), Sort { column: "time_us".into(), descending: true });
    query.options.insert("group".into(), "scope".into());
    let sort = query.sorts.get("ops").cloned();
    let table = Query { filter: String::new(), sort, top: Some(5) };
    for order in [
        Order::Unpack(vec![entry.clone()]),
        Order::Scan { files: vec![entry.clone()], left_out: vec![entry] },
        Order::Analyse,
        Order::Report { run: 3, settings: settings.into() },
        Order::Page { run: 1, view: "ops".into(), query, asked: 9 },
        Order::Table {
            run: 1,
            name: "ops".into(),
            variant: "".into(),
            query: table,
            format: TextFormat::Csv,
            asked: 7,
        },
        Order::Look(vec!["a".into(), "b".into()]),
    ] {
        let (back, extras) = wire::unpack::<Order>(wire::pack(&order, &[JsValue::from_str("port")])).unwrap();
        assert_eq!(back, order);
        assert_eq!(extras.get(1), JsValue::from_str("port"));
    }
    let warning = Warning::damage("json_truncated", "The file ends early.").with_offset(1 << 40).with_file("a");
    let done = FileDone { warnings: vec![warning.clone()], kind: Some(Kind::TraceJson), ..FileDone::default() };
    let news = News::FileDone(done);
    assert_eq!(wire::unpack::<News>(wire::pack(&news, &[])).unwrap().0, news);
    let piece = Piece::Warning(warning);
    assert_eq!(wire::unpack::<Piece>(wire::pack(&piece, &[])).unwrap().0, piece);
    assert_eq!(wire::unpack::<Image>(wire::pack(&Image::Bytes(9), &[])).unwrap().0, Image::Bytes(9));
}

#[wasm_bindgen_test]
fn foreign_messages_are_ignored() {
    for message in [JsValue::NULL, JsValue::from_str("hello"), js_sys::Array::new().into()] {
        assert!(wire::unpack::<News>(message).is_none());
    }
}
