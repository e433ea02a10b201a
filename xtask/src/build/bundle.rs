//! Builds everything that index.html names, and writes it into a folder. The folder is identical to the output of
//! `trunk build`.
//!
//! ```text
//! index.html ── links ──┬─ files, folders, style sheets ─────────────────────────────┐
//!                       └─ programs ─ cargo build ─ wasm-bindgen ─ wasm-opt (release) ┴─ folder with index.html
//! ```
//!
//! Trunk compiles the programs one by one, and building Trunk itself takes eight minutes. In this module, cargo
//! compiles all programs with the same profile at once, and the later steps run in parallel. The CI workflow compares
//! the two folders file by file.

use super::Variant;
use super::assets::{self, Asset, Program};
use super::steps::Steps;
use crate::toolchain::{TARGET, Toolchain};
use crate::tools::WasmOpt;
use crate::{Result, cache, process, sources};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha384};
use std::path::{Path, PathBuf};
use wasm_bindgen_cli_support::Bindgen;

/// Tools that build the WebAssembly programs.
pub(super) struct Tools {
    pub toolchain: Toolchain,
    /// The optimiser for size and speed. Absent in quick builds, because optimising takes minutes.
    pub wasm_opt: Option<WasmOpt>,
}

/// Builds the page into the folder `out`. Empties the folder first. The programs contain the build id `id`.
pub(super) fn bundle(out: &Path, variant: Variant, tools: &Tools, id: &str, steps: &mut Steps) -> Result {
    let root = cache::repository();
    let mut page = cache::read(&root.join("index.html"))?;
    let links = assets::links(&page)?;
    let programs: Vec<&Program> = links.iter().filter_map(|link| link.asset.program()).collect();
    compile(&programs, variant, tools, id, steps)?;
    if out.exists() {
        std::fs::remove_dir_all(out).map_err(|error| format!("{} cannot be emptied: {error}", out.display()))?;
    }
    cache::make(out)?;
    steps.start(&format!("Making {} programs ready for the browser", programs.len()), variant.bind_time());
    let built: Result<Vec<Built>> = std::thread::scope(|scope| {
        let make = |program| scope.spawn(move || bind(program, out, variant, tools));
        let running: Vec<_> = programs.iter().map(|&program| make(program)).collect();
        running.into_iter().map(|it| it.join().unwrap_or_else(|_| Err("A build thread panicked.".into()))).collect()
    });
    let mut built = built?.into_iter();
    let mut preloads = String::new();
    for link in &links {
        let html = match &link.asset {
            Asset::Css(file) => style_sheet(&root.join(file), out)?,
            Asset::File(file) => copy(&root.join(file), &out.join(name(file))).map(|()| String::new())?,
            Asset::Folder(folder) => {
                copy_folder(&root.join(folder), &out.join(name(folder))).map(|()| String::new())?
            }
            Asset::Program(program) => {
                let built = built.next().ok_or("A program was not built.")?;
                if program.is_worker {
                    String::new()
                } else {
                    preloads.push_str(&built.preloads(out)?);
                    built.start_script()
                }
            }
        };
        page = page.replacen(&link.text, &html, 1);
    }
    cache::write(&out.join("index.html"), page.replacen("</head>", &format!("{preloads}</head>"), 1))
}

/// Compiles all programs. Runs only one cargo command per profile, so that the programs compile in parallel.
fn compile(programs: &[&Program], variant: Variant, tools: &Tools, id: &str, steps: &mut Steps) -> Result {
    let mut profiles: Vec<&str> = programs.iter().map(|program| variant.profile_of(program)).collect();
    profiles.dedup();
    for profile in profiles {
        let bins: Vec<&str> =
            programs.iter().filter(|it| variant.profile_of(it) == profile).map(|it| it.bin.as_str()).collect();
        steps.start(&format!("Compiling {}", bins.join(", ")), variant.compile_time());
        let mut cargo = tools.toolchain.cargo()?;
        cargo
            .args(["build", "--locked", "--package", "www", "--target", TARGET, "--profile", profile])
            .args(bins.iter().flat_map(|bin| ["--bin", bin]))
            .env("CROSSPROF_BUILD_ID", id)
            .env("CARGO_TARGET_DIR", target());
        process::run(&mut cargo)?;
    }
    Ok(())
}

