//! Modules that a trace embeds. Each module is read once, on first access.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::module::Module;
use super::read;
use trace::{EarlierStage, HloProto, Trace};

/// Modules of a trace.
#[derive(Debug)]
pub struct Modules {
    protos: Vec<(HloProto, Box<str>)>,
    /// Module of each proto. Protos with the same bytes share a module, because several hosts of a run often embed the
    /// same program.
    parsed: Vec<Arc<OnceLock<Arc<Module>>>>,
    /// Index of each program's first module, by host and program id.
    places: FxHashMap<(u16, i64), usize>,
    /// Hosts that embed modules.
    hosts: FxHashSet<u16>,
    /// Earlier stages of the modules, first stage first.
    stages: Vec<Stage>,
}

/// A program at an earlier stage of its compilation.
#[derive(Debug)]
struct Stage {
    name: Box<str>,
    proto: HloProto,
    module: OnceLock<Arc<Module>>,
}

impl Modules {
    /// Lists the modules of `trace`, without reading them.
    pub fn new(trace: &Trace) -> Modules {
        let protos: Vec<_> = trace.hlo.iter().map(|proto| (proto.clone(), trace.text(proto.name).into())).collect();
        let mut shared: FxHashMap<*const [u8], Arc<OnceLock<_>>> = FxHashMap::default();
        let parsed =
            trace.hlo.iter().map(|proto| shared.entry(Arc::as_ptr(&proto.bytes)).or_default().clone()).collect();
        let places =
            protos.iter().enumerate().rev().map(|(at, (proto, _))| ((proto.host, proto.program_id), at)).collect();
        let hosts = protos.iter().map(|(proto, _)| proto.host).collect();
        let stage = |stage: &EarlierStage| Stage {
            name: trace.text(stage.stage).into(),
            proto: stage.program.clone(),
            module: OnceLock::new(),
        };
        Modules { protos, parsed, places, hosts, stages: trace.earlier_stages.iter().map(stage).collect() }
    }

    /// Returns true if the trace embeds no module.
    pub fn is_empty(&self) -> bool {
        self.protos.is_empty()
    }

    /// Returns the module of a host's program. If the host embeds no modules, returns the module that another host has
    /// for this program id, provided that all modules with this id have the same name. The names may differ, because
    /// each process numbers its programs itself.
    pub fn find(&self, host: u16, program_id: i64) -> Option<&Module> {
        self.place(host, program_id).and_then(|index| self.get(index))
    }

    fn place(&self, host: u16, program_id: i64) -> Option<usize> {
        let own = self.places.get(&(host, program_id)).copied();
        own.or_else(|| {
            if self.hosts.contains(&host) { None } else { self.only(|proto, _| proto.program_id == program_id) }
        })
    }

    /// Returns the names of the earlier stages of a program, first stage first. The modules that the other methods return
    /// are at their last stage.
    pub fn stages(&self, host: u16, program_id: i64) -> impl Iterator<Item = &str> {
        let of_program = move |it: &&Stage| (it.proto.host, it.proto.program_id) == (host, program_id);
        self.stages.iter().filter(of_program).map(|it| &*it.name)
    }

    /// Returns a program at a stage, with the bytes that it is read from. If `stage` is `None`, returns the last stage.
    pub fn at_stage(&self, host: u16, program_id: i64, stage: Option<&str>) -> Option<(&Arc<[u8]>, &Arc<Module>)> {
        let Some(stage) = stage else {
            let index = self.place(host, program_id)?;
            let (proto, _) = self.protos.get(index)?;
            return Some((&proto.bytes, self.parsed.get(index)?.get_or_init(|| read(proto))));
        };
        let is_wanted = |it: &&Stage| (it.proto.host, it.proto.program_id, &*it.name) == (host, program_id, stage);
        let found = self.stages.iter().find(is_wanted)?;
        Some((&found.proto.bytes, found.module.get_or_init(|| read(&found.proto))))
    }

    /// Returns a host's module by name, for traces whose kernels record only the module's name: `jit_f`, or
    /// `jit_f(12190760917235803885)`. Returns `None` if several programs have this name, because their instructions
    /// differ.
    pub fn find_by_name(&self, host: u16, name: &str) -> Option<&Module> {
        let exact = self.protos.iter().position(|(proto, full)| proto.host == host && **full == *name);
        let bare = || {
            let mut found = self.protos.iter().enumerate();
            let mut matching = found.by_ref().filter(|(_, (proto, full))| proto.host == host && base(full) == name);
            let first = matching.next()?.0;
            matching.next().is_none().then_some(first)
        };
        exact.or_else(bare).and_then(|index| self.get(index))
    }

