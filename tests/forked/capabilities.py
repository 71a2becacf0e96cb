"""Rights of root that a process gives up, so that what the system refuses users can be tested."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

OVERRIDE = (1, 2, 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_KEEP, _DROP_BOUNDING = 8, 24  # PR_SET_KEEPCAPS, PR_CAPBSET_DROP
_LAST = 40
_NEW_MOUNTS, _PRIVATE = 0x20000, (1 << 18) | (1 << 14)  # CLONE_NEWNS; MS_PRIVATE | MS_REC


def keep_only(wanted: Callable[[int], bool]) -> None:
    """Give up all rights but these, for programs that are started too. Users have none to give."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(_LAST + 1):
        if not wanted(number):
            libc.prctl(_DROP_BOUNDING, number, 0, 0, 0)
    head = (ctypes.c_uint32 * 2)(_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()  # twice: effective, permitted, inheritable
    if libc.capget(head, data) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for number in range(_LAST + 1):
        half, bit = divmod(number, 32)
        if not wanted(number):
            data[3 * half] &= ~(1 << bit)
            data[3 * half + 1] &= ~(1 << bit)
        elif data[3 * half + 1] & (1 << bit):
            data[3 * half] |= 1 << bit
        data[3 * half + 2] = 0
    if libc.capset(head, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def become(user: int) -> None:
    """Become another user, for whom limits of processes hold, but who still reads root's files."""
    ctypes.CDLL(None).prctl(_KEEP, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    keep_only(lambda number: number in OVERRIDE)


def without_null() -> None:
    """Hide /dev/null from this process and those that it starts, as some containers lack it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS) != 0 or libc.mount(b"none", b"/", None, _PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    kept = {name: os.open(f"/dev/{name}", os.O_RDWR) for name in ("zero", "full", "urandom")}
    if libc.mount(b"tmpfs", b"/dev", b"tmpfs", 0, b"mode=755") != 0:
        raise OSError(ctypes.get_errno(), "mount")
    for name, fd in kept.items():
        os.mknod(f"/dev/{name}", os.fstat(fd).st_mode, os.fstat(fd).st_rdev)
        os.close(fd)
    os.symlink("/proc/self/fd", "/dev/fd")  # noqa: PTH211
    os.mkdir("/dev/shm")  # noqa: PTH102
