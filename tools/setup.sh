#!/bin/sh
# setup.sh [tests]: makes sure that what llfuse needs to build, and with `tests` to be tested, is here, on Debian or
# Ubuntu. It calls apt-get only when something is really missing, so that it works again at once, and without a network,
# when everything is there. Run it, or source it and call `setup_packages [tests]`: 0 all there, 1 with a message.

setup_have() { command -v "$1" >/dev/null 2>&1; }

# Newest usable LLVM, 22 to 19, whose C headers are here.
setup_llvm() {
    for v in 22 21 20 19; do
        for c in "llvm-config-$v" "/usr/lib/llvm-$v/bin/llvm-config"; do
            if setup_have "$c" && [ -f "$("$c" --includedir)/llvm-c/Core.h" ]; then
                echo "$v"
                return 0
            fi
        done
    done
    return 1
}

# A header that the C compiler finds.
setup_header() { echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1; }

# Version of cmake at least 3.25.
setup_cmake() {
    setup_have cmake || return 1
    v=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    [ "${v% *}" -gt 3 ] || { [ "${v% *}" -eq 3 ] && [ "${v#* }" -ge 25 ]; }
}

# Names of packages that are missing, one a line; a name with "llvm" stands for the newest one there is.
setup_missing() {
    setup_have cc && setup_have c++ || printf '%s\n' gcc g++
    setup_cmake || echo cmake
    setup_have ninja || echo ninja-build
    setup_llvm >/dev/null || echo llvm
    if setup_have cc; then
        setup_header zlib.h || echo zlib1g-dev
        setup_header zstd.h || echo libzstd-dev
    else
        printf '%s\n' libc6-dev zlib1g-dev libzstd-dev
    fi
    if [ "${1-}" = tests ]; then
        setup_have pkg-config || echo pkg-config
        { setup_have pkg-config && pkg-config --exists cmocka; } || echo libcmocka-dev
        setup_have clang || echo clang
        setup_have git || echo git
    fi
}

setup_newest_llvm() {
    for v in 22 21 20 19; do
        if apt-cache show "llvm-$v-dev" >/dev/null 2>&1; then
            echo "llvm-$v-dev"
            return 0
        fi
    done
    return 1
}

setup_packages() {
    missing=$(setup_missing "$@" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    if ! setup_have apt-get; then
        echo "setup: missing: $missing; there is no apt-get here, please install them by hand" >&2
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: missing: $missing; run as root, or install them by hand" >&2
        return 1
    fi
    echo "setup: installing: $missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    if ! apt-get update -q >&2; then
        echo "setup: apt-get update failed; trying with the lists that are here" >&2
    fi
    packages=
    for p in $missing; do
        if [ "$p" = llvm ]; then
            p=$(setup_newest_llvm) || {
                echo "setup: no package llvm-22-dev to llvm-19-dev in this machine's package lists;" \
                    "add a source that has one (apt.llvm.org, or Debian's backports) or install LLVM by hand" >&2
                return 1
            }
        fi
        packages="$packages $p"
    done
    # shellcheck disable=SC2086 # a list of names
    apt-get install -q -y --no-install-recommends $packages >&2 || {
        echo "setup: apt-get could not install:$packages" >&2
        return 1
    }
    left=$(setup_missing "$@" | tr '\n' ' ')
    if [ -n "$left" ]; then
        echo "setup: still missing after installing: $left" >&2
        return 1
    fi
}

case ${0##*/} in
setup.sh)
    set -eu
    setup_packages "$@"
    ;;
esac
