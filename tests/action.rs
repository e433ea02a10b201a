//! Runs the script of the GitHub Action as a job runs it: in an empty folder, with crossprof on PATH.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::cli;

const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";
const GPU: &str = "www/assets/examples/gpu-training.trace.json.gz";

struct Job {
    folder: PathBuf,
}

impl Job {
    fn new(name: &str) -> Job {
        Job { folder: cli::scratch("action", name) }
    }

    /// Runs the script on an example.
    fn run(&self, profile: &str, variables: &[(&str, &str)]) -> Output {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tools = Path::new(env!("CARGO_BIN_EXE_crossprof")).parent().unwrap();
        let path = std::env::join_paths(
            [tools.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        // Each step of a job has its own summary.
        let _ = fs::remove_file(self.folder.join("summary"));
        Command::new(root.join("action/run.sh"))
            .current_dir(&self.folder)
            .env("PATH", path.unwrap())
            .env("PROFILE", root.join(profile))
            .env("GITHUB_STEP_SUMMARY", self.folder.join("summary"))
            .env("GITHUB_OUTPUT", self.folder.join("output"))
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap_or_default()
    }
}

#[test]
fn the_first_job_stores_its_profile_and_the_next_is_compared_with_it() {
    let job = Job::new("compared");
    let first = job.run(TPU, &[("FAIL_ON", "slower > 3 %")]);
    assert_eq!(first.status.code(), Some(0), "{}", cli::stderr(&first));
    assert!(job.text("summary").contains("Step time"), "{}", job.text("summary"));
    let digest = "<details><summary>Digest for an assistant</summary>\n\n```text\ncrossprof digest 1.0.0.";
    assert!(job.text("summary").starts_with(digest), "{}", job.text("summary"));
    assert!(!job.folder.join(".crossprof/report/comparison.md").exists(), "there is nothing to compare with");
    assert!(job.text(".crossprof/base/profile.json").contains("\"step_timing\""));
    let second = job.run(TPU, &[("FAIL_ON", "slower > 3 %")]);
    assert_eq!(second.status.code(), Some(0), "{}", cli::stderr(&second));
    let summary = job.text("summary");
    assert!(summary.contains("base") && summary.contains("change"), "{summary}");
    for file in ["report.html", "comparison.html", "comparison.json", "profile.json", "summary.md"] {
        assert!(job.folder.join(".crossprof/report").join(file).exists(), "{file}");
    }
}

#[test]
fn a_condition_that_fires_and_a_limit_that_breaks_fail_the_job_after_the_reports() {
    let job = Job::new("fails");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let baseline = root.join(GPU).display().to_string();
    let fired = job.run(TPU, &[("BASELINE", &baseline), ("FAIL_ON", "new finding")]);
    assert_eq!(fired.status.code(), Some(3), "{}", cli::stderr(&fired));
    assert!(job.folder.join(".crossprof/report/comparison.html").exists());
    assert!(job.text("output").contains("status=3"));
    fs::write(job.folder.join("budget.toml"), "limits = [\"step_timing.avg_step_time_us < 1 us\"]\n").unwrap();
    let broken = job.run(TPU, &[("BUDGET", "budget.toml"), ("FAIL_ON", "")]);
    assert_eq!(broken.status.code(), Some(1), "{}", cli::stderr(&broken));
    assert!(job.text("summary").contains("budget does not hold"), "{}", job.text("summary"));
    assert_eq!(job.text("summary").matches("Digest for an assistant").count(), 1, "the check has a digest of its own");
    assert!(job.folder.join(".crossprof/report/junit.xml").exists());
}

#[test]
fn files_without_a_profile_fail_the_job() {
    let job = Job::new("wrong");
    let output = job.run("README.md", &[]);
    assert!(!output.status.success());
    assert!(cli::stderr(&output).contains("README.md"), "{}", cli::stderr(&output));
    assert!(!job.folder.join(".crossprof/base/profile.json").exists());
}

#[test]
fn the_action_passes_every_variable_that_the_script_reads() {
    let action = include_str!("../action.yml");
    let script = include_str!("../action/run.sh");
    for name in ["PROFILE", "BUDGET", "BASELINE", "FAIL_ON"] {
        assert!(script.contains(&format!("${{{name}")) || script.contains(&format!("\"${name}\"")), "{name}");
        assert!(action.contains(&format!("        {name}: ${{{{ inputs.")), "{name}");
    }
    assert!(action.contains("$GITHUB_ACTION_PATH/action/run.sh"));
}

#[test]
fn the_action_installs_the_version_of_its_own_tag() {
    let folder = cli::scratch("action", "install");
    // A script that replaces Python, and records the packages that it should install.
    let python = folder.join("python3");
    fs::write(&python, "#!/usr/bin/env bash\necho \"${@: -1}\"\n").unwrap();
    let install = |version: &str| {
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("action/install.sh");
        let output = Command::new("bash")
            .arg("-c")
            .arg("chmod +x \"$1/python3\" && \"$2\"")
            .args(["", folder.to_str().unwrap(), script.to_str().unwrap()])
            .env("PATH", path)
            .env("VERSION", version)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(install(""), format!("crossprof=={}", env!("CARGO_PKG_VERSION")));
    assert_eq!(install("9.8.7"), "crossprof==9.8.7");
}

#[test]
fn workflows_pin_every_action_by_its_commit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("action.yml")];
    files.extend(fs::read_dir(root.join(".github/workflows")).unwrap().map(|entry| entry.unwrap().path()));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for uses in text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("uses: ")) {
            let commit = uses.split(['@', ' ']).nth(1).unwrap_or("");
            let is_sha = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_sha, "{}: {uses}", file.display());
        }
        let checkouts = text.matches("actions/checkout@").count();
        assert_eq!(checkouts, text.matches("persist-credentials: false").count(), "{}", file.display());
    }
}
