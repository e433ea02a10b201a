"""Writes comparisons of captures to the table ``verdicts``."""

from __future__ import annotations

import datetime
import hashlib
import json
from typing import Any

from .. import _native
from . import _rows, _schema
from ._comparison import Comparison
from ._store import Store

#: Column of ``captures`` that is compared.
_METRIC = "typical_step_ps"


def write_verdict(store: Store, found: Comparison) -> None:
    """Writes a comparison, unless this or a newer version of crossprof has already written a comparison of the same captures."""
    sides = [[row["capture_id"] for row in side] for side in (found.before, found.after)]
    compared = json.dumps([_METRIC, float(found.threshold_percent), *map(sorted, sides)])
    name = hashlib.sha256(compared.encode()).hexdigest()[:32]
    newest = found.after[-1]
    place = [newest["workload_key"], newest["taken_at"].strftime("%Y-%m")]
    path = store.place_of_verdict(place, name)
    known = store.state("verdicts", name)
    if known and not _schema.is_older(known["stamp"]) and store.files.size(path) == known["size"]:
        return
    store.lay_schema()
    keys = {field.name: newest.get(field.name) for field in _schema.KEYS} | {"crossprof_version": _native.__version__}
    file = _rows.file("verdicts", [_row(found, sides)], keys)
    store.files.write(path, file)
    if known and known["place"] != place:
        # An older version named the workload in another way.
        store.files.remove(store.place_of_verdict(known["place"], name))
    store.set_state("verdicts", name, {"stamp": _schema.stamp(), "place": place, "size": len(file)})


def _row(found: Comparison, sides: list[list[str]]) -> dict[str, Any]:
    causes = {cause["kind"]: cause for cause in reversed(found.because)}
    bad, good = (found.after[0], found.before[-1]) if found.verdict == "slower" else ({}, {})
    return {
        "metric": _METRIC,
        "verdict": found.verdict,
        "before_ps": round(found.before_us * 1e6),
        "after_ps": round(found.after_us * 1e6),
        "change_percent": found.percent,
        "margin_percent": found.relative(found.margin_us),
        "least_provable_percent": found.relative(found.least_provable_us),
        "threshold_percent": float(found.threshold_percent),
        "is_change_point": found.is_change_point,
        "before_captures": json.dumps(sides[0]),
        "after_captures": json.dumps(sides[1]),
        "first_bad_capture_id": bad.get("capture_id"),
        "first_bad_git_sha": bad.get("git_sha"),
        "last_good_capture_id": good.get("capture_id"),
        "last_good_git_sha": good.get("git_sha"),
        **{f"cause_{kind}": causes.get(kind, {}).get("name") for kind in ("part", "scope", "op", "host")},
        "cause_op_key": causes.get("op", {}).get("op_key"),
        "because": json.dumps(found.because),
        "created_at": datetime.datetime.now(datetime.timezone.utc),
    }
