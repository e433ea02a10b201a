//! Tests special inputs and outputs of the built command line: pipes, devices, links, and files that other programs
//! need.
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{cli, gunzip, samples};

const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";
const CPU: &str = "www/assets/examples/jax-cpu-train.xplane.pb";

fn tool() -> Command {
    Command::new(env!("CARGO_BIN_EXE_crossprof"))
}

fn scratch(name: &str) -> PathBuf {
    cli::scratch("cli_files", name)
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(samples::root().join(name)).expect("the example is there")
}

/// Runs a shell script in which `$0` is the path of crossprof.
fn shell(folder: &Path, script: &str) -> Output {
    let tool = env!("CARGO_BIN_EXE_crossprof");
    Command::new("sh").args(["-c", script, tool]).current_dir(folder).output().expect("a shell")
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Returns the profile without the fields that depend on the file's name.
fn profile(output: &Output) -> serde_json::Value {
    let mut profile: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    for name in ["trace_file", "run_name"] {
        profile["metadata"][name] = serde_json::Value::Null;
    }
    profile["provenance"][0]["path"] = serde_json::Value::Null;
    profile
}

#[test]
fn a_full_disk_is_noticed_on_standard_output() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    for arguments in [
        &["analyze", TPU][..],
        &["analyze", TPU, "--format", "json"],
        &["table", "ops", TPU],
        &["check", TPU, "--limit", "count(findings[severity=critical]) < 100"],
        &["compare", TPU, TPU],
        &["schema"],
        &["--help"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let output =
            tool().args(arguments).current_dir(samples::root()).stdout(full).output().expect("the tool starts");
        let said = cli::stderr(&output);
        assert_eq!(status(&output), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("The result cannot be written to standard output: "), "{arguments:?}: {said}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let mut child =
        tool().arg("schema").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((status(&output), cli::stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn a_leftover_file_of_a_killed_process_does_no_harm() {
    let folder = scratch("left");
    fs::write(folder.join("tpu.gz"), sample(TPU)).expect("a file");
    // `exec` keeps the process id of the shell, so crossprof finds a file of an earlier process with its own id. In a
    // container, the only process always has the same id.
    let script = "touch .crossprof-$$.tmp && exec \"$0\" analyze tpu.gz --output report.md";
    let output = shell(&folder, script);
    assert_eq!(status(&output), Some(0), "{}", cli::stderr(&output));
    assert!(folder.join("report.md").exists());
    let left = fs::read_dir(&folder).expect("the folder").flatten();
    let left = left.filter(|it| it.file_name().to_string_lossy().starts_with(".crossprof-")).count();
    assert_eq!(left, 1, "nothing but what was there");
}

#[test]
fn pipes_are_read_as_files_are() {
    let folder = scratch("pipes");
    fs::write(folder.join("tpu.gz"), sample(TPU)).expect("a file");
    fs::write(folder.join("tpu"), gunzip(&sample(TPU))).expect("a file");
    fs::write(folder.join("cpu"), sample(CPU)).expect("a file");
    for name in ["tpu.gz", "tpu", "cpu"] {
        let plain = shell(&folder, &format!("\"$0\" analyze {name} --format json"));
        for script in [
            "cat FILE | \"$0\" analyze - --format json",
            "cat FILE | \"$0\" - --format json",
            "\"$0\" analyze - --format json < FILE",
            "cat FILE | \"$0\" analyze /dev/stdin --format json",
            "mkfifo fifo; cat FILE > fifo & \"$0\" analyze fifo --format json; rm fifo",
        ] {
            let piped = shell(&folder, &script.replace("FILE", name));
            assert_eq!(status(&piped), Some(0), "{name} {script}: {}", cli::stderr(&piped));
            assert_eq!(profile(&piped), profile(&plain), "{name} {script}");
        }
    }
}

#[test]
fn a_pipe_without_a_profile_is_refused_before_its_end() {
    let folder = scratch("endless");
    fs::write(folder.join("tpu.gz"), sample(TPU)).expect("a file");
    for (script, said) in [
        ("\"$0\" analyze - < /dev/zero", "stdin: This is an unknown binary file"),
        ("\"$0\" analyze /dev/zero", "/dev/zero: This is an unknown binary file"),
        ("yes | \"$0\" -", "stdin: This is plain text"),
        ("\"$0\" analyze - < /dev/null", "stdin: The file is empty"),
        ("\"$0\" compare - - < tpu.gz", "standard input can be read only once"),
        ("\"$0\" check tpu.gz --budget /dev/zero", "/dev/zero: cannot be read: it has more than 1.00 MiB"),
        (
            "\"$0\" check tpu.gz --baseline /dev/zero --limit 'throughput.steps_per_sec > 0.9 * baseline'",
            "/dev/zero: This is an unknown",
        ),
        ("\"$0\" tpu.gz --model-config /dev/zero", "/dev/zero: cannot be read: it has more than 4.00 MiB"),
    ] {
        let output = shell(&folder, script);
        assert_eq!(status(&output), Some(2), "{script}");
        assert!(cli::stderr(&output).contains(said), "{script}: {}", cli::stderr(&output));
    }
}

#[test]
fn an_input_is_never_written_to() {
    let folder = scratch("inputs");
    let bytes = sample(TPU);
    fs::write(folder.join("in.json"), &bytes).expect("a file");
    fs::hard_link(folder.join("in.json"), folder.join("hard.json")).expect("a link");
    symlink("in.json", folder.join("soft.json")).expect("a link");
    fs::write(folder.join("budget.toml"), "limits = [\"throughput.steps_per_sec > 0\"]").expect("a file");
    fs::write(folder.join("model.json"), "{\"batch_size\":2}").expect("a file");
    for script in [
        "\"$0\" analyze in.json --output-json in.json",
        "\"$0\" analyze in.json --output-json hard.json",
        "\"$0\" analyze in.json --output soft.json",
        "\"$0\" analyze soft.json --output hard.json",
        "\"$0\" analyze . --output in.json",
        "\"$0\" analyze - --output in.json < in.json",
        "\"$0\" analyze in.json --model-config model.json --output model.json",
        "\"$0\" compare in.json in.json --output soft.json",
        "\"$0\" check in.json --budget budget.toml --output budget.toml",
        "\"$0\" check in.json --limit 'throughput.steps_per_sec > 0' --output hard.json",
    ] {
        let output = shell(&folder, script);
        assert_eq!(status(&output), Some(2), "{script}");
        assert_eq!(cli::stdout(&output), "", "{script}");
        assert!(cli::stderr(&output).contains("and would be overwritten."), "{script}: {}", cli::stderr(&output));
        assert!(fs::read(folder.join("in.json")).expect("it is there") == bytes, "{script}");
    }
    assert!(fs::read_to_string(folder.join("budget.toml")).expect("it is there").starts_with("limits"));
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = scratch("whole");
    fs::write(folder.join("tpu.gz"), sample(TPU)).expect("a file");
    let real = folder.join("real.json");
    fs::write(&real, "earlier").expect("a file");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("real.json", folder.join("link.json")).expect("a link");
    let files = || fs::read_dir(&folder).expect("the folder").count();
    let before = files();
    // Limits files to one block, so that writing fails in the middle, as on a full disk.
    let output = shell(&folder, "trap '' XFSZ; ulimit -f 1; \"$0\" analyze tpu.gz --output-json link.json");
    assert_eq!(status(&output), Some(2), "{}", cli::stderr(&output));
    assert!(cli::stderr(&output).contains("link.json: cannot be written: "), "{}", cli::stderr(&output));
    assert_eq!(fs::read_to_string(&real).expect("it is there"), "earlier");
    assert_eq!(files(), before, "nothing is left beside it");

    let output = shell(&folder, "\"$0\" analyze tpu.gz --output-json link.json");
    assert_eq!(status(&output), Some(0), "{}", cli::stderr(&output));
    assert!(folder.join("link.json").is_symlink(), "a link stays one");
    assert!(fs::read_to_string(&real).expect("it is there").ends_with("}\n"));
    assert_eq!(fs::metadata(&real).expect("it is there").mode() & 0o777, 0o640);
    assert_eq!(files(), before);
}

#[test]
fn devices_and_pipes_are_written_to_as_they_are() {
    let folder = scratch("devices");
    fs::write(folder.join("tpu.gz"), sample(TPU)).expect("a file");
    let whole = shell(&folder, "\"$0\" analyze tpu.gz --format json");
    for script in [
        "\"$0\" analyze tpu.gz --output-json /dev/null > all; \"$0\" analyze tpu.gz --output-json /dev/stdout",
        "\"$0\" analyze tpu.gz --output-json /dev/stdout > all; cat all",
        "mkfifo fifo.json; cat fifo.json & \"$0\" analyze tpu.gz --output-json fifo.json > all; wait",
    ] {
        let output = shell(&folder, script);
        assert!(cli::stdout(&output).starts_with(&cli::stdout(&whole)), "{script}: {}", cli::stderr(&output));
        assert_eq!(cli::stderr(&output), "", "{script}");
    }
}

#[test]
fn a_folder_that_cannot_be_read_does_not_hide_the_others() {
    // The path is longer than the system allows, so even root cannot read it.
    let mut folder = scratch("unreadable");
    while folder.as_os_str().len() < 3_800 {
        folder.push("d".repeat(100));
    }
    fs::create_dir_all(folder.join("z")).expect("a folder");
    fs::write(folder.join("z/tpu.trace.json.gz"), sample(TPU)).expect("a file");
    for name in ["a", "b"] {
        let made = Command::new("mkdir").arg(name.repeat(250)).current_dir(&folder).status().expect("mkdir");
        assert!(made.success());
    }
    let output = tool().args(["analyze", "--format", "json"]).arg(&folder).output().expect("the tool starts");
    let said = cli::stderr(&output);
    assert_eq!(status(&output), Some(2), "{said}");
    assert_eq!(said.matches("cannot be read: ").count(), 2, "{said}");
    assert_eq!(profile(&output)["metadata"]["num_devices"], 4);
    fs::remove_dir_all(folder.parent().expect("a folder")).expect("the long paths are taken away");
}

#[test]
fn messages_quote_the_beginning_of_a_long_value() {
    let folder = scratch("long");
    fs::write(folder.join("tpu.gz"), sample(TPU)).expect("a file");
    let long = "x".repeat(70_000);
    fs::write(folder.join("key.toml"), format!("{long} = 1\n")).expect("a file");
    fs::write(folder.join("rule.toml"), format!("[[limit]]\nrule = \"{long} < 1\"\n")).expect("a file");
    fs::write(folder.join("model.json"), format!("{{\"batch_size\":\"{long}\"}}")).expect("a file");
    let absent = format!("steps:{long}");
    let rule = format!("step_timing.avg_step_time_us < 5 {long}");
    let path = format!("{long} < 5");
    let flag = format!("--{long}");
    let spaced = "x ".repeat(35_000);
    for arguments in [
        &["analyze", "tpu.gz", "--window", &long][..],
        &["analyze", "tpu.gz", "--window", &absent],
        &["analyze", "tpu.gz", "--num-steps", &long],
        &["analyze", "tpu.gz", "--fail-on", &long],
        &["analyze", "tpu.gz", "--model-config", "model.json"],
        &["analyze", "tpu.gz", "--checkpoint-dir", &long],
        &["analyze", "tpu.gz", "--output", &long],
        &["analyze", "tpu.gz", &flag],
        &["analyze", &long],
        &["table", &long, "tpu.gz"],
        &["table", "ops", "tpu.gz", "--sort", &long],
        &["table", "op-tree", "tpu.gz", "--by", &spaced],
        &["check", "tpu.gz", "--limit", &rule],
        &["check", "tpu.gz", "--limit", &path],
        &["check", "tpu.gz", "--budget", "key.toml"],
        &["check", "tpu.gz", "--budget", "rule.toml"],
        &["compare", "tpu.gz", "tpu.gz", "--baseline", &long],
    ] {
        let output = cli::crossprof(&folder, arguments);
        let said = cli::stderr(&output) + &cli::stdout(&output);
        let shown: Vec<String> = arguments.iter().map(|it| it.chars().take(40).collect()).collect();
        assert!(said.contains('x') && said.contains('…') && said.len() < 12_000, "{shown:?}: {} bytes", said.len());
    }
}

/// Uses more files than any machine has threads, to test that decoding in parallel keeps their order.
#[test]
fn many_files_are_one_run_in_their_order() {
    let folder = scratch("many");
    let run = folder.join("plugins/profile/run");
    fs::create_dir_all(&run).expect("a folder");
    let bytes = sample(TPU);
    let name = |host: usize| format!("h{host:02}.trace.json.gz");
    (0..20).for_each(|host| fs::write(run.join(name(host)), &bytes).expect("a file"));
    fs::write(run.join(name(7)), b"no profile").expect("a file");
    let analyze = || tool().args(["analyze", "--format", "json"]).arg(&folder).output().expect("the tool starts");
    let output = analyze();
    assert!(cli::stderr(&output).contains(&name(7)), "{}", cli::stderr(&output));
    let profile: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(profile["metadata"]["num_hosts"], 19);
    let files: Vec<&str> =
        profile["provenance"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert!(files.len() == 19 && files.is_sorted(), "{files:?}");
    assert_eq!(analyze().stdout, output.stdout);
}
