//! The framework whose profiler wrote a trace, and what its calls are named in advice.

/// The producer of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framework {
    /// The JAX profiler.
    Jax,
    /// The TensorFlow profiler.
    TensorFlow,
    /// PyTorch Kineto.
    PyTorch,
    /// Another producer, or an unknown one.
    #[default]
    Unknown,
}

impl Framework {
    /// How a program marks its steps for the profiler, as the beginning of a sentence.
    pub fn mark_steps(self) -> &'static str {
        match self {
            Framework::Jax | Framework::Unknown => {
                "Wrap each step in jax.profiler.StepTraceAnnotation(\"train\", step_num=i)"
            }
            Framework::TensorFlow => "Wrap each step in tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1)",
            Framework::PyTorch => "Call profiler.step() after each step",
        }
    }

    /// What compiles a Python function into one program.
    pub fn compiler(self) -> &'static str {
        match self {
            Framework::Jax | Framework::Unknown => "jax.jit",
            Framework::TensorFlow => "tf.function(jit_compile=True)",
            Framework::PyTorch => "torch.compile",
        }
    }
}
