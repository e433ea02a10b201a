//! Wrong budgets and arguments cause exit status 2, no standard output, and a helpful message.

use super::{check, stderr, stdout, two_traces};

#[test]
fn mistakes_in_a_budget_have_line_and_column() {
    let folder = two_traces("mistakes");
    for (toml, told) in [
        ("limits = [\n  \"a\"\n  \"b\"\n]\n", &[":3:3: This is not TOML: missing comma"][..]),
        ("limits = [\"step_timing.avg_step_time_us < 150 ms\"", &[":1:50: This is not TOML: unclosed array"]),
        (
            "limits = [\n  \"step_timing.avg_step_time < 150 ms\",\n]\n",
            &[
                ":2:4: No profile has step_timing.avg_step_time. Did you mean step_timing.avg_step_time_us?",
                "  2 |   \"step_timing.avg_step_time < 150 ms\",\n    |    ^^^^^^^^^^^^^^^^^^^^^^^^^\n",
            ],
        ),
        // There are two mistakes at once, and one of them is after multi-byte characters.
        (
            "limits = [\n  'throughput.steps_per_sec = 3',\n  \"\"\"step_timing.num_steps > 3 µs\"\"\",\n]\n",
            &[":2:29: Equality is written ==.", ":3:30: step_timing.num_steps has no unit"],
        ),
        ("limits = [\"throughput.steps_per_sec >= 3 GiB\"]", &[":1:40: throughput.steps_per_sec is in /s"]),
        ("[[limit]]\npath = \"steps[*].idle_us\"\nmaxx = 3\n", &[":3:1: There is no key maxx here. Did you mean max?"]),
        ("[[limit]]\npath = \"steps[*].idle_us\"\n", &[":2:8: This limit has no bound"]),
        ("[[limit]]\npath = \"steps[*].idle_us\"\nmax = \"2 * base\"", &[":3:12: The word baseline is expected here"]),
        ("[[limit]]\npath = \"steps[*].idle_us\"\nmax = inf", &[":3:7: max is a number"]),
        ("[[limit]]\nrule = \"count(steps) > 3\"\nmin = 3", &[":1:1: A rule contains its own bound"]),
        ("[[limit]]\nrule = \"count(steps) > 3\"\noptional = \"yes\"", &[":3:12: optional is true or false"]),
        (
            "[[limit]]\npath = \"findings[id=idle_gap]\"\nabsent = true",
            &[":2:17: id is never idle_gap. Did you mean idle_gaps?"],
        ),
        ("[[limit]]\nwhy = \"none\"", &[":1:1: A limit needs rule"]),
        ("limits = \"count(steps) > 3\"", &[":1:10: limits is a list"]),
        (
            "baseline = 3\nlimits = [7]",
            &[":1:12: baseline is a text, or a list of texts", ":2:11: A limit is a rule in quotation marks"],
        ),
        ("", &[":1:1: This budget has no limits."]),
        // An escape shifts the positions after it, so the marker covers the whole text.
        ("limits = [\"kernels.\\\"x\\\".y > 3\"]", &[":1:11: No profile has kernels.x.y."]),
    ] {
        std::fs::write(folder.join("budget.toml"), toml).unwrap();
        // A broken profile makes no difference, because the budget is wrong in any case.
        let output = check(&folder, &["new.trace.json", "--budget", "budget.toml"]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{toml}");
        for told in told {
            assert!(stderr(&output).contains(told), "{toml}\n{}", stderr(&output));
        }
    }
}

#[test]
fn wrong_calls_are_refused() {
    let folder = two_traces("calls");
    std::fs::write(folder.join("page.html"), "<!DOCTYPE html><html></html>").unwrap();
    let rule = "count(steps) > 3";
    let relative = "throughput.steps_per_sec >= baseline";
    for (arguments, told) in [
        (&["new.trace.json"][..], "--budget"),
        (&["--limit", rule], "FILE|DIR"),
        (&["new.trace.json", "--budget", "absent.toml"], "absent.toml: cannot be read"),
        (&["absent.json", "--limit", rule], "absent.json: cannot be read"),
        (&["page.html", "--limit", rule], "page.html: "),
        (&["new.trace.json", "page.html", "--limit", rule], "nothing was checked"),
        (&["new.trace.json", "--limit", relative], "needs a baseline: give --baseline FILE"),
        (&["new.trace.json", "--limit", relative, "--baseline", "absent.json"], "absent.json: cannot be read"),
        (&["new.trace.json", "--limit", rule, "--run", "old"], "--run: there is no run old; the runs are new."),
        (
            &["new.trace.json", "--limit", relative, "--baseline", "main.trace.json", "--baseline-run", "x"],
            "The baseline has no run x; the runs are main.",
        ),
        (
            &["new.trace.json", "--limit", "step_timing.avg_step_tme_us < 3"],
            "Did you mean step_timing.avg_step_time_us",
        ),
        (&["new.trace.json", "--limit", "count(steps) > 3 ms"], "  count(steps) > 3 ms\n                 ^^^^\n"),
        (&["new.trace.json", "--limit", rule, "--format", "pdf"], "pdf"),
    ] {
        let output = check(&folder, arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr(&output).contains(told), "{arguments:?}\n{}", stderr(&output));
    }
}

#[test]
fn a_baseline_that_nothing_looks_at_is_mentioned_and_not_read() {
    let folder = two_traces("unused");
    let output = check(&folder, &["new.trace.json", "--limit", "count(steps) == 5", "--baseline", "absent.json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("no limit mentions the baseline"), "{}", stderr(&output));
}
