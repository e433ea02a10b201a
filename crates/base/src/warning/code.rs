//! The codes of warnings: what each means and what to do. docs/warnings.md is made from this.

use super::Severity;

/// Declares the codes: `Name "code" Severity "what it means" "what to do";`, in groups.
macro_rules! codes {
    ($($group:literal { $($name:ident $code:literal $severity:ident $meaning:literal $remedy:literal;)* })*) => {
        /// What a warning is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WarningCode {
            $($(#[doc = $meaning] $name,)*)*
        }

        impl WarningCode {
            /// All codes by groups, each group with its title.
            pub const GROUPS: &[(&str, &[WarningCode])] = &[$(($group, &[$(WarningCode::$name,)*]),)*];

            /// Spelling of the code in reports, which never changes.
            pub fn label(self) -> &'static str {
                match self { $($(WarningCode::$name => $code,)*)* }
            }

            /// How much a warning of this code matters.
            pub fn severity(self) -> Severity {
                match self { $($(WarningCode::$name => Severity::$severity,)*)* }
            }

            /// What happened, as sentences.
            pub fn meaning(self) -> &'static str {
                match self { $($(WarningCode::$name => $meaning,)*)* }
            }

            /// What to do about a warning of this code, as a sentence.
            pub fn remedy(self) -> &'static str {
                match self { $($(WarningCode::$name => $remedy,)*)* }
            }
        }
    };
}

