//! Recognises kinds of host work by the names of events (`host_spans.csv`).

use std::cell::RefCell;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::pattern::{Name, Pattern, Patterns};
use super::table;

/// A kind of host work that the report measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostWork {
    /// XLA compiles.
    Compile,
    /// The input pipeline runs.
    Input,
    /// The thread waits for a device, a lock or another thread.
    Wait,
    /// Data moves between host and device.
    Transfer,
    /// Device work is launched.
    Launch,
}

static ROWS: LazyLock<Vec<(HostWork, Pattern)>> =
    LazyLock::new(|| table::rows(include_str!("host_spans.csv")).filter_map(|cells| parse(&cells)).collect());

/// Kinds of work with their name patterns, from the table rows that do not describe Python frames. One pass over a name
/// matches all patterns.
struct Named {
    works: Vec<HostWork>,
    patterns: Patterns,
}

impl Named {
    /// Returns the rows for which `is_wanted` is true.
    fn of(is_wanted: impl Fn(HostWork) -> bool) -> Named {
        let is_name = |pattern: &Pattern| !matches!(pattern, Pattern::Frame(_));
        let rows = ROWS.iter().filter(|(work, pattern)| is_wanted(*work) && is_name(pattern)).copied();
        let (works, patterns) = rows.unzip();
        Named { works, patterns: Patterns::new(patterns) }
    }

    /// Returns the work of the first row that matches `name`.
    fn first(&self, name: &str) -> Option<HostWork> {
        self.works.get(self.patterns.first_match(&Name::new(name))?).copied()
    }
}

static ALL: LazyLock<Named> = LazyLock::new(|| Named::of(|_| true));

static OF_WORK: LazyLock<[(HostWork, Named); 5]> = LazyLock::new(|| {
    [HostWork::Compile, HostWork::Input, HostWork::Wait, HostWork::Transfer, HostWork::Launch]
        .map(|work| (work, Named::of(|of| of == work)))
});

fn parse(cells: &[&'static str]) -> Option<(HostWork, Pattern)> {
    let &[purpose, kind, pattern, _source] = cells else { return None };
    let work = match purpose {
        "compile" => HostWork::Compile,
        "input" => HostWork::Input,
        "wait" => HostWork::Wait,
        "transfer" => HostWork::Transfer,
        "launch" => HostWork::Launch,
        _ => return None,
    };
    Some((work, Pattern::parse(kind, pattern)?))
}

/// Maximum number of names whose work is cached.
const MOST_NAMES: usize = 4096;

thread_local! {
    /// Kind of work for each name that was examined before. Thousands of captures of one program contain the same
    /// names.
    static KNOWN: RefCell<FxHashMap<Box<str>, Option<HostWork>>> = RefCell::default();
}

/// Returns the kind of work that a host event with this name does, according to the first row that matches. Returns
/// `None` if no row matches. Frames of the Python tracer match only rows for frames.
pub fn work(name: &str) -> Option<HostWork> {
    if is_frame(name) {
        return ROWS.iter().find(|(_, pattern)| pattern.matches_frame(name)).map(|&(work, _)| work);
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(&work) = known.get(name) {
            return work;
        }
        let work = ALL.first(name);
        if known.len() < MOST_NAMES && name.len() <= 256 {
            known.insert(name.into(), work);
        }
        work
    })
}

/// Returns true for Python tracer frames, which are named after functions (`$core.py:12 compile`, `a/b.py(12): f`).
pub fn is_frame(name: &str) -> bool {
    name.starts_with('$') || name.contains(".py(")
}