    /// Returns the module of an op: by the id of its program, or by the module's name if the op has no program id. If the
    /// op has both, they must agree: each process numbers its programs itself, so the same id can mean another program on
    /// another host.
    pub fn of_op(&self, host: u16, program_id: Option<i64>, name: &str) -> Option<&Module> {
        let Some(program_id) = program_id else {
            return if name.is_empty() { None } else { self.find_by_name(host, name) };
        };
        let own = self.place(host, program_id);
        let full = |index: usize| self.protos.get(index).map_or("", |(_, full)| full);
        if name.is_empty() || own.is_some_and(|own| base(full(own)) == base(name)) {
            return own.and_then(|index| self.get(index));
        }
        let with_id = || self.protos.iter().enumerate().filter(|(_, (proto, _))| proto.program_id == program_id);
        let mut named = with_id().filter(|(_, (_, full))| base(full) == base(name));
        if let Some((first, (proto, _))) = named.next() {
            return if named.all(|(_, (other, _))| other.bytes == proto.bytes) { self.get(first) } else { None };
        }
        // In some traces, the name is shortened.
        let is_only = with_id().all(|(index, _)| own.is_some_and(|own| base(full(index)) == base(full(own))));
        own.filter(|_| is_only).and_then(|index| self.get(index))
    }

    /// Returns the program ids that hosts gave to programs with different names.
    pub fn ambiguous_ids(&self) -> FxHashSet<i64> {
        let mut names: FxHashMap<i64, &str> = FxHashMap::default();
        let all = self.protos.iter().map(|(proto, full)| (proto.program_id, base(full)));
        all.filter(|&(id, name)| *names.entry(id).or_insert(name) != name).map(|(id, _)| id).collect()
    }

    /// Returns a text that identifies a module uniquely: the module's name with the program id, followed by the host if
    /// several modules share that name.
    pub fn key(&self, module: &Module) -> Option<String> {
        let is_own = |parsed: &Arc<OnceLock<Arc<Module>>>| parsed.get().is_some_and(|it| std::ptr::eq(&**it, module));
        let at = self.parsed.iter().position(is_own)?;
        let (proto, full) = self.protos.get(at)?;
        let mut others = self.protos.iter().zip(&self.parsed).filter(|((_, other), _)| other == full);
        let name = if full.is_empty() { module.name() } else { full };
        Some(match others.all(|(_, parsed)| is_own(parsed)) {
            true => name.to_owned(),
            false => format!("{name}@{}", proto.host),
        })
    }

    /// Returns `(host, program id, name with the program id, module)` of all modules, in file order. Reads all modules.
    pub fn all(&self) -> impl Iterator<Item = (u16, i64, &str, &Module)> {
        self.with_bytes().map(|(proto, name, module)| (proto.host, proto.program_id, name, &**module))
    }

    /// Returns all modules with the bytes that they are read from, in file order. Each module is read when the iterator
    /// reaches it.
    pub fn with_bytes(&self) -> impl Iterator<Item = (&HloProto, &str, &Arc<Module>)> {
        let all = self.protos.iter().zip(&self.parsed);
        all.map(|((proto, name), parsed)| (proto, &**name, parsed.get_or_init(|| read(proto))))
    }

    /// Returns the modules that were read so far, in file order.
    pub fn read(&self) -> impl Iterator<Item = &Module> {
        self.parsed.iter().filter_map(|parsed| parsed.get()).map(Arc::as_ref)
    }

    /// Returns the modules of the wanted programs, in file order. Other modules are not read.
    pub fn of_programs(&self, wanted: impl Fn(i64) -> bool) -> impl Iterator<Item = &Module> {
        let found = self.protos.iter().enumerate().filter(move |(_, (proto, _))| wanted(proto.program_id));
        found.filter_map(|(index, _)| self.get(index))
    }

    /// Returns the index of the first module for which `fits` returns true, if all such modules have the same name.
    fn only(&self, fits: impl Fn(&HloProto, &str) -> bool) -> Option<usize> {
        let mut found = self.protos.iter().enumerate().filter(|(_, (proto, name))| fits(proto, name));
        let (first, (_, name)) = found.next()?;
        found.all(|(_, (_, other))| other == name).then_some(first)
    }

    fn get(&self, index: usize) -> Option<&Module> {
        let (proto, _) = self.protos.get(index)?;
        Some(self.parsed.get(index)?.get_or_init(|| read(proto)))
    }
}

fn read(proto: &HloProto) -> Arc<Module> {
    Arc::new(read::proto(&proto.bytes))
}

