//! Messages as JavaScript values: `[id, kind, body, attachments...]`, where an attachment is a list of files or a
//! buffer.
//!
//! A body is made and read by serde: what is small becomes JavaScript values, what is large bytes in a buffer that is
//! transferred. Bodies are read by way of a tree, which costs little code per type.

use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};

use super::{RequestId, packed};

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Asks for something.
    Request,
    /// Says that nobody waits for the response any more.
    Cancel,
    /// Says how far a request is.
    Progress,
    /// Ends a request, with what was asked for.
    Response,
    /// Ends a request; the body is a sentence that says why there is nothing.
    Error,
    /// For the next worker of the load, to which the page passes it on as it is. Attached: what is transferred.
    Onward,
    /// For the worker of the load before this one, to which the page passes it on as it is.
    Back,
}

const KINDS: [Kind; 7] =
    [Kind::Request, Kind::Cancel, Kind::Progress, Kind::Response, Kind::Error, Kind::Onward, Kind::Back];

/// A message that came.
#[derive(Clone, Debug)]
pub struct Message {
    /// The request that it is about.
    pub id: RequestId,
    /// What the message does.
    pub kind: Kind,
    /// What the message says; see [`Body::from_js`].
    pub body: JsValue,
    /// What came with the message.
    pub attachments: Array,
}

/// A message to send.
pub fn message(id: RequestId, kind: Kind, body: &JsValue, attachments: &[JsValue]) -> Array {
    let out = Array::of3(&id.0.into(), &(kind as u32).into(), body);
    for attachment in attachments {
        out.push(attachment);
    }
    out
}

impl Message {
    /// A message that came; nothing for a foreign one.
    pub fn read(data: JsValue) -> Option<Message> {
        let parts: Array = data.dyn_into().ok()?;
        let number = |at| parts.get(at).as_f64();
        let kind = *KINDS.get(number(1)? as usize)?;
        let (id, body) = (RequestId(number(0)? as u32), parts.get(2));
        Some(Message { id, kind, body, attachments: parts.slice(3, parts.length()) })
    }
}

/// What a message says.
pub trait Body: Sized {
    /// The body as a JavaScript value. What is transferred, not copied, is added to `transferred`.
    fn to_js(&self, transferred: &Array) -> Option<JsValue>;

    /// The body from a JavaScript value; nothing where it is of another type.
    fn from_js(body: JsValue) -> Option<Self>;
}

// Whole numbers of 64 bits are `BigInt`: a `number` loses digits of large ones.
const VALUES: serde_wasm_bindgen::Serializer =
    serde_wasm_bindgen::Serializer::json_compatible().serialize_large_number_types_as_bigints(true);

impl<T: Serialize + DeserializeOwned> Body for T {
    fn to_js(&self, _: &Array) -> Option<JsValue> {
        self.serialize(&VALUES).ok()
    }

    fn from_js(body: JsValue) -> Option<T> {
        crossprof::json::from_tree(serde_wasm_bindgen::from_value(body).ok()?).ok()
    }
}

/// A text that crosses as its bytes, in a buffer that is transferred.
#[derive(Clone, Debug, PartialEq)]
pub struct Document(ArrayBuffer);

impl Document {
    /// A document of a text.
    pub fn new(text: &str) -> Document {
        Document(Uint8Array::from(text.as_bytes()).buffer())
    }

    /// A document of bytes.
    pub fn of(buffer: ArrayBuffer) -> Document {
        Document(buffer)
    }

    /// The bytes, for the browser.
    pub fn buffer(&self) -> &ArrayBuffer {
        &self.0
    }

    /// The bytes, for this program.
    pub fn to_vec(&self) -> Vec<u8> {
        Uint8Array::new(&self.0).to_vec()
    }

    /// The text, for this program.
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

/// Something large that crosses as bytes, in a buffer that is transferred.
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
        crossprof::json::from_tree(packed::read(&Uint8Array::new(&buffer).to_vec())?).ok().map(Packed)
    }
}
