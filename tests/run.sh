#!/bin/sh
# tests/run.sh [--quick]: everything that can be tested without a GPU, from a clean clone, in under 25 minutes on two
# cores: format, warnings as errors, unit, golden and random-graph tests, every PTX through ptxas, sanitizers, the
# parser's fuzzer. Installs what is missing. What this machine cannot run is skipped loudly and counted.
#   --quick   only the first preset (ci), with fewer random graphs: for the edit-test loop
# Exit: 0 all passed, 1 something failed.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
setup_packages tests

quick=0
[ "${1:-}" = "--quick" ] && quick=1
jobs=$(nproc 2>/dev/null || echo 2)
passed=0 failed=0 skipped=0
failures="" skips=""

# step NAME COMMAND...: runs, counts, keeps going, so that one failure does not hide another.
step() {
    name=$1
    shift
    start=$(date +%s)
    echo "== $name"
    if "$@"; then
        passed=$((passed + 1))
        echo "== $name: passed ($(($(date +%s) - start)) s)"
    else
        failed=$((failed + 1))
        failures="$failures
  $name"
        echo "== $name: FAILED ($(($(date +%s) - start)) s)"
    fi
}
skip() {
    skipped=$((skipped + 1))
    skips="$skips
  $1: $2"
    echo "== $1: SKIPPED: $2"
}
build() {
    cmake --preset "$1" >build-"$1".log 2>&1 && cmake --build --preset "$1" -j"$jobs" >>build-"$1".log 2>&1 && rm -f build-"$1".log && return 0
    cat build-"$1".log
    rm -f build-"$1".log
    return 1
}
check() { # preset, ctest arguments
    preset=$1
    shift
    ctest --test-dir build/"$preset" --output-on-failure -j"$jobs" "$@"
}
format() {
    git ls-files '*.c' '*.h' | xargs "$CLANG_FORMAT" --dry-run -Werror
}
release() {
    build release && build/release/bin/llfuse-bench --list >/dev/null && sh tests/symbols.sh build/release/lib/libllfuse.so
}

if CLANG_FORMAT=$(command -v clang-format-14); then
    export CLANG_FORMAT
    step "format" format
else
    skip "format" "clang-format 14 not found (the reference version)"
fi

step "ci: build, warnings are errors" build ci
if [ $quick = 1 ]; then
    LLFUSE_RANDOM_COUNT=500 step "ci: tests" check ci -L nogpu
else
    step "ci: tests" check ci -L nogpu
    step "asan-ubsan: build" build asan-ubsan
    LLFUSE_RANDOM_COUNT=300 step "asan-ubsan: tests" check asan-ubsan -L nogpu -LE slow
    step "tsan: build" build tsan
    LLFUSE_RANDOM_COUNT=100 step "tsan: runtime tests" check tsan -L nogpu -R 'runtime|random|target_host' -LE slow
    if command -v clang >/dev/null 2>&1; then
        step "fuzz: build" build fuzz
        step "fuzz: parser, 60 s" sh tests/fuzz/run_parse.sh build/fuzz 60
    else
        skip "fuzz" "clang not found (libFuzzer)"
    fi
    step "release: static LLVM, exported symbols" release
fi
if command -v ptxas >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/ptxas ]; then
    step "ptxas: every case and op, sm_75 sm_80 sm_90a, no spills" sh tests/ptxas.sh build/ci
else
    skip "ptxas" "no CUDA toolkit on this machine"
fi
if [ -e /dev/nvidia0 ]; then
    step "gpu" sh tests/gpu.sh build/ci
else
    skip "gpu tests" "no GPU here; run tests/gpu.sh where there is one"
fi

[ -n "$skips" ] && echo "skipped:$skips"
[ -n "$failures" ] && echo "failed:$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
