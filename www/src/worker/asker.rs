//! The sender of a request, as the worker sees it.

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::DedicatedWorkerGlobalScope;

use crate::protocol::wire::{self, Body, Kind};
use crate::protocol::{Request, RequestId};

const GIVEN_UP: &str = "The analysis did not complete this request. Load the profile again.";
const UNSENDABLE: &str = "The analysis could not send its response. Load the profile again.";

/// The sender of a request. The sender receives progress, then exactly one response or error. If this value is dropped
/// without a response, the sender receives an error.
pub struct Asker {
    scope: DedicatedWorkerGlobalScope,
    id: RequestId,
    attachments: Array,
    is_waiting: bool,
}

impl Asker {
    /// Creates the sender of a request with its number and attachments.
    pub fn new(scope: DedicatedWorkerGlobalScope, id: RequestId, attachments: Array) -> Asker {
        Asker { scope, id, attachments, is_waiting: true }
    }

    /// Returns the attachments of the request.
    pub fn attachments(&self) -> Array {
        self.attachments.clone()
    }

    /// Returns one attachment of the request. `T` must be the type that the protocol defines.
    pub fn attachment<T: JsCast>(&self, at: u32) -> T {
        self.attachments.get(at).unchecked_into()
    }

    /// Reports progress of the request.
    pub fn progress<Q: Request>(&self, progress: &Q::Progress)
    where
        Q::Progress: Body,
    {
        let transferred = Array::new();
        if let Some(body) = progress.to_js(&transferred) {
            self.post(Kind::Progress, &body, &transferred);
        }
    }

    /// Ends the request with a response.
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

    /// Ends the request with a response or an error message.
    pub fn answer<Q: Request>(self, outcome: Result<Q::Response, &str>)
    where
        Q::Response: Body,
    {
        match outcome {
            Ok(response) => self.respond::<Q>(&response),
            Err(reason) => self.refuse(reason),
        }
    }

    /// Ends the request with an error message.
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
