"""How many programs JAX has compiled since the first question."""

from __future__ import annotations

_EVENT = "/jax/core/compile/backend_compile_duration"
_count = 0
_is_listening = False


def count() -> int:
    """Programs compiled so far; differences mean something, the number itself does not."""
    global _is_listening
    if not _is_listening:
        import jax

        jax.monitoring.register_event_duration_secs_listener(_heard)
        _is_listening = True
    return _count


def _heard(event: str, duration: float, **_: object) -> None:
    global _count
    if event == _EVENT:
        _count += 1
