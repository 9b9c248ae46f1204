#!/bin/sh
# Twice the nodes take at most 2.5 times the instructions, in every stage before LLVM, for every kind of graph.
# Counted by callgrind, so no clock decides. Takes minutes, so it is run by hand; test_passes_linear goes by medians.
# Fewer nodes than 4000 do not fill kernels, and filling them is not linear. count.sh COUNT [NODES]; 77: no valgrind.
set -eu
count=$1
nodes=${2:-4000}
if ! command -v valgrind > /dev/null; then
    echo "SKIP: no valgrind"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
valgrind --tool=callgrind --callgrind-out-file="$dir/out" --dump-before=lap \
    "$count" all "$nodes" host > "$dir/laps" 2> "$dir/log" || {
    cat "$dir/log"
    exit 1
}
# Dump i ends where lap i begins: its total is what came before.
i=1
while read -r kind views n stage ms; do
    echo "$kind $views $n $stage $(awk '$1 == "totals:" || $1 == "summary:" { t = $2 } END { print t + 0 }' "$dir/out.$i")"
    i=$((i + 1))
done < "$dir/laps" > "$dir/table"
# Below 100,000 instructions a stage has done nothing that grows.
awk -v nodes="$nodes" '
    $3 == nodes { small[$1 " " $2 " " $4] = $5; next }
    {
        key = $1 " " $2 " " $4
        checked++
        ratio = small[key] ? $5 / small[key] : 0
        if (ratio > worst) { worst = ratio; at = key }
        if ($5 > 2.5 * small[key] + 100000) { printf "FAIL %s: %d and %d instructions\n", key, small[key], $5; bad = 1 }
    }
    END {
        printf "%d stages, at most %.2f times the instructions for twice the nodes (%s)\n", checked, worst, at
        exit bad || checked < 50
    }' "$dir/table"
