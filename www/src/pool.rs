//! A pool of workers that are started before they are needed, because starting a worker takes longer than reading a small
//! profile.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{FutureExt, LocalBoxFuture, ready};
use js_sys::Array;
use leptos::prelude::set_timeout;
use wasm_bindgen::prelude::*;
use web_sys::{ErrorEvent, MessageEvent, Worker};

use crate::boot::{self, EXAMPLES, Example, Program};
use crate::protocol::analyst::{AnalystRequest, RehearseRequest};
use crate::protocol::reader::{ReaderRequest, RehearseReadingRequest};
use crate::protocol::wire::{self, Body, Kind};
use crate::protocol::{BUILD_ID, RequestId};

/// Workers that the pool keeps ready. The workers are enough for one load: one reader that inspects the files, two
/// readers that unpack and decode, and one analyst.
const SPARE: [(Program, usize); 2] = [(Program::Reader, 3), (Program::Analyst, 1)];
/// Delay before the pool starts new workers in place of the workers that a load took. Without the delay, the new
/// workers would slow down the load.
const REST: Duration = Duration::from_secs(3);
/// Delay after which the page has certainly drawn its first frame.
const DRAWN: Duration = Duration::from_millis(200);

const STALE: &str = "This page was updated while it was open. Reload it before you open another profile.";
const UNREADABLE: &str = "The analysis could not start because files of the page could not be read. Reload the page.";

/// Reason why no worker is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWorker {
    /// The files of the worker could not be read.
    Unreadable,
    /// The worker belongs to another build, because the page was updated while it was open.
    Stale,
}

impl NoWorker {
    /// Returns the reason as a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            NoWorker::Unreadable => UNREADABLE,
            NoWorker::Stale => STALE,
        }
    }
}

thread_local! {
    static WAITING: RefCell<Vec<(Program, Worker)>> = const { RefCell::new(Vec::new()) };
    static STARTING: Cell<[usize; 3]> = const { Cell::new([0; 3]) };
    static REHEARSED: Cell<bool> = const { Cell::new(false) };
}

/// Returns a worker that is listening, from the pool if possible. Callers must set the handlers of the worker.
pub fn take(program: Program) -> LocalBoxFuture<'static, Result<Worker, NoWorker>> {
    set_timeout(fill, REST);
    let waiting = WAITING.with_borrow_mut(|waiting| {
        let found = waiting.iter().position(|(of, _)| *of == program)?;
        Some(waiting.swap_remove(found).1)
    });
    match waiting {
        Some(worker) => ready(Ok(worker)).boxed_local(),
        None => start(program),
    }
}

/// Starts workers until the pool is full.
pub fn fill() {
    for (program, wanted) in SPARE {
        let waiting = WAITING.with_borrow(|waiting| waiting.iter().filter(|(of, _)| *of == program).count());
        for _ in waiting + STARTING.get()[program as usize]..wanted {
            count(program, 1);
            wasm_bindgen_futures::spawn_local(async move {
                let started = start(program).await;
                count(program, -1);
                // Ignore errors: the next call of `take` reports them.
                if let Ok(worker) = started {
                    WAITING.with_borrow_mut(|waiting| waiting.push((program, worker)));
                    if program == Program::Analyst && !REHEARSED.replace(true) {
                        set_timeout(|| wasm_bindgen_futures::spawn_local(rehearse()), DRAWN);
                    }
                }
            });
        }
    }
}

/// Warms up the workers: the first analyst processes a synthetic run, and a reader reads the examples. All later
/// workers share the code that the browser compiles in this way. The warm-up skips workers that have already left the
/// pool.
async fn rehearse() {
    tell(Program::Analyst, AnalystRequest::from(RehearseRequest), &[]);
    let (mut paths, files) = (Vec::new(), Array::new());
    for Example { file, .. } in EXAMPLES {
        if let Ok(blob) = boot::kept(file).await {
            paths.push(file.to_owned());
            files.push(&blob);
        }
    }
    tell(Program::Reader, ReaderRequest::from(RehearseReadingRequest { paths }), &[files.into()]);
}

/// Sends a request to a worker in the pool, and ignores the response.
fn tell(of: Program, request: impl Body, attachments: &[JsValue]) {
    let Some(request) = request.to_js(&Array::new()) else { return };
    WAITING.with_borrow(|waiting| {
        if let Some((_, worker)) = waiting.iter().find(|(program, _)| *program == of) {
            // A worker that has left the pool needs no warm-up.
            let _ = worker.post_message(&wire::message(RequestId::UNAWAITED, Kind::Request, &request, attachments));
        }
    });
}

/// Adds `more` to the number of workers that are starting with this program.
fn count(program: Program, more: isize) {
    let mut starting = STARTING.get();
    let of = &mut starting[program as usize];
    *of = of.saturating_add_signed(more);
    STARTING.set(starting);
}

/// Starts a worker outside the pool and waits for its first message. Messages that the page sends earlier would be
/// lost. The future is boxed, so that it is compiled only once.
pub fn start(program: Program) -> LocalBoxFuture<'static, Result<Worker, NoWorker>> {
    let started = async move {
        let worker = boot::worker(program).await.map_err(|_| NoWorker::Unreadable)?;
        let (sender, is_up) = oneshot::channel();
        let sender = Rc::new(RefCell::new(Some(sender)));
        let failed = sender.clone();
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let (Some(build), Some(sender)) = (event.data().as_string(), sender.borrow_mut().take()) {
                let _ = sender.send(build);
            }
        });
        // Dropping the sender ends the wait with an error.
        let on_error = Closure::<dyn FnMut(ErrorEvent)>::new(move |_: ErrorEvent| drop(failed.borrow_mut().take()));
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        let build = is_up.await.map_err(|_| NoWorker::Unreadable);
        worker.set_onmessage(None);
        worker.set_onerror(None);
        match build? {
            build if build == BUILD_ID => Ok(worker),
            _ => {
                worker.terminate();
                Err(NoWorker::Stale)
            }
        }
    };
    started.boxed_local()
}
