//! The second analyst of a load, called deputy. It handles requests that need no events. The page starts it on the
//! first such request. The worker receives the memory records of a run when the user first opens its memory view, or
//! when nothing else is left to prepare.
//!
//! ```text
//! page -- DocumentRequest: Recorded --> analyst            (reads the memory records of the run as bytes)
//!      <--------- bytes ---------------
//!      -- DocumentRequest: Remembered + bytes (transferred) -> deputy
//!      -- PageRequest, TableRequest, RowRequest ------------> deputy
//! ```

use std::rc::Rc;

use futures_channel::oneshot::{self, Receiver};
use futures_util::future::{FutureExt, LocalBoxFuture};
use wasm_bindgen::JsValue;

use crate::boot::Program;
use crate::connection::Connection;
use crate::protocol::analyst::{DocumentRequest, Form, Subjects};
use crate::protocol::wire::Document;
use crate::teams::Deputy;
use crate::{pool, teams};

/// Returns the second analyst of a load, and starts it if needed. If `of_memory` names a run, the worker has that
/// run's memory records. Both requests are sent when this function is called, not when the future is first polled.
pub fn of(load: u32, of_memory: Option<u32>) -> LocalBoxFuture<'static, Result<Rc<Connection>, String>> {
    let deputy = teams::deputy(load, || start().boxed_local().shared());
    let told = deputy.clone().zip(of_memory).and_then(|(deputy, run)| {
        let analyst = teams::analyst(load)?;
        teams::told(load, run, || tell(&analyst, run, deputy).boxed_local().shared())
    });
    let ready = async move {
        let deputy = deputy.ok_or(teams::ENDED)?.await;
        if deputy.is_err() {
            // Forget the failed worker, so that the next request tries again.
            teams::forget_deputy(load);
        }
        match told {
            Some(told) => told.await.and(deputy),
            None => deputy,
        }
    };
    ready.boxed_local()
}

async fn start() -> Result<Rc<Connection>, String> {
    let started = pool::take(Program::Deputy).await.map_err(|none| none.reason())?;
    Ok(Rc::new(Connection::new(started)))
}

/// Sends the memory records of a run from the analyst to the second analyst.
fn tell(analyst: &Connection, run: u32, deputy: Deputy) -> impl Future<Output = Result<(), String>> + use<> {
    let bytes = document(analyst, Form::Recorded { run }, &[]);
    async move {
        let deputy = deputy.await?;
        let bytes = bytes.await.map_err(|_| teams::ENDED)??;
        let attached = [bytes.buffer().clone().into()];
        document(&deputy, Form::Remembered { run }, &attached).await.map_err(|_| teams::ENDED)??;
        Ok(())
    }
}

fn document(worker: &Connection, form: Form, attachments: &[JsValue]) -> Receiver<Result<Document, String>> {
    let (sender, heard) = oneshot::channel();
    let request = DocumentRequest { subjects: Subjects::default(), form };
    worker.ask(request, None, attachments, |outcome| drop(sender.send(outcome)));
    heard
}
