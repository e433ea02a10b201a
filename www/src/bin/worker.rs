//! The worker's entry: says which build it is, then takes the role that its first order gives it.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent, MessagePort};
use www::protocol::{BUILD_ID, News, Order};
use www::wire;
use www::worker::{inflate, look, scan::Scanner, tell};

fn main() {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let scanner = Rc::new(RefCell::new(None));
    let port = scope.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some((order, extras)) = wire::unpack(event.data()) {
            obey(&port, &scanner, order, &extras);
        }
    });
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    tell(&scope, &News::Ready { build: BUILD_ID.to_owned() });
}

fn obey(scope: &DedicatedWorkerGlobalScope, scanner: &Rc<RefCell<Option<Scanner>>>, order: Order, extras: &Array) {
    match order {
        Order::Look(paths) => {
            wasm_bindgen_futures::spawn_local(look::run(scope.clone(), paths, Array::from(&extras.get(1))));
        }
        Order::Unpack(entries) => {
            let (port, files) = (extras.get(1).unchecked_into(), Array::from(&extras.get(2)));
            wasm_bindgen_futures::spawn_local(inflate::run(scope.clone(), entries, files, port));
        }
        Order::Scan { files, left_out } => {
            scanner.replace(Some(Scanner::new(scope.clone(), files, &left_out)));
            listen(scanner.clone(), extras.get(1).unchecked_into());
        }
        Order::Report { run, settings } => {
            if let Some(scanner) = scanner.borrow().as_ref() {
                scanner.report(run, &settings);
            }
        }
    }
}

/// Takes what the inflating worker sends; its buffers go back to it.
fn listen(scanner: Rc<RefCell<Option<Scanner>>>, port: MessagePort) {
    let back = port.clone();
    let on_piece = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let (Some((piece, extras)), Some(scanner)) = (wire::unpack(event.data()), scanner.borrow_mut().as_mut()) {
            let buffer = extras.get(1);
            scanner.take(piece, &buffer);
            if !buffer.is_undefined() {
                // The other worker is gone only when both are.
                let _ = back.post_message_with_transferable(&buffer, &Array::of1(&buffer));
            }
        }
    });
    port.set_onmessage(Some(on_piece.as_ref().unchecked_ref()));
    on_piece.forget();
}
