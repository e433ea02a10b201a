//! Fetches all files that the page needs while it loads: the code of the workers, the examples and the schema. After
//! that, the page sends no more requests. The counter in the footer shows the number of requests.

use std::cell::RefCell;

use js_sys::{Array, Promise, Reflect, WebAssembly};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use web_sys::{Blob, BlobPropertyBag, Response, Url, Worker, WorkerOptions, WorkerType};

use crate::protocol::BUILD_ID;

/// Code appended to the worker's script. This code starts the program with the WebAssembly module that the first
/// message contains.
const START: &str = "\nself.addEventListener(\"message\", ({ data }) => initSync({ module: data }), { once: true });\n";

/// Path of the JSON Schema of the unified profile, relative to the page.
pub const SCHEMA: &str = "unified-profile-1.1.0.json";

/// An example that the user can load with one click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Path of the file, relative to the page.
    pub file: &'static str,
    /// Label of the button.
    pub title: &'static str,
    /// Short description of the example.
    pub about: &'static str,
}

/// All examples. All examples were created for this project.
pub const EXAMPLES: [Example; 3] = [
    Example {
        file: "examples/tpu-training.trace.json.gz",
        title: "TPU training",
        about: "synthetic: 4 chips, all-reduces, two input stalls",
    },
    Example {
        file: "examples/gpu-training.trace.json.gz",
        title: "GPU training",
        about: "synthetic: 2 GPUs, copies and NCCL in parallel with the backward pass",
    },
    Example {
        file: "examples/jax-cpu-train.xplane.pb",
        title: "A real capture",
        about: "a small model that JAX trained on a CPU",
    },
];

/// A WebAssembly program that runs in a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Inspects, unpacks and decodes files.
    Reader,
    /// Analyses runs, compares them, and makes their pages.
    Analyst,
    /// Draws and prints compiled programs.
    Graph,
}

thread_local! {
    /// For each program, a promise of its code: the URL of the script and the compiled module.
    static CODE: RefCell<[Option<Promise>; 3]> = const { RefCell::new([const { None }; 3]) };
    static KEPT: RefCell<Vec<(String, Promise)>> = const { RefCell::new(Vec::new()) };
}

/// Fetches all files, and returns when every fetch has succeeded or failed.
pub async fn prefetch() {
    let code = [Program::Reader, Program::Analyst].map(code);
    let files = EXAMPLES.iter().map(|example| example.file).chain([SCHEMA]);
    let files: Vec<Promise> = files.map(kept_promise).collect();
    for promise in code.into_iter().chain(files) {
        // Errors are ignored here, because code that uses the file reports them.
        let _ = JsFuture::from(promise).await;
    }
    // Few users open a graph, so its program is fetched last, and compiled only when it is needed.
    for file in files_of(Program::Graph) {
        let _ = JsFuture::from(kept_promise(&file)).await;
    }
}

/// Returns the URLs of a program's script and module. The build id prevents the browser from using a cached file of an
/// earlier build.
fn files_of(program: Program) -> [String; 2] {
    let name = match program {
        Program::Reader => "worker",
        Program::Analyst => "analyst",
        Program::Graph => "graph",
    };
    [format!("{name}.js?build={BUILD_ID}"), format!("{name}_bg.wasm?build={BUILD_ID}")]
}

/// Returns a promise of a program's code. The first call fetches and compiles the code.
fn code(program: Program) -> Promise {
    CODE.with_borrow_mut(|code| {
        code[program as usize].get_or_insert_with(|| future_to_promise(fetch_code(program))).clone()
    })
}

/// Creates a worker. All workers of a program share one compiled module. Messages that arrive before the worker has started
/// the program are lost.
pub async fn worker(program: Program) -> Result<Worker, JsValue> {
    let code = Array::from(&JsFuture::from(code(program)).await?);
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let worker = Worker::new_with_options(&code.get(0).as_string().unwrap_or_default(), &options)?;
    worker.post_message(&code.get(1))?;
    Ok(worker)
}

/// Returns the content of a file in the page's folder. Each file is fetched only once.
pub async fn kept(file: &'static str) -> Result<Blob, JsValue> {
    Ok(JsFuture::from(kept_promise(file)).await?.unchecked_into())
}

fn kept_promise(file: &str) -> Promise {
    KEPT.with_borrow_mut(|kept| {
        if let Some((_, promise)) = kept.iter().find(|(name, _)| name == file) {
            return promise.clone();
        }
        let file = file.to_owned();
        let address = file.clone();
        let promise = future_to_promise(async move { JsFuture::from(get(&address).await?.blob()?).await });
        kept.push((file, promise.clone()));
        promise
    })
}

async fn fetch_code(program: Program) -> Result<JsValue, JsValue> {
    let [script, module] = files_of(program);
    let (script, module) = if program == Program::Graph {
        let kept = async |file: &str| JsFuture::from(kept_promise(file)).await.map(JsCast::unchecked_into::<Blob>);
        let (script, module) = (kept(&script).await?, kept(&module).await?);
        (script.text(), module.array_buffer())
    } else {
        let (script, module) = (get(&script).await?, get(&module).await?);
        (script.text()?, module.array_buffer()?)
    };
    let script = JsFuture::from(script).await?;
    let module = JsFuture::from(WebAssembly::compile(&JsFuture::from(module).await?)).await?;
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