/// Returns the name without the program id.
fn base(name: &str) -> &str {
    name.split_once('(').map_or(name, |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(modules: &[(u16, i64, &str)]) -> Trace {
        let mut trace = Trace::default();
        for &(host, program_id, name) in modules {
            let module_name = base(name);
            // HloProto { hlo_module = 1 { name = 1 } }
            let mut bytes = vec![0x0a, module_name.len() as u8 + 2, 0x0a, module_name.len() as u8];
            bytes.extend_from_slice(module_name.as_bytes());
            let name = trace.strings.intern(name);
            trace.hlo.push(HloProto { program_id, name, host, bytes: bytes.into() });
        }
        trace
    }

    #[test]
    fn a_program_is_found_on_its_own_host() {
        let trace = trace(&[(0, 7, "jit_f(7)"), (0, 8, "jit_g(8)"), (1, 7, "jit_h(7)")]);
        let modules = Modules::new(&trace);
        let name = |host, program| modules.find(host, program).map(Module::name);
        assert_eq!((name(0, 7), name(1, 7), name(1, 8)), (Some("jit_f"), Some("jit_h"), None));
        assert_eq!((name(2, 8), name(2, 7)), (Some("jit_g"), None), "two programs have the number 7");
        assert_eq!(modules.all().count(), 3);
    }

    #[test]
    fn an_op_has_the_module_of_its_number_and_name() {
        let trace = trace(&[(0, 7, "jit_f(7)"), (0, 8, "jit_g(8)"), (1, 7, "jit_h(7)"), (1, 9, "jit_f(9)")]);
        let modules = Modules::new(&trace);
        let of = |host, id, name| modules.of_op(host, id, name).map(Module::name);
        assert_eq!((of(0, Some(7), ""), of(1, Some(7), "")), (Some("jit_f"), Some("jit_h")));
        assert_eq!((of(0, Some(7), "jit_f"), of(0, Some(7), "jit_h")), (Some("jit_f"), Some("jit_h")), "of host 1");
        assert_eq!((of(0, Some(9), "jit_f"), of(0, Some(9), "")), (Some("jit_f"), None));
        assert_eq!(of(0, Some(7), "jit_k"), None, "two programs have the number 7");
        assert_eq!(of(0, Some(8), "jit_g.cut"), Some("jit_g"), "only one program has the number 8");
        assert_eq!(modules.ambiguous_ids().into_iter().collect::<Vec<_>>(), [7]);
        assert_eq!((of(0, None, "jit_g"), of(0, None, ""), of(1, None, "jit_g")), (Some("jit_g"), None, None));
    }

    #[test]
    fn keys_differ_between_programs() {
        let mut trace = trace(&[(0, 7, "jit_f(7)"), (1, 7, "jit_f(7)"), (2, 7, "jit_f(7)"), (2, 8, "jit_g(8)")]);
        // Hosts 0 and 2 embed the same program.
        trace.hlo[2].bytes = trace.hlo[0].bytes.clone();
        let modules = Modules::new(&trace);
        let keys: Vec<_> = modules.all().map(|(_, _, _, module)| modules.key(module)).collect();
        let keys: Vec<_> = keys.iter().map(Option::as_deref).collect();
        assert_eq!(keys, [Some("jit_f(7)@0"), Some("jit_f(7)@1"), Some("jit_f(7)@0"), Some("jit_g(8)")]);
        assert_eq!(modules.key(&Module::default()), None);
    }

    #[test]
    fn what_hosts_share_is_read_once() {
        let mut trace = trace(&[(0, 7, "jit_f(7)"), (1, 7, "jit_f(7)"), (2, 7, "jit_f(7)")]);
        trace.hlo[1].bytes = trace.hlo[0].bytes.clone();
        let modules = Modules::new(&trace);
        let read: Vec<_> = modules.with_bytes().map(|(_, _, module)| Arc::as_ptr(module)).collect();
        assert_eq!((read[0] == read[1], read[0] == read[2]), (true, false));
    }

    #[test]
    fn a_name_that_two_programs_have_says_nothing() {
        let trace = trace(&[(0, 7, "jit_f(7)"), (0, 8, "jit_f(8)"), (0, 9, "jit_g(9)")]);
        let modules = Modules::new(&trace);
        let name = |name| modules.find_by_name(0, name).map(Module::name);
        assert_eq!((name("jit_f"), name("jit_f(8)"), name("jit_g")), (None, Some("jit_f"), Some("jit_g")));
        assert_eq!(modules.find_by_name(1, "jit_g").map(Module::name), None);
    }
}
