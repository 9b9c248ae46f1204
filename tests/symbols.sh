#!/bin/sh
# tests/symbols.sh LIBRARY: the product exports llf_* and nothing else, and needs only libc and libm.
set -eu
bad=$(nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | grep -v '^llf_' || true)
[ -z "$bad" ] || { echo "exported, but not llf_*: $bad"; exit 1; }
[ "$(nm -D --defined-only "$1" | grep -c ' T llf_')" -gt 30 ] || { echo "hardly anything is exported"; exit 1; }
bad=$(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libdl|librt|libpthread|ld-linux.*)\.so' || true)
[ -z "$bad" ] || { echo "needs at run time: $bad"; exit 1; }
echo "$1 exports llf_* only"
