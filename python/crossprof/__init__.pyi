"""Types of the names that `__init__.py` imports on first use."""

from . import (
    lake as lake,
)
from ._capture import (
    Capture as Capture,
    capture as capture,
)
from ._compare import (
    check as check,
    compare as compare,
)
from ._environment import (
    ProfilingConfig as ProfilingConfig,
    get_profiling_config as get_profiling_config,
    maybe_profile as maybe_profile,
)
from ._errors import (
    ColumnError as ColumnError,
    ProfileError as ProfileError,
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
    create_profiled_test_function as create_profiled_test_function,
    print_tensorboard_summary as print_tensorboard_summary,
    profile_function as profile_function,
    profile_methods as profile_methods,
    profile_scope as profile_scope,
    profile_trace as profile_trace,
    run_with_jax_profiler as run_with_jax_profiler,
    setup_tensorboard_logging as setup_tensorboard_logging,
)
from ._parameters import (
    parameter_counts as parameter_counts,
)
from ._profile import (
    Profile as Profile,
    Profiles as Profiles,
    Program as Program,
    ask as ask,
    open as open,
    open_all as open_all,
    tables as tables,
)
from ._show import (
    Shown as Shown,
    show as show,
)
from ._step_profiler import (
    Profiler as Profiler,
    add_arguments as add_arguments,
    from_args as from_args,
)
from ._table import (
    Column as Column,
    Table as Table,
    TableInfo as TableInfo,
)
from ._timing import (
    benchmark_function as benchmark_function,
    time_jax_function as time_jax_function,
)
from ._trace import (
    Trace as Trace,
    trace as trace,
)
from ._window import (
    Captured as Captured,
)
