#!/usr/bin/env bash
# Installs crossprof: the version in VERSION, or else the one of the tag that the action was checked out from.
set -euo pipefail

version=${VERSION:-}
if [ -z "$version" ]; then
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml" | head -n 1)
fi
python3 -m pip install --quiet "crossprof==$version"
