#!/bin/sh
# tests/fuzz/run_parse.sh BUILD SECONDS: fuzzes the parser from the seeds in corpus/. What it finds stays in BUILD/found
# and seeds the next run; a crashing input is copied to BUILD and named in the output. Exit: that of the fuzzer.
set -eu
[ $# = 2 ] || { echo "usage: run_parse.sh BUILD SECONDS" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/found"
exec "$1/bin/fuzz_parse" -max_total_time="$2" -max_len=4096 -timeout=10 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$1/" "$1/found" "$here/corpus"
