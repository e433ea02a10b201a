//! The words of a comparison's document: what it decides between.

base::words! {
    /// What kind of comparison the runs allow.
    pub enum ComparisonKind {
        /// A comparison of runs on one platform.
        #[default]
        SamePlatform = "same_platform",
        /// A comparison of runs on different platforms.
        AcrossPlatforms = "across_platforms",
        /// A comparison of runs on different numbers of devices.
        Scaling = "scaling",
        /// A comparison of checkpoints of one training.
        Trend = "trend",
    }

    /// Whether a condition of a fair comparison is met.
    pub enum FairnessStatus {
        /// All runs have the same value.
        Same = "same",
        /// Two runs have different values.
        Differs = "differs",
        /// A run lacks the value.
        #[default]
        Unknown = "unknown",
    }

    /// A step time against the baseline's.
    pub enum StepTimeVerdict {
        /// The run's step is shorter, beyond the noise.
        Faster = "faster",
        /// The run's step is longer, beyond the noise.
        Slower = "slower",
        /// The steps differ by less than the threshold, or by less than twice that at most.
        Same = "same",
        /// No difference is proven, and the noise could hide one.
        WithinNoise = "within_noise",
        /// The captures of a side differ so much that only a large difference could have been shown.
        Unstable = "unstable",
        /// The step times are equal to the picosecond.
        Equal = "equal",
        /// The steps of a run are unknown.
        #[default]
        Unknown = "unknown",
    }

    /// What work is counted in.
    pub enum WorkUnit {
        /// Steps, where neither tokens nor samples are known.
        #[default]
        Step = "step",
        /// Tokens.
        Token = "token",
        /// Samples.
        Sample = "sample",
    }

    /// What work is held against.
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

    /// What the noise of a difference is estimated from.
    pub enum ComparisonBasis {
        /// What captures of one side differ by: the difference is one of the programs.
        Captures = "captures",
        /// What steps of one capture differ by: the difference is one of these two captures.
        Steps = "steps",
        /// Not known: a side has one step.
        #[default]
        None = "none",
    }

    /// What makes a step longer than the typical one.
    pub enum TimeLossKind {
        /// The host compiles in the step.
        Compilation = "compilation",
        /// The step is one of the slow ones at the beginning.
        WarmUp = "warm_up",
        /// The step lies far out among the others.
        #[default]
        Stall = "stall",
    }

    /// Which values of a number are better.
    pub enum Direction {
        /// Larger ones.
        Higher = "higher",
        /// Smaller ones.
        Lower = "lower",
        /// The number is no merit.
        #[default]
        Neither = "neither",
    }

    /// A number against the baseline's.
    pub enum MetricVerdict {
        /// Better by more than the noise.
        Better = "better",
        /// Worse by more than the noise.
        Worse = "worse",
        /// The values are equal.
        #[default]
        Equal = "equal",
        /// Different by too little to count.
        WithinNoise = "within_noise",
    }

    /// What a cause is.
    pub enum CauseKind {
        /// An op, or ops like it.
        #[default]
        Op = "op",
        /// Ops of a name scope.
        Scope = "scope",
        /// Nearly all ops, alike.
        Uniform = "uniform",
        /// Exposed communication.
        Communication = "communication",
        /// Ops of a class that are too small to be listed.
        Class = "class",
        /// A device that the others wait for.
        Straggler = "straggler",
        /// A part of the step.
        Part = "part",
        /// Another compiler, or other flags.
        Condition = "condition",
        /// What the other causes leave of a part of the step.
        Rest = "rest",
    }

    /// How an op was matched with those of the baseline.
    pub enum MatchedBy {
        /// By the op's name, with a second witness where the name is a bare number.
        Name = "name",
        /// By what the op computes.
        Fingerprint = "fingerprint",
        /// By the framework's path.
        FrameworkPath = "framework_path",
        /// By the op's name without numbers.
        SimilarName = "similar_name",
        /// By the op's name scope: what is left in it on both sides.
        Scope = "scope",
        /// By the op's class.
        Class = "class",
        /// Not matched: the op is in one run only.
        #[default]
        None = "none",
    }

    /// What became of an op.
    pub enum ChangeKind {
        /// The baseline has no such op.
        New = "new",
        /// The run has no such op.
        Gone = "gone",
        /// The op takes longer each time.
        Slower = "slower",
        /// The op takes less each time.
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

    /// How the work grows with the devices.
    pub enum ScalingMode {
        /// The work stays the same.
        #[default]
        Strong = "strong",
        /// The work grows in proportion to the devices.
        Weak = "weak",
        /// The work grows in another way.
        Mixed = "mixed",
    }

    /// Where the kind of scaling comes from.
    pub enum ScalingSource {
        /// The user.
        Given = "given",
        /// The batch sizes.
        BatchSize = "batch_size",
        /// Nothing says it.
        #[default]
        Assumed = "assumed",
    }

    /// What orders runs in time.
    pub enum OrderedBy {
        /// The training steps in the runs' names.
        #[default]
        TrainingStep = "training_step",
        /// When the runs were captured.
        Timestamp = "timestamp",
    }
}
