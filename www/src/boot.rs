//! Everything the page will ever need is fetched while it loads: the workers' code, the examples, the schema. Nothing is
//! requested after that, and the footer's counter shows it.

use std::cell::RefCell;

use js_sys::{Array, Promise, Reflect, WebAssembly};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use web_sys::{Blob, BlobPropertyBag, Response, Url, Worker, WorkerOptions, WorkerType};

use crate::protocol::BUILD_ID;

/// Starts the worker's program with the module that its first message brings.
const START: &str = "\nself.addEventListener(\"message\", ({ data }) => initSync({ module: data }), { once: true });\n";

/// The JSON Schema of the unified profile, below the page.
pub const SCHEMA: &str = "unified-profile-1.1.0.json";

/// An example that loads with one click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// File below the page.
    pub file: &'static str,
    /// Name on the button.
    pub title: &'static str,
    /// What the example is.
    pub about: &'static str,
}

/// The examples, all of the project's own making.
pub const EXAMPLES: [Example; 3] = [
    Example {
        file: "examples/tpu-training.trace.json.gz",
        title: "TPU training",
        about: "synthetic: 4 chips, all-reduces, two input stalls",
    },
    Example {
        file: "examples/gpu-training.trace.json.gz",
        title: "GPU training",
        about: "synthetic: 2 GPUs, copies and NCCL beside the backward pass",
    },
    Example {
        file: "examples/jax-cpu-train.xplane.pb",
        title: "A real capture",
        about: "a small model that JAX trained on a CPU",
    },
];

/// A program that runs in workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Looks at files, unpacks and decodes them.
    Reader,
    /// Analyses runs and makes their pages.
    Analyst,
    /// Answers in the analyst's place what needs no events.
    Deputy,
}

thread_local! {
    /// Resolve to the workers' code: the address of its script, and its compiled module.
    static CODE: [Promise; 2] = ["worker", "analyst"].map(|name| future_to_promise(fetch_code(name)));
    /// Fetched after what a first load needs.
    static DEPUTY: Promise = future_to_promise(fetch_code("deputy"));
    static KEPT: RefCell<Vec<(&'static str, Promise)>> = const { RefCell::new(Vec::new()) };
}

/// Fetches everything; returns once it is there (or cannot be had).
pub async fn prefetch() {
    let code = CODE.with(<[Promise; 2]>::clone);
    let files = EXAMPLES.iter().map(|example| example.file).chain([SCHEMA]);
    let files: Vec<Promise> = files.map(kept_promise).collect();
    for promise in code.into_iter().chain(files) {
        // Whoever needs it learns of the failure.
        let _ = JsFuture::from(promise).await;
    }
    let _ = JsFuture::from(DEPUTY.with(Promise::clone)).await;
}

/// A new worker. It hears nothing before its first message arrives.
pub async fn worker(program: Program) -> Result<Worker, JsValue> {
    let code = match program {
        Program::Deputy => DEPUTY.with(Promise::clone),
        Program::Reader | Program::Analyst => CODE.with(|code| code[program as usize].clone()),
    };
    let code = Array::from(&JsFuture::from(code).await?);
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let worker = Worker::new_with_options(&code.get(0).as_string().unwrap_or_default(), &options)?;
    worker.post_message(&code.get(1))?;
    Ok(worker)
}

/// The bytes of a file below the page, fetched once.
pub async fn kept(file: &'static str) -> Result<Blob, JsValue> {
    Ok(JsFuture::from(kept_promise(file)).await?.unchecked_into())
}

fn kept_promise(file: &'static str) -> Promise {
    KEPT.with_borrow_mut(|kept| {
        if let Some((_, promise)) = kept.iter().find(|(name, _)| *name == file) {
            return promise.clone();
        }
        let promise = future_to_promise(async move { JsFuture::from(get(file).await?.blob()?).await });
        kept.push((file, promise.clone()));
        promise
    })
}

async fn fetch_code(name: &'static str) -> Result<JsValue, JsValue> {
    // Without the build in their addresses, a browser could take those of an earlier build from its cache.
    let script = get(&format!("{name}.js?build={BUILD_ID}")).await?;
    let script = JsFuture::from(script.text()?).await?;
    let module = get(&format!("{name}_bg.wasm?build={BUILD_ID}")).await?;
    let module = JsFuture::from(WebAssembly::compile(&JsFuture::from(module.array_buffer()?).await?)).await?;
    let kind = BlobPropertyBag::new();
    kind.set_type("text/javascript");
    let parts = Array::of2(&script, &JsValue::from_str(START));
    let script = Blob::new_with_str_sequence_and_options(&parts, &kind)?;
    Ok(Array::of2(&Url::create_object_url_with_blob(&script)?.into(), &module).into())
}

async fn get(address: &str) -> Result<Response, JsValue> {
    let window = web_sys::window().ok_or(JsValue::NULL)?;
    let response: Response = JsFuture::from(window.fetch_with_str(address)).await?.unchecked_into();
    if response.ok() { Ok(response) } else { Err(Reflect::get(&response, &"statusText".into())?) }
}
