//! Codes of warnings, each with its meaning and its remedy. docs/warnings.md is generated from this file.

use super::Severity;

/// Declares the codes in groups: `Name "code" Severity "meaning" "remedy";`.
macro_rules! codes {
    ($($group:literal { $($name:ident $code:literal $severity:ident $meaning:literal $remedy:literal;)* })*) => {
        /// Code of a warning, which identifies the kind of problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WarningCode {
            $($(#[doc = $meaning] $name,)*)*
        }

        impl WarningCode {
            /// All codes in groups, each with its title.
            pub const GROUPS: &[(&str, &[WarningCode])] = &[$(($group, &[$(WarningCode::$name,)*]),)*];

            /// Returns the spelling of the code in reports. The spelling never changes.
            pub fn label(self) -> &'static str {
                match self { $($(WarningCode::$name => $code,)*)* }
            }

            /// Returns the severity of warnings with this code.
            pub fn severity(self) -> Severity {
                match self { $($(WarningCode::$name => Severity::$severity,)*)* }
            }

            /// Returns a description of the problem, as sentences.
            pub fn meaning(self) -> &'static str {
                match self { $($(WarningCode::$name => $meaning,)*)* }
            }

            /// Returns the advice to the user, as a sentence.
            pub fn remedy(self) -> &'static str {
                match self { $($(WarningCode::$name => $remedy,)*)* }
            }
        }
    };
}

