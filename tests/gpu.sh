#!/bin/sh
# tests/gpu.sh [BUILD]: the tests labelled gpu, on a machine with a GPU, from a build that was made here or carried;
# then memcheck and racecheck of compute-sanitizer over the case list. BUILD: a build folder (default build/ci).
# Needs no compiler and no CMake: a carried BUILD holds bin/ and lib/ alone.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/ci}
bin=$build/bin
passed=0 failed=0 skipped=0
run() {
    echo "== $*"
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "== FAILED: $*"; fi
}
count=${LLFUSE_RANDOM_COUNT:-2000}
for t in "$bin"/gpu_*; do
    [ -x "$t" ] && run "$t"
done
run "$bin/random_pointwise" --count "$count" --seed 1 --target nvptx
run "$bin/llfuse-bench" --target nvptx --set N=100003 --check --min-samples 3
if command -v compute-sanitizer >/dev/null 2>&1; then
    for tool in memcheck racecheck; do
        run compute-sanitizer --tool $tool --error-exitcode 1 "$bin/llfuse-bench" --target nvptx --set N=10007 --check --min-samples 1 --warmup 0
        run compute-sanitizer --tool $tool --error-exitcode 1 "$bin/random_pointwise" --count 50 --seed 7 --target nvptx
    done
else
    skipped=$((skipped + 1))
    echo "== SKIPPED: compute-sanitizer not found"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
