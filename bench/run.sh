#!/bin/sh
# run.sh [llfuse-bench's arguments]: the main job on a fresh Debian or Ubuntu machine, as root: installs what is missing,
# builds release, and measures the built-in cases on the GPU if one opens, else on the CPU, saying which.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tools/setup.sh"
setup_packages
log="$root/build/release.log"
mkdir -p "$root/build"
echo "run.sh: building release (log: $log)" >&2
if ! { (cd "$root" && cmake --preset release) && cmake --build "$root/build/release"; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "run.sh: the build failed; all of its output is in $log" >&2
    exit 1
fi
grep -A3 'CMake Warning' "$log" >&2 || true # such as: no CUDA toolkit, the CPU target alone
exec "$root/build/release/bin/llfuse-bench" "$@"
