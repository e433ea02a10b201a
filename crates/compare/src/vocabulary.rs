//! Enumerations of the comparison document.

base::words! {
    /// Kind of comparison that fits the runs.
    pub enum ComparisonKind {
        /// Runs on one platform.
        #[default]
        SamePlatform = "same_platform",
        /// Runs on different platforms.
        AcrossPlatforms = "across_platforms",
        /// Runs on different numbers of devices.
        Scaling = "scaling",
        /// Runs of one program at different times.
        Trend = "trend",
    }

    /// Kind of a part of the program whose time is compared.
    pub enum LayerKind {
        /// Phase of the training step.
        Phase = "phase",
        /// Layer of the model.
        #[default]
        Layer = "layer",
    }

    /// Result of the check of one condition of a fair comparison.
    pub enum FairnessStatus {
        /// All runs have the same value.
        Same = "same",
        /// Two runs have different values.
        Differs = "differs",
        /// A run lacks the value.
        #[default]
        Unknown = "unknown",
    }

    /// Verdict on a step time, compared with the baseline's step time.
    pub enum StepTimeVerdict {
        /// The run's step is shorter than the baseline's step, beyond the noise.
        Faster = "faster",
        /// The run's step is longer than the baseline's step, beyond the noise.
        Slower = "slower",
        /// The steps differ by less than the threshold. Either the test proves this, or the margin is at most twice the
        /// threshold.
        Same = "same",
        /// No difference is proven, but the noise could hide one.
        WithinNoise = "within_noise",
        /// The captures of a side differ so much that only a large difference could have been proven.
        Unstable = "unstable",
        /// The step times are identical to the picosecond.
        Equal = "equal",
        /// The steps of a run are unknown.
        #[default]
        Unknown = "unknown",
    }

    /// Unit of work.
    pub enum WorkUnit {
        /// Steps, if neither tokens nor samples are known.
        #[default]
        Step = "step",
        /// Tokens.
        Token = "token",
        /// Samples.
        Sample = "sample",
    }

    /// Denominator of a rate of work.
    pub enum WorkPer {
        /// Time.
        #[default]
        Second = "second",
        /// Time of one device.
        DeviceSecond = "device_second",
        /// Energy.
        Joule = "joule",
        /// Money.
        Dollar = "dollar",
    }

    /// Source of the noise estimate of a difference.
    pub enum ComparisonBasis {
        /// Variation among the captures of one side. The verdict is about the programs.
        Captures = "captures",
        /// Variation among the steps, if each side is one capture. The verdict is about the two captures only.
        Steps = "steps",
        /// Unknown, because a run has fewer than two counted steps.
        #[default]
        None = "none",
    }

    /// Reason why a step is longer than the typical step.
    pub enum TimeLossKind {
        /// The host compiles during the step.
        Compilation = "compilation",
        /// The step is one of the slow steps at the beginning.
        WarmUp = "warm_up",
        /// The step is an extreme outlier.
        #[default]
        Stall = "stall",
    }

    /// Direction in which a number improves.
    pub enum Direction {
        /// Larger values are better.
        Higher = "higher",
        /// Smaller values are better.
        Lower = "lower",
        /// The number has no better direction.
        #[default]
        Neither = "neither",
    }

    /// Verdict on a number, compared with the baseline's number.
    pub enum MetricVerdict {
        /// Better by more than the noise.
        Better = "better",
        /// Worse by more than the noise.
        Worse = "worse",
        /// The values are identical.
        #[default]
        Equal = "equal",
        /// The difference is too small to matter.
        WithinNoise = "within_noise",
    }

    /// Kind of cause.
    pub enum CauseKind {
        /// An op, or a group of ops that are compared together.
        #[default]
        Op = "op",
        /// Ops of a name scope.
        Scope = "scope",
        /// Nearly all ops, whose times change by the same factor.
        Uniform = "uniform",
        /// Exposed communication.
        Communication = "communication",
        /// Ops of a class that are too small to list.
        Class = "class",
        /// A device that the other devices wait for.
        Straggler = "straggler",
        /// A part of the step.
        Part = "part",
        /// A different compiler, or different flags.
        Condition = "condition",
        /// Remainder of a part of the step that no other cause explains.
        Rest = "rest",
    }

    /// Method by which an op was matched to an op of the baseline.
    pub enum MatchedBy {
        /// Matched by the op's name, and by further evidence if the name is generic.
        Name = "name",
        /// Matched by the op's computation.
        Fingerprint = "fingerprint",
        /// Matched by the framework path.
        FrameworkPath = "framework_path",
        /// Matched by the op's name without numbers.
        SimilarName = "similar_name",
        /// Matched by the op's name scope, for the remaining ops on both sides.
        Scope = "scope",
        /// Matched by the op's class.
        Class = "class",
        /// Not matched: only one run has the op.
        #[default]
        None = "none",
    }

    /// Kind of change of an op.
    pub enum ChangeKind {
        /// The baseline has no such op.
        New = "new",
        /// The run has no such op.
        Gone = "gone",
        /// Each execution of the op takes longer.
        Slower = "slower",
        /// Each execution of the op takes less time.
        Faster = "faster",
        /// The op runs more often.
        MoreOften = "more_often",
        /// The op runs less often.
        LessOften = "less_often",
        /// Other ops do the work of the scope.
        Rewritten = "rewritten",
        /// The op takes the same time in both runs.
        #[default]
        Same = "same",
    }

    /// Growth of the work with the number of devices.
    pub enum ScalingMode {
        /// The work stays the same.
        #[default]
        Strong = "strong",
        /// The work grows in proportion to the devices.
        Weak = "weak",
        /// The work grows in another way.
        Mixed = "mixed",
    }

    /// Source of the kind of scaling.
    pub enum ScalingSource {
        /// Given by the user.
        Given = "given",
        /// Derived from the batch sizes.
        BatchSize = "batch_size",
        /// Assumed, because the runs do not show it.
        #[default]
        Assumed = "assumed",
    }

    /// Source of the order of runs in time.
    pub enum OrderedBy {
        /// Training steps in the names of the runs.
        #[default]
        TrainingStep = "training_step",
        /// Times at which the runs were captured.
        Timestamp = "timestamp",
    }
}
