//! `crossprof baseline`: names captures, so that later captures can be compared with them.
//!
//! A baseline is the file `.crossprof/baselines/NAME.json`, which lists captures. For each capture, the file contains
//! its path and the hash of its content. The profile of each capture is kept in `.crossprof/profiles/HASH.json`. If a
//! capture still has the same content, crossprof reads the capture itself, because a profile contains no compiled
//! programs. If the capture has changed or is gone, crossprof reads the stored profile.

use std::path::{Path, PathBuf};

use crossprof::export;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::analyze::reports;
use super::args::{Baseline, BaselineAction, Inputs};
use super::input::{read_small, walk};
use super::output::{self, Outputs};
use super::{FAILED, READ, complain, print_result};

const FOLDER: &str = ".crossprof/baselines";
const PROFILES: &str = ".crossprof/profiles";
/// Largest size of a baseline's file, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A named baseline.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Named {
    captures: Vec<Capture>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Capture {
    /// SHA-256 of the contents of the capture's files.
    sha256: String,
    /// Path that the capture was read from.
    path: PathBuf,
}

/// Runs the command and returns the exit status.
pub(super) fn run(command: &Baseline) -> u8 {
    let here = Path::new("");
    let result = match &command.action {
        BaselineAction::Set { name, inputs } => set(here, name, inputs),
        BaselineAction::List => list(here),
        BaselineAction::Remove { name } => remove(here, name),
    };
    match result {
        Ok(text) => print_result(&text, READ),
        Err(message) => {
            complain(&message);
            FAILED
        }
    }
}

fn set(folder: &Path, name: &str, inputs: &Inputs) -> Result<String, String> {
    let file = file_of(folder, name)?;
    let (mut named, mut text) = (Named::default(), String::new());
    for path in inputs.paths() {
        let one =
            Inputs { files: vec![path.clone()], trace_file: Vec::new(), price: None, model: inputs.model.clone() };
        let read = reports(&one, &Outputs::default())?;
        if read.profiles.is_empty() || read.status() == FAILED {
            return Err(format!(
                "{}: the baseline {name} was not changed, because this could not be read.",
                path.display()
            ));
        }
        let sha256 = hash(path)?;
        let stored = profile_of(folder, &sha256);
        create_folder(&stored)?;
        let document = match read.profiles.as_slice() {
            [only] => export::json::profile(only),
            several => export::json::profiles(several),
        };
        output::write(&stored, document)?;
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        text += &format!("{}  {}\n", short(&sha256), path.display());
        named.captures.push(Capture { sha256, path });
    }
    create_folder(&file)?;
    output::write(&file, base::json_text::pretty(&named) + "\n")?;
    Ok(format!("Baseline {name}, {}:\n{text}", base::format::counted(named.captures.len() as u64, "capture")))
}

fn list(folder: &Path) -> Result<String, String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.join(FOLDER))
        .map(|entries| entries.flatten().filter_map(|entry| name_of(&entry.path())).collect())
        .unwrap_or_default();
    names.sort();
    let mut text = String::new();
    for name in &names {
        text += &format!("{name}\n");
        for Capture { sha256, path } in read(folder, name)?.captures {
            let state = if hash(&path).is_ok_and(|now| now == sha256) {
                ""
            } else {
                "  (changed or gone: its profile is used)"
            };
            text += &format!("  {}  {}{state}\n", short(&sha256), path.display());
        }
    }
    if names.is_empty() {
        text = "There is no baseline in this folder. Set one with crossprof baseline set NAME CAPTURE.\n".to_owned();
    }
    Ok(text)
}

fn remove(folder: &Path, name: &str) -> Result<String, String> {
    read(folder, name)?;
    let file = file_of(folder, name)?;
    std::fs::remove_file(&file).map_err(|error| format!("{}: cannot be removed: {error}", file.display()))?;
    Ok(format!("Baseline {name} was removed.\n"))
}

/// Returns true if `folder` has a baseline with this name.
pub(super) fn exists(folder: &Path, name: &str) -> bool {
    file_of(folder, name).is_ok_and(|file| file.is_file())
}

/// Returns the paths of a baseline's captures, or of their profiles if the captures have changed or are gone.
///
/// # Errors
///
/// Fails with a message if there is no such baseline, or if neither a capture nor its profile is left.
pub(super) fn paths(folder: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    let captures = read(folder, name)?.captures;
    let path = |Capture { sha256, path }: Capture| {
        if hash(&path).is_ok_and(|now| now == sha256) {
            return Ok(path);
        }
        let stored = Some(profile_of(folder, &sha256)).filter(|_| sha256.bytes().all(|it| it.is_ascii_hexdigit()));
        stored.filter(|stored| stored.is_file()).ok_or_else(|| {
            format!(
                "The baseline {name} no longer has the capture {} or its profile. Set the baseline again.",
                path.display()
            )
        })
    };
    captures.into_iter().map(path).collect()
}

fn read(folder: &Path, name: &str) -> Result<Named, String> {
    let file = file_of(folder, name)?;
    let wrong = |error: String| format!("The baseline {name} cannot be read: {error}");
    let bytes = read_small(&file, MOST_BYTES).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}

/// Returns the path of a baseline's file. Fails for a name that would lead to another folder.
fn file_of(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.starts_with('.') || name.len() > 100 || !name.chars().all(is_usual) {
        return Err(format!("{name}: the name of a baseline consists of letters, digits, dots, _ and -."));
    }
    Ok(folder.join(FOLDER).join(format!("{name}.json")))
}

fn name_of(file: &Path) -> Option<String> {
    let is_baseline = file.extension().is_some_and(|end| end == "json");
    is_baseline.then(|| file.file_stem().map(|name| name.to_string_lossy().into_owned()))?
}

fn profile_of(folder: &Path, sha256: &str) -> PathBuf {
    folder.join(PROFILES).join(format!("{sha256}.json"))
}

fn create_folder(file: &Path) -> Result<(), String> {
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: cannot be created: {error}", folder.display()))
}

fn short(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}

/// Returns the hash of a capture. The hash covers only the sorted contents of the files, so that copies and renamed
/// folders have the same hash.
fn hash(path: &Path) -> Result<String, String> {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    walk(path, &mut files, &mut problems);
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem);
    }
    let mut hashes = Vec::new();
    for file in &files {
        let failed = |error: std::io::Error| format!("{}: cannot be read: {error}", file.display());
        let mut hasher = Sha256::new();
        let mut opened = std::fs::File::open(file).map_err(failed)?;
        let mut chunk = vec![0; 1 << 20];
        loop {
            let read = std::io::Read::read(&mut opened, &mut chunk).map_err(failed)?;
            let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            hasher.update(bytes);
        }
        hashes.push(hex(&hasher.finalize()));
    }
    hashes.sort();
    match hashes.as_slice() {
        [] => Err(format!("{}: contains no file.", path.display())),
        [only] => Ok(only.clone()),
        several => Ok(hex(&Sha256::digest(several.join("\n").as_bytes()))),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
