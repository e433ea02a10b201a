//! The page's connection to a worker. The connection sends requests, and passes each result to the callback of the
//! request.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::prelude::*;
use web_sys::{Event, MessageEvent, Worker};

use crate::protocol::pending::Pending;
use crate::protocol::wire::{self, Body, Kind, Message};
use crate::protocol::{Place, Request, RequestId};

const CRASHED: &str = "The analysis stopped. The tab ran out of memory, or this profile triggers a bug in crossprof. \
    Close other runs and try again, or use the command line: crossprof analyze FILE.";
const UNSENDABLE: &str = "The page could not send this request. Reload the page.";
const UNREADABLE: &str = "The response to this request could not be read. Reload the page.";

/// A worker and its pending requests. Dropping the connection terminates the worker.
pub struct Connection {
    worker: Worker,
    pending: Rc<RefCell<Pending<Waiter>>>,
    neighbours: Rc<Neighbours>,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(Event)>,
}

/// The previous and the next worker of the same load. The page forwards messages to these two workers.
#[derive(Default)]
struct Neighbours {
    before: OnceCell<Worker>,
    behind: OnceCell<Worker>,
}

/// Callback for the results of one request.
pub type Waiter = Rc<dyn Fn(Heard)>;

/// A result that the worker sends for a request.
pub enum Heard {
    /// Progress of the request.
    Progress(JsValue),
    /// The response. No further result follows.
    Response(JsValue),
    /// The reason of the failure, as a sentence. No further result follows.
    Error(String),
}

/// Creates the callback of a pending request. `progress` returns false if it cannot read a message.
pub fn waiter<Q: Request>(
    progress: impl Fn(JsValue) -> bool + 'static,
    heard: impl FnOnce(Result<Q::Response, String>) + 'static,
) -> Waiter
where
    Q::Response: Body,
{
    let heard = RefCell::new(Some(heard));
    Rc::new(move |what| {
        let outcome = match what {
            Heard::Progress(body) if progress(body.clone()) => return,
            Heard::Progress(_) => Err(UNREADABLE.to_owned()),
            Heard::Response(body) => Q::Response::from_js(body).ok_or_else(|| UNREADABLE.to_owned()),
            Heard::Error(reason) => Err(reason),
        };
        let heard = heard.borrow_mut().take();
        if let Some(heard) = heard {
            heard(outcome);
        }
    })
}

