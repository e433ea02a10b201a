//! Workers that are up before they are needed: starting one takes longer than reading a small profile.

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

/// Workers of one load: two that read and one that looks at the files, one that analyses.
const SPARE: [(Program, usize); 2] = [(Program::Reader, 3), (Program::Analyst, 1)];
/// New workers are started when the load that took the others has had its time.
const REST: Duration = Duration::from_secs(3);
/// The page has drawn itself by then.
const DRAWN: Duration = Duration::from_millis(200);

const STALE: &str = "This page was updated while it was open. Reload it before you open another profile.";
const UNREADABLE: &str = "The analysis could not be started: the page's own files could not be read. Reload the page.";

/// Why there is no worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWorker {
    /// Files of the worker could not be read.
    Unreadable,
    /// The worker is of another build: the page was updated while it was open.
    Stale,
}

impl NoWorker {
    /// The reason as a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            NoWorker::Unreadable => UNREADABLE,
            NoWorker::Stale => STALE,
        }
    }
}

thread_local! {
    static WAITING: RefCell<Vec<(Program, Worker)>> = const { RefCell::new(Vec::new()) };
    static STARTING: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
    static REHEARSED: Cell<bool> = const { Cell::new(false) };
}

/// A worker that listens. Its handlers are the caller's to set.
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

/// Starts workers until enough wait.
pub fn fill() {
    for (program, wanted) in SPARE {
        let waiting = WAITING.with_borrow(|waiting| waiting.iter().filter(|(of, _)| *of == program).count());
        for _ in waiting + STARTING.get()[program as usize]..wanted {
            count(program, 1);
            wasm_bindgen_futures::spawn_local(async move {
                let started = start(program).await;
                count(program, -1);
                // Whoever needs one learns why there is none.
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

/// Has the first analyst go through a synthetic run, and a reader read the examples, unless they were taken already: the others
/// share what the browser compiled for them.
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

/// Asks one of those that wait for something whose response nobody awaits.
fn tell(of: Program, request: impl Body, attachments: &[JsValue]) {
    let Some(request) = request.to_js(&Array::new()) else { return };
    WAITING.with_borrow(|waiting| {
        if let Some((_, worker)) = waiting.iter().find(|(program, _)| *program == of) {
            // A worker that is gone need not rehearse.
            let _ = worker.post_message(&wire::message(RequestId::UNAWAITED, Kind::Request, &request, attachments));
        }
    });
}

/// Counts that `more` workers of a program are about to be up.
fn count(program: Program, more: isize) {
    let mut starting = STARTING.get();
    let of = &mut starting[program as usize];
    *of = of.saturating_add_signed(more);
    STARTING.set(starting);
}

/// Starts a worker and waits for its first message: what is sent before that is lost. The future is boxed, so that it is compiled once.
fn start(program: Program) -> LocalBoxFuture<'static, Result<Worker, NoWorker>> {
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
        // Dropping the sender wakes who waits.
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
