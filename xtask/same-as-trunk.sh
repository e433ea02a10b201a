#!/usr/bin/env bash
# Builds the page with Trunk and with `cargo xtask build`, and compares the folders file by file. Needs trunk on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo xtask build
id=$(cat dist/build-id.txt)
# Trunk looks for wasm-bindgen and wasm-opt on PATH, in the versions that xtask uses.
cargo xtask setup
tools=${CROSSPROF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/crossprof}
PATH="$(echo "$tools"/tools/wasm-bindgen-cli-*/bin):$(echo "$tools"/npm/binaryen-*/node_modules/binaryen/bin):$PATH"
export PATH CROSSPROF_BUILD_ID=$id CARGO_TARGET_DIR=$PWD/target/page
env -u NO_COLOR trunk build --release --cargo-profile page --dist target/trunk
diff -r target/page/bundle target/trunk && echo "Both folders have the same files."
