#!/bin/sh
# Makes a Rust toolchain for wasm32-unknown-unknown from Debian's compiler, without rustup.
#
#   debian-wasm32.sh FOLDER
#
# Debian's rustc-web has no standard library for this target, but rust-web-src has its source. It is
# built once and laid beside links to what Debian installed; nothing is written outside FOLDER. The
# libraries carry bitcode, because link-time optimisation of the page needs it. `test` is for the
# tests that run in the browser.
set -eu

folder=$1
target=wasm32-unknown-unknown
host=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
work=$folder.part
rm -rf "$work" "$folder"
mkdir -p "$work/bin" "$work/lib/rustlib/$target/lib" "$work/lib/rustlib/$host/bin" "$work/std/src"

cat >"$work/std/Cargo.toml" <<'TOML'
[package]
name = "nothing"
version = "0.0.0"
edition = "2021"

[workspace]
TOML
: >"$work/std/src/lib.rs"

# -Zbuild-std is not stable; RUSTC_BOOTSTRAP lets a stable compiler build its own library with it.
(
    cd "$work/std"
    PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes \
        /usr/bin/cargo build --release -Zbuild-std=std,panic_abort,test --target "$target"
)
for library in "$work/std/target/$target/release/deps/"*.rlib; do
    case ${library##*/} in
    libnothing-*) ;;
    *) cp "$library" "$work/lib/rustlib/$target/lib/" ;;
    esac
done
rm -rf "$work/std"

ln -s "/usr/lib/rustlib/$host/lib" "$work/lib/rustlib/$host/lib"
ln -s /usr/bin/lld-22 "$work/lib/rustlib/$host/bin/rust-lld"
ln -s /usr/bin/cargo "$work/bin/cargo"
for program in rustc rustdoc; do
    printf '#!/bin/sh\nexec /usr/bin/%s --sysroot "%s" "$@"\n' "$program" "$folder" >"$work/bin/$program"
    chmod +x "$work/bin/$program"
done
mv "$work" "$folder"
: >"$folder/complete"
