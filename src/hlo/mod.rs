//! Compiled modules (HLO) that a profile embeds: what the kernels of a GPU and the ops of a TPU compute.
