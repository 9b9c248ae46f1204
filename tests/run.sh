#!/bin/sh
# tests/run.sh [--quick]: everything that can be tested without a GPU, from a clean clone, in under 25 minutes on two
# cores: format, warnings as errors, unit, golden and random-graph tests (20,000 graphs with views, 2,000 pointwise, 600
# under 2,400 random plans: tests/fuzz/CMakeLists.txt), every PTX through ptxas, a build without a CUDA
# toolkit, sanitizers, the parser's fuzzer, the release library. Installs what is missing. What this machine cannot run
# is skipped loudly and counted; a skip inside a test counts too.
#   --quick   only the first preset (ci), with fewer random graphs: for the edit-test loop
# The last line counts tests and steps: "N passed, N failed, N skipped". Exit: 0 nothing failed, 1 something did.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
setup_packages tests

quick=0
case "$*" in
"") ;;
--quick) quick=1 ;;
*) echo "usage: tests/run.sh [--quick]" >&2; exit 2 ;;
esac
jobs=$(nproc 2>/dev/null || echo 2)
passed=0 failed=0 skipped=0
failures="" skips="" times=""
began=$(date +%s)

# step NAME COMMAND...: runs, counts, keeps going, so that one failure does not hide another. A command that counts for
# itself says how many passed in $inner.
step() {
    name=$1
    shift
    inner=1
    start=$(date +%s)
    echo "== $name"
    if "$@"; then
        verdict=passed
        passed=$((passed + inner))
    else
        verdict=FAILED
        failed=$((failed + 1))
        failures="$failures
  $name"
    fi
    took=$(($(date +%s) - start))
    times="$times
$(printf '  %5d s  %s' $took "$name")"
    echo "== $name: $verdict ($took s)"
}
skip() { # name, why, how many
    skipped=$((skipped + ${3:-1}))
    skips="$skips
  $1: $2"
    echo "== $1: SKIPPED: $2"
}
configure() { # preset, further arguments
    preset=$1
    shift
    mkdir -p build
    cmake --preset "$preset" "$@" >build/"$preset".log 2>&1 || { cat build/"$preset".log; return 1; }
}
build() { # preset, further arguments of the build
    preset=$1
    shift
    configure "$preset" || return 1
    cmake --build --preset "$preset" -j"$jobs" "$@" >>build/"$preset".log 2>&1 || { cat build/"$preset".log; return 1; }
}

# Skips inside tests, from ctest's log: "TEST<tab>COUNT<tab>WHY". Golden files say "SKIP file: why"; the rest "SKIPPED:
# why", beside or instead of cmocka's own skip().
inner_skips() {
    awk '
        function flush_test(   n, w) {
            n = cmocka > said ? cmocka : said
            if (n) print test "\t" n "\t" (why == "" ? "no reason given" : why)
            for (w in golden) print test "\t" golden[w] "\t" w
            split("", golden); cmocka = said = 0; why = ""
        }
        /^[0-9]+\/[0-9]+ Testing: / { flush_test(); test = $3 }
        /^SKIP [^:]*: / && test !~ /^golden_refused/ { w = $0; sub(/^SKIP [^:]*: /, "", w); golden[w]++ }
        /^SKIPPED: / { said++; why = substr($0, 10) }
        /^\[ *SKIPPED *\] [0-9]+ test/ { sub(/^[^0-9]*/, ""); cmocka += $1 }
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ && test !~ /^golden/ && $5 > 0 { said += $5; why = "of the random graphs" }
        END { flush_test() }' "$1"
}
# Runs tests of a preset; counts those that passed; leaves the skips inside them in build/PRESET.skips.
run_tests() { # preset, random graphs, ctest arguments
    preset=$1
    count=$2
    shift 2
    code=0
    LLFUSE_RANDOM_COUNT=$count ctest --test-dir build/"$preset" --output-on-failure --no-tests=error -j"$jobs" "$@" >build/"$preset".tests 2>&1 || code=1
    grep -vE '^ *Start +[0-9]+:|^Internal ctest' build/"$preset".tests || true
    inner_skips build/"$preset"/Testing/Temporary/LastTest.log >build/"$preset".skips
    inner=$(grep -c ' Passed ' build/"$preset".tests || true)
    return $code
}
count_skips() { # preset; one line a reason
    [ -f build/"$1".skips ] || return 0
    awk -F'\t' '
        !($3 in n) { order[++reasons] = $3 }
        { n[$3] += $2; tests[$3] = tests[$3] " " $1 }
        END { for (i = 1; i <= reasons; i++) print n[order[i]] "\t" tests[order[i]] "\t" order[i] }' \
        build/"$1".skips >build/"$1".reasons
    while IFS='	' read -r n tests why; do
        skip "$1:$tests" "$n checks: $why" "$n"
    done <build/"$1".reasons
}
# Builds and tests; nothing stale is tested when the build fails.
check() {
    step "$1: build" build "$1"
    if [ $verdict = FAILED ]; then
        failures="$failures
  $1: tests: not built"
        failed=$((failed + 1))
        return 0
    fi
    step "$1: tests" run_tests "$@"
    count_skips "$1"
}

