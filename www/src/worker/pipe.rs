//! Bytes from one worker to another: blocks that are transferred, not copied, and come back to be filled again. No more than a
//! few are ever under way, so the reader is never buried and memory stays bounded, without shared memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::mpsc;
use futures_util::StreamExt;
use js_sys::{Array, ArrayBuffer, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, MessagePort};

use crate::protocol::wire::Body;

/// Bytes of a block.
const BLOCK_BYTES: u32 = 4 << 20;
/// Blocks that may wait for the reader.
const MAX_OUTSTANDING: u32 = 3;
/// Buffers that are kept to be filled again.
const MAX_SPARE: usize = 16;

/// The writing end. `M` are the messages, one of which says how much of a block is filled.
pub struct Pipe<M> {
    port: MessagePort,
    filled_message: fn(u32) -> M,
    block: Option<Uint8Array>,
    filled: u32,
    outstanding: Rc<Cell<u32>>,
    spare: Rc<RefCell<Vec<ArrayBuffer>>>,
    returned: mpsc::UnboundedReceiver<()>,
}

impl<M: Body> Pipe<M> {
    /// A pipe through a port.
    pub fn new(port: MessagePort, filled_message: fn(u32) -> M) -> Pipe<M> {
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
        Pipe { port, filled_message, block: None, filled: 0, outstanding, spare, returned }
    }

    /// Waits until the reader has caught up.
    pub async fn ready(&mut self) {
        while self.outstanding.get() >= MAX_OUTSTANDING {
            self.returned.next().await;
        }
    }

    /// Sends a message after the bytes that came before it.
    pub fn send(&mut self, message: &M) {
        self.flush();
        // A reader that is gone has been cancelled.
        if let Some(message) = message.to_js(&Array::new()) {
            let _ = self.port.post_message(&Array::of1(&message));
        }
    }

    /// Sends bytes.
    pub fn fill(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let block = self.block.take().unwrap_or_else(|| Uint8Array::new(&self.buffer(BLOCK_BYTES)));
            let room = (BLOCK_BYTES - self.filled) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let end = self.filled + now.len() as u32;
            block.subarray(self.filled, end).copy_from(now);
            self.filled = end;
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
        self.flush();
        self.post(buffer, &(self.filled_message)(filled));
    }

    /// Sends a message with a copy of these bytes, in a separate buffer.
    pub fn send_with(&mut self, message: &M, bytes: &[u8]) {
        self.flush();
        self.post(&Uint8Array::from(bytes).buffer(), message);
    }

    /// The same with words.
    pub fn send_words(&mut self, message: &M, words: &[u32]) {
        self.flush();
        let buffer = self.buffer(size_of_val(words) as u32);
        Uint32Array::new(&buffer).copy_from(words);
        self.post(&buffer, message);
    }

    fn flush(&mut self) {
        let Some(block) = self.block.take() else { return };
        self.post(&block.buffer(), &(self.filled_message)(self.filled));
        self.filled = 0;
    }

    fn post(&mut self, buffer: &ArrayBuffer, message: &M) {
        let Some(message) = message.to_js(&Array::new()) else { return };
        let _ = self.port.post_message_with_transferable(&Array::of2(&message, buffer), &Array::of1(buffer));
        self.outstanding.set(self.outstanding.get() + 1);
    }
}

fn keep(spare: &RefCell<Vec<ArrayBuffer>>, buffer: ArrayBuffer) {
    let mut spare = spare.borrow_mut();
    if spare.len() < MAX_SPARE {
        spare.push(buffer);
    }
}

/// The reading end: calls back for each message, with its buffer, which then goes back to be filled again. Nothing instead
/// of a message that cannot be read.
pub fn listen<M: Body + 'static>(port: MessagePort, mut heard: impl FnMut(Option<M>, &JsValue) + 'static) {
    let back = port.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let parts: Array = event.data().unchecked_into();
        let buffer = parts.get(1);
        heard(M::from_js(parts.get(0)), &buffer);
        if !buffer.is_undefined() {
            // The other worker is gone only when both are.
            let _ = back.post_message_with_transferable(&buffer, &Array::of1(&buffer));
        }
    });
    port.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
}
