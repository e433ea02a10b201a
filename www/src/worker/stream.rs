//! The bytes of a file as the browser hands them out.
//!
//! Most browsers read into a buffer that they are given, which costs no further memory and no copy; the others give what they
//! have in buffers that they make.

use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, ReadableStreamByobReader, ReadableStreamDefaultReader, ReadableStreamReadResult};

/// A file that is read from its start to its end.
pub struct FileStream {
    reader: Reader,
    ended: bool,
}

enum Reader {
    Filling(ReadableStreamByobReader),
    Giving(ReadableStreamDefaultReader),
}

impl FileStream {
    /// At the start of a file.
    ///
    /// # Errors
    /// What the browser says of a file that it cannot read.
    pub fn new(file: &Blob) -> Result<FileStream, JsValue> {
        let stream = file.stream();
        let reader = match ReadableStreamByobReader::new(&stream) {
            Ok(reader) => Reader::Filling(reader),
            Err(_) => Reader::Giving(ReadableStreamDefaultReader::new(&stream)?),
        };
        Ok(FileStream { reader, ended: false })
    }

    /// The next bytes: a buffer and how many they are. It is `buffer` where the browser fills it: to its end, or with what
    /// there is after one read where `at_once`. `None` at the end of the file.
    ///
    /// # Errors
    /// What the browser says of a file that it cannot read: it may be gone by now.
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
                // A copy where it is a part of a larger buffer, which is not ours to give away.
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