format() {
    git ls-files '*.c' '*.h' | xargs "$CLANG_FORMAT" --dry-run -Werror
}
# The CPU target alone: configured with a warning, complete otherwise; what is about PTX is skipped aloud.
no_cuda() {
    build no-cuda || return 1
    grep -q 'building the CPU target alone' build/no-cuda.log || { echo "configuring gave no warning"; return 1; }
    build/no-cuda/bin/llfuse-bench --target nvptx --set N=8 --case add_relu && return 1
    build/no-cuda/bin/llfuse-bench --target host --set N=1000 --warm --check >/dev/null || return 1
    run_tests no-cuda 100 -L nogpu -R 'nvptx|cuda|golden|random|lower|runtime_host|target_host$|bench_cases|embed' || return 1
    n=$(awk -F'\t' '/toolkit/ { n += $2 } END { print n + 0 }' build/no-cuda.skips)
    echo "$n checks were skipped for want of a toolkit, as they must be here"
    [ "$n" -gt 0 ]
}
sanitizers() {
    check asan-ubsan 300 -L nogpu -E passes_linear # which is about time
    check tsan 50 -L nogpu -R 'runtime|cuda_fake|random_(pointwise|views)|target_host$|embed'
}
# The product as it ships: LLVM inside, llf_* and nothing else outside, and it works.
release() {
    build release && sh tests/symbols.sh build/release/lib/libllfuse.so && build/release/bin/embed &&
        build/release/bin/llfuse-bench --list >/dev/null &&
        build/release/bin/llfuse-bench --target host --set N=1000 --warm --check && sizes
}
sizes() {
    bytes=$(stat -L -c %s build/release/lib/libllfuse.so)
    stripped=$(mktemp)
    strip -o "$stripped" build/release/lib/libllfuse.so
    echo "libllfuse.so: $((bytes / 1048576)) MiB, stripped $(($(stat -c %s "$stripped") / 1048576)) MiB"
    small=$(stat -c %s "$stripped")
    rm -f "$stripped"
    [ "$small" -lt $((80 * 1048576)) ] || { echo "that is more than 80 MiB"; return 1; }
}

if CLANG_FORMAT=$(command -v clang-format-14); then
    step "format" format
else
    skip "format" "clang-format 14 not found (the reference version)"
fi
if [ $quick = 1 ]; then
    check ci 500 -L nogpu
    skip "ptxas, no-cuda, asan-ubsan, tsan, fuzz, release" "--quick" 6
else
    check ci 20000 -L nogpu
    if ! grep -q 'building the CPU target alone' build/ci.log && { command -v ptxas || [ -x /usr/local/cuda/bin/ptxas ]; } >/dev/null 2>&1; then
        step "ptxas: every case and golden graph, 250 random ones, sm_75 sm_80 sm_90a, no spills" sh tests/ptxas.sh build/ci
    else
        skip "ptxas" "no CUDA toolkit on this machine"
    fi
    step "no-cuda: build and tests without a CUDA toolkit" no_cuda
    sanitizers
    if command -v clang >/dev/null 2>&1; then
        step "fuzz: build" build fuzz --target fuzz_parse
        step "fuzz: parser, 60 s" sh tests/fuzz/run_parse.sh build/fuzz 60
    else
        skip "fuzz" "clang not found (libFuzzer)"
    fi
    step "release: static LLVM, exported symbols, size" release
fi
if [ -e /dev/nvidia0 ]; then
    step "gpu: build" build gpu
    step "gpu: tests" sh tests/gpu.sh build/gpu
else
    skip "gpu tests" "no GPU here; run tests/gpu.sh where there is one"
fi

echo "times:$times
  $(printf '%5d' $(($(date +%s) - began))) s  in all"
[ -z "$skips" ] || echo "skipped:$skips"
[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
