//! Tables of facts with their sources: kernel families, model presets, device names.
