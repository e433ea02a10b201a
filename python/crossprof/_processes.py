"""The processes of one job, and what they agree on over ``jax.distributed``, without work for the devices."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from ._log import log

#: A process that does not answer by then captures on its own, or is captured without.
_PATIENCE_MS = 20_000
_ROUNDS = 5
_numbers = itertools.count()


def next_number() -> int:
    """Returns the number of a capture, which all processes of a job make in the same order."""
    return next(_numbers)


def identity() -> tuple[int, int]:
    """Number of this process, and how many there are."""
    import jax

    return jax.process_index(), jax.process_count()


def chosen(processes: str | int | Sequence[int], count: int) -> list[int]:
    """The numbers of the processes that capture.

    Raises:
        ValueError: There is no such process.
    """
    if processes == "all":
        return list(range(count))
    numbers = [processes] if isinstance(processes, int) else sorted(set(processes))
    wrong = [number for number in numbers if not 0 <= number < count]
    if wrong or not numbers:
        raise ValueError(f"processes={processes!r}: the processes of this job are 0 to {count - 1}.")
    return list(numbers)


def check_processes(processes: str | int | Sequence[int]) -> None:
    """Checks which processes capture. Call it after ``jax.distributed.initialize``.

    Raises:
        ValueError: It is neither "all" nor numbers of processes of this job.
    """
    is_number = isinstance(processes, int) and not isinstance(processes, bool)
    is_list = isinstance(processes, (list, tuple)) and all(type(number) is int for number in processes)
    if processes != "all" and not is_number and not is_list:
        raise ValueError(f'processes is "all", a number or a list of numbers, not {processes!r}.')
    if processes not in ("all", 0, [0], (0,)):
        # Every job has a process 0. To know the others, JAX has to know its devices.
        chosen(processes, identity()[1])


def client() -> Any | None:
    """The connection of this process to the others; None where ``jax.distributed`` does not run."""
    try:
        from jax._src import distributed

        return distributed.global_state.client
    except (ImportError, AttributeError):
        return None


def agreed(key: str, is_leader: bool, make: Callable[[], str]) -> str:
    """What the leader makes, for all who ask under the same key. Without a connection, or where the leader does not answer, each
    process makes its own."""
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
        log.error("The processes could not agree on one folder (%s): this one captures into its own.", error)
        return make()


def requested_session(requested_ns: int, label: str) -> str:
    """Returns the name of the session that several processes record because of one request: its time and the ``label`` of the process that comes
    first. Their steps may differ by one, but the name may not. Without a connection the name has no label."""
    name = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(requested_ns / 1e9))
    connection = client()
    if connection is None:
        return f"{name}_requested_{requested_ns % 1_000_000_000:09}"
    key, own = f"crossprof/request/{requested_ns}", f"{name}_{label}_requested"
    try:
        # Fails if another process was here before.
        connection.key_value_set(key, own)
        return own
    except Exception:
        try:
            return str(connection.blocking_key_value_get(key, _PATIENCE_MS))
        except Exception as error:
            log.error("The processes could not agree on one folder (%s): this one captures into its own.", error)
            return own


def clock_offsets(key: str, process: int, count: int) -> dict[str, Any] | None:
    """How far the clocks of the processes are ahead of that of process 0, and by how much that may be wrong, in seconds. None without a connection.

    All meet at a barrier and look at their clocks before and after. It opens once everybody is there and before anybody leaves, so the clock of
    one process before it and that of another after it are in order; where their readings say otherwise, the clocks differ by that, at least."""
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
    """How far one clock is ahead of the first, and how much more or less that may be, in seconds, by their readings in nanoseconds before and
    after each barrier."""
    least = max(before - after for before, after in zip(other[::2], first[1::2]))
    most = min(after - before for after, before in zip(other[1::2], first[::2]))
    return (least + most) / 2e9, abs(most - least) / 2e9
