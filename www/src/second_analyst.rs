//! The second analyst of a load, which runs the same program as the analyst. The second analyst handles requests that
//! need no events, so that these requests do not wait while the analyst analyses events. The page starts this worker on
//! the first such request. The second analyst receives the memory records of a run when the user first opens the memory
//! view, or when everything else has been prepared.
//!
//! ```text
//! page -- MemoryRequest ---------------------------------> analyst
//!      <--------- bytes ----------------
//!      -- StoreMemoryRequest + bytes (transferred) ------> second analyst
//!      -- PageRequest, TableRequest, RowRequest ---------> second analyst
//! ```

use std::rc::Rc;

use futures_channel::oneshot::{self, Receiver};
use futures_util::future::{FutureExt, LocalBoxFuture};
use wasm_bindgen::JsValue;

use crate::boot::Program;
use crate::connection::Connection;
use crate::protocol::Request;
use crate::protocol::analyst::{AnalystRequest, MemoryRequest, StoreMemoryRequest};
use crate::protocol::wire::Body;
use crate::teams::SecondAnalyst;
use crate::{pool, teams};

/// Returns the second analyst of a load, and starts it if needed. If `of_memory` is the index of a run, the second
/// analyst first receives that run's memory records. The messages are sent at once, even if the caller does not poll
/// the future.
pub fn of(load: u32, of_memory: Option<u32>) -> LocalBoxFuture<'static, Result<Rc<Connection>, String>> {
    let worker = teams::second_analyst(load, || start().boxed_local().shared());
    let transfer = worker.clone().zip(of_memory).and_then(|(worker, run)| {
        let analyst = teams::analyst(load)?;
        teams::memory_transfer(load, run, || transfer_memory(&analyst, run, worker).boxed_local().shared())
    });
    let ready = async move {
        let worker = worker.ok_or(teams::ENDED)?.await;
        if worker.is_err() {
            // Forget the failed worker, so that the next request tries again.
            teams::forget_second_analyst(load);
        }
        match transfer {
            Some(transfer) => transfer.await.and(worker),
            None => worker,
        }
    };
    ready.boxed_local()
}

/// Starts a worker outside the pool, so that the next load finds the pool full. The browser has already compiled the
/// program for the first analyst.
async fn start() -> Result<Rc<Connection>, String> {
    let started = pool::start(Program::Analyst).await.map_err(|none| none.reason())?;
    Ok(Rc::new(Connection::new(started)))
}

/// Sends the memory records of a run from the analyst to the second analyst.
fn transfer_memory(
    analyst: &Connection,
    run: u32,
    second: SecondAnalyst,
) -> impl Future<Output = Result<(), String>> + use<> {
    let bytes = request(analyst, MemoryRequest { run }, &[]);
    async move {
        let second = second.await?;
        let bytes = bytes.await.map_err(|_| teams::ENDED)??;
        let attached = [bytes.buffer().clone().into()];
        request(&second, StoreMemoryRequest { run }, &attached).await.map_err(|_| teams::ENDED)?
    }
}

fn request<Q: Request<Worker = AnalystRequest>>(
    worker: &Connection,
    request: Q,
    attachments: &[JsValue],
) -> Receiver<Result<Q::Response, String>>
where
    Q::Response: Body + 'static,
{
    let (sender, response) = oneshot::channel();
    worker.ask(request, None, attachments, |outcome| drop(sender.send(outcome)));
    response
}
