//! Transfers bytes from one worker to the next. Blocks of bytes are transferred instead of copied. The receiver returns
//! each block, so that the sender can fill the block again. Only a few blocks are in transit at any time. The memory
//! for blocks is therefore limited, although the workers share no memory. The page forwards all messages: there is no
//! port between the workers (see [`protocol`](crate::protocol)).
//!
//! Each post to the next worker contains a list of messages, and a block with the bytes of all these messages in order.
//! Thousands of small archive members can therefore share a block.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::mpsc;
use futures_util::StreamExt;
use js_sys::{Array, ArrayBuffer, Uint8Array, Uint32Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use web_sys::DedicatedWorkerGlobalScope;

use crate::protocol::RequestId;
use crate::protocol::wire::{self, Body, Kind, Message};

/// Size of a block of bytes.
const BLOCK_BYTES: u32 = 4 << 20;
/// Maximum number of blocks in transit.
const MAX_OUTSTANDING: u32 = 3;
/// Maximum number of buffers that are kept for reuse.
const MAX_SPARE: usize = 16;
/// Maximum number of messages per post.
const MAX_MESSAGES: usize = 1024;

/// Listeners for messages from the previous and from the next worker.
#[derive(Default)]
struct Inboxes {
    before: Inbox,
    behind: Inbox,
}

/// Receives messages from a neighbour. Keeps the messages until there is a listener.
enum Inbox {
    Kept(Vec<Message>),
    Listening(Box<dyn FnMut(Message)>),
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox::Kept(Vec::new())
    }
}

impl Inbox {
    fn hear(&mut self, message: Message) {
        match self {
            Inbox::Kept(kept) => kept.push(message),
            Inbox::Listening(listener) => listener(message),
        }
    }

    fn listen(&mut self, listener: impl FnMut(Message) + 'static) {
        let before = std::mem::replace(self, Inbox::Listening(Box::new(listener)));
        if let Inbox::Kept(kept) = before {
            kept.into_iter().for_each(|message| self.hear(message));
        }
    }
}

thread_local! {
    static INBOXES: RefCell<Inboxes> = RefCell::default();
}

/// Handles a message from a neighbour.
pub fn hear(message: Message) {
    INBOXES.with_borrow_mut(|inboxes| match message.kind {
        Kind::Onward => inboxes.before.hear(message),
        _ => inboxes.behind.hear(message),
    });
}

/// Sends a message to a neighbour. Ignores errors, because a missing neighbour means that the load was cancelled.
fn post(kind: Kind, body: &JsValue, transferred: &Array) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let message = wire::message(RequestId::UNAWAITED, kind, body, &transferred.to_vec());
    let _ = scope.post_message_with_transfer(&message, transferred);
}

/// The sending end. `bytes_message` creates the message that announces a number of bytes in the block.
pub struct Pipe<M> {
    bytes_message: fn(u32) -> M,
    /// Messages for the next post.
    messages: Vec<M>,
    block: Option<Uint8Array>,
    filled: u32,
    /// Number of bytes at the end of the block that no message has announced yet.
    unannounced: u32,
    outstanding: Rc<Cell<u32>>,
    spare: Rc<RefCell<Vec<ArrayBuffer>>>,
    returned: mpsc::UnboundedReceiver<()>,
}

impl<M: Serialize + DeserializeOwned> Pipe<M> {
    /// Creates the pipe to the next worker.
    pub fn new(bytes_message: fn(u32) -> M) -> Pipe<M> {
        let (sender, returned) = mpsc::unbounded();
        let outstanding = Rc::new(Cell::new(0));
        let spare = Rc::new(RefCell::new(Vec::new()));
        let (left, kept) = (outstanding.clone(), spare.clone());
        let on_return = move |message: Message| {
            left.set(u32::saturating_sub(left.get(), 1));
            keep(&kept, message.attachments.get(0).unchecked_into());
            // The receiver lives as long as the worker.
            let _ = sender.unbounded_send(());
        };
        INBOXES.with_borrow_mut(|inboxes| inboxes.behind.listen(on_return));
        let (messages, block, filled, unannounced) = (Vec::new(), None, 0, 0);
        Pipe { bytes_message, messages, block, filled, unannounced, outstanding, spare, returned }
    }

    /// Waits until fewer than `MAX_OUTSTANDING` blocks are in transit.
    pub async fn ready(&mut self) {
        while self.outstanding.get() >= MAX_OUTSTANDING {
            self.returned.next().await;
        }
    }

    /// Queues a message after the bytes that were queued before it. The message is sent by [`flush`](Pipe::flush), or
    /// when the block is full.
    pub fn send(&mut self, message: M) {
        self.announce_bytes();
        self.messages.push(message);
        if self.messages.len() >= MAX_MESSAGES {
            self.flush();
        }
    }

