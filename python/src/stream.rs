//! Python objects that are read block by block, such as opened files and objects in a bucket.

use std::io::{self, Read};

use crossprof::cli::open::{Stream, Streams};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Number of bytes in each request to Python. Blocks are large because each request to a bucket takes a round trip.
const BLOCK: usize = 8 << 20;

/// Name, size in bytes, and an object whose method `read(n)` returns at most n bytes, and no bytes at the end.
type Given = (String, Option<u64>, Py<PyAny>);

/// Address, true if it is a folder, and the contents.
pub(crate) type GivenStreams = (String, bool, Vec<Given>);

/// Returns the objects as streams.
pub(crate) fn streams(given: Vec<GivenStreams>) -> Vec<Streams> {
    let stream = |(name, size, object): Given| Stream { name, size, content: Box::new(Reader { object, block: None }) };
    let all = given.into_iter();
    all.map(|(name, is_folder, contents)| Streams {
        name,
        is_folder,
        streams: contents.into_iter().map(stream).collect(),
    })
    .collect()
}

/// A Python object, and the unread part of the last block that it returned.
struct Reader {
    object: Py<PyAny>,
    block: Option<(Py<PyBytes>, usize)>,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        Python::attach(|py| {
            let (block, done) = match self.block.take() {
                Some(left) => left,
                None => (self.next(py).map_err(|error| io::Error::other(message(py, &error)))?, 0),
            };
            let mut left = block.as_bytes(py).get(done..).unwrap_or_default();
            let read = left.read(buffer)?;
            let is_left = !left.is_empty();
            self.block = is_left.then(|| (block, done.saturating_add(read)));
            Ok(read)
        })
    }
}

impl Reader {
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        let block = self.object.bind(py).call_method1("read", (BLOCK,))?;
        Ok(block.cast_into::<PyBytes>().map_err(PyErr::from)?.unbind())
    }
}

/// Returns the text of an exception, or its type if it has no text.
fn message(py: Python<'_>, error: &PyErr) -> String {
    let text = error.value(py).to_string();
    if text.is_empty() { error.get_type(py).to_string() } else { text }
}