impl Connection {
    /// Creates a connection to a worker that is already listening.
    pub fn new(worker: Worker) -> Connection {
        let pending = Rc::new(RefCell::new(Pending::default()));
        let neighbours = Rc::<Neighbours>::default();
        let (hears, beside) = (pending.clone(), neighbours.clone());
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let Some(message) = Message::read(event.data()) else { return };
            let neighbour = match message.kind {
                Kind::Onward => beside.behind.get(),
                Kind::Back => beside.before.get(),
                _ => return hear(&hears, message),
            };
            if let Some(neighbour) = neighbour {
                // If the neighbour is gone, the load was cancelled, and the message does not matter.
                let _ = neighbour.post_message_with_transfer(&event.data(), &message.attachments);
            }
        });
        let (fails, failed) = (pending.clone(), worker.clone());
        let on_error = Closure::<dyn FnMut(Event)>::new(move |_: Event| {
            // A crashed program answers no requests, so terminate the worker.
            failed.terminate();
            end(&fails, CRASHED);
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_error.as_ref().unchecked_ref()));
        Connection { worker, pending, neighbours, _on_message: on_message, _on_error: on_error }
    }

    /// Sets the worker that receives the data of this worker. The page then forwards messages between the two workers.
    /// Must be called at most once.
    pub fn join(&self, behind: &Connection) {
        let _ = self.neighbours.behind.set(behind.worker.clone());
        let _ = behind.neighbours.before.set(self.worker.clone());
    }

    /// Sends a request. Calls `heard` once with the response or an error. If a newer request for the same place replaces
    /// this request, `heard` is never called. Attachments are transferred.
    pub fn ask<Q: Request>(
        &self,
        request: Q,
        place: Option<Place>,
        attachments: &[JsValue],
        heard: impl FnOnce(Result<Q::Response, String>) + 'static,
    ) where
        Q::Response: Body,
    {
        self.follow(request, place, attachments, &attachments.iter().collect(), |_: JsValue| true, heard);
    }

    /// Sends a request and reports its progress. Transfers the attachments in `transferred`, and copies all other
    /// attachments.
    pub fn work<Q: Request>(
        &self,
        request: Q,
        attachments: &[JsValue],
        transferred: &Array,
        progress: impl Fn(Q::Progress) + 'static,
        heard: impl FnOnce(Result<Q::Response, String>) + 'static,
    ) where
        Q::Progress: Body,
        Q::Response: Body,
    {
        let progress = move |body| Body::from_js(body).map(&progress).is_some();
        self.follow(request, None, attachments, transferred, progress, heard);
    }

    fn follow<Q: Request>(
        &self,
        request: Q,
        place: Option<Place>,
        attachments: &[JsValue],
        transferred: &Array,
        progress: impl Fn(JsValue) -> bool + 'static,
        heard: impl FnOnce(Result<Q::Response, String>) + 'static,
    ) where
        Q::Response: Body,
    {
        let request: Q::Worker = request.into();
        let waiter = waiter::<Q>(progress, heard);
        self.send(request.to_js(transferred), place, attachments, transferred, waiter);
    }

    /// Sends a request whose results go to `waiter`.
    pub fn send(
        &self,
        request: Option<JsValue>,
        place: Option<Place>,
        attachments: &[JsValue],
        transferred: &Array,
        waiter: Waiter,
    ) {
        let Some(request) = request else { return waiter(Heard::Error(UNSENDABLE.to_owned())) };
        let opened = self.pending.borrow_mut().open(place, waiter.clone());
        let opened = match opened {
            Ok(opened) => opened,
            Err(reason) => return waiter(Heard::Error(reason)),
        };
        if let Some(id) = opened.superseded {
            self.tell_cancelled(id);
        }
        let message = wire::message(opened.id, Kind::Request, &request, attachments);
        if self.worker.post_message_with_transfer(&message, transferred).is_err() {
            self.pending.borrow_mut().close(opened.id);
            waiter(Heard::Error(UNSENDABLE.to_owned()));
        }
    }

    /// Cancels the pending request for a place on the page.
    pub fn cancel(&self, place: Place) {
        let id = self.pending.borrow_mut().cancel(place);
        if let Some(id) = id {
            self.tell_cancelled(id);
        }
    }

    fn tell_cancelled(&self, id: RequestId) {
        // The message contains two numbers, so sending it cannot fail.
        let _ = self.worker.post_message(&wire::message(id, Kind::Cancel, &JsValue::NULL, &[]));
    }

    /// Terminates the worker and fails all pending requests with this reason.
    pub fn end(&self, reason: &str) {
        self.worker.terminate();
        end(&self.pending, reason);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.worker.terminate();
        for forget in [Worker::set_onmessage, Worker::set_onerror, Worker::set_onmessageerror] {
            forget(&self.worker, None);
        }
    }
}

fn hear(pending: &RefCell<Pending<Waiter>>, message: Message) {
    let Message { id, kind, body, .. } = message;
    let heard = match kind {
        Kind::Progress => Heard::Progress(body),
        Kind::Response => Heard::Response(body),
        Kind::Error => Heard::Error(body.as_string().unwrap_or_else(|| UNREADABLE.to_owned())),
        // The page sends these kinds itself or forwards them.
        Kind::Request | Kind::Cancel | Kind::Onward | Kind::Back => return,
    };
    // The borrow must end before the call, because the callback may immediately send another request.
    let waiter = {
        let mut pending = pending.borrow_mut();
        if matches!(heard, Heard::Progress(_)) { pending.progress(id) } else { pending.close(id) }
    };
    if let Some(waiter) = waiter {
        waiter(heard);
    }
}

fn end(pending: &RefCell<Pending<Waiter>>, reason: &str) {
    let waiting = pending.borrow_mut().end(reason);
    for waiter in waiting {
        waiter(Heard::Error(reason.to_owned()));
    }
}