/// Returns cargo's target folder for the page's programs. The folder is separate, because the page and native builds
/// have different profiles and flags.
pub(crate) fn target() -> PathBuf {
    cache::target().join("page")
}

/// The script and the WebAssembly file of a program, in the page's folder.
struct Built {
    script: String,
    program: String,
}

/// Runs wasm-bindgen, which writes a program and its script, and then wasm-opt, which optimises the program.
fn bind(program: &Program, out: &Path, variant: Variant, tools: &Tools) -> Result<Built> {
    let compiled = target().join(TARGET).join(variant.profile_of(program)).join(format!("{}.wasm", program.bin));
    let name = match program.is_worker {
        true => program.bin.clone(),
        false => format!("{}-{:x}", program.bin, seahash::hash(&read(&compiled)?)),
    };
    bindgen(&compiled, &name, out)?;
    let built = Built { script: format!("{name}.js"), program: format!("{name}_bg.wasm") };
    if let Some(wasm_opt) = &tools.wasm_opt {
        wasm_opt.run(&out.join(&built.program), &program.wasm_opt)?;
    }
    Ok(built)
}

/// Writes `NAME.js` and `NAME_bg.wasm` for a compiled program. A browser needs both files to run the program.
pub(crate) fn bindgen(compiled: &Path, name: &str, out: &Path) -> Result {
    let written = Bindgen::new()
        .input_path(compiled)
        .out_name(name)
        .web(true)
        .and_then(|bindgen| bindgen.typescript(false).generate(out));
    written.map_err(|error| format!("{}: wasm-bindgen failed: {error:#}", compiled.display()))
}

impl Built {
    /// Returns the elements in the page's head that make the browser fetch the script and the program at once.
    fn preloads(&self, out: &Path) -> Result<String> {
        let Built { script, program } = self;
        let [script_digest, program_digest] = [integrity(&out.join(script))?, integrity(&out.join(program))?];
        Ok(format!(
            "<link rel=\"modulepreload\" href=\"./{script}\" crossorigin=\"anonymous\" integrity=\"{script_digest}\">\
             <link rel=\"preload\" href=\"./{program}\" crossorigin=\"anonymous\" integrity=\"{program_digest}\" \
             as=\"fetch\" type=\"application/wasm\">"
        ))
    }

    /// Returns the script that starts the page. The script is identical to Trunk's script.
    fn start_script(&self) -> String {
        let Built { script, program } = self;
        format!(
            "\n<script type=\"module\">\nimport init, * as bindings from './{script}';\n\
             const wasm = await init({{ module_or_path: './{program}' }});\n\n\n\
             window.wasmBindings = bindings;\n\n\n\
             dispatchEvent(new CustomEvent(\"TrunkApplicationStarted\", {{detail: {{wasm}}}}));\n\n</script>"
        )
    }
}

/// Copies a style sheet and returns the element that links to it.
fn style_sheet(file: &Path, out: &Path) -> Result<String> {
    let text = cache::read(file)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}-{:x}.css", seahash::hash(text.as_bytes()));
    cache::write(&out.join(&name), text)?;
    let digest = integrity(&out.join(&name))?;
    Ok(format!("<link rel=\"stylesheet\" href=\"./{name}\" integrity=\"{digest}\"/>"))
}

/// Copies all files below a folder.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result {
    let mut files = Vec::new();
    sources::collect(from, &mut files)?;
    for file in files {
        let below = file.strip_prefix(from).map_err(|error| error.to_string())?;
        copy(&file, &to.join(below))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result {
    to.parent().map_or(Ok(()), cache::make)?;
    std::fs::copy(from, to).map(drop).map_err(|error| format!("{} cannot be copied: {error}", from.display()))
}

fn name(path: &Path) -> PathBuf {
    path.file_name().map(PathBuf::from).unwrap_or_default()
}

fn integrity(file: &Path) -> Result<String> {
    Ok(digest(&read(file)?))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}

/// Returns the digest of a file's bytes in the form that the attribute `integrity` requires.
pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha384-{}", STANDARD.encode(Sha384::digest(bytes)))
}