    /// Queues bytes, like [`send`](Pipe::send).
    pub fn fill(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let block = self.block.take().unwrap_or_else(|| Uint8Array::new(&self.buffer(BLOCK_BYTES)));
            let room = (BLOCK_BYTES - self.filled) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let end = self.filled + now.len() as u32;
            block.subarray(self.filled, end).copy_from(now);
            self.filled = end;
            self.unannounced += now.len() as u32;
            self.block = Some(block);
            bytes = later;
            if end == BLOCK_BYTES {
                self.flush();
            }
        }
    }

    /// Returns a buffer of this size. Reuses a returned buffer if possible.
    pub fn buffer(&self, bytes: u32) -> ArrayBuffer {
        let mut spare = self.spare.borrow_mut();
        match spare.iter().rposition(|buffer| buffer.byte_length() == bytes) {
            Some(at) => spare.swap_remove(at),
            None => ArrayBuffer::new(bytes),
        }
    }

    /// Keeps a buffer that was not sent, for reuse.
    pub fn keep(&mut self, buffer: ArrayBuffer) {
        keep(&self.spare, buffer);
    }

    /// Sends a buffer without copying it. The first `filled` bytes of the buffer contain data.
    pub fn pass(&mut self, buffer: &ArrayBuffer, filled: u32) {
        let message = (self.bytes_message)(filled);
        self.send_alone(message, buffer);
    }

    /// Sends a message with a copy of these bytes in its own buffer.
    pub fn send_with(&mut self, message: M, bytes: &[u8]) {
        self.send_alone(message, &Uint8Array::from(bytes).buffer());
    }

    /// Sends a message with a copy of these words in its own buffer.
    pub fn send_words(&mut self, message: M, words: &[u32]) {
        let buffer = self.buffer(size_of_val(words) as u32);
        Uint32Array::new(&buffer).copy_from(words);
        self.send_alone(message, &buffer);
    }

    /// Sends all queued messages.
    pub fn flush(&mut self) {
        self.announce_bytes();
        let (messages, block) = (std::mem::take(&mut self.messages), self.block.take());
        self.filled = 0;
        if !messages.is_empty() {
            self.post(messages, block.map(|block| block.buffer()).as_ref());
        }
    }

    fn send_alone(&mut self, message: M, buffer: &ArrayBuffer) {
        self.flush();
        self.post(vec![message], Some(buffer));
    }

    fn announce_bytes(&mut self) {
        let unannounced = std::mem::take(&mut self.unannounced);
        if unannounced > 0 {
            self.messages.push((self.bytes_message)(unannounced));
        }
    }

    fn post(&self, messages: Vec<M>, buffer: Option<&ArrayBuffer>) {
        let Some(messages) = messages.to_js(&Array::new()) else { return };
        let transferred = Array::new();
        if let Some(buffer) = buffer {
            transferred.push(buffer);
            self.outstanding.set(self.outstanding.get() + 1);
        }
        post(Kind::Onward, &messages, &transferred);
    }
}

fn keep(spare: &RefCell<Vec<ArrayBuffer>>, buffer: ArrayBuffer) {
    let mut spare = spare.borrow_mut();
    if spare.len() < MAX_SPARE {
        spare.push(buffer);
    }
}

/// The bytes that are attached to a post.
pub struct Bytes {
    buffer: JsValue,
    start: u32,
}

impl Bytes {
    /// Takes the next `length` bytes, or fewer at the end of the buffer.
    pub fn take(&mut self, length: u32) -> Uint8Array {
        let start = self.start;
        self.start = start.saturating_add(length);
        Uint8Array::new(&self.buffer).subarray(start, self.start)
    }

    /// Returns the whole buffer of a message that has its own buffer.
    pub fn buffer(&self) -> &JsValue {
        &self.buffer
    }
}

/// The receiving end. Calls `heard` for each message, with the remaining bytes of the message's post, and then returns
/// the buffer to the sender. `heard` receives `None` if the messages are invalid.
pub fn listen<M>(mut heard: impl FnMut(Option<M>, &mut Bytes) + 'static)
where
    M: Serialize + DeserializeOwned + 'static,
{
    let on_message = move |message: Message| {
        let mut bytes = Bytes { buffer: message.attachments.get(0), start: 0 };
        match Vec::<M>::from_js(message.body) {
            Some(messages) => messages.into_iter().for_each(|message| heard(Some(message), &mut bytes)),
            None => heard(None, &mut bytes),
        }
        if !bytes.buffer.is_undefined() {
            post(Kind::Back, &JsValue::NULL, &Array::of1(&bytes.buffer));
        }
    };
    INBOXES.with_borrow_mut(|inboxes| inboxes.before.listen(on_message));
}