codes! {
    "Compressed files and archives" {
        GzipTruncated "gzip_truncated" Damage
            "A gzip file ends in the middle of its compressed data. What stands before the cut was read."
            "Check that the capture had finished, and copy the file again.";
        GzipCorrupt "gzip_corrupt" Damage
            "The compressed data of a gzip file are damaged from some byte on. What stands before it was read."
            "Copy the file again from where it was captured.";
        GzipChecksum "gzip_checksum" Damage
            "The checksum of a gzip file is wrong: some of the content, all of which was read, is not what was written."
            "Copy the file again from where it was captured.";
        GzipChecksumMissing "gzip_checksum_missing" Caution
            "A gzip file ends before its checksum. All content was read but could not be checked."
            "Copy the file again if anything looks wrong.";
        GzipTrailingBytes "gzip_trailing_bytes" Caution
            "Bytes behind the end of a gzip file's compressed data were ignored."
            "Nothing, unless two files were glued together.";
        InflateLimit "inflate_limit" Damage
            "A file inflates to more than the limit, and reading stopped there."
            "If it is a real profile, inflate it first (`gzip -d`, `unzip`) and open the result.";
        ArchiveTruncated "archive_truncated" Damage
            "An archive is cut. Entries behind the cut are lost."
            "Copy or download the archive again.";
        ArchiveEndMissing "archive_end_missing" Caution
            "A tar has no end mark: it may be cut between two entries."
            "Compare its size with the original's, and copy or download it again if they differ.";
        ArchiveCorrupt "archive_corrupt" Damage
            "An archive has no entry where one should start; the next one was looked for."
            "Copy or download the archive again.";
        ArchiveChecksum "archive_checksum" Damage
            "The content of an entry is not what its checksum or size says. All of it was read."
            "Copy or download the archive again.";
        ArchiveEncrypted "archive_encrypted" Damage
            "An entry of a zip is encrypted and was not read."
            "Unpack the archive and open the files, or pack it again without encryption.";
        ArchiveUnsupported "archive_unsupported" Damage
            "An entry is stored in a way that cannot be read (a compression other than deflate, a sparse file, a size that is not in front of it) and was not read."
            "Unpack the archive and open the files, or pack it again with plain deflate and no sparse files.";
        ArchiveTooManyMembers "archive_too_many_members" Damage
            "An archive holds more than 100,000 files. The first 100,000 were read."
            "Pack only the folders `plugins/profile/<run>` that you want to see.";
        ArchiveMoreWarnings "archive_more_warnings" Damage
            "More than 200 things are wrong with the packing of a file. The first 200 are listed."
            "Copy or download the file again.";
        MemberNotRead "member_not_read" Caution
            "A file in an archive is damaged or no profile and was not read; the others were. Only the page says so."
            "See the reason in the message.";
        RepeatedFileNotRead "repeated_file_not_read" Note
            "A file holds the same events as another file of the same host, and the one that holds more was read. A trace JSON beside an xplane is named only if the xplane is damaged."
            "Nothing.";
    }
    "Trace JSON" {
        JsonTruncated "json_truncated" Caution
            "The file holds exactly as many events as the program that wrote it writes at most: it kept the earliest ones and dropped the rest of the capture."
            "Read the `xplane.pb` of the same run, which has no such limit.";
        JsonCutOff "json_cut_off" Damage
            "The JSON text ends in the middle of the trace. The events before the cut were read."
            "Copy the file again from where it was captured; if it is cut there too, the capture was interrupted.";
        JsonUnterminated "json_unterminated" Note
            "A bracket or brace at the end is missing. Every event was read."
            "Nothing.";
        NoEvents "no_events" Caution
            "The event list holds no event with a duration."
            "Capture while the program runs.";
        EventUnreadable "event_unreadable" Damage
            "The event list is malformed in places. What stood there was left out, and reading went on at the next event."
            "Copy the file again from where it was captured; if it is the same there, capture again.";
        EventTooLarge "event_too_large" Damage
            "Events larger than 16 MiB were left out."
            "Look into the file at the byte in the warning.";
        TimeNotANumber "time_not_a_number" Damage
            "Events whose start or duration is not a number (NaN, null or missing) were left out."
            "Look into the file at the byte in the warning; capture again if there are many.";
        UntimedEvents "untimed_events" Caution
            "Events with neither a start nor a duration (both are 0) were left out: when they ran is unknown."
            "Nothing, unless they matter: then capture again.";
        TimeOutOfRange "time_out_of_range" Damage
            "Events more than 106 days from the rest of the capture were left out."
            "Look into the file at the byte in the warning; capture again if there are many.";
        TimeFarOff "time_far_off" Caution
            "Events more than an hour from all others, which would stretch the capture, were left out."
            "Nothing, unless the capture is that long.";
        NegativeDuration "negative_duration" Damage
            "Events with a negative duration were left out."
            "Look into the file at the byte in the warning; capture again if there are many.";
        UnmatchedBegin "unmatched_begin" Caution
            "Events that begin and never end were left out, since their duration is unknown."
            "Let the program finish what it times before the trace is stopped.";
        UnmatchedEnd "unmatched_end" Caution
            "Ends of events whose begin is not in the file were left out."
            "Start the trace before the program begins what it times.";
        OverlappingPairs "overlapping_pairs" Caution
            "Events that are given as begin and end overlap on one thread, where one should lie inside the other. Each lasts from its begin to the end of its own name."
            "Write each begin and end of one thread in the order of a stack, or as complete events.";
        UnknownPhase "unknown_phase" Note
            "Events of an unknown kind were left out."
            "Nothing.";
        TooManyEvents "too_many_events" Damage
            "A file, or the files of a run together, hold more than 4,294,967,295 events. The rest was left out."
            "Capture fewer steps or fewer hosts.";
    }
    "XPlane files" {
        XplaneTruncated "xplane_truncated" Damage
            "The file is cut off, inside a plane or between planes. What stands before the cut was read."
            "Copy the file again; if it is the original, the program ended before the profiler had written it.";
        XplaneUnreadable "xplane_unreadable" Damage
            "The file does not follow the XPlane format from some byte on. The rest was not read."
            "Copy the file again from where it was captured.";
        XplaneCorrupt "xplane_corrupt" Damage
            "Fields do not follow the XPlane format. What they hold was left out."
            "Copy the file again from where it was captured.";
        XplaneMissingMetadata "xplane_missing_metadata" Damage
            "Events refer to names that the file does not hold. They are named by their numbers."
            "Copy the file again; if it is the original, capture again.";
        XplaneInvalidUtf8 "xplane_invalid_utf8" Note
            "Texts are not valid UTF-8. The bad bytes are shown as U+FFFD."
            "Nothing.";
        XplaneBadTime "xplane_bad_time" Damage
            "Events with a negative duration, or with a time that is out of range, were left out."
            "Capture again if there are many.";
        XplaneTooManyEvents "xplane_too_many_events" Damage
            "The file holds more than 4,294,967,295 events. The rest was left out."
            "Capture fewer steps.";
        XplaneAggregatedEvents "xplane_aggregated_events" Note
            "Events that only count occurrences, without a time, were left out."
            "Nothing.";
        XplaneLateTime "xplane_late_time" Caution
            "Lines give their time after their events, which were placed as if the line began with the capture."
            "Compare times within such a line only.";
        XplaneMixedClocks "xplane_mixed_clocks" Caution
            "Some lines count time from the start of the capture while others have absolute times: they may not line up."
            "Compare times within one line only.";
        XplaneNoEvents "xplane_no_events" Caution
            "The file holds no events."
            "Capture while the program runs steps, and stop the trace before it exits.";
        ProfilerDroppedEvents "profiler_dropped_events" Caution
            "The profiler dropped events while it recorded."
            "Capture fewer steps, or raise the profiler's limit on events.";
        ProfilerError "profiler_error" Caution
            "The profiler met an error while it recorded."
            "See the message, which is the profiler's.";
        ProfilerWarning "profiler_warning" Caution
            "The profiler warned while it recorded."
            "See the message, which is the profiler's.";
        ProfilerMoreWarnings "profiler_more_warnings" Caution
            "The profiler gave more warnings than are shown."
            "See those that are shown.";
    }
    "The run and its clocks" {
        MemoryProfileDamaged "memory_profile_damaged" Damage
            "Parts of a device memory profile (pprof) cannot be read. The rest counts."
            "Save it again with jax.profiler.save_device_memory_profile, and copy it as a binary file.";
        MemoryAboveCapacity "memory_above_capacity" Caution
            "An allocator reports a peak since the process began that is above what it has. That peak is left out."
            "Nothing; report it to the makers of the framework if it stays.";
        TooManyNames "too_many_names" Damage
            "The names and texts need more memory than there is for them. Names that were new after that were read as a placeholder."
            "Capture fewer steps or fewer hosts.";
        HostClocksNotAligned "host_clocks_not_aligned" Caution
            "The hosts' files do not say when each capture started, so their events are laid over each other by steps, module runs or first events."
            "Compare times within one host only.";
        NoDeviceOps "no_device_ops" Caution
            "No op ran on a TPU, a GPU or XLA's CPU backend: steps, kernels and utilisation are unknown."
            "Capture while the jitted function runs, and call `jax.block_until_ready` on its result before the trace is stopped.";
        RunsWithoutOps "runs_without_ops" Caution
            "Module runs have no ops: the profiler did not record them. Such a run counts as busy time; what ran in it is unknown."
            "Capture fewer steps, or record less: the profiler stops when its buffer is full.";
        StepsWithoutOps "steps_without_ops" Caution
            "Steps have no device op, while others have: the profiler did not record them, or the program computed nothing there. Idle time is not judged."
            "Capture fewer steps, or record less: the profiler stops when its buffer is full.";
        LaunchesWithoutOps "launches_without_ops" Caution
            "Launch calls have no kernel in the capture, while others have: the profiler did not record what they started. Idle time is not judged."
            "Let a step run with the profiler on before those that you keep (a warm-up of the schedule), or capture fewer steps.";
        CommandBufferOps "command_buffer_ops" Caution
            "Ops stand for whole command buffers (CUDA graphs). The ops inside them were not recorded."
            "To see the ops, capture once with `XLA_FLAGS=--xla_gpu_enable_command_buffer=`.";
        OpsOverlapOnStream "ops_overlap_on_stream" Caution
            "Ops lie inside another op of their stream, which runs one at a time. A start or a duration is wrong, and with it every number that rests on these ops."
            "Capture again; if it is the same, report it to the makers of the profiler.";
        EventTimesWarped "event_times_warped" Note
            "Event times differ from the chip's clock by a millisecond or more, since the profiler realigned them \
             with the host's clock during the capture. The chip's times are used."
            "Nothing; other tools may show the event times.";
        ChipClockBroken "chip_clock_broken" Caution
            "Times of the chip's clock do not follow those before: the clock was reset, or the values are damaged. Event times are used there."
            "Capture again; compare durations and not times around the break.";
        CpuOpEndsAreBounds "cpu_op_ends_are_bounds" Note
            "Ops of XLA's CPU backend go on after their event has ended. Their times are upper bounds."
            "Nothing.";
        CpuOpEndsUnknown "cpu_op_ends_unknown" Caution
            "Ops of XLA's CPU backend go on after their event has ended, and a trace JSON does not say when: they look shorter than they were."
            "Analyse the `*.xplane.pb` beside it.";
        CustomCallsWithoutCost "custom_calls_without_cost" Caution
            "Custom calls with unknown FLOPs and bytes take much of the op time. Roofline, rates and utilisation leave them out."
            "Give the kernel an estimate: `pallas_call(..., cost_estimate=pl.CostEstimate(...))`.";
        DeviceAssumed "device_assumed" Note
            "Several products are sold under the name of the device in the profile. Peaks are those of one of them."
            "Choose the device: `--device` or the Model page.";
        WindowIgnored "window_ignored" Caution
            "The chosen window is not in the run. Numbers are of the main window."
            "Choose steps or a range that the run has.";
    }
    "Steps" {
        StepsUnknown "steps_unknown" Note
            "No steps were found."
            "Wrap each step in `jax.profiler.StepTraceAnnotation(\"train\", step_num=i)` when capturing, or give the \
             number of steps.";
        StepsFromHostSpans "steps_from_host_spans" Note
            "No step markers were found. Steps are what repeats on a Python thread."
            "Wrap each step in `jax.profiler.StepTraceAnnotation(\"train\", step_num=i)` when capturing, or give the \
             number of steps.";
        StepsFromDeviceOps "steps_from_device_ops" Note
            "No step markers were found. Steps are a sequence of ops that repeats on every device."
            "Wrap each step in `jax.profiler.StepTraceAnnotation(\"train\", step_num=i)` when capturing, or give the \
             number of steps.";
        StepNumbersRepeat "step_numbers_repeat" Note
            "The numbers of step annotations begin again or never change. Each annotation is a step."
            "Give each step a number of its own, if steps of two captures are compared by number.";
        StepsTiedByTime "steps_tied_by_time" Note
            "The trace does not record which step launched device work. Such work belongs to the step in which it runs."
            "Capture the host together with the devices (correlation ids come from the launches on the host).";
        StepsIndependent "steps_independent" Note
            "The devices do not run their steps together. Step time and steps/s are means over the devices, of one device each."
            "Nothing.";
        StepsOneAfterAnother "steps_one_after_another" Caution
            "The devices run their steps one after another. Step time and steps/s are those of one device."
            "Nothing, if the program is meant to do so.";
        NumStepsOverridden "num_steps_overridden" Note
            "The number of steps was given and is not the one found. The step time is the total time divided by it."
            "Nothing.";
        NumStepsIgnored "num_steps_ignored" Caution
            "The given number of steps is 0 and was ignored."
            "Give the number of steps in the capture, or none.";
    }
    "Imported profiles" {
        ProfileNotRead "profile_not_read" Damage
            "An entry of a list of profiles cannot be read and is not shown as a run."
            "See the reason in the message.";
        ProfileConverted "profile_converted" Note
            "The profile was written by a 1.0.0 tool and converted. Its numbers follow that tool's definitions."
            "Analyse the trace that it was made from.";
        ProfileNewer "profile_newer" Note
            "The profile has a newer schema. Sections that are new in it were left out."
            "Use a newer version of crossprof.";
        ProfileLeftOut "profile_left_out" Note
            "Values are left out (`...`) or name several possibilities. They were read as absent."
            "Nothing.";
        ProfileComments "profile_comments" Note
            "Comments, which JSON does not have, were passed over."
            "Nothing.";
        ProfileNotANumber "profile_not_a_number" Note
            "Values are NaN or infinite. They were read as absent."
            "Nothing.";
        ProfileImmeasurable "profile_immeasurable" Caution
            "Numbers are larger than any measurement. They were read as absent."
            "Make the profile again from its trace.";
        ProfileUnknownWords "profile_unknown_words" Note
            "Severities or confidences are words that this version does not know. They were read as the least severe and the least sure."
            "Use a newer version of crossprof.";
        ProfileRounded "profile_rounded" Note
            "Fields that hold whole numbers had fractions and were rounded."
            "Nothing.";
        ProfileImpossible "profile_impossible" Note
            "Fields have values that they cannot have (negative, too large, or of another type) and were left out."
            "Make the profile again from its trace.";
        ProfilePercentClamped "profile_percent_clamped" Note
            "Shares outside of 0 to 100 % were set to the nearest limit."
            "Make the profile again from its trace.";
        ProfileZeroIsUnknown "profile_zero_is_unknown" Note
            "Fields are 0, which the 1.0.0 tools write for unknown, and were left out."
            "Nothing.";
        ProfileFieldsIgnored "profile_fields_ignored" Note
            "Fields that are not part of the schema were not read."
            "Nothing.";
        ProfileGapBuckets "profile_gap_buckets" Note
            "The 1.0.0 tools count gaps under 100 us as `gaps_under_10us` and those of 100 to 1000 us as `gaps_10_100us`."
            "Analyse the trace that the profile was made from.";
        ProfileTimelineCoverage "profile_timeline_coverage" Note
            "The file's `timeline_coverage` was read as `compute_utilization`."
            "Nothing.";
        ProfileUtilizationImpossible "profile_utilization_impossible" Caution
            "The file's device utilisation is a sum over overlapping ops or devices and not a share of time. The mean of the devices' busy shares was taken, or none."
            "Analyse the trace that the profile was made from.";
        ProfileUtilizationPerStep "profile_utilization_per_step" Note
            "Kernel time and the time without kernels are of the whole capture. Both were divided by its steps."
            "Nothing.";
        ProfileUtilizationSum "profile_utilization_sum" Note
            "Kernel time and overhead do not add up to the mean step time. The file's numbers were kept."
            "Analyse the trace that the profile was made from.";
        BenchmarkNotRead "benchmark_not_read" Note
            "Methods of a benchmark without a time, or values that are no method, were not read."
            "Run the methods that failed again.";
    }
}
