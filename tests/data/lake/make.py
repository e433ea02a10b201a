"""Makes a lake from synthetic captures and from captures in this folder, and exports the lake's trends: ``python make.py
trend.json.gz``.

The lake has five workloads. One became slower at a known commit, one became faster, one did not change, and two have only one
capture.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(DATA.parents[1] / "python" / "tests"))

import made_captures  # noqa: E402

from crossprof import lake  # noqa: E402
from crossprof.lake._export import write_export  # noqa: E402

#: Numbers of the first slow and the first fast capture.
SLOW, FAST = 11, 9


def main(output: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        paths = [DATA / "jax-h100" / "train.xplane.pb.gz", DATA / "jax-cpu-mesh" / "plugins" / "profile" / "2026_11_21_02_00_07"]
        for number in range(14):
            commit = f"{number:02x}" * 20
            paths += [
                made_captures.capture(made / "a", number, seed=3, slower=0.03 if number >= SLOW else 0.0, commit=commit),
                made_captures.capture(made / "b", number, seed=6, batch=64),
                made_captures.capture(made / "c", number, seed=7, batch=32, slower=0.06 if number < FAST else 0.0, commit=commit),
            ]
        for path in paths:
            status = lake.write(path, made / "lake")
            assert status["status"] == "written", status
        lake.regressions(made / "lake", record=True)
        text = json.dumps(lake.export(made / "lake"))
        for real, shown in ((folder, "runs"), (str(DATA.parents[1]), "crossprof")):
            text = text.replace(real, shown)
        write_export(json.loads(text), output)


if __name__ == "__main__":
    main(sys.argv[1])
