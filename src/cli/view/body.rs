//! Bodies of responses. A body consists of bytes in memory, or of a file that is read while it is sent.

use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::in_flight::InFlight;
use super::workers::Workers;

/// Number of bytes of a file that are read and sent at a time.
const CHUNK_BYTES: u64 = 256 << 10;

type Reading = Pin<Box<dyn Future<Output = Option<(File, io::Result<Bytes>)>> + Send>>;

/// The body of a response.
pub(super) struct Body {
    content: Content,
    /// Marks the connection as busy while the body is being sent.
    in_flight: Option<InFlight>,
}

enum Content {
    Bytes(Option<Bytes>),
    File { next: Next, left: u64, workers: Arc<Workers> },
}

enum Next {
    Read(File),
    Wait(Reading),
    End,
}

impl Body {
    /// Creates a body from bytes.
    pub(super) fn bytes(bytes: impl Into<Bytes>) -> Body {
        Body { content: Content::Bytes(Some(bytes.into())), in_flight: None }
    }

    /// Creates a body from the first `size` bytes of a file.
    pub(super) fn file(file: File, size: u64, workers: Arc<Workers>) -> Body {
        Body { content: Content::File { next: Next::Read(file), left: size, workers }, in_flight: None }
    }

    /// Keeps the connection busy until the body is sent.
    pub(super) fn with(self, in_flight: InFlight) -> Body {
        Body { in_flight: Some(in_flight), ..self }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(in_flight) = &self.in_flight {
            in_flight.touch();
        }
        let (next, left, workers) = match &mut self.content {
            Content::Bytes(bytes) => {
                return Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(Frame::data).map(Ok));
            }
            Content::File { next, left, workers } => (next, left, workers),
        };
        loop {
            match std::mem::replace(next, Next::End) {
                Next::Read(_) if *left == 0 => return Poll::Ready(None),
                Next::Read(file) => *next = Next::Wait(read(file, CHUNK_BYTES.min(*left), Arc::clone(workers))),
                Next::Wait(mut reading) => {
                    let Poll::Ready(result) = reading.as_mut().poll(context) else {
                        *next = Next::Wait(reading);
                        return Poll::Pending;
                    };
                    let (file, bytes) = match result {
                        Some((file, Ok(bytes))) => (file, bytes),
                        Some((_, Err(error))) => return Poll::Ready(Some(Err(error))),
                        None => return Poll::Ready(Some(Err(io::ErrorKind::Interrupted.into()))),
                    };
                    *left = left.saturating_sub(bytes.len() as u64);
                    *next = Next::Read(file);
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Next::End => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.content {
            Content::Bytes(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Content::File { left, .. } => *left,
        })
    }
}

/// Reads the next bytes of a file. Fails at the end of the file, because the response has already stated a longer length.
fn read(mut file: File, most: u64, workers: Arc<Workers>) -> Reading {
    Box::pin(async move {
        let job = move || {
            let mut chunk = Vec::new();
            let read = (&mut file).take(most).read_to_end(&mut chunk);
            let bytes = match read {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => Ok(Bytes::from(chunk)),
                Err(error) => Err(error),
            };
            (file, bytes)
        };
        workers.run(job).await
    })
}