codes! {
    "Compressed files and archives" {
        GzipTruncated "gzip_truncated" Damage
            "A gzip file ends in the middle of its compressed data. The data before the cut was read."
            "Check that the capture had finished, and copy the file again.";
        GzipCorrupt "gzip_corrupt" Damage
            "The compressed data of a gzip file is damaged from some byte on. The data before that byte was read."
            "Copy the file again from where it was captured.";
        GzipChecksum "gzip_checksum" Damage
            "The checksum of a gzip file is wrong. All content was read, but some of it is damaged."
            "Copy the file again from where it was captured.";
        GzipChecksumMissing "gzip_checksum_missing" Caution
            "A gzip file ends before its checksum. All content was read but could not be checked."
            "Copy the file again if anything looks wrong.";
        GzipTrailingBytes "gzip_trailing_bytes" Caution
            "Bytes after the end of a gzip file's compressed data were ignored."
            "No action is needed, unless two files were concatenated by mistake.";
        InflateLimit "inflate_limit" Damage
            "The decompressed content of a file exceeds the limit. The content beyond the limit was not read."
            "If the file is a real profile, decompress it first (`gzip -d`, `unzip`) and open the result.";
        ArchiveTruncated "archive_truncated" Damage
            "An archive is truncated. Entries after the cut are lost."
            "Copy or download the archive again.";
        ArchiveEndMissing "archive_end_missing" Caution
            "A tar archive has no end marker. It may be truncated between two entries."
            "Compare the sizes of the archive and of the original. If they differ, copy or download the archive again.";
        ArchiveCorrupt "archive_corrupt" Damage
            "An archive has no entry at a position where an entry should start. Reading continued at the next entry."
            "Copy or download the archive again.";
        ArchiveChecksum "archive_checksum" Damage
            "The content of an entry does not match its checksum or size. The whole content was read."
            "Copy or download the archive again.";
        ArchiveEncrypted "archive_encrypted" Damage
            "An entry of a zip archive is encrypted and was not read."
            "Unpack the archive and open the files, or pack it again without encryption.";
        ArchiveUnsupported "archive_unsupported" Damage
            "An entry was not read, because crossprof does not support how it is stored (compression other than deflate, a sparse file, or a size that is not stored before the content)."
            "Unpack the archive and open the files, or pack it again with plain deflate and no sparse files.";
        ArchiveTooManyMembers "archive_too_many_members" Damage
            "An archive contains more than 100,000 files. The first 100,000 were read."
            "Pack only the folders `plugins/profile/<run>` that you want to see.";
        ArchiveMoreWarnings "archive_more_warnings" Damage
            "Decompressing or unpacking a file caused more than 200 warnings. The first 200 are listed."
            "Copy or download the file again.";
        MemberNotRead "member_not_read" Caution
            "A file in an archive was not read, because it is damaged or not a profile. The other files were read. Only the page gives this warning."
            "The message states the reason.";
        ProgramWithoutInstructions "program_without_instructions" Note
            "The buffer assignment of a compiled program was opened without the program. The sizes are known, but not \
             the instructions that create the values."
            "Open the whole folder that XLA wrote.";
        ProgramStagesLeftOut "program_stages_left_out" Note
            "A dump contains more stages of its programs than fit in memory. The last stage of each program was kept, and as \
             many of the stages directly before it as fit."
            "Open only the files of the stage that you need.";
        RepeatedFileNotRead "repeated_file_not_read" Note
            "Two files of a host contain the same events. The file with more data was read. A trace JSON next to an xplane file causes this warning only if the xplane file is damaged."
            "Nothing.";
    }
    "Trace JSON" {
        JsonTruncated "json_truncated" Caution
            "The file contains exactly the maximum number of events that its writer stores. The writer kept the earliest events and dropped the rest of the capture."
            "Read the `xplane.pb` of the same run, which has no such limit.";
        JsonCutOff "json_cut_off" Damage
            "The JSON text ends in the middle of the trace. The events before the cut were read."
            "Copy the file again from where it was captured. If the original is truncated too, the capture was interrupted.";
        JsonUnterminated "json_unterminated" Note
            "A bracket or brace at the end is missing. Every event was read."
            "Nothing.";
        NoEvents "no_events" Caution
            "The event list contains no event with a duration."
            "Capture while the program runs.";
        EventUnreadable "event_unreadable" Damage
            "The event list is malformed in places. These parts were skipped, and reading continued at the next event."
            "Copy the file again from where it was captured. If the original has the same problem, capture again.";
        EventTooLarge "event_too_large" Damage
            "Events larger than 16 MiB were skipped."
            "Inspect the file at the byte offset in the warning.";
        TimeNotANumber "time_not_a_number" Damage
            "Events were skipped because their start or duration is not a number (NaN, null or missing)."
            "Inspect the file at the byte offset in the warning. Capture again if there are many.";
        UntimedEvents "untimed_events" Caution
            "Events were skipped because their start and duration are both 0, so their time is unknown."
            "If you need these events, capture again.";
        TimeOutOfRange "time_out_of_range" Damage
            "Events more than 106 days away from the rest of the capture were skipped."
            "Inspect the file at the byte offset in the warning. Capture again if there are many.";
        TimeFarOff "time_far_off" Caution
            "Events more than an hour away from all others were skipped, since they would stretch the capture."
            "No action is needed, unless the capture really lasted that long.";
        NegativeDuration "negative_duration" Damage
            "Events with a negative duration were skipped."
            "Inspect the file at the byte offset in the warning. Capture again if there are many.";
        UnmatchedBegin "unmatched_begin" Caution
            "Events without an end were skipped, since their duration is unknown."
            "Stop the trace only after the program has finished the operations that it times.";
        UnmatchedEnd "unmatched_end" Caution
            "End events without a begin event in the file were skipped."
            "Start the trace before the program begins the operations that it times.";
        OverlappingPairs "overlapping_pairs" Caution
            "Pairs of begin and end events overlap on one thread instead of nesting. Each event lasts from its begin event to the next end event with the same name."
            "Write the begin and end events of a thread in stack order, or write complete events.";
        UnknownPhase "unknown_phase" Note
            "Events of an unknown kind were skipped."
            "Nothing.";
        TooManyEvents "too_many_events" Damage
            "A file, or all files of a run together, contain more than 4,294,967,295 events. The events beyond this number were not read."
            "Capture fewer steps or fewer hosts.";
    }
    "XPlane files" {
        XplaneTruncated "xplane_truncated" Damage
            "The file is truncated, inside a plane or between planes. The data before the cut was read."
            "Copy the file again. If the original is truncated too, the program ended before the profiler had written it.";
        XplaneUnreadable "xplane_unreadable" Damage
            "The file does not follow the XPlane format from some byte on. The data after that byte was not read."
            "Copy the file again from where it was captured.";
        XplaneCorrupt "xplane_corrupt" Damage
            "Some fields do not follow the XPlane format. Their content was skipped."
            "Copy the file again from where it was captured.";
        XplaneMissingMetadata "xplane_missing_metadata" Damage
            "Events refer to names that the file lacks. The ids of these names are shown instead."
            "Copy the file again. If the original lacks the names too, capture again.";
        XplaneInvalidUtf8 "xplane_invalid_utf8" Note
            "Some texts are not valid UTF-8. The invalid bytes are shown as U+FFFD."
            "Nothing.";
        XplaneBadTime "xplane_bad_time" Damage
            "Events with a negative duration or with a time out of range were skipped."
            "Capture again if there are many.";
        XplaneTooManyEvents "xplane_too_many_events" Damage
            "The file contains more than 4,294,967,295 events. The events beyond this number were not read."
            "Capture fewer steps.";
        XplaneAggregatedEvents "xplane_aggregated_events" Note
            "Events that only count occurrences and have no time were skipped."
            "Nothing.";
        XplaneLateTime "xplane_late_time" Caution
            "The file stores the start time of some lines after their events. These events are shown as if their line began \
             when the capture began."
            "Compare times on such a line only with other times on the same line.";
        XplaneMixedClocks "xplane_mixed_clocks" Caution
            "Some lines count time from the start of the capture, and others use absolute time. The two kinds of lines may not be aligned."
            "Compare times only with other times on the same line.";
        XplaneNoEvents "xplane_no_events" Caution
            "The file contains no events."
            "Capture while the program runs steps, and stop the trace before the program exits.";
        ProfilerDroppedEvents "profiler_dropped_events" Caution
            "The profiler dropped events during recording."
            "Capture fewer steps, or raise the profiler's event limit.";
        ProfilerError "profiler_error" Caution
            "The profiler reported an error during recording."
            "Read the profiler's message.";
        ProfilerWarning "profiler_warning" Caution
            "The profiler gave a warning during recording."
            "Read the profiler's message.";
        ProfilerMoreWarnings "profiler_more_warnings" Caution
            "The profiler gave more warnings than crossprof shows."
            "Read the warnings that are shown.";
    }
    "The run and its clocks" {
        MemoryProfileDamaged "memory_profile_damaged" Damage
            "Parts of a device memory profile (pprof) cannot be read. The readable parts are used."
            "Save the memory profile again with `jax.profiler.save_device_memory_profile`, and copy it as a binary file.";
        MemoryProfilesNotRead "memory_profiles_not_read" Caution
            "A folder contains device memory profiles and several traces, and nothing shows which trace they belong to. The memory profiles were not read."
            "Move each memory profile into the folder of its run, or open the memory profiles without a trace.";
        MemoryAboveCapacity "memory_above_capacity" Caution
            "An allocator reports a peak (since the start of the process) above its capacity. The peak is ignored."
            "No action is needed. If the warning appears again, report it to the developers of the framework.";
        TooManyNames "too_many_names" Damage
            "The names and texts of the run exceed the memory limit. A placeholder replaces all further new names."
            "Capture fewer steps or fewer hosts.";
        HostClocksNotAligned "host_clocks_not_aligned" Caution
            "The hosts' files do not record when the capture started on each host. Events of different hosts are aligned by collectives, steps, module runs or first events."
            "Compare times only within one host.";
        NoDeviceOps "no_device_ops" Caution
            "No op ran on a TPU, a GPU or XLA's CPU backend, so steps, kernels and utilisation are unknown."
            "Capture while the jitted function runs, and call `jax.block_until_ready` on its result before you stop the trace.";
        RunsWithoutOps "runs_without_ops" Caution
            "Some module runs have no ops, because the profiler did not record the ops. Such a run is treated as busy \
             time."
            "Capture fewer steps or fewer kinds of events: the profiler stops when its buffer is full.";
        StepsWithoutOps "steps_without_ops" Caution
            "Some steps have no device op. Either the profiler did not record the ops, or the program computed nothing. \
             crossprof reports no findings about idle time."
            "Capture fewer steps or fewer kinds of events: the profiler stops when its buffer is full.";
        LaunchesWithoutOps "launches_without_ops" Caution
            "Some launch calls have no kernel, because the profiler did not record the kernels that they started. \
             crossprof reports no findings about idle time."
            "Run a warm-up step with the profiler on before the steps that you keep, or capture fewer steps.";
        CommandBufferOps "command_buffer_ops" Caution
            "Some ops represent whole command buffers (CUDA graphs). The profiler did not record the ops inside them."
            "To see the ops, capture once with `XLA_FLAGS=--xla_gpu_enable_command_buffer=`.";
        OpsOverlapOnStream "ops_overlap_on_stream" Caution
            "Some ops overlap another op of the same stream, although a stream runs one op at a time. A start or a duration is wrong, so numbers that depend on these ops are wrong, too."
            "Capture again. If the warning appears again, report it to the developers of the profiler.";
        EventTimesWarped "event_times_warped" Note
            "Event times differ from the chip's clock by a millisecond or more, because the profiler realigned the \
             event times with the host's clock during the capture. crossprof uses the chip's times."
            "No action is needed. Other tools may show the event times.";
        ChipClockBroken "chip_clock_broken" Caution
            "The chip's clock jumps: it was reset, or its values are damaged. Around the jump, crossprof uses the event times."
            "Capture again. Around the jump, compare durations instead of times.";
        CpuOpEndsAreBounds "cpu_op_ends_are_bounds" Note
            "An op of XLA's CPU backend may outlast its event. The op's time is an upper bound."
            "Nothing.";
        CpuOpEndsUnknown "cpu_op_ends_unknown" Caution
            "An op of XLA's CPU backend may outlast its event, and a trace JSON does not record the end. Such ops appear shorter than they were."
            "Analyse the `*.xplane.pb` file next to the trace JSON.";
        CustomCallsWithoutCost "custom_calls_without_cost" Caution
            "Custom calls with unknown FLOPs and bytes take a large part of the op time. They are excluded from the roofline, rates and utilisation."
            "Give the kernel an estimate: `pallas_call(..., cost_estimate=pl.CostEstimate(...))`.";
        DeviceAssumed "device_assumed" Note
            "The device name in the profile fits several products. crossprof uses the peaks of one of them."
            "Choose the device with `--device` or on the Model page.";
        WindowIgnored "window_ignored" Caution
            "The chosen window is not in the run. The numbers cover the main window instead."
            "Choose steps or a range inside the run.";
    }
    "Steps" {
        StepsUnknown "steps_unknown" Note
            "No steps were found."
            "Wrap each step in `jax.profiler.StepTraceAnnotation(\"train\", step_num=i)` when capturing, or specify \
             the number of steps.";
        StepsFromHostSpans "steps_from_host_spans" Note
            "No step markers were found. Steps are derived from a pattern that repeats on a Python thread."
            "Wrap each step in `jax.profiler.StepTraceAnnotation(\"train\", step_num=i)` when capturing, or specify \
             the number of steps.";
        StepsFromDeviceOps "steps_from_device_ops" Note
            "No step markers were found. Steps are derived from a sequence of ops that repeats on every device."
            "Wrap each step in `jax.profiler.StepTraceAnnotation(\"train\", step_num=i)` when capturing, or specify \
             the number of steps.";
        StepNumbersRepeat "step_numbers_repeat" Note
            "The numbers of step annotations restart or never change. Each annotation is treated as a step."
            "To compare steps of two captures by number, give each step its own number.";
        StepsTiedByTime "steps_tied_by_time" Note
            "The trace does not record which step launched device work. Such work is assigned to the step in which it runs."
            "Capture the host together with the devices (correlation ids come from the launches on the host).";
        StepsIndependent "steps_independent" Note
            "The devices do not run their steps together. Step time and steps/s are computed per device and averaged."
            "Nothing.";
        StepsOneAfterAnother "steps_one_after_another" Caution
            "The devices run their steps one after another. Step time and steps/s describe a single device."
            "No action is needed if this is intended.";
        NumStepsOverridden "num_steps_overridden" Note
            "The given number of steps differs from the number found. The step time is the total time divided by the given number."
            "Nothing.";
        NumStepsIgnored "num_steps_ignored" Caution
            "The given number of steps is 0 and was ignored."
            "Specify how many steps the capture contains, or do not specify a number.";
    }
    "Trends of a lake" {
        LakeTruncated "lake_truncated" Damage
            "The JSON of a lake's trends ends early or is damaged. The captures before that place were read."
            "Copy the file again, or create it again with `crossprof lake export`.";
        LakeTooLarge "lake_too_large" Caution
            "A lake has more than 200,000 captures, workloads or recorded comparisons. The first 200,000 were read."
            "Query the lake itself with `crossprof lake sql`.";
        LakeInvalid "lake_invalid" Caution
            "Values or records of a lake's trends have an unexpected type, or values that no measurement can have. They were read as absent."
            "Create the file again with `crossprof lake export`.";
    }
    "Imported profiles" {
        ProfileNotRead "profile_not_read" Damage
            "An entry in a list of profiles cannot be read, so it is not shown as a run."
            "The message states the reason.";
        ProfileConverted "profile_converted" Note
            "A tool of version 1.0.0 wrote the profile, and crossprof converted it. The numbers follow that tool's definitions."
            "Analyse the original trace.";
        ProfileNewer "profile_newer" Note
            "The profile has a newer schema than this version of crossprof. Sections that the newer schema added were not read."
            "Use a newer version of crossprof.";
        ProfileLeftOut "profile_left_out" Note
            "Some values are placeholders (`...`) or list several possibilities. They were read as absent."
            "Nothing.";
        ProfileComments "profile_comments" Note
            "Comments, which JSON does not allow, were skipped."
            "Nothing.";
        ProfileNotANumber "profile_not_a_number" Note
            "Some values are NaN or infinite. They were read as absent."
            "Nothing.";
        ProfileImmeasurable "profile_immeasurable" Caution
            "Some numbers are too large to be measurements. They were read as absent."
            "Create the profile again from its trace.";
        ProfileUnknownWords "profile_unknown_words" Note
            "Unknown severities or confidences (written by a newer version?) were read as the lowest severity or confidence."
            "Use a newer version of crossprof.";
        ProfileRounded "profile_rounded" Note
            "Some whole-number fields contained fractions. Their values were rounded."
            "Nothing.";
        ProfileImpossible "profile_impossible" Note
            "Fields with invalid values (negative, too large, or of another type) were skipped."
            "Create the profile again from its trace.";
        ProfilePercentClamped "profile_percent_clamped" Note
            "Percentages outside the range from 0 to 100 % were set to the nearest limit."
            "Create the profile again from its trace.";
        ProfileZeroIsUnknown "profile_zero_is_unknown" Note
            "Fields with the value 0 were read as absent, since tools of version 1.0.0 write 0 for unknown values."
            "Nothing.";
        ProfileFieldsIgnored "profile_fields_ignored" Note
            "Fields that are not part of the schema were not read."
            "Nothing.";
        ProfileGapBuckets "profile_gap_buckets" Note
            "Tools of version 1.0.0 count gaps under 100 us in `gaps_under_10us` and gaps of 100 to 1000 us in `gaps_10_100us`."
            "Analyse the original trace.";
        ProfileTimelineCoverage "profile_timeline_coverage" Note
            "The file's `timeline_coverage` was read as `compute_utilization`."
            "Nothing.";
        ProfileUtilizationImpossible "profile_utilization_impossible" Caution
            "The file's device utilisation is a sum over overlapping ops or devices, and not a share of time. crossprof replaced it with the mean busy share of the devices, if that share is known."
            "Analyse the original trace.";
        ProfileUtilizationPerStep "profile_utilization_per_step" Note
            "In the file, kernel time and the time without kernels cover the whole capture. crossprof divided both by the number of steps."
            "Nothing.";
        ProfileUtilizationSum "profile_utilization_sum" Note
            "Kernel time and overhead do not add up to the mean step time. The values in the file were kept."
            "Analyse the original trace.";
        BenchmarkNotRead "benchmark_not_read" Note
            "Benchmark methods without a time, and entries that are not a method, were not read."
            "Run the failed methods again.";
    }
}
