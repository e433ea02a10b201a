"""Profiles, tables and comparisons in Python."""

from __future__ import annotations

import contextlib
import html
import http.client
import importlib.metadata
import importlib.util
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import types
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

import crossprof

EXAMPLES = Path(__file__).parents[2] / "www" / "assets" / "examples"
TPU = EXAMPLES / "tpu-training.trace.json.gz"
GPU = EXAMPLES / "gpu-training.trace.json.gz"


def tool(*words: object) -> str:
    """Returns the output of the command line."""
    call = [sys.executable, "-m", "crossprof", *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def test_a_report_is_the_tools_document() -> None:
    profile = crossprof.open(TPU, batch_size=32, seq_length=2048)
    assert profile.report == json.loads(tool("analyze", TPU, "--batch-size", 32, "--seq-length", 2048, "--format", "json"))
    # The example's generator creates four chips.
    assert profile.report["metadata"]["num_devices"] == 4
    step_s = profile.report["step_timing"]["avg_step_time_us"] / 1e6
    assert profile.report["throughput"]["tokens_per_sec"] == pytest.approx(32 * 2048 / step_s)
    assert profile.findings == profile.report["findings"] != []
    assert "tpu-training" in repr(profile)


def test_the_sidecar_of_a_capture_is_read_and_so_is_the_one_inside(run, tmp_path: Path) -> None:
    run(
        """
        with crossprof.capture("profiles", wait=6, active=4, batch_size=16, seq_length=128, params={"w": x}) as capture:
            for step in range(14):
                time.sleep(0.03 if step >= 7 else 0.02)
                capture.step(train_step(x))
        """
    )
    profile = crossprof.open(tmp_path / "profiles")
    report = profile.report
    step_s = report["step_timing"]["avg_step_time_us"] / 1e6
    assert report["throughput"]["tokens_per_sec"] == pytest.approx(16 * 128 / step_s)
    assert report["parameter_counts"]["total_params"] == 64 * 64
    # The program slept this long.
    assert report["tracing"]["untraced_step_time_us"] >= 20_000 and report["tracing"]["traced_step_time_us"] >= 30_000
    (found,) = [finding for finding in profile.findings if finding["id"] == "slowed_by_tracing"]
    assert found["severity"] in ("note", "warning")
    environment = report["metadata"]["environment"]
    assert environment["steps"] == "count=4 first=7 last=10" and environment["python"] == sys.version.split()[0]
    assert "crossprof" not in environment
    assert crossprof.open_all(tmp_path / "profiles").problems == []
    # A capture that is copied without its sidecar. Older versions of JAX do not embed it.
    (xplane,) = (tmp_path / "profiles").rglob("*.xplane.pb")
    alone = crossprof.open(shutil.copy(xplane, tmp_path / "alone.xplane.pb")).report
    if [int(part) for part in importlib.metadata.version("jax").split(".")[:2]] >= [0, 10]:
        assert alone["throughput"] == report["throughput"] and alone["tracing"] == report["tracing"]
        assert alone["metadata"]["environment"] == environment
    else:
        assert "tracing" not in alone


def test_tables_are_the_tools_tables() -> None:
    profile = crossprof.open(GPU)
    for name in ("ops", "kernels", "steps", "findings", "checklist", "warnings"):
        of_tool = json.loads(tool("table", name, GPU, "--format", "json"))
        table = profile.table(name)
        assert len(table) == len(of_tool)
        # JSON leaves out absent values.
        rows = [{key: value for key, value in row.items() if value is not None} for row in table.rows()]
        expected = [{key: value for key, value in row.items() if value is not None} for row in of_tool]
        assert rows == expected, name
    top = profile.table("ops", filter="category:fusion", sort="-total_self_time_us", top=3)
    times = top["total_self_time_us"]
    assert len(top) <= 3 and times == sorted(times, reverse=True)
    assert {column.key: column.unit for column in top.columns}["total_self_time_us"] == "µs"
    assert profile.table("op-tree", by="scope").rows() != profile.table("op-tree", by="category").rows()


def test_tables_are_arrow_and_pandas() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    table = crossprof.open(TPU).table("ops")
    arrow = table.arrow()
    arrow.validate(full=True)
    assert arrow.to_pylist() == table.rows()
    field = arrow.schema.field("total_self_time_us")
    assert field.type == pyarrow.float64() and field.metadata[b"unit"] == "µs".encode()
    frame = table.pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == arrow.column_names
    assert frame["total_self_time_us"].sum() == pytest.approx(sum(table["total_self_time_us"]))


def test_a_long_table_holds_what_the_trace_does(tmp_path: Path) -> None:
    # Enough rows for several threads to build its columns.
    names, times = [f"fusion.{i}" for i in range(50_000)], [float(i + 1) for i in range(50_000)]
    events = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:TPU:0"}}]
    events += [{"ph": "M", "pid": 1, "tid": 3, "name": "thread_name", "args": {"name": "XLA Ops"}}]
    start = 0.0
    for index, (name, time) in enumerate(zip(names, times)):
        # Every third op has a category.
        args = {"hlo_category": "loop fusion"} if index % 3 == 0 else {}
        events.append({"ph": "X", "pid": 1, "tid": 3, "ts": start, "dur": time, "name": name, "args": args})
        start += time
    (tmp_path / "long.trace.json").write_text(json.dumps({"traceEvents": events}))
    table = crossprof.open(tmp_path / "long.trace.json").table("ops", sort="total_time_us")
    assert table["hlo_op_name"] == names and table["total_time_us"] == pytest.approx(times)
    assert table["rank"] == list(range(50_000, 0, -1)) and table["occurrences"] == [1] * 50_000
    categories = table["category"]
    assert set(categories[::3]) == {"loop fusion"} and "loop fusion" not in categories[1::3] + categories[2::3]
    if importlib.util.find_spec("pyarrow"):
        arrow = table.arrow()
        arrow.validate(full=True)
        assert arrow["hlo_op_name"].to_pylist() == names and arrow["category"].to_pylist() == categories


def test_counts_below_zero_are_whole_numbers(tmp_path: Path) -> None:
    def varint(number: int) -> bytes:
        number %= 1 << 64
        return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])

    def message(*fields: tuple[int, int | bytes]) -> bytes:
        packed = [varint(key << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(key << 3) + varint(value) for key, value in fields]
        return b"".join(packed)

    texts = ["", "allocations", "count", "space", "bytes", "kind", "buffer", "program"]
    samples = [(5, 700, "buffer"), (-2, 300, "program")]
    profile = message(
        (1, message((1, 1), (2, 2))),
        (1, message((1, 3), (2, 4))),
        # A damaged count. Differences can have such counts too.
        *((2, message((2, count), (2, size), (3, message((1, 5), (2, texts.index(kind)))))) for count, size, kind in samples),
        *((6, text.encode()) for text in texts),
    )
    (tmp_path / "memory.prof").write_bytes(profile)
    table = crossprof.open(tmp_path / "memory.prof").table("heap", by="kind")
    assert (table["kind"], table["bytes"], table["count"]) == (["buffer", "program"], [700, 300], [5, -2])
    assert [type(count) for count in table["count"]] == [int, int]


def test_an_empty_table_is_one(tmp_path: Path) -> None:
    table = crossprof.open(TPU).table("ops", filter="no-op-is-called-this")
    assert (len(table), table.rows()) == (0, [])
    assert "ops: 0 rows" in repr(table)
    if importlib.util.find_spec("pyarrow"):
        assert table.arrow().num_rows == 0


def test_runs_are_compared() -> None:
    comparison = crossprof.compare(crossprof.open(GPU), crossprof.open(TPU))
    of_tool = json.loads(tool("compare", GPU, TPU, "--format", "json"))
    assert comparison == of_tool
    with pytest.raises(crossprof.ProfileError, match="two runs"):
        crossprof.compare(crossprof.open(GPU))


def test_a_folder_gives_its_runs(tmp_path: Path) -> None:
    for name, example in [("2026_01_05_10_00_00", GPU), ("2026_01_06_10_00_00", TPU)]:
        folder = tmp_path / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        shutil.copy(example, folder / "host.trace.json.gz")
    (tmp_path / "damaged.xplane.pb").write_bytes(b"no profile")
    profiles = crossprof.open_all(tmp_path)
    assert [profile.name for profile in profiles] == ["2026_01_05_10_00_00", "2026_01_06_10_00_00"]
    assert len(profiles.problems) == 1 and "damaged.xplane.pb" in profiles.problems[0]
    assert crossprof.open(tmp_path).name == "2026_01_06_10_00_00"


def test_what_is_wrong_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    for path, words in [(tmp_path / "none", "cannot be read"), (tmp_path / "notes.txt", "notes.txt: "), (tmp_path, "contains no profile")]:
        with pytest.raises(crossprof.ProfileError, match=words):
            crossprof.open(path)
    profile = crossprof.open(TPU)
    for arguments, words in [
        ({"name": "opps"}, "The tables are"),
        ({"name": "ops", "sort": "nope"}, "has no column nope"),
        ({"name": "ops", "by": "nope"}, "cannot be grouped by"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            profile.table(**arguments)
    with pytest.raises(KeyError):
        profile.table("ops")["nope"]
    with pytest.raises(crossprof.ProfileError):
        crossprof.open(TPU, window="nonsense")
    with pytest.raises(crossprof.ProfileError, match="price"):
        crossprof.open(TPU, price=-1)


def test_a_price_gives_the_price_of_lost_time() -> None:
    goodput = crossprof.open(TPU, price=2.5).report["goodput"]
    assert goodput["lost_dollars_per_hour"] == pytest.approx(2.5 * goodput["lost_devices"])
    assert crossprof.open(TPU).report["goodput"].get("lost_dollars_per_hour") is None


def test_a_notebook_shows_profiles_and_tables(tmp_path: Path) -> None:
    profile = crossprof.open(TPU)
    shown = profile._repr_html_()
    assert shown.startswith("<iframe") and "sandbox" in shown
    card = html.unescape(shown)
    for words in ("Step time", "What to do", "The median step", "<svg", profile.findings[0]["title"]):
        assert words in card, words
    assert "<script" not in card and "src=" not in card.replace("srcdoc=", "")
    table = profile.table("ops")._repr_html_()
    assert table.count("<tr>") == min(20, len(profile.table("ops"))) + 1
    profile.save(tmp_path / "report.html")
    profile.save(tmp_path / "profile.json")
    # Both can be read like a profile.
    for saved in ("report.html", "profile.json"):
        again = crossprof.open(tmp_path / saved)
        assert again.report["step_timing"] == profile.report["step_timing"]


def test_other_threads_run_while_a_file_is_read() -> None:
    ticks: list[int] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(1)
            stop.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(5):
        before = len(ticks)
        crossprof.open(TPU).table("ops")
        assert len(ticks) > before
    stop.set()
    thread.join()


def test_the_page_is_shown_in_a_frame(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("the page")
    shown = crossprof.show(crossprof.open(TPU), page=tmp_path / "page", height=500)
    try:
        assert f'src="{html.escape(shown.address)}"' in shown._repr_html_() and "500px" in shown._repr_html_()
        assert shown.address.startswith("http://127.0.0.1:") and "/app/?open=" in shown.address
        with urllib.request.urlopen(shown.address, timeout=20) as answer:
            assert answer.read() == b"the page"
    finally:
        shown.close()
    with pytest.raises(crossprof.ProfileError, match="cannot be read"):
        crossprof.show(tmp_path / "none", page=tmp_path / "page")


def test_in_colab_the_frame_goes_through_its_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("the page")
    output = types.ModuleType("google.colab.output")
    colab = types.ModuleType("google.colab")
    colab.output = output  # type: ignore[attr-defined]
    for module in (types.ModuleType("google"), colab, output):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    asked: list[str] = []

    def eval_js(script: str) -> str:
        asked.append(script)
        port = re.fullmatch(r"google\.colab\.kernel\.proxyPort\((\d+)\)", script)
        assert port is not None
        return f"https://{port[1]}-m-s-1abc.us-east1-0.prod.colab.dev/"

    output.eval_js = eval_js  # type: ignore[attr-defined]
    shown = crossprof.show(TPU, page=tmp_path / "page")
    try:
        parts = urllib.parse.urlsplit(shown.address)
        port = int(parts.netloc.split("-")[0])
        assert parts.scheme == "https" and parts.path.endswith("/app/") and parts.query.startswith("open=")
        assert f'src="{html.escape(shown.address)}"' in shown._repr_html_()

        def status(host: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", f"{parts.path}?{parts.query}", headers={"Host": host})
            with contextlib.closing(connection):
                return connection.getresponse().status

        # The browser requests from the proxy, which forwards the requested host name.
        assert (status(parts.netloc), status("127.0.0.1")) == (200, 200)
        other = f"{port + 1}-m-s-1abc.us-east1-0.prod.colab.dev"
        assert (status(other), status(f"{parts.netloc}.evil.example"), status("colab.dev")) == (403, 403, 403)
    finally:
        shown.close()
    output.eval_js = lambda script: None  # type: ignore[attr-defined]
    with pytest.raises(crossprof.ProfileError, match="Colab gives no address"):
        crossprof.show(TPU, page=tmp_path / "page")
    assert len(asked) == 1


def test_a_long_read_says_how_far_it_is_as_tqdm_does() -> None:
    from crossprof._progress import Bar, line

    assert line(65_300_000, 145_000_000, 1.25) == "Reading:  45%|##############                | 65.3M/145M [00:01<00:02, 52.2MB/s]"
    assert line(1_500, 0, 61) == "Reading: 1.5kB [01:01, 24.6B/s]"
    # Shows nothing if the output is not a terminal, unless requested.
    for is_shown, expected in ((None, False), (True, True), (False, False)):
        stream = io.StringIO()
        with Bar(is_shown, stream) as bar:
            bar(1, 2)
            assert stream.getvalue() == ""
            bar._began -= 1
            bar(1, 2)
            assert ("50%" in stream.getvalue()) == expected
        # The bar is removed.
        assert stream.getvalue().split("\r")[-1].strip() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of this kind are Unix's")
def test_ctrl_c_ends_the_waiting(tmp_path: Path) -> None:
    import os
    import time

    # Nothing is ever written to this pipe.
    os.mkfifo(tmp_path / "pipe.trace.json")
    # Test runners in the background ignore Ctrl+C, and their child processes inherit that.
    code = (
        "import crossprof, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "print('reading', flush=True); crossprof.open(sys.argv[1])"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code, tmp_path / "pipe.trace.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert waiting.stdout.readline() == b"reading\n"
    time.sleep(0.3)
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=20)
    assert b"KeyboardInterrupt" in err


def test_the_tool_is_on_the_path_with_its_exit_codes(tmp_path: Path) -> None:
    program = shutil.which("crossprof", path=str(Path(sys.executable).parent))
    assert program is not None

    def call(*words: object) -> tuple[int, str, str]:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert call("--version") == (0, f"crossprof {crossprof.__version__}\n", "")
    assert call("analyze", TPU)[0] == 0
    (tmp_path / "notes.txt").write_text("notes")
    assert call("analyze", tmp_path / "notes.txt")[0] == 2
    assert call("analyze", TPU, "--fail-on", "note")[0] == 3
    assert call("check", TPU, "--limit", "step_timing.avg_step_time_us < 1 us")[0] == 1
    assert call("nonsense", "nonsense")[0] == 2
    status, out, _ = call("view", "--help")
    assert status == 0 and "--no-browser" in out
    status, out, _ = call("scale", "--help")
    assert status == 0 and "CUDA" not in out and "-n" in out


@pytest.mark.skipif(sys.platform == "win32", reason="asks for memory as Unix does")
def test_a_profile_that_is_forgotten_gives_its_memory_back() -> None:
    import resource

    def most_kib(opens: int) -> int:
        for _ in range(opens):
            crossprof.open(TPU).table("ops")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = most_kib(10)
    # If it were kept, each would take half a MiB.
    assert most_kib(60) - before < 10_000


def test_peaks_are_those_of_the_facts() -> None:
    from crossprof._flops import peak_flops

    # Published by the manufacturers, under JAX's names.
    assert peak_flops("TPU v4") == 275e12
    assert peak_flops("TPU v5 lite") == 197e12
    assert peak_flops("NVIDIA H100 80GB HBM3") == pytest.approx(989.5e12)
    # "L4" must not match "L40S".
    assert peak_flops("NVIDIA L40S") == pytest.approx(362.05e12)
    assert peak_flops("cpu") is None
