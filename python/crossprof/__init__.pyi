"""Types of what `__init__.py` imports when it is asked for."""

from ._capture import (
    Capture as Capture,
    Trace as Trace,
    capture as capture,
    trace as trace,
)
from ._flops import (
    FlopCounter as FlopCounter,
    create_flop_counter_from_model as create_flop_counter_from_model,
)
from ._names import (
    CaptureError as CaptureError,
)
from ._native import (
    __version__ as __version__,
)
from ._originals import (
    ProfileContext as ProfileContext,
    Profiler as Profiler,
    ProfilingConfig as ProfilingConfig,
    benchmark_function as benchmark_function,
    create_profiled_test_function as create_profiled_test_function,
    get_profiling_config as get_profiling_config,
    maybe_profile as maybe_profile,
    print_tensorboard_summary as print_tensorboard_summary,
    profile_function as profile_function,
    profile_scope as profile_scope,
    profile_trace as profile_trace,
    run_with_jax_profiler as run_with_jax_profiler,
    setup_tensorboard_logging as setup_tensorboard_logging,
    time_jax_function as time_jax_function,
)
from ._parameters import (
    parameter_counts as parameter_counts,
)
from ._profile import (
    Column as Column,
    Profile as Profile,
    ProfileError as ProfileError,
    Profiles as Profiles,
    Table as Table,
    compare as compare,
    open as open,
    open_all as open_all,
)
from ._show import (
    Shown as Shown,
    show as show,
)
from ._window import (
    Captured as Captured,
)
