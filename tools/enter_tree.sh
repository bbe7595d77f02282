#!/bin/sh
# usage: enter_tree.sh TREE COMMAND [ARGUMENTS]
#
# Runs a command in the file system of another Linux: a folder made by mmdebstrap. It gets its own user, mount
# and process namespaces, which end all mounts and processes with the command; root is not needed. Inside, the
# checkout is /cwrapjit and read-only, /tmp is empty and in memory, and the environment is the caller's except
# for PATH, HOME and variables about this system.
#
# INTERPRETER=/usr/bin/qemu-aarch64-static runs a tree of arm64: the kernel starts each of its programs with
# this. It needs binfmt_misc in user namespaces (Linux 6.7), or the system's own for arm64.

set -eu

die()
{
    echo "$1" >&2
    exit 1
}

# ELF, 64 bits, little endian, a program or shared object, for machine 183.
MAGIC='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
MASK='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

# F opens the interpreter now, from outside the tree. P passes the program's own name, O lets the kernel open
# the program, C keeps its rights.
register()
{
    if mount -t binfmt_misc none "$tree/tmp" 2>/dev/null; then
        printf '%s' ":cwrapjit:M::$MAGIC:$MASK:$INTERPRETER:FPOC" >"$tree/tmp/register"
    elif ! cat /proc/sys/fs/binfmt_misc/*aarch64* 2>/dev/null | grep -q '^flags:.*F'; then
        die "this kernel has no binfmt_misc for a user namespace (Linux 6.7 has), and none for arm64 with flag F"
    fi
}

if [ "${1-}" != --inside ]; then
    [ $# -ge 2 ] || die "usage: enter_tree.sh TREE COMMAND [ARGUMENTS]"
    [ -d "$1" ] || die "no tree in $1"
    unshare --user --map-root-user --mount true 2>/dev/null ||
        die "this system allows no user namespaces (see sysctl user.max_user_namespaces)"
    exec unshare --user --map-root-user --mount --pid --fork --kill-child sh "$0" --inside "$@"
fi

shift
tree=$(cd "$1" && pwd)
shift
checkout=$(cd "$(dirname "$0")/.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
[ -z "${INTERPRETER:-}" ] || register
mkdir -p "$tree/proc" "$tree/dev" "$tree/cwrapjit" "$tree/var/cache/python"
mount --rbind /dev "$tree/dev"
mount -t proc proc "$tree/proc"
mount -t tmpfs -o mode=1777 tmpfs "$tree/tmp"
mount --bind "$checkout" "$tree/cwrapjit"
mount -o remount,bind,ro "$tree/cwrapjit"
chroot=$(command -v chroot)
unset INTERPRETER LD_LIBRARY_PATH LD_PRELOAD PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE VIRTUAL_ENV
unset CC CFLAGS LDFLAGS TMPDIR LANG
export PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 PYTHONPYCACHEPREFIX=/var/cache/python
"$chroot" "$tree" "$@" # not exec: signals do not kill the first process of a namespace
