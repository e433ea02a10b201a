"""Tests the digest, the tools for agents, and the server for the Model Context Protocol with a third-party client."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import crossprof

EXAMPLES = Path(__file__).parents[2] / "www" / "assets" / "examples"
TPU = EXAMPLES / "tpu-training.trace.json.gz"


def test_a_digest_fits_and_is_the_tools() -> None:
    profile = crossprof.open(TPU)
    for size in (800, 2000, 9000):
        text, document = profile.digest(size), json.loads(profile.digest(size, format="json"))
        assert len(text.encode()) <= size
        assert text.startswith("crossprof digest ") and document["capture"]["num_devices"] == 4
    assert crossprof.ask("digest", TPU) == json.loads(profile.digest(format="json"))
    for wrong in ({"max_bytes": 10}, {"format": "yaml"}):
        with pytest.raises(crossprof.ProfileError):
            profile.digest(**wrong)


def test_tools_answer_in_python() -> None:
    answer = crossprof.ask("table", TPU, table="ops", sort="-total_self_time_us", limit=3)
    rows = crossprof.open(TPU).table("ops", sort="-total_self_time_us", top=3).rows()
    assert [row[1] for row in answer["rows"]] == [row["hlo_op_name"] for row in rows]
    assert answer["units"]["total_self_time_us"] == "µs" and answer["left_out"]["rows"] > 50
    assert crossprof.ask("open", TPU, question="collectives")["facts"]["verdict"] == "partly sufficient"
    for tool, arguments in (("dance", {}), ("table", {"table": "opps"}), ("table", {"table": "ops", "colour": "red"})):
        with pytest.raises(crossprof.ProfileError):
            crossprof.ask(tool, TPU, **arguments)


@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the package mcp")
def test_a_client_of_others_calls_the_tools() -> None:
    import asyncio

    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def talk() -> tuple[list[str], list[Any]]:
        server = StdioServerParameters(command=sys.executable, args=["-m", "crossprof", "mcp", str(EXAMPLES)])
        async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            calls = [
                ("digest", {"capture": TPU.name, "max_bytes": 900}),
                ("op", {"capture": TPU.name, "op": "fusion.235"}),
                ("digest", {"capture": "/etc/hostname"}),
            ]
            return tools, [await session.call_tool(name, arguments) for name, arguments in calls]

    tools, (digest, op, outside) = asyncio.run(talk())
    assert tools == ["open", "digest", "table", "range", "op", "compare"]
    failed = [getattr(it, "isError", getattr(it, "is_error", None)) for it in (digest, op, outside)]
    assert [bool(it) for it in failed] == [False, False, True]
    text = digest.content[0].text
    assert len(text.encode()) <= 900 and json.loads(text)["capture"]["num_devices"] == 4
    assert json.loads(op.content[0].text)["facts"]["hlo_op_name"] == "fusion.235"
