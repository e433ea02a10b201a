//! Tests the commands for agents: `digest`, `inspect`, `ask`, `baseline`, `skill` and `mcp`.

use std::path::Path;

use crate::support::cli::{crossprof, scratch, stderr, stdout};
use crate::support::samples::root;

const TPU: &str = "www/assets/examples/tpu-training.trace.json.gz";

#[test]
fn a_digest_is_deterministic_and_fits() {
    for path in [TPU, "www/assets/examples/gpu-training.trace.json.gz", "www/assets/examples/jax-cpu-train.xplane.pb"] {
        for most in ["800", "2000", "10000"] {
            for format in ["text", "json"] {
                let run = || crossprof(&root(), &["digest", path, "--max-bytes", most, "--format", format]);
                let (first, second) = (run(), run());
                assert!(first.status.success(), "{}", stderr(&first));
                assert!(first.stdout.len() <= most.parse().unwrap() && first.stdout == second.stdout, "{path} {most}");
            }
        }
    }
    let small = crossprof(&root(), &["digest", TPU, "--max-bytes", "10"]);
    assert_eq!(small.status.code(), Some(2));
    assert!(stderr(&small).contains("at least 800"));
}

#[test]
fn the_text_and_the_json_of_a_digest_name_the_same_findings() {
    let text = stdout(&crossprof(&root(), &["digest", TPU, "--max-bytes", "9000"]));
    let json = stdout(&crossprof(&root(), &["digest", TPU, "--max-bytes", "9000", "--format", "json"]));
    let digest: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ids: Vec<&str> = ["findings", "scopes", "ops", "not_measured"]
        .iter()
        .flat_map(|list| digest[list].as_array().unwrap())
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert!(ids.len() > 20 && ids.iter().all(|id| text.contains(&format!("[{id}]"))), "{ids:?}\n{text}");
    // Every command of the digest works.
    for next in digest["next"].as_array().unwrap() {
        let command = next["command"].as_str().unwrap().replace("CAPTURE", TPU).replace("NEW", TPU);
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let output = crossprof(&root(), &words);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
}

#[test]
fn inspect_names_what_a_question_lacks() {
    let output = crossprof(&root(), &["inspect", TPU, "--for", "collectives"]);
    let text = stdout(&output);
    assert!(text.starts_with("partly sufficient for collectives\n"), "{text}");
    assert!(text.contains("no     compiled_programs") && text.contains("enable_hlo_proto"), "{text}");
    let text =
        stdout(&crossprof(&root(), &["inspect", "tests/data/host-only/host.trace.json.gz", "--for", "step time"]));
    assert!(text.starts_with("insufficient for step time\n") && text.contains("no     device_events"), "{text}");
    let output = crossprof(&root(), &["inspect", TPU, "--for", "weather"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("collectives"), "{}", stderr(&output));
}

#[test]
fn a_named_baseline_outlives_its_capture() {
    let folder = scratch("agents", "baseline");
    let captures = root().join("tests/questions/captures");
    for name in ["before", "again", "after"] {
        let name = format!("{name}.trace.json.gz");
        std::fs::copy(captures.join(&name), folder.join(&name)).unwrap();
    }
    let run = |words: &[&str]| crossprof(&folder, words);
    let set = run(&["baseline", "set", "main", "before.trace.json.gz", "again.trace.json.gz"]);
    assert!(set.status.success(), "{}", stderr(&set));
    assert!(stdout(&run(&["baseline", "list"])).starts_with("main\n  "));
    let compare = ["compare", "after.trace.json.gz", "--baseline", "main", "--format", "json"];
    let verdict = |output: &std::process::Output| -> String {
        let comparison: serde_json::Value = serde_json::from_str(&stdout(output)).unwrap();
        assert_eq!(comparison["runs"][0]["name"], "main", "{comparison}");
        comparison["step_time"][0]["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(&run(&compare)), "slower");
    let check = ["check", "after.trace.json.gz", "--baseline", "main", "--limit", "slower <= 5 %"];
    assert_eq!(run(&check).status.code(), Some(1));
    let ask = ["ask", "compare", "after.trace.json.gz", "baseline=main"];
    let answer: serde_json::Value = serde_json::from_str(&stdout(&run(&ask))).unwrap();
    assert_eq!((&answer["facts"]["verdict"], &answer["facts"]["num_captures"][1]), (&"slower".into(), &2.into()));
    // The capture is overwritten, and the other is gone. The stored profiles replace them.
    std::fs::copy(captures.join("after.trace.json.gz"), folder.join("before.trace.json.gz")).unwrap();
    std::fs::remove_file(folder.join("again.trace.json.gz")).unwrap();
    assert_eq!(stdout(&run(&["baseline", "list"])).matches("changed or gone").count(), 2);
    assert_eq!(verdict(&run(&compare)), "slower");
    assert!(run(&["baseline", "remove", "main"]).status.success());
    assert_eq!(run(&compare).status.code(), Some(2));
    for name in ["../main", ".main", "a/b", ""] {
        assert_eq!(run(&["baseline", "set", name, "after.trace.json.gz"]).status.code(), Some(2), "{name}");
    }
}

#[test]
fn tools_measure_the_window_that_was_asked_for() {
    let ask = |words: &[&str]| -> serde_json::Value {
        let output = crossprof(&root(), &[&["ask"], words].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let time = |window: &str| -> f64 {
        let op = ask(&["op", TPU, "op=fusion.1", window]);
        op["facts"]["total_self_time_us"].as_f64().unwrap()
    };
    // The counted steps are 2 to 7.
    let (one, all) = (time("window=steps:3-3"), time("window=all"));
    assert!(one > 0.0 && all > 5.0 * one, "{one} {all}");
    assert!(ask(&["digest", TPU, "window=steps:3-3"])["capture"]["window"].to_string().contains("tep 3"));
    let range = |words: &[&str]| -> (f64, f64) {
        let range = ask(&[&["range", TPU], words].concat());
        (range["facts"]["from_us"].as_f64().unwrap(), range["facts"]["to_us"].as_f64().unwrap())
    };
    // Steps 3 and 4 together begin with step 3 and end with step 4.
    let (three, four, both) = (range(&["step=3"]), range(&["step=4"]), range(&["window=steps:3-4"]));
    assert!(both.0 <= three.0 && both.1 >= four.1 && both.1 - both.0 < 3.0 * (three.1 - three.0), "{both:?}");
    let output = crossprof(&root(), &["ask", "range", TPU, "step=3", "window=main"]);
    assert!(!output.status.success() && stderr(&output).contains("Give step, or window"), "{}", stderr(&output));
    // A capture equals itself, but only the compared steps are counted.
    let baseline = format!("baseline={TPU}");
    let compare = ask(&["compare", TPU, &baseline, "window=steps:3-4"]);
    assert_eq!(compare["facts"]["num_steps"], serde_json::json!([2, 2]), "{compare}");
    let output = crossprof(&root(), &["ask", "table", TPU, "table=ops", "window=yesterday"]);
    assert!(!output.status.success() && stderr(&output).contains("yesterday"), "{}", stderr(&output));
}

#[test]
fn the_skill_is_installed_and_its_commands_exist() {
    let folder = scratch("agents", "skill");
    let output = crossprof(&folder, &["skill", "install", "skills"]);
    assert_eq!(Path::new(stdout(&output).trim()), Path::new("skills/crossprof/SKILL.md"), "{}", stderr(&output));
    let skill = std::fs::read_to_string(folder.join("skills/crossprof/SKILL.md")).unwrap();
    assert!(skill.starts_with("---\nname: crossprof\ndescription: "));
    let commands: Vec<&str> = skill.lines().filter_map(|line| line.strip_prefix("crossprof ")).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        let name = command.split(' ').next().unwrap();
        let help = crossprof(&folder, &[name, "--help"]);
        assert!(help.status.success(), "{command}");
    }
}

#[test]
fn the_markdown_of_a_check_begins_with_the_digest() {
    let words = ["check", TPU, "--limit", "step_timing.avg_step_time_us < 1 s", "--format", "markdown"];
    let text = stdout(&crossprof(&root(), &words));
    let digest = stdout(&crossprof(&root(), &["digest", TPU]));
    let start =
        format!("<details><summary>Digest for an assistant</summary>\n\n```text\n{digest}```\n\n</details>\n\n## ✅ ");
    assert!(text.starts_with(&start), "{text}");
}

#[cfg(feature = "mcp")]
mod mcp {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    use serde_json::{Value, json};

    use super::*;

    /// A client that talks to a server through the server's pipes.
    struct Client {
        server: Child,
        to: Option<ChildStdin>,
        from: BufReader<ChildStdout>,
        id: u64,
    }

    impl Client {
        fn start(folders: &[&Path]) -> Client {
            let mut server = Command::new(env!("CARGO_BIN_EXE_crossprof"))
                .arg("mcp")
                .args(folders)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let (to, from) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
            let mut client = Client { server, to, from, id: 0 };
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
            let answer = client.request("initialize", hello);
            assert_eq!(answer["result"]["serverInfo"]["name"], "crossprof", "{answer}");
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            client
        }

        fn send(&mut self, message: &Value) {
            let to = self.to.as_mut().unwrap();
            writeln!(to, "{message}").unwrap();
            to.flush().unwrap();
        }

        fn request(&mut self, method: &str, params: Value) -> Value {
            self.id += 1;
            self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
            let mut line = String::new();
            self.from.read_line(&mut line).unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(answer["id"], self.id, "{answer}");
            answer
        }

        /// Calls a tool. Returns true if the call succeeded, and the text of the answer.
        fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
            let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
            (answer["result"]["isError"] == false, text)
        }

        fn end(mut self) {
            drop(self.to.take());
            assert!(self.server.wait().unwrap().success());
        }
    }

    #[test]
    fn six_tools_answer_over_pipes() {
        let mut client = Client::start(&[&root().join("www/assets/examples")]);
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["open", "digest", "table", "range", "op", "compare"]);
        for tool in tools {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        }
        let (is_right, text) = client.call("open", json!({}));
        assert!(
            is_right && text.contains("tpu-training.trace.json.gz") && text.contains("\"num_captures\":3"),
            "{text}"
        );
        // The same registry answers on the command line.
        let capture = json!({"capture": "tpu-training.trace.json.gz", "table": "ops", "limit": 3});
        let (is_right, over_pipes) = client.call("table", capture);
        let asked = stdout(&crossprof(&root(), &["ask", "table", TPU, "table=ops", "limit=3"]));
        assert!(is_right && over_pipes == asked.trim_end(), "{over_pipes}\n{asked}");
        for most in [800, 2000, 6000] {
            let capture = "jax-cpu-train.xplane.pb";
            for (tool, arguments) in [
                ("digest", json!({"capture": capture, "max_bytes": most})),
                (
                    "table",
                    json!({"capture": capture, "table": "ops", "columns": ["all"], "limit": 100, "max_bytes": most}),
                ),
                ("range", json!({"capture": capture, "events": true, "limit": 1000, "max_bytes": most})),
                ("op", json!({"capture": capture, "op": "dot.1", "radius": 9, "max_bytes": most})),
                ("compare", json!({"capture": capture, "baseline": capture, "max_bytes": most})),
            ] {
                let (is_right, text) = client.call(tool, arguments);
                assert!(is_right && text.len() <= most, "{tool} {most}: {}", text.len());
            }
        }
        for (tool, arguments, part) in [
            ("table", json!({"capture": "tpu-training.trace.json.gz", "table": "opps"}), "Did you mean ops"),
            ("table", json!({"capture": "tpu-training.trace.json.gz"}), "missing field `table`"),
            ("digest", json!({"capture": "gone.xplane.pb"}), "there is no such file"),
            ("digest", json!({"capture": "tpu-training.trace.json.gz", "run": 7}), "There is no run 7"),
            ("op", json!({"capture": "tpu-training.trace.json.gz", "op": "fusion.9999"}), "has no op"),
            ("dance", json!({}), "There is no tool dance"),
        ] {
            let (is_right, text) = client.call(tool, arguments);
            assert!(!is_right && text.contains(part), "{tool}: {text}");
        }
        client.end();
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_of_the_folders_is_read() {
        let folder = scratch("agents", "mcp");
        let (inside, outside) = (folder.join("inside"), folder.join("outside"));
        std::fs::create_dir_all(inside.join("run")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::copy(root().join(TPU), outside.join("a.trace.json.gz")).unwrap();
        std::fs::copy(root().join(TPU), inside.join("b.trace.json.gz")).unwrap();
        // The folder above contains a sidecar. It must not be read either.
        std::fs::write(folder.join("crossprof.json"), r#"{"batch_size": 77}"#).unwrap();
        std::os::unix::fs::symlink(outside.join("a.trace.json.gz"), inside.join("run/link.trace.json.gz")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        let mut client = Client::start(&[&inside]);
        let outside_file = outside.join("a.trace.json.gz").to_string_lossy().into_owned();
        for path in [
            outside_file.as_str(),
            "../outside/a.trace.json.gz",
            "run",
            "run/link.trace.json.gz",
            "folder",
            "folder/a.trace.json.gz",
            "/etc/passwd",
        ] {
            let (is_right, text) = client.call("digest", json!({"capture": path}));
            assert!(!is_right && text.contains("leads out of the folders"), "{path}: {text}");
        }
        let (is_right, text) = client.call("compare", json!({"capture": "b.trace.json.gz", "baseline": outside_file}));
        assert!(!is_right && text.contains("leads out"), "{text}");
        let (_, listed) = client.call("open", json!({}));
        assert!(listed.contains("\"num_captures\":1"), "{listed}");
        let (is_right, text) = client.call("digest", json!({"capture": "b.trace.json.gz", "max_bytes": 9000}));
        assert!(is_right && text.contains("throughput.samples_per_sec"), "{text}");
        client.end();
    }
}
