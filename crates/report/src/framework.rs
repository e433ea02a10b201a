//! The framework whose profiler wrote a trace, and the names of its calls for use in advice.

use crate::UNKNOWN;

/// The producer of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framework {
    /// The JAX profiler.
    Jax,
    /// The TensorFlow profiler.
    TensorFlow,
    /// PyTorch Kineto.
    PyTorch,
    /// Any other producer, or an unknown producer.
    #[default]
    Unknown,
}

/// Names of a framework's calls, options and tools for use in advice. Each text fits into a sentence of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// Instruction to mark steps for the profiler, worded as the beginning of a sentence.
    pub mark_steps: &'static str,
    /// Code of a loop that marks its steps.
    pub step_loop: &'static str,
    /// Context manager that names a range of host code, here the code that makes the next batch.
    pub next_batch_range: &'static str,
    /// Call that compiles a Python function into one program.
    pub compiler: &'static str,
    /// Calls that wait for a result from the device.
    pub reads: &'static str,
    /// Call that waits until the device has finished.
    pub wait: &'static str,
    /// Sentence that tells the user how to record device ops in a capture.
    pub record_ops: &'static str,
    /// Loader that prepares batches in other threads or processes.
    pub loader: &'static str,
    /// Way to copy a batch to the device while the previous step runs.
    pub copy_ahead: &'static str,
    /// Profiler option that records the work of host threads.
    pub host_events: &'static str,
    /// Profiler option that turns off the recording of Python calls.
    pub no_python_calls: &'static str,
    /// Profiler option that records allocations. Empty if the framework cannot record allocations.
    pub allocations: &'static str,
    /// Setting that keeps compiled programs from one run to the next.
    pub compilation_cache: &'static str,
    /// Sentence that tells the user how to find out why a function is recompiled.
    pub why_compiled: &'static str,
    /// Call that recomputes activations in the backward pass.
    pub checkpoint: &'static str,
    /// Call that takes the largest values without sorting all of them.
    pub top_k: &'static str,
    /// Code that prints the device memory in use.
    pub print_memory: &'static str,
    /// Snippet that a user can run to print the device model.
    pub print_device: &'static str,
    /// Sentence that tells the user how to check which devices the program uses.
    pub check_devices: &'static str,
    /// Sentence that tells the user how to include the compiled programs in a capture.
    pub keep_hlo: &'static str,
}

const JAX: Words = Words {
    mark_steps: "Wrap each step in jax.profiler.StepTraceAnnotation(\"train\", step_num=i)",
    step_loop: "for i in range(10):\n    with jax.profiler.StepTraceAnnotation(\"train\", step_num=i):\n        \
                state = train_step(state, batch)",
    next_batch_range: "jax.profiler.TraceAnnotation(\"next_batch\")",
    compiler: "jax.jit",
    reads: "block_until_ready, float(x), print(x), np.asarray(x)",
    wait: "jax.block_until_ready",
    record_ops: "Capture while the jitted function runs, and call jax.block_until_ready on its result before the trace is stopped.",
    loader: "Grain with worker_count and read buffers, tf.data with .map(..., num_parallel_calls=tf.data.AUTOTUNE)\
             .prefetch(tf.data.AUTOTUNE), or a DataLoader with num_workers",
    copy_ahead: "jax.device_put of the next batch before this step's result is read",
    host_events: "ProfileOptions.host_tracer_level of at least 1",
    no_python_calls: "ProfileOptions.python_tracer_level = 0",
    allocations: "ProfileOptions.host_tracer_level = 2",
    compilation_cache: "jax.config.update(\"jax_compilation_cache_dir\", \"...\")",
    why_compiled: "Set jax.config.update(\"jax_explain_cache_misses\", True) to see which calls are recompiled, and why.",
    checkpoint: "jax.checkpoint",
    top_k: "jax.lax.top_k, or jax.lax.approx_max_k on a TPU",
    print_memory: "for device in jax.local_devices(): print(device, device.memory_stats())  # peak_bytes_in_use of bytes_limit",
    print_device: "import jax\nprint(jax.devices()[0].device_kind)",
    check_devices: "Check jax.devices() and JAX_PLATFORMS: without an accelerator's plugin, JAX computes on the CPU.",
    keep_hlo: "Capture with the JAX profiler, and leave ProfileOptions.enable_hlo_proto on, which is the default.",
};

