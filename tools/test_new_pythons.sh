#!/bin/sh
# usage: test_new_pythons.sh [PYTEST ARGUMENTS]
#
# Runs the test suite on CPython 3.14 and 3.15 of Debian unstable, with its gcc, clang and glibc, in a small
# tree (.tree-unstable, about 2 GB) made once by mmdebstrap, which is entered by chroot in its own mount and
# process namespaces. Mounts and processes there end with this script; nothing is installed outside the tree.
# A part of the suite runs again on the newest Python, with clang for the package and as the system's
# compiler.
#
# PYTHONS="3.15"   only these
# EVERY=12         every twelfth test
# TESTS="tests/test_x.py -k name"   only these, and nothing with clang
# CLANG=no         nothing with clang; CLANG=only: nothing else
# MIRROR=URL       of Debian, instead of mmdebstrap's own choice
#
# It needs mmdebstrap, the network, and root or user namespaces with subordinate ids (uidmap). rm -r
# .tree-unstable (make clean) makes a new tree.

set -eu
cd "$(dirname "$0")/.."
root=$(pwd -P)
tree=$root/.tree-unstable
environments=/opt/environments # in the tree

pythons="3.14 3.15"
packages="ca-certificates gcc g++ libc6-dev make git gfortran clang libclang-rt-dev strace locales valgrind
libc6-dbg graphviz libgsl-dev zlib1g-dev libbz2-dev libpng-dev libjpeg-dev libsqlite3-dev libfftw3-dev libproj-dev
libcfitsio-dev libnlopt-dev libgeos-dev liblapacke-dev libsuitesparse-dev libsundials-dev"
for version in $pythons; do
    packages="$packages python$version python$version-venv python$version-dev"
done

# Tests that depend on the system's compiler, or on its messages.
of_clang="tiers/test_tiers tiers/test_same_bits tiers/test_mathematics tiers/test_sooner_hot
graph/test_graph_tiers tinyjit/test_tinyjit_c release/test_versions"

fail()
{
    echo "test_new_pythons.sh: $*" >&2
    exit 1
}

# ---- outside --------------------------------------------------------------------------------------

# Ending this script also ends the processes in the tree.
inside=
trap 'kill -KILL $inside 2>/dev/null; exit 1' HUP INT TERM

namespaces()
{
    unshare --mount --pid --fork --kill-child --propagation private "$@" &
    inside=$!
    wait "$inside"
}

# Root in a user namespace is enough, with several ids, as Debian's packages have several owners.
become_root()
{
    [ "$(id -u)" != 0 ] || return 0
    unshare --user --map-root-user --map-auto true 2>/dev/null ||
        fail "needs root, or user namespaces with subordinate ids (Debian: apt install uidmap, and lines for" \
            "$(id -un) in /etc/subuid and /etc/subgid)"
    exec unshare --user --map-root-user --map-auto sh "$root/tools/test_new_pythons.sh" "$@"
}

check_prerequisites()
{
    command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed (Debian: apt install mmdebstrap)"
    command -v unshare >/dev/null || fail "unshare is not installed (Debian: apt install util-linux)"
    [ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || fail "needs Linux on x86-64"
}

make_tree()
{
    [ "$(cat "$tree/.packages" 2>/dev/null)" != "$packages" ] || return 0
    echo "== making $tree"
    rm -rf --one-file-system "$tree"
    # The release file of an outdated mirror has expired. Manuals are not needed, and the tree can be made
    # again after a crash of the machine.
    # shellcheck disable=SC2086
    namespaces mmdebstrap --quiet --mode=root --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/javascript/*' \
        --include="$(echo $packages | tr ' ' ,)" unstable "$tree" ${MIRROR:-} ||
        fail "mmdebstrap could not make a tree of Debian unstable: what apt says above tells whether the" \
            "network is missing, a package, or the right to mount"
    echo "$packages" >"$tree/.packages"
}

# ---- inside the namespaces, before chroot ----------------------------------------------------------

mount_here() # path: mounts the same path in the tree, read-only
{
    if [ -d "$1" ]; then
        mkdir -p "$tree$1"
    else
        mkdir -p "$(dirname "$tree$1")"
        [ -e "$tree$1" ] || : >"$tree$1"
    fi
    mount --bind "$1" "$tree$1"
    mount -o remount,bind,ro "$tree$1" 2>/dev/null || true # other flags may be locked in a user namespace
}

# Lists existing files and folders of pip's settings and of certificates: PIP_... and pip.conf. The files of
# an index are next to its folder `simple`.
paths_of_pip()
{
    files="/etc/pip.conf $HOME/.pip/pip.conf ${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf ${PIP_CONFIG_FILE:-}"
    # shellcheck disable=SC2086
    {
        env | grep -E '^((PIP|UV)_[A-Z_]*|[A-Z_]*(CERT|CERTS|CA_BUNDLE|CAINFO)[A-Z_]*)=' | cut -d= -f2-
        cat $files 2>/dev/null || true
        echo $files /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt
    } | sed 's,file://\(/[^ ]*\)/simple/*,\1,g' | grep -oE "/[^][ ,\"'=]+" | sed 's,^//*,/,' | sort -u | while read -r path; do
        [ ! -e "$path" ] || echo "$path"
    done
}

mount_tree()
{
    mount -t proc proc "$tree/proc"
    mount --rbind /dev "$tree/dev"
    mount -t tmpfs tmpfs "$tree/dev/shm"
    mount --rbind /sys "$tree/sys"
    mount -t tmpfs tmpfs "$tree/tmp"
    unset PIP_CACHE_DIR UV_CACHE_DIR # wheels built here need this glibc: the tree has its own cache
    for path in $(paths_of_pip); do
        mount_here "$path"
    done
    mkdir -p "$tree$root" "$tree$environments" "$tree$HOME"
    mount --bind "$root" "$tree$root"
    # A worktree of git has its repository elsewhere.
    repository=$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null || echo "$root/.git")
    case $repository in
    "$root"/*) ;;
    *) mount_here "$repository" ;;
    esac
}

in_tree() # NAME=VALUE... COMMAND...
{
    chroot "$tree" env -u PYTHONPATH -u PYTHONHOME -u VIRTUAL_ENV -u LD_LIBRARY_PATH -u LD_PRELOAD \
        -u MAKEFLAGS -u MAKELEVEL -u CC -u CFLAGS -u CWRAPJIT_CC TMPDIR=/tmp LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin VENVS="$environments" \
        CWRAPJIT_NO_SKIPS="${CWRAPJIT_NO_SKIPS:-1}" "$@"
}

run_suites()
{
    status=0
    if [ "${CLANG:-}" != only ]; then
        in_tree PYTHONS="$pythons" sh "$root/tools/test_pythons.sh" "$@" || status=1
    fi
    if [ "${CLANG:-}" != no ] && [ -z "${TESTS:-}" ]; then
        echo "== built by clang, and clang as the system's compiler"
        in_tree PYTHONS="${pythons##* }" CC=clang CWRAPJIT_CC=clang \
            TESTS="$(for each in $of_clang; do echo "tests/$each.py"; done)" \
            CWRAPJIT_RESULTS_PART="the cc tier" \
            sh "$root/tools/test_pythons.sh" "$@" || status=1
    fi
    return $status
}

# ----------------------------------------------------------------------------------------------------

pythons=${PYTHONS:-$pythons}
if [ "${1:-}" = --inside ]; then
    shift
    mount_tree
    run_suites "$@"
else
    check_prerequisites
    become_root "$@"
    make_tree
    namespaces sh "$root/tools/test_new_pythons.sh" --inside "$@"
fi
