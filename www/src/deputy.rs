//! The worker of a load that answers in the analyst's place what needs no events: started when it is first asked, and told of the memory
//! of a run when somebody first looks at it.
//!
//! ```text
//!  page -- DocumentRequest: Recorded --> analyst            what the run says of memory, as bytes
//!       <--------- bytes ---------------
//!       -- DocumentRequest: Remembered + bytes (transferred) -> deputy
//!       -- PageRequest, TableRequest, RowRequest ------------> deputy
//! ```

use std::rc::Rc;

use futures_channel::oneshot::{self, Receiver};
use wasm_bindgen::JsValue;

use crate::boot::Program;
use crate::connection::Connection;
use crate::protocol::analyst::{DocumentRequest, Form, Subjects};
use crate::protocol::wire::Document;
use crate::{pool, teams};

/// The deputy of a load, which knows the memory of this run, where one is given; or why there is none.
pub async fn of(load: u32, of_memory: Option<u32>) -> Result<Rc<Connection>, String> {
    let known = teams::deputy(load);
    let (deputy, runs) = match known {
        Some(known) => known,
        None => {
            let started = pool::take(Program::Deputy).await.map_err(|none| none.reason())?;
            (teams::add_deputy(load, Connection::new(started)).ok_or(teams::ENDED)?, Vec::new())
        }
    };
    if let Some(run) = of_memory.filter(|run| !runs.contains(run)) {
        let analyst = teams::analyst(load).ok_or(teams::ENDED)?;
        let bytes = document(&analyst, Form::Recorded { run }, &[]).await.map_err(|_| teams::ENDED)??;
        let attached = [bytes.buffer().clone().into()];
        document(&deputy, Form::Remembered { run }, &attached).await.map_err(|_| teams::ENDED)??;
        teams::remembered(load, run);
    }
    Ok(deputy)
}

fn document(worker: &Connection, form: Form, attachments: &[JsValue]) -> Receiver<Result<Document, String>> {
    let (sender, heard) = oneshot::channel();
    let request = DocumentRequest { subjects: Subjects::default(), form };
    worker.ask(request, None, attachments, |outcome| drop(sender.send(outcome)));
    heard
}