const TENSORFLOW: Words = Words {
    mark_steps: "Wrap each step in tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1)",
    step_loop: "for i in range(10):\n    with tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1):\n        \
                train_step(batch)",
    next_batch_range: "tf.profiler.experimental.Trace(\"next_batch\")",
    compiler: "tf.function(jit_compile=True)",
    reads: ".numpy(), print",
    wait: ".numpy()",
    record_ops: "Capture while the function runs, and read its result with .numpy() before the profiler is stopped.",
    loader: "tf.data with .map(..., num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)",
    copy_ahead: "tf.data.experimental.prefetch_to_device as the dataset's last stage",
    host_events: "host_tracer_level of at least 1 in tf.profiler.experimental.ProfilerOptions",
    no_python_calls: "python_tracer_level=0 in tf.profiler.experimental.ProfilerOptions",
    allocations: "host_tracer_level=2 in tf.profiler.experimental.ProfilerOptions",
    compilation_cache: "TF_XLA_FLAGS=--tf_xla_persistent_cache_directory=DIR",
    why_compiled: "Give tf.function an input_signature, so that new shapes do not retrace the function.",
    checkpoint: "tf.recompute_grad",
    top_k: "tf.math.top_k, or tf.math.approx_max_k on a TPU",
    print_memory: "print(tf.config.experimental.get_memory_info(\"GPU:0\"))  # peak, in bytes",
    print_device: "print(tf.config.experimental.get_device_details(tf.config.list_physical_devices(\"GPU\")[0]))",
    check_devices: "Check tf.config.list_physical_devices(): without a working driver, TensorFlow computes on the CPU.",
    keep_hlo: "Use tf.function(jit_compile=True), because TensorFlow embeds only the programs of functions that XLA compiles.",
};

const PYTORCH: Words = Words {
    mark_steps: "Call profiler.step() after each step",
    step_loop: "with torch.profiler.profile(...) as profiler:\n    for batch in loader:\n        train_step(batch)\n        \
                profiler.step()",
    next_batch_range: "torch.profiler.record_function(\"next_batch\")",
    compiler: "torch.compile",
    reads: ".item(), .cpu(), print",
    wait: "torch.cuda.synchronize()",
    record_ops: "Add ProfilerActivity.CUDA to the activities, and call torch.cuda.synchronize() before the profiler is stopped.",
    loader: "a DataLoader with num_workers, persistent_workers=True and a larger prefetch_factor",
    copy_ahead: "pin_memory=True and batch.to(device, non_blocking=True) for the next batch",
    host_events: "ProfilerActivity.CPU among the activities",
    no_python_calls: "with_stack=False",
    allocations: "",
    compilation_cache: "TORCHINDUCTOR_FX_GRAPH_CACHE=1",
    why_compiled: "Set TORCH_LOGS=recompiles to see which functions are recompiled, and why.",
    checkpoint: "torch.utils.checkpoint.checkpoint",
    top_k: "torch.topk",
    print_memory: "print(torch.cuda.max_memory_allocated(), torch.cuda.mem_get_info())  # peak; free and all, in bytes",
    print_device: "import torch\nprint(torch.cuda.get_device_name())",
    check_devices: "Check torch.cuda.is_available(), and make sure that the model and the batch are on the device.",
    keep_hlo: "",
};

impl Framework {
    /// Returns the name of the framework in a profile (`metadata.framework`).
    pub fn name(self) -> &'static str {
        match self {
            Framework::Jax => "JAX",
            Framework::TensorFlow => "TensorFlow",
            Framework::PyTorch => "PyTorch",
            Framework::Unknown => UNKNOWN,
        }
    }

    /// Returns the framework for the name in a profile (`metadata.framework`). Libraries on top of JAX (`Flax`, `Haiku`) are
    /// treated as JAX.
    pub fn of_name(name: &str) -> Framework {
        match name {
            "" | UNKNOWN => Framework::Unknown,
            "TensorFlow" => Framework::TensorFlow,
            "PyTorch" => Framework::PyTorch,
            _ => Framework::Jax,
        }
    }

    /// Returns the names for advice. An unknown framework gets the names of JAX.
    pub fn words(self) -> &'static Words {
        match self {
            Framework::Jax | Framework::Unknown => &JAX,
            Framework::TensorFlow => &TENSORFLOW,
            Framework::PyTorch => &PYTORCH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_its_framework() {
        for (name, expected) in [
            ("JAX", Framework::Jax),
            ("Flax", Framework::Jax),
            ("PyTorch", Framework::PyTorch),
            ("TensorFlow", Framework::TensorFlow),
            ("Unknown", Framework::Unknown),
        ] {
            assert_eq!(Framework::of_name(name), expected, "{name}");
        }
        assert_eq!(Framework::Unknown.words(), Framework::Jax.words());
        for text in [PYTORCH.loader, PYTORCH.copy_ahead, PYTORCH.host_events, PYTORCH.check_devices] {
            assert!(!text.contains("jax") && !text.contains("XLA"), "{text}");
        }
    }
}
