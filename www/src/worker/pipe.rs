//! Bytes from one worker to another: blocks that are transferred, not copied, and come back to be filled again. No more than a
//! few are ever under way, so the reader is never buried and memory stays bounded, without shared memory.
//!
//! A post is a list of messages and a block with the bytes of all of them, one after the other: thousands of small members of an
//! archive share a block.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::mpsc;
use futures_util::StreamExt;
use js_sys::{Array, ArrayBuffer, Uint8Array, Uint32Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, MessagePort};

use crate::protocol::wire::Body;

/// Bytes of a block.
const BLOCK_BYTES: u32 = 4 << 20;
/// Blocks that may wait for the reader.
const MAX_OUTSTANDING: u32 = 3;
/// Buffers that are kept to be filled again.
const MAX_SPARE: usize = 16;
/// Messages of a post.
const MAX_MESSAGES: usize = 1024;

/// The writing end. `M` are the messages, one of which says how many bytes of the block are the next.
pub struct Pipe<M> {
    port: MessagePort,
    bytes_message: fn(u32) -> M,
    /// Messages of the next post.
    messages: Vec<M>,
    block: Option<Uint8Array>,
    filled: u32,
    /// The bytes at the end of the block that no message is about yet.
    unsaid: u32,
    outstanding: Rc<Cell<u32>>,
    spare: Rc<RefCell<Vec<ArrayBuffer>>>,
    returned: mpsc::UnboundedReceiver<()>,
}

impl<M: Serialize + DeserializeOwned> Pipe<M> {
    /// A pipe through a port.
    pub fn new(port: MessagePort, bytes_message: fn(u32) -> M) -> Pipe<M> {
        let (sender, returned) = mpsc::unbounded();
        let outstanding = Rc::new(Cell::new(0));
        let spare = Rc::new(RefCell::new(Vec::new()));
        let (left, kept) = (outstanding.clone(), spare.clone());
        let on_return = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            left.set(u32::saturating_sub(left.get(), 1));
            let buffer: ArrayBuffer = event.data().unchecked_into();
            keep(&kept, buffer);
            // The receiver lives as long as the worker.
            let _ = sender.unbounded_send(());
        });
        port.set_onmessage(Some(on_return.as_ref().unchecked_ref()));
        on_return.forget();
        let (messages, block, filled, unsaid) = (Vec::new(), None, 0, 0);
        Pipe { port, bytes_message, messages, block, filled, unsaid, outstanding, spare, returned }
    }

    /// Waits until the reader has caught up.
    pub async fn ready(&mut self) {
        while self.outstanding.get() >= MAX_OUTSTANDING {
            self.returned.next().await;
        }
    }

    /// Sends a message after the bytes that came before it, not before [`flush`](Pipe::flush) or a full block.
    pub fn send(&mut self, message: M) {
        self.say_bytes();
        self.messages.push(message);
        if self.messages.len() >= MAX_MESSAGES {
            self.flush();
        }
    }

    /// Sends bytes, as [`send`](Pipe::send) does.
    pub fn fill(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let block = self.block.take().unwrap_or_else(|| Uint8Array::new(&self.buffer(BLOCK_BYTES)));
            let room = (BLOCK_BYTES - self.filled) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let end = self.filled + now.len() as u32;
            block.subarray(self.filled, end).copy_from(now);
            self.filled = end;
            self.unsaid += now.len() as u32;
            self.block = Some(block);
            bytes = later;
            if end == BLOCK_BYTES {
                self.flush();
            }
        }
    }

    /// A buffer of this size: one that came back, or a new one.
    pub fn buffer(&self, bytes: u32) -> ArrayBuffer {
        let mut spare = self.spare.borrow_mut();
        match spare.iter().rposition(|buffer| buffer.byte_length() == bytes) {
            Some(at) => spare.swap_remove(at),
            None => ArrayBuffer::new(bytes),
        }
    }

    /// Takes a buffer back that was not sent.
    pub fn keep(&mut self, buffer: ArrayBuffer) {
        keep(&self.spare, buffer);
    }

    /// Sends a buffer as it is, of which so many bytes are filled.
    pub fn pass(&mut self, buffer: &ArrayBuffer, filled: u32) {
        let message = (self.bytes_message)(filled);
        self.send_alone(message, buffer);
    }

    /// Sends a message with a copy of these bytes, in a separate buffer.
    pub fn send_with(&mut self, message: M, bytes: &[u8]) {
        self.send_alone(message, &Uint8Array::from(bytes).buffer());
    }

    /// Sends a message with a copy of these words, in a separate buffer.
    pub fn send_words(&mut self, message: M, words: &[u32]) {
        let buffer = self.buffer(size_of_val(words) as u32);
        Uint32Array::new(&buffer).copy_from(words);
        self.send_alone(message, &buffer);
    }

    /// Sends everything that waits.
    pub fn flush(&mut self) {
        self.say_bytes();
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

    fn say_bytes(&mut self) {
        let unsaid = std::mem::take(&mut self.unsaid);
        if unsaid > 0 {
            self.messages.push((self.bytes_message)(unsaid));
        }
    }

    fn post(&self, messages: Vec<M>, buffer: Option<&ArrayBuffer>) {
        let Some(messages) = messages.to_js(&Array::new()) else { return };
        let (post, transferred) = (Array::of1(&messages), Array::new());
        if let Some(buffer) = buffer {
            post.push(buffer);
            transferred.push(buffer);
            self.outstanding.set(self.outstanding.get() + 1);
        }
        // A reader that is gone has been cancelled.
        let _ = self.port.post_message_with_transferable(&post, &transferred);
    }
}

fn keep(spare: &RefCell<Vec<ArrayBuffer>>, buffer: ArrayBuffer) {
    let mut spare = spare.borrow_mut();
    if spare.len() < MAX_SPARE {
        spare.push(buffer);
    }
}

/// The bytes that came with messages.
pub struct Bytes {
    buffer: JsValue,
    start: u32,
}

impl Bytes {
    /// Takes the next so many; fewer where the buffer ends before them.
    pub fn take(&mut self, length: u32) -> Uint8Array {
        let start = self.start;
        self.start = start.saturating_add(length);
        Uint8Array::new(&self.buffer).subarray(start, self.start)
    }

    /// All of them, of a message that came alone.
    pub fn buffer(&self) -> &JsValue {
        &self.buffer
    }
}

/// The reading end: calls back for each message, with the bytes that are left of its post, whose buffer then goes back to be
/// filled again. Nothing instead of messages that cannot be read.
pub fn listen<M>(port: MessagePort, mut heard: impl FnMut(Option<M>, &mut Bytes) + 'static)
where
    M: Serialize + DeserializeOwned + 'static,
{
    let back = port.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let parts: Array = event.data().unchecked_into();
        let mut bytes = Bytes { buffer: parts.get(1), start: 0 };
        match Vec::<M>::from_js(parts.get(0)) {
            Some(messages) => messages.into_iter().for_each(|message| heard(Some(message), &mut bytes)),
            None => heard(None, &mut bytes),
        }
        if !bytes.buffer.is_undefined() {
            // The other worker is gone only when both are.
            let _ = back.post_message_with_transferable(&bytes.buffer, &Array::of1(&bytes.buffer));
        }
    });
    port.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
}
