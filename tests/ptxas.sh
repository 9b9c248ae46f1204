#!/bin/sh
# tests/ptxas.sh [BUILD]: ptxas, as an independent judge, takes every PTX we make for sm_75, sm_80 and sm_90a without
# spills or stack: all bench cases and all golden graphs (heuristics greedy and none), 50 random graphs of each of five mixes (all
# heuristics; LLFUSE_PTXAS_COUNT graphs when set) and llfuse-bench's own kernels. Prints the registers of each case.
# Needs ptxas, no GPU. What was judged stays in BUILD/ptxas, each FILE.ptx beside ptxas's words, FILE.ptx.log.
# Exit: 0 all taken, 1 something refused, spilled or not compiled (named), 2 ptxas or the build is missing.
set -eu
cd "$(dirname "$0")/.."

# ---- one worker: ARCH FILE...
if [ "${1:-}" = --judge ]; then
    shift
    for f; do
        arch=${f#"$FOLDER"/}
        "$PTXAS" -arch="${arch%%/*}" -v -o /dev/null "$f" >"$f.log" 2>&1 || echo "ptxas: exit $?" >>"$f.log"
    done
    exit 0
fi
# ---- one worker: FOLDER GRAPH HEURISTIC of one compile each
if [ "${1:-}" = --compile ]; then
    arch=${2#"$FOLDER"/}
    mkdir -p "$2"
    LLF_DUMP_DIR=$2 "$BIN/llfuse-opt" "$3" --target "nvptx:${arch%%/*}" --heuristic "$4" --emit ptx >/dev/null 2>"$2/error" ||
        echo "$3 for ${arch%%/*}, heuristic $4: $(cat "$2/error")" >>"$FOLDER/not-compiled"
    exit 0
fi

build=${1:-build/ci}
BIN=$build/bin
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
FOLDER=$build/ptxas
export BIN PTXAS FOLDER
[ -x "$PTXAS" ] || { echo "ptxas.sh: no ptxas" >&2; exit 2; }
[ -x "$BIN/llfuse-opt" ] && [ -x "$BIN/random_pointwise" ] || { echo "ptxas.sh: $build is not built" >&2; exit 2; }
jobs=$(nproc 2>/dev/null || echo 2)
rm -rf "$FOLDER"
mkdir -p "$FOLDER"

# ---- the PTX
for arch in sm_75 sm_80 sm_90a; do
    for heuristic in greedy none; do
        for f in bench/cases/*.llf; do
            echo "$FOLDER/$arch/case/$(basename "$f" .llf)-$heuristic $f $heuristic"
        done
        for f in $(git ls-files 'tests/golden/*.llf' | grep -v '^tests/golden/errors/'); do
            echo "$FOLDER/$arch/golden/$(echo "${f#tests/golden/}" | tr / -)-$heuristic $f $heuristic"
        done
    done
    mkdir -p "$FOLDER/$arch/random"
    for mix in "--views 0" "--views 40" "--views 40 --strides 60" "--views 40 --parts 60" "--views 20 --reduce 30"; do
        "$BIN/random_pointwise" --emit-ptx "$FOLDER/$arch/random" --count "${LLFUSE_PTXAS_COUNT:-50}" --seed 1 \
            $mix --target nvptx:$arch --threads "$jobs" >"$FOLDER/random.log" 2>&1 || {
            cat "$FOLDER/random.log" >&2
            echo "random graphs ($mix) for $arch" >>"$FOLDER/not-compiled"
        }
    done
done >"$FOLDER/compiles"
xargs -P "$jobs" -n 3 sh "$0" --compile <"$FOLDER/compiles"
mkdir -p "$FOLDER/sm_90a/bench" # written for sm_90, as llfuse-bench does for every 9.x device
"$BIN/test_bench_ceiling" "$FOLDER/sm_90a/bench" >/dev/null 2>&1 || echo "test_bench_ceiling" >>"$FOLDER/not-compiled"

# ---- the judge: a kernel's name ends in the hash of what it does, so that one name is judged once per architecture.
find "$FOLDER" -name '*.ptx' | sort >"$FOLDER/files"
awk -F/ '{ split(substr($0, length(folder) + 2), p, "/") } !((p[1], $NF) in had) { had[p[1], $NF]; print }' folder="$FOLDER" \
    "$FOLDER/files" >"$FOLDER/judged"
xargs -P "$jobs" -n 8 sh "$0" --judge <"$FOLDER/judged"

# ---- the verdict. libdevice's f64 reduction of huge arguments keeps five words on the stack, in a branch hardly ever
# taken.
awk -v folder="$FOLDER" '
    function is_slow(ptx,   line, slow) {
        while ((getline line < ptx) > 0) if (line ~ /call.*__internal_trig_reduction_slowpathd/) slow = 1
        close(ptx)
        return slow
    }
    function judge(ptx,   log_, why, seen, w, i, r) {
        log_ = ptx ".log"
        while ((getline < log_) > 0) {
            if ($0 ~ /bytes stack frame/) {
                seen = 1
                if ($5 != 0 || $9 != 0) why = "spills " $5 " bytes, reloads " $9
                else if ($1 != 0 && is_slow(ptx)) frames++
                else if ($1 != 0) why = "has a stack frame of " $1 " bytes"
            } else if ($0 ~ /^ptxas: exit|^ptxas .*(error|fatal)/ && why == "") why = $0
            for (i = 1; i < NF; i++) if ($i == "Used" && $(i + 2) ~ /^registers/) r = $(i + 1)
        }
        close(log_)
        if (why == "" && !seen) why = "ptxas did not say what the kernel uses"
        if (why != "") { bad++; print "FAILED " ptx ": " why }
        return r
    }
    {
        split(substr($0, length(folder) + 2), p, "/") # ARCH/case/CASE/NAME.ptx
        n = split($0, all, "/")
    }
    FNR == NR { judged++; regs[p[1], all[n]] = judge($0); next }
    p[2] == "case" {
        r = regs[p[1], all[n]]
        if (!(p[3] in most)) { most[p[3]]; order[++cases] = p[3] }
        if (r > worst[p[3], p[1]]) worst[p[3], p[1]] = r
        kernels[p[3], p[1]]++
    }
    END {
        printf "%-34s %8s %8s %8s %8s\n", "registers (the most of a case)", "kernels", "sm_75", "sm_80", "sm_90a"
        for (i = 1; i <= cases; i++) {
            k = order[i]
            printf "%-34s %8d %8d %8d %8d\n", k, kernels[k, "sm_90a"], worst[k, "sm_75"], worst[k, "sm_80"], worst[k, "sm_90a"]
        }
        printf "%d distinct kernels taken by ptxas, %d not; %d use the stack for the f64 reduction of sin and cos\n", judged - bad, bad, frames
        exit bad > 0
    }' "$FOLDER/judged" "$FOLDER/files" && ok=1 || ok=0
if [ -s "$FOLDER/not-compiled" ]; then
    cat "$FOLDER/not-compiled"
    ok=0
fi
# Nothing judged is nothing shown.
[ "$(wc -l <"$FOLDER/judged")" -ge 500 ] || { echo "only $(wc -l <"$FOLDER/judged") distinct kernels were made"; ok=0; }
[ $ok = 1 ]
