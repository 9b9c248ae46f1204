#!/bin/sh
# tests/gpu.sh [BUILD]: the tests that need a GPU, on a machine with one, from a build that was made here (cmake --preset
# gpu) or carried; then memcheck and racecheck of compute-sanitizer. BUILD: a build folder (default build/gpu). Needs no
# compiler and no CMake: a carried BUILD holds bin/ and lib/ alone. LLFUSE_RANDOM_COUNT: random graphs (default 2000).
# The last line is "N passed, N failed, N skipped". Exit: 0 all passed, 1 something failed, 2 no build, 3 no GPU.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/gpu}
bin=$build/bin
count=${LLFUSE_RANDOM_COUNT:-2000}
passed=0 failed=0 skipped=0
[ -x "$bin/random_pointwise" ] || { echo "gpu.sh: no tests in $build; cmake --preset gpu && cmake --build --preset gpu" >&2; exit 2; }

code=0
"$bin/embed" nvptx || code=$?
[ $code != 3 ] || { echo "gpu.sh: no GPU here" >&2; exit 3; }

# run SKIP COMMAND...: SKIP is the exit code by which the command says that there is no device (0: it has none).
run() {
    none=$1
    shift
    echo "== $*"
    code=0
    start=$(date +%s)
    "$@" || code=$?
    if [ $code = 0 ]; then
        passed=$((passed + 1))
        echo "== passed ($(($(date +%s) - start)) s)"
    elif [ $code = "$none" ]; then
        skipped=$((skipped + 1))
        echo "== SKIPPED: $*: no GPU"
    else
        failed=$((failed + 1))
        echo "== FAILED, exit $code: $*"
    fi
}
golden() {
    log=$(mktemp)
    got=0
    "$bin/golden-runner" tests/golden >"$log" 2>&1 || got=$?
    grep -v '^PASS' "$log" || true
    inner=$(sed -n 's/.* failed, \([0-9]*\) skipped$/\1/p' "$log")
    skipped=$((skipped + ${inner:-0}))
    rm -f "$log"
    return $got
}
for t in "$bin"/gpu_*; do
    [ -x "$t" ] || continue
    run 77 "$t"
done
run 3 "$bin/embed" nvptx
run 0 golden # its nvptx checks skip themselves where there is no device
run 77 "$bin/random_pointwise" --count "$count" --seed 1 --parts 30 --target nvptx
run 77 "$bin/random_pointwise" --count "$count" --seed 500001 --views 40 --strides 40 --parts 30 --target nvptx
run 77 "$bin/random_pointwise" --count "$count" --seed 900001 --reduce 20 --views 30 --strides 30 --parts 20 --target nvptx
run 3 "$bin/llfuse-bench" --target nvptx --set N=100003,B=5,M=1001,V=5000,T=333 --check --warm
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ -x "$sanitizer" ]; then
    run 0 "$sanitizer" --tool memcheck --error-exitcode 1 "$bin/llfuse-bench" --target nvptx --set N=10007,B=3,M=77,H=7,W=9,C=24,S=5,V=300,T=50 --check --warm
    run 0 "$sanitizer" --tool memcheck --error-exitcode 1 "$bin/random_pointwise" --count 50 --seed 7 --target nvptx
    run 0 "$sanitizer" --tool memcheck --error-exitcode 1 "$bin/random_pointwise" --count 25 --seed 7 --views 40 --strides 60 --target nvptx
    # Only kernels with shared memory can race. Few graphs a process: racecheck (CUDA 13.0) loses track of launches
    # once some dozens of modules have come and gone, and then fails by itself.
    run 0 "$sanitizer" --tool racecheck --error-exitcode 1 "$bin/golden-runner" tests/golden/target tests/golden/view
    for seed in 11 12 13 14 15; do
        run 0 "$sanitizer" --tool racecheck --error-exitcode 1 "$bin/random_pointwise" --count 3 --seed $seed --views 80 --strides 40 --target nvptx
    done
else
    skipped=$((skipped + 1))
    echo "== SKIPPED: compute-sanitizer not found"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
