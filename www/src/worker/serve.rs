//! Receives requests from the page and handles them in order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent, MessagePort};

use super::asker::Asker;
use super::pipe;
use crate::protocol::BUILD_ID;
use crate::protocol::queue::Queue;
use crate::protocol::wire::{Body, Kind, Message};

const NOT_UNDERSTOOD: &str = "The page and its worker could not read each other's messages. Reload the page.";

/// Sends the build id to the page and then handles its requests. The function `begin` receives each request and its
/// sender.
///
/// A request does not start when its message arrives. Instead, the worker sends a message to itself, and starts the
/// request when that message arrives. By that time, all messages that the page had sent before have arrived. A request
/// that was cancelled in the meantime never starts.
pub fn serve<Q: Body + 'static>(begin: impl FnMut(Q, Asker) + 'static) {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    // A browser without channels cannot run the page, so do not start.
    let Ok(channel) = MessageChannel::new() else { return };
    let turns = Rc::new(Turns { queue: RefCell::default(), port: channel.port2(), is_due: Cell::new(false) });
    let (taking, asked) = (turns.clone(), scope.clone());
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let Some(message) = Message::read(event.data()) else { return };
        match message.kind {
            Kind::Request => {
                let asker = Asker::new(asked.clone(), message.id, message.attachments);
                match Q::from_js(message.body) {
                    Some(request) => taking.queue.borrow_mut().push(message.id, (request, asker)),
                    None => return asker.refuse(NOT_UNDERSTOOD),
                }
                taking.next();
            }
            Kind::Cancel => taking.queue.borrow_mut().cancel(message.id),
            Kind::Onward | Kind::Back => pipe::hear(message),
            // Only workers send these kinds.
            Kind::Progress | Kind::Response | Kind::Error => {}
        }
    });
    let begin = RefCell::new(begin);
    let on_turn = Closure::<dyn FnMut(MessageEvent)>::new(move |_: MessageEvent| {
        turns.is_due.set(false);
        let next = turns.queue.borrow_mut().pop();
        if let Some((_, (request, asker))) = next {
            begin.borrow_mut()(request, asker);
        }
        turns.next();
    });
    channel.port1().set_onmessage(Some(on_turn.as_ref().unchecked_ref()));
    scope.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_turn.forget();
    on_message.forget();
    let _ = scope.post_message(&JsValue::from_str(BUILD_ID));
}

/// Waiting requests, and the port through which the worker sends messages to itself.
struct Turns<Q> {
    queue: RefCell<Queue<(Q, Asker)>>,
    port: MessagePort,
    is_due: Cell<bool>,
}

impl<Q> Turns<Q> {
    /// Schedules the next request, which starts after all messages that have already arrived are handled.
    fn next(&self) {
        if !self.queue.borrow().is_empty() && !self.is_due.replace(true) {
            let _ = self.port.post_message(&JsValue::NULL);
        }
    }
}
