//! Kinds of communication: their names in HLO and in NCCL, and the ratio of bus bandwidth to algorithm bandwidth.

/// Name of each kind in HLO, and the word that identifies the kind in names of NCCL and RCCL kernels.
const KINDS: [(&str, &str); 10] = [
    ("all-reduce", "AllReduce"),
    ("all-gather", "AllGather"),
    ("reduce-scatter", "ReduceScatter"),
    ("ragged-all-to-all", ""),
    ("all-to-all", "AllToAll"),
    ("collective-permute", ""),
    ("collective-broadcast", "Broadcast"),
    ("send-recv", "SendRecv"),
    ("send", "Send"),
    ("recv", "Recv"),
];

/// Kind and category of a kernel whose name does not reveal the collective.
pub(super) const UNKNOWN: &str = "collective";

/// Returns the kind that the name of an instruction or category contains: `all-reduce` for `all-reduce-start.3` and
/// `all_reduce.1`.
pub(super) fn of_instruction(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    KINDS.iter().map(|kind| kind.0).find(|kind| name.contains(kind))
}

/// PyTorch's names of collectives without `_`, and the kind of each.
const TORCH_KINDS: [(&str, &str); 7] = [
    ("allreduce", "all-reduce"),
    ("allgather", "all-gather"),
    ("reducescatter", "reduce-scatter"),
    ("alltoall", "all-to-all"),
    ("broadcast", "collective-broadcast"),
    ("send", "send"),
    ("recv", "recv"),
];

/// Returns the kind for PyTorch's name of a collective: `all-gather` for `_allgather_base`. PyTorch's name is more
/// specific than the kernel's name, which is `SendRecv` for an all-to-all.
pub(super) fn of_torch(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('_', "");
    TORCH_KINDS.iter().find(|(torch, _)| name.contains(torch)).map(|&(_, kind)| kind)
}

/// Information in the name of an NCCL or RCCL kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NcclName<'n> {
    /// Kind of the collective.
    pub kind: &'static str,
    /// Type of the elements (`bf16`).
    pub data_type: Option<&'n str>,
    /// `RING`, `TREE`, ...
    pub algorithm: Option<&'n str>,
    /// `LL`, `LL128`, `SIMPLE`.
    pub protocol: Option<&'n str>,
}

/// Parses `ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)` and its older forms. Returns `None` for other kernels.
pub(super) fn nccl(name: &str) -> Option<NcclName<'_>> {
    let start = name.find("nccl").or_else(|| name.find("rccl"))?;
    let name = name.get(start..)?.split('(').next()?;
    let words: Vec<&str> = name.split('_').collect();
    let kind = KINDS.iter().find(|kind| !kind.1.is_empty() && words.iter().any(|word| word.ends_with(kind.1)))?.0;
    let one_of =
        |known: &[&str]| words.iter().copied().find(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)));
    Some(NcclName {
        kind,
        data_type: one_of(&[
            "f16", "f32", "f64", "bf16", "i8", "i32", "i64", "u8", "u32", "u64", "half", "float", "double", "f8e4m3",
            "f8e5m2", "int8", "int32",
        ]),
        algorithm: one_of(&["RING", "TREE", "COLLNET", "NVLS", "PAT"]),
        protocol: one_of(&["LL", "LL128", "SIMPLE"]),
    })
}

/// Returns the ratio of bus bandwidth to algorithm bandwidth for a group of `size` devices, as `nccl-tests` defines it.
/// The ratio is the number of bytes that each link carries for every byte of the result (all-gather) or of the operand
/// (other kinds). `None` if the group's size is unknown or zero.
pub(crate) fn bus_factor(kind: &str, size: Option<u32>) -> Option<f64> {
    let n = f64::from(size.unwrap_or(0));
    match kind {
        "all-reduce" if n > 1.0 => Some(2.0 * (n - 1.0) / n),
        "all-gather" | "reduce-scatter" | "all-to-all" | "ragged-all-to-all" if n > 1.0 => Some((n - 1.0) / n),
        "collective-permute" | "collective-broadcast" | "send-recv" | "send" | "recv" => Some(1.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_and_kernels_have_kinds() {
        assert_eq!(of_instruction("all-reduce-start.3"), Some("all-reduce"));
        assert_eq!(of_instruction("ragged-all-to-all.1"), Some("ragged-all-to-all"));
        assert_eq!(of_instruction("all-gather fusion"), Some("all-gather"));
        assert_eq!(of_instruction("fusion.7"), None);
        assert_eq!(of_torch("_allgather_base"), Some("all-gather"));
        assert_eq!(of_torch("all_to_allv"), Some("all-to-all"));
        assert_eq!(of_torch("barrier"), None);
        let name = nccl("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long)").unwrap();
        assert_eq!((name.kind, name.data_type), ("all-reduce", Some("bf16")));
        assert_eq!((name.algorithm, name.protocol), (Some("RING"), Some("LL")));
        assert_eq!(nccl("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t").map(|name| name.kind), Some("send-recv"));
        assert_eq!(nccl("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL").map(|name| name.kind), Some("reduce-scatter"));
        assert_eq!(nccl("gemm_kernel"), None);
    }

    #[test]
    fn bus_factors_are_those_of_nccl_tests() {
        assert_eq!(bus_factor("all-reduce", Some(8)), Some(1.75));
        assert_eq!(bus_factor("all-gather", Some(4)), Some(0.75));
        assert_eq!(bus_factor("collective-permute", None), Some(1.0));
        assert_eq!(bus_factor("all-reduce", None), None);
        assert_eq!(bus_factor("all-reduce", Some(1)), None);
    }
}
