"""Lets the processes of one job agree on names and clocks over ``jax.distributed``. The processes do not use the devices to
agree."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from ._log import log

#: A process that does not answer in time captures on its own, or the others capture without it.
_PATIENCE_MS = 20_000
_ROUNDS = 5
_numbers = itertools.count()


def next_number() -> int:
    """Returns the number of the next capture. All processes of a job create captures in the same order."""
    return next(_numbers)


def identity() -> tuple[int, int]:
    """Returns the index of this process and the number of processes."""
    import jax

    return jax.process_index(), jax.process_count()


def chosen(processes: str | int | Sequence[int], count: int) -> list[int]:
    """Returns the numbers of the processes that capture.

    Raises:
        ValueError: A process does not exist.
    """
    if processes == "all":
        return list(range(count))
    numbers = [processes] if isinstance(processes, int) else sorted(set(processes))
    wrong = [number for number in numbers if not 0 <= number < count]
    if wrong or not numbers:
        raise ValueError(f"processes={processes!r}: the processes of this job are 0 to {count - 1}.")
    return list(numbers)


def check_processes(processes: str | int | Sequence[int]) -> None:
    """Checks the selection of processes that capture. Call this function after ``jax.distributed.initialize``.

    Raises:
        ValueError: The selection is neither "all" nor a list of this job's process numbers.
    """
    is_number = isinstance(processes, int) and not isinstance(processes, bool)
    is_list = isinstance(processes, (list, tuple)) and all(type(number) is int for number in processes)
    if processes != "all" and not is_number and not is_list:
        raise ValueError(f'processes must be "all", a number or a list of numbers, not {processes!r}.')
    if processes not in ("all", 0, [0], (0,)):
        # Process 0 exists in every job. To find the others, JAX must initialise its devices.
        chosen(processes, identity()[1])


def client() -> Any | None:
    """Returns the connection of this process to the other processes. Returns None if ``jax.distributed`` is not running."""
    try:
        from jax._src import distributed

        return distributed.global_state.client
    except (ImportError, AttributeError):
        return None


def agreed(key: str, is_leader: bool, make: Callable[[], str]) -> str:
    """Returns a value on which all processes agree, because the leader makes it. All processes that use the same key get the same
    value. Without a connection, or if the leader does not answer, each process makes its own value.
    """
    connection = client()
    if connection is None:
        return make()
    name = f"crossprof/{key}"
    try:
        if is_leader:
            made = make()
            connection.key_value_set(name, made)
            return made
        return connection.blocking_key_value_get(name, _PATIENCE_MS)
    except Exception as error:
        log.error("The processes could not agree on one folder (%s): this process captures into its own folder.", error)
        return make()


def requested_session(requested_ns: int, label: str) -> str:
    """Returns the name of the session for a request that several processes follow. The name consists of the request's time and the
    ``label`` of the first process. The processes must use the same name, although their step numbers may differ by one. If there is
    no connection, the name has no label."""
    name = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(requested_ns / 1e9))
    connection = client()
    if connection is None:
        return f"{name}_requested_{requested_ns % 1_000_000_000:09}"
    key, own = f"crossprof/request/{requested_ns}", f"{name}_{label}_requested"
    try:
        # Fails if another process was first.
        connection.key_value_set(key, own)
        return own
    except Exception:
        try:
            return str(connection.blocking_key_value_get(key, _PATIENCE_MS))
        except Exception as error:
            log.error("The processes could not agree on one folder (%s): this process captures into its own folder.", error)
            return own


def clock_offsets(key: str, process: int, count: int) -> dict[str, Any] | None:
    """Returns how far each process's clock is ahead of process 0's clock, with the error bound, in seconds. Returns None if there
    is no connection.

    All processes meet at a barrier, and read their clocks before and after the barrier. The barrier opens after all processes have
    arrived and before any of them leaves, so every reading before the barrier is earlier than every reading after it. If readings
    contradict this order, the clocks differ by at least the contradiction."""
    connection = client()
    if connection is None or count == 1:
        return None
    try:
        own = []
        for number in range(_ROUNDS):
            before = time.time_ns()
            connection.wait_at_barrier(f"crossprof/{key}/clock/{number}", _PATIENCE_MS)
            own += [before, time.time_ns()]
        connection.key_value_set(f"crossprof/{key}/times/{process}", " ".join(map(str, own)))
        of_all = [
            [int(word) for word in connection.blocking_key_value_get(f"crossprof/{key}/times/{other}", _PATIENCE_MS).split()]
            for other in range(count)
        ]
    except Exception as error:
        log.warning("The clocks of the processes could not be compared: %s", error)
        return None
    offsets = [_between(of_all[0], of_process) for of_process in of_all[1:]]
    return {"offset_s": [0.0, *(offset for offset, _ in offsets)], "error_s": [0.0, *(error for _, error in offsets)]}


def _between(first: Sequence[int], other: Sequence[int]) -> tuple[float, float]:
    """Returns how many seconds the other clock is ahead of the first clock, and the error bound. The arguments are readings in
    nanoseconds before and after each barrier."""
    least = max(before - after for before, after in zip(other[::2], first[1::2]))
    most = min(after - before for after, before in zip(other[1::2], first[::2]))
    return (least + most) / 2e9, abs(most - least) / 2e9
