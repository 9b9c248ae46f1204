#!/bin/sh
# tests/docs.sh: what the documents name exists: `file.c:function`, `test_x:function`, llf_ and llfi_ names, links. It checks no
# prose. docs/ir.md has a test of its own (test_docs_ir). Exit: 0 all there, 1 something is missing.
set -eu
cd "$(dirname "$0")/.."
docs="README.md CONTRIBUTING.md docs/*.md"
bad=0
missing() { echo "$*"; bad=1; }

for name in $(grep -ohE '`[A-Za-z0-9_/.]+\.[ch]:[A-Za-z0-9_]+' $docs | tr -d '`' | sort -u); do
    file=${name%%:*} function=${name##*:}
    paths=$(find src passes -path "*/${file##*/}")
    [ "${file#*/}" = "$file" ] || paths=$file
    [ -n "$paths" ] && grep -qw "$function" $paths || missing "no $name"
done
for name in $(grep -ohE 'test_[a-z0-9_]+:[a-z0-9_]+' $docs | sort -u); do
    grep -qw "${name##*:}" "tests/unit/${name%%:*}.c" || missing "no $name"
done
# The how-tos make up a few names: llf*_square, llf*_SQUARE, llfi_heur_pairs.
for name in $(grep -ohE '\bllfi?_[A-Za-z0-9_]*[A-Za-z0-9]\b' $docs | sort -u | grep -viE '_square$|_pairs$'); do
    grep -rqE "\b${name}" include src passes || missing "no name $name"
done
for doc in $docs; do
    for link in $(grep -oE '\]\([^)#:]+' "$doc" | sed 's/](//'); do
        [ -e "$(dirname "$doc")/$link" ] || missing "$doc: no $link"
    done
done
[ $bad = 0 ] && echo "all that the documents name exists"
exit $bad
