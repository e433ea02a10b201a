//! Whoever made a request, as the worker sees them.

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::DedicatedWorkerGlobalScope;

use crate::protocol::wire::{self, Body, Kind};
use crate::protocol::{Request, RequestId};

const GIVEN_UP: &str = "The analysis gave up this request. Load the profile again.";
const UNSENDABLE: &str = "The analysis could not put its response in a message.";

/// Whoever made a request. They hear progress, and then exactly one response or error: dropping this without either is an
/// error too. A page that is gone hears nothing.
pub struct Asker {
    scope: DedicatedWorkerGlobalScope,
    id: RequestId,
    attachments: Array,
    is_waiting: bool,
}

impl Asker {
    /// The asker of the request with this number, which came with these attachments.
    pub fn new(scope: DedicatedWorkerGlobalScope, id: RequestId, attachments: Array) -> Asker {
        Asker { scope, id, attachments, is_waiting: true }
    }

    /// What came with the request.
    pub fn attachments(&self) -> Array {
        self.attachments.clone()
    }

    /// What came with the request at this place, where the protocol has one of this type.
    pub fn attachment<T: JsCast>(&self, at: u32) -> T {
        self.attachments.get(at).unchecked_into()
    }

    /// Says how far the request is.
    pub fn progress<Q: Request>(&self, progress: &Q::Progress)
    where
        Q::Progress: Body,
    {
        let transferred = Array::new();
        if let Some(body) = progress.to_js(&transferred) {
            self.post(Kind::Progress, &body, &transferred);
        }
    }

    /// Ends the request with what was asked for.
    pub fn respond<Q: Request>(mut self, response: &Q::Response)
    where
        Q::Response: Body,
    {
        let transferred = Array::new();
        match response.to_js(&transferred) {
            Some(body) => {
                self.is_waiting = false;
                self.post(Kind::Response, &body, &transferred);
            }
            None => self.refuse(UNSENDABLE),
        }
    }

    /// Ends the request with what was asked for, or with the sentence that says why there is nothing.
    pub fn answer<Q: Request>(self, outcome: Result<Q::Response, &str>)
    where
        Q::Response: Body,
    {
        match outcome {
            Ok(response) => self.respond::<Q>(&response),
            Err(reason) => self.refuse(reason),
        }
    }

    /// Ends the request with a sentence that says why there is nothing.
    pub fn refuse(mut self, reason: &str) {
        self.is_waiting = false;
        self.post(Kind::Error, &JsValue::from_str(reason), &Array::new());
    }

    fn post(&self, kind: Kind, body: &JsValue, transferred: &Array) {
        let message = wire::message(self.id, kind, body, &[]);
        let _ = self.scope.post_message_with_transfer(&message, transferred);
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if self.is_waiting {
            self.post(Kind::Error, &JsValue::from_str(GIVEN_UP), &Array::new());
        }
    }
}
