#!/bin/sh
# tests/readme.sh LLFUSE-BENCH: what README.md shows of one graph on its way is what llfuse-bench prints. The case, plan and
# explanation are compared whole; of an excerpt of code each line must stand in the output, in order, numbers of registers aside.
# Exit: 0 so it is, 1 not, 77 this build makes no PTX or has another LLVM than README's.
set -eu
bench=$1
cd "$(dirname "$0")/.."
case=bench/cases/mul_add_sigmoid.llf
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# The fenced block of README.md whose first line begins with $1.
block() {
    awk -v first="$1" '
        /^```/ { inside = !inside; n = 0; next }
        inside && !n++ { on = index($0, first) == 1 }
        inside && on' README.md
}
whole() { # what
    cmp -s "$tmp/shown" "$tmp/made" && return
    echo "README.md: $1 is not what there is:"
    diff "$tmp/shown" "$tmp/made" || true
    bad=1
}
excerpt() { # stage, first characters of the block
    block "$2" >"$tmp/shown"
    "$bench" --target nvptx:sm_90a --emit "$1" $case >"$tmp/made"
    awk -v stage="$1" '
        { plain = $0; gsub(/%[a-z]*[0-9]+/, "%", plain) }
        FNR == NR { if ($1 != "...") want[++n] = plain; next }
        at < n && plain == want[at + 1] { at++ }
        END {
            if (!n) print "README.md: no excerpt of " stage
            else if (at < n) print "README.md: " stage ": not there, or not in this order: " want[at + 1]
            exit !n || at < n
        }' "$tmp/shown" "$tmp/made" || bad=1
}

block '; sigmoid' >"$tmp/shown"
cp $case "$tmp/made"
whole "the case"
if ! "$bench" --target nvptx:sm_90a --emit ptx $case >"$tmp/made" 2>"$tmp/why"; then
    echo "SKIPPED: $(cat "$tmp/why")"
    exit $((bad ? 1 : 77))
fi
block '; set N' >"$tmp/shown"
"$bench" --target nvptx:sm_90a --emit plan $case >"$tmp/made"
whole "the plan"
block '$ llfuse-bench --target nvptx:sm_90a --explain' | sed 1d >"$tmp/shown"
"$bench" --target nvptx:sm_90a --explain $case >"$tmp/made"
whole "the explanation"
if "$bench" --target host --set N=8 --warm $case | grep -q 'LLVM 22\.'; then
    excerpt llvm '  %'
    excerpt ptx '	ld.global'
else
    echo "SKIPPED: README shows the code of LLVM 22"
    exit $((bad ? 1 : 77))
fi
[ $bad = 0 ] && echo "README shows what is made"
exit $bad
