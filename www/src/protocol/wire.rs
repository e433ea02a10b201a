//! Messages as JavaScript values: `[id, kind, body, attachments...]`. An attachment is a list of files or a buffer.
//!
//! Serde converts bodies. Small bodies become JavaScript values, and large bodies become bytes in a buffer that is
//! transferred. The receiver converts each body to a generic tree first, so that each type needs little code.

use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};

use super::{RequestId, packed};

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request,
    /// Cancels a request, because its response is not needed.
    Cancel,
    /// Progress of a request.
    Progress,
    /// Ends a request with its response.
    Response,
    /// Ends a request with an error. The body is a sentence for the user.
    Error,
    /// A message for the next worker of the load. The page forwards the message unchanged. Attached: buffers, which are
    /// transferred.
    Onward,
    /// A message for the previous worker of the load. The page forwards the message unchanged.
    Back,
}

const KINDS: [Kind; 7] =
    [Kind::Request, Kind::Cancel, Kind::Progress, Kind::Response, Kind::Error, Kind::Onward, Kind::Back];

/// A received message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Id of the request.
    pub id: RequestId,
    /// Kind of the message.
    pub kind: Kind,
    /// Content of the message. See [`Body::from_js`].
    pub body: JsValue,
    /// Attached buffers or lists of files.
    pub attachments: Array,
}

/// Creates a message to send.
pub fn message(id: RequestId, kind: Kind, body: &JsValue, attachments: &[JsValue]) -> Array {
    let out = Array::of3(&id.0.into(), &(kind as u32).into(), body);
    for attachment in attachments {
        out.push(attachment);
    }
    out
}

impl Message {
    /// Parses a received message. Returns `None` if the message does not have this format.
    pub fn read(data: JsValue) -> Option<Message> {
        let parts: Array = data.dyn_into().ok()?;
        let number = |at| parts.get(at).as_f64();
        let kind = *KINDS.get(number(1)? as usize)?;
        let (id, body) = (RequestId(number(0)? as u32), parts.get(2));
        Some(Message { id, kind, body, attachments: parts.slice(3, parts.length()) })
    }
}

/// A type that can be the body of a message.
pub trait Body: Sized {
    /// Converts the body to a JavaScript value. Objects that must be transferred instead of copied are added to
    /// `transferred`.
    fn to_js(&self, transferred: &Array) -> Option<JsValue>;

    /// Converts a JavaScript value to the body. Returns `None` if the value does not match the type.
    fn from_js(body: JsValue) -> Option<Self>;
}

// 64-bit integers become `BigInt`, because a `number` loses digits of large values.
const VALUES: serde_wasm_bindgen::Serializer =
    serde_wasm_bindgen::Serializer::json_compatible().serialize_large_number_types_as_bigints(true);

impl<T: Serialize + DeserializeOwned> Body for T {
    fn to_js(&self, _: &Array) -> Option<JsValue> {
        self.serialize(&VALUES).ok()
    }

    fn from_js(body: JsValue) -> Option<T> {
        crossprof::text::json::from_tree(serde_wasm_bindgen::from_value(body).ok()?).ok()
    }
}

/// Text or bytes in a buffer, which is transferred instead of copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Document(ArrayBuffer);

impl Document {
    /// Creates a document from text.
    pub fn new(text: &str) -> Document {
        Document(Uint8Array::from(text.as_bytes()).buffer())
    }

    /// Creates a document from a buffer.
    pub fn of(buffer: ArrayBuffer) -> Document {
        Document(buffer)
    }

    /// Returns the buffer.
    pub fn buffer(&self) -> &ArrayBuffer {
        &self.0
    }

    /// Copies the bytes out of the buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        Uint8Array::new(&self.0).to_vec()
    }

    /// Copies the content out of the buffer as text. The text is empty if the content is not valid UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8(self.to_vec()).unwrap_or_default()
    }
}

impl Body for Document {
    fn to_js(&self, transferred: &Array) -> Option<JsValue> {
        transferred.push(&self.0);
        Some(self.0.clone().into())
    }

    fn from_js(body: JsValue) -> Option<Document> {
        body.dyn_into().ok().map(Document)
    }
}

/// A large value that is sent as bytes. The buffer is transferred instead of copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed<T>(pub T);

impl<T: Serialize + DeserializeOwned> Body for Packed<T> {
    fn to_js(&self, transferred: &Array) -> Option<JsValue> {
        let bytes = packed::write(&serde_json::to_value(&self.0).ok()?)?;
        let buffer = Uint8Array::from(&bytes[..]).buffer();
        transferred.push(&buffer);
        Some(buffer.into())
    }

    fn from_js(body: JsValue) -> Option<Packed<T>> {
        let buffer: ArrayBuffer = body.dyn_into().ok()?;
        crossprof::text::json::from_tree(packed::read(&Uint8Array::new(&buffer).to_vec())?).ok().map(Packed)
    }
}