/// Returns true if a host event with this name does this kind of work. Frames of the Python tracer (`$core.py:12
/// compile`) match only rows for frames, because a frame encloses other events and may have the name of any function.
pub fn is(work: HostWork, name: &str) -> bool {
    if is_frame(name) {
        return ROWS.iter().any(|(purpose, pattern)| *purpose == work && pattern.matches_frame(name));
    }
    match self::work(name) {
        None => false,
        Some(first) if first == work => true,
        // A later row may match.
        Some(_) => OF_WORK.iter().any(|(of, named)| *of == work && named.first(name).is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(ROWS.len(), table::rows(include_str!("host_spans.csv")).count());
    }

    #[test]
    fn one_walk_finds_what_trying_all_rows_finds() {
        let words =
            ["compile", "Iterator::Prefetch", "cudaStreamSynchronize", "hipMemcpyAsync", "PjitFunction(f)", "x", ""];
        let names = words.iter().flat_map(|a| words.iter().map(move |b| format!("{a} {b}")));
        let patterns = ROWS.iter().filter_map(|(_, pattern)| match *pattern {
            Pattern::Exact(text) | Pattern::Prefix(text) | Pattern::Contains(text) | Pattern::Words(text) => {
                Some(text.to_owned())
            }
            Pattern::Frame(_) => None,
        });
        let mut found = 0;
        for text in names.chain(patterns) {
            let name = Name::new(&text);
            let rows = || ROWS.iter().filter(|(_, pattern)| pattern.matches(&name)).map(|(work, _)| *work);
            if !is_frame(&text) {
                assert_eq!(work(&text), rows().next(), "{text}");
                for (of, _) in OF_WORK.iter() {
                    assert_eq!(is(*of, &text), rows().any(|work| work == *of), "{text}");
                }
                found += usize::from(work(&text).is_some());
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn compilation_is_neither_lowering_nor_running_what_was_compiled() {
        let compiles = |name| is(HostWork::Compile, name);
        assert!(compiles("backend_compile_and_load"));
        assert!(compiles("TfrtTpuCompiler::Compile"));
        assert!(compiles("CpuCompiler::RunBackend"));
        assert!(compiles("NVPTXCompiler::CompileTargetBinary - CompileToPtx for jit_f"));
        assert!(compiles("XLA::TPU run hlo passes"));
        assert!(!compiles("$compiler.py:12 backend_compile"));
        assert!(!compiles("lower_sharding_computation"));
        assert!(!compiles("PjitFunction(f)"));
        assert!(!compiles("Torch-Compiled Region"));
    }

    #[test]
    fn waits_transfers_and_launches_are_told_apart() {
        assert_eq!(work("hipExtModuleLaunchKernel"), Some(HostWork::Launch));
        assert_eq!(work("PjitFunction(f)"), Some(HostWork::Launch));
        assert_eq!(work("DoEnqueueProgram"), Some(HostWork::Launch));
        assert_eq!(work("cudaStreamSynchronize"), Some(HostWork::Wait));
        assert_eq!(work("hipMemcpyDtoDAsync"), Some(HostWork::Transfer));
        // JAX 0.11 names the transfer after a class that compiles.
        let transfer = "PjRtCApiCompiler::BufferFromHostBuffer(f32[])";
        assert_eq!(work(transfer), Some(HostWork::Transfer));
        assert!(!is(HostWork::Compile, transfer));
        assert_eq!(work("backend_compile"), Some(HostWork::Compile));
        assert_eq!(work("$array.py:645 block_until_ready"), Some(HostWork::Wait));
        assert_eq!(work("$train.py:12 main"), None);
        assert_eq!(work("train"), None);
    }

    #[test]
    fn input_is_the_pipeline_and_its_frames() {
        let input = |name| is(HostWork::Input, name);
        assert!(input("Iterator::Prefetch::Map"));
        assert!(input("IteratorGetNext"));
        for name in
            ["fetch_batch", "load_data", "next_batch", "get_batch", "data_loading", "train/load_data", "wait for data"]
        {
            assert!(input(name), "{name}");
            assert_eq!(work(name), Some(HostWork::Input), "{name}");
        }
        assert!(!input("overload_database") && !input("load_checkpoint"));
        assert!(input("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"));
        assert!(input("$dataloader.py:701 __next__"));
        assert!(!input("$copy.py:118 deepcopy"));
        assert!(!input("infeed-decomposer"));
        assert!(!input("XLA::TPU memory space and buffer assignment"));
    }
}
