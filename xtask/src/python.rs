//! Builds and tests the Python package: `cargo xtask wheel`, and the `python` check. Both commands use virtual
//! environments in the cache.

use crate::build::{self, Variant};
use crate::{Result, cache, process};
use std::path::{Path, PathBuf};
use std::process::Command;

const MATURIN: &str = "maturin==1.16.0";
/// Zig, which can link with an older glibc than the glibc of this machine.
const ZIG: &str = "ziglang==0.17.1";
/// The oldest glibc that the wheels support.
const MANYLINUX: &str = "manylinux_2_28";

/// The newest version of JAX, with all optional packages that users may have.
const NEW: &[&str] = &[
    MATURIN,
    "pytest==9.2.0",
    "jax[cpu]==0.10.2",
    "pandas==3.1.1",
    "pyarrow==26.0.1",
    // Queries lakes of captures.
    "duckdb==2.0.1",
    "mypy==2.4.1",
    // Buckets, and a server of the S3 API.
    "s3fs==2026.9.0",
    "moto[s3]==5.2.5",
    "flask==3.1.3",
    "flask-cors==6.0.5",
    // A client for `crossprof mcp`.
    "mcp==2.3.0",
    // For the examples.
    "flax==0.12.8",
    "optax==0.2.8",
    "grain==0.2.18",
    // Available only on this platform. On other platforms, the test of the example is skipped and reported.
    "tensorflow-cpu==2.21.0; sys_platform == 'linux' and platform_machine == 'x86_64'",
];
/// Engines that write lakes. The engines take hundreds of megabytes.
const ENGINES: &[&str] =
    &[MATURIN, "pytest==9.2.0", "pyarrow==26.0.1", "duckdb==2.0.1", "ray[data]==2.60.0", "pyspark==4.3.0"];
/// A version of JAX that is one year older, without optional packages.
const OLD: &[&str] = &["pytest==9.2.0", "jax[cpu]==0.8.1"];

/// `cargo xtask wheel [--page DIR]`: builds the wheel for this machine in target/wheels. The wheel contains the page in
/// DIR. Without `--page`, the command builds the page first. On Linux, the wheel is linked against glibc 2.28, so that
/// it also runs on Ubuntu 20.04 and RHEL 8.
pub(crate) fn command(words: &[String]) -> Result {
    let page = match words {
        [] => build::page(Variant::Release)?,
        [flag, folder] if flag == "--page" => built_page(Path::new(folder))?,
        _ => return Err(format!("`wheel` takes --page DIR, not {}.", words.join(" "))),
    };
    let environment = if cfg!(target_os = "linux") {
        Environment::find("build-linux", &[MATURIN, ZIG])?
    } else {
        Environment::find("build", &[MATURIN])?
    };
    let wheel = wheel(&environment, "wheel", Some(&page), &cache::target().join("wheels"))?;
    println!("{}", wheel.display());
    Ok(())
}

