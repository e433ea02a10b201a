//! Reads the bytes of a file as a stream.
//!
//! Most browsers can fill a buffer that the caller provides, without extra memory or a copy. Other browsers return
//! their own buffers.

use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, ReadableStreamByobReader, ReadableStreamDefaultReader, ReadableStreamReadResult};

/// A file that is read from start to end.
pub struct FileStream {
    reader: Reader,
    ended: bool,
}

enum Reader {
    Filling(ReadableStreamByobReader),
    Giving(ReadableStreamDefaultReader),
}

impl FileStream {
    /// Starts reading a file.
    ///
    /// # Errors
    /// Returns the error of the browser if it cannot read the file.
    pub fn new(file: &Blob) -> Result<FileStream, JsValue> {
        let stream = file.stream();
        let reader = match ReadableStreamByobReader::new(&stream) {
            Ok(reader) => Reader::Filling(reader),
            Err(_) => Reader::Giving(ReadableStreamDefaultReader::new(&stream)?),
        };
        Ok(FileStream { reader, ended: false })
    }

    /// Reads the next bytes. Returns a buffer and the number of bytes in it, or `None` at the end of the file. If the
    /// browser supports it, `buffer` is filled and returned. If `at_once` is false, the buffer is filled completely. If
    /// `at_once` is true, the buffer contains the result of a single read.
    ///
    /// # Errors
    /// Returns the error of the browser if it cannot read the file. For example, the user may have removed the file.
    pub async fn next(&mut self, buffer: ArrayBuffer, at_once: bool) -> Result<Option<(ArrayBuffer, u32)>, JsValue> {
        let (mut buffer, mut filled, room) = (Uint8Array::new(&buffer), 0, buffer.byte_length());
        while !self.ended && filled < room {
            let reading = match &self.reader {
                Reader::Filling(reader) => reader.read_with_array_buffer_view(&buffer.subarray(filled, room)),
                Reader::Giving(reader) => reader.read(),
            };
            let result: ReadableStreamReadResult = JsFuture::from(reading).await?.unchecked_into();
            self.ended = result.get_done() == Some(true);
            let Ok(given) = result.get_value().dyn_into::<Uint8Array>() else { break };
            match self.reader {
                Reader::Filling(_) => {
                    filled += given.length();
                    buffer = Uint8Array::new(&given.buffer());
                }
                // The bytes are part of a larger buffer. That buffer must not be transferred, so copy the bytes.
                Reader::Giving(_) if given.length() < given.buffer().byte_length() => {
                    (filled, buffer) = (given.length(), Uint8Array::new(&given));
                }
                Reader::Giving(_) => (filled, buffer) = (given.length(), given),
            }
            if at_once || matches!(self.reader, Reader::Giving(_)) {
                break;
            }
        }
        Ok((filled > 0).then(|| (buffer.buffer(), filled)))
    }
}