/// Returns the path of a folder that contains a built page.
fn built_page(folder: &Path) -> Result<PathBuf> {
    let page = std::fs::canonicalize(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if page.join("index.html").is_file() {
        Ok(page)
    } else {
        Err(format!("{}: this folder contains no page. Give dist, which `cargo xtask build` makes.", folder.display()))
    }
}

/// Builds a wheel, installs the wheel with the newest version of JAX and with a version that is one year older, and
/// runs the tests with both versions.
pub(crate) fn check() -> Result {
    let environments = [Environment::find("new", NEW)?, Environment::find("old", OLD)?];
    let [newest, _] = &environments;
    // This profile compiles much faster, and does not embed the page.
    let wheel = wheel(newest, "dev", None, &cache::target().join("wheels/test"))?;
    environments.iter().try_for_each(|environment| tests(environment, &wheel, "tests"))
}

/// Runs the tests that write lakes with Ray and with Spark. Spark needs Java.
pub(crate) fn engines() -> Result {
    let environment = Environment::find("engines", ENGINES)?;
    let wheel = wheel(&environment, "dev", None, &cache::target().join("wheels/test"))?;
    tests(&environment, &wheel, "tests/test_engines.py")
}

/// Installs a wheel in an environment, and runs tests there.
fn tests(environment: &Environment, wheel: &Path, path: &str) -> Result {
    process::run(
        environment.python().args(["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]).arg(wheel),
    )?;
    // The tests run outside the sources, which contain no extension module.
    let mut tests = environment.python();
    tests
        .args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir"])
        .arg(folder())
        .arg(folder().join(path));
    tests.env("CROSSPROF_PACKAGE", "").env("CROSSPROF_WHEEL", wheel);
    process::run(tests.current_dir(cache::target()))
}

/// Returns the folder of the Python package.
fn folder() -> PathBuf {
    cache::repository().join("python")
}

/// Deletes the wheels in a folder, builds a new wheel there, and returns the path of the new wheel.
fn wheel(environment: &Environment, profile: &str, page: Option<&Path>, folder_of_wheels: &Path) -> Result<PathBuf> {
    cache::make(folder_of_wheels)?;
    for earlier in wheels(folder_of_wheels)? {
        std::fs::remove_file(&earlier).map_err(|error| format!("{}: {error}", earlier.display()))?;
    }
    let mut maturin = environment.program("maturin");
    maturin.args(["build", "--locked", "--features", "view,mcp", "--profile", profile, "--manifest-path"]);
    maturin.arg(folder().join("Cargo.toml")).arg("--out").arg(folder_of_wheels);
    if profile == "wheel" && cfg!(target_os = "linux") {
        maturin.args(["--zig", "--compatibility", MANYLINUX]);
    }
    maturin.env("CROSSPROF_PAGE", page.unwrap_or(Path::new(""))).current_dir(cache::repository());
    process::run(&mut maturin)?;
    wheels(folder_of_wheels)?.pop().ok_or_else(|| "maturin built no wheel.".to_owned())
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "whl")).collect())
}

/// A virtual environment that contains certain packages.
struct Environment(PathBuf);

impl Environment {
    /// Returns the environment with this name. Creates the environment if it is missing or has other packages.
    fn find(name: &str, packages: &[&str]) -> Result<Environment> {
        let environment = Environment(cache::folder("python")?.join(name));
        let list = environment.0.join("packages.txt");
        let wanted = packages.join("\n");
        if std::fs::read_to_string(&list).is_ok_and(|found| found == wanted) {
            return Ok(environment);
        }
        let python =
            ["python3", "python"].into_iter().find_map(process::which).ok_or("There is no Python 3 on PATH.")?;
        process::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment.0))?;
        process::run(
            environment
                .python()
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(packages),
        )?;
        cache::write(&list, wanted)?;
        Ok(environment)
    }

    /// Returns a command for a program of the environment.
    fn program(&self, name: &str) -> Command {
        let folder = self.0.join(if cfg!(windows) { "Scripts" } else { "bin" });
        let mut command = Command::new(folder.join(name));
        command.env("VIRTUAL_ENV", &self.0);
        // maturin starts the environment's Python, and the tests start the environment's crossprof.
        if let Ok(path) = process::path_with(&[folder]) {
            command.env("PATH", path);
        }
        command
    }

    fn python(&self) -> Command {
        self.program("python")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_takes_only_a_folder_with_a_page() {
        let folder = std::env::temp_dir().join(format!("crossprof-page-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(built_page(&folder).unwrap_err().contains("contains no page"));
        std::fs::write(folder.join("index.html"), "").unwrap();
        assert_eq!(built_page(&folder).unwrap(), std::fs::canonicalize(&folder).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(built_page(&folder).is_err());
        assert!(command(&["--pages".to_owned()]).unwrap_err().contains("--page DIR"));
    }
}
