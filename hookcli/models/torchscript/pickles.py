"""Check the pickles of a TorchScript file before torch reads them.

torch allocates what a pickle declares before it looks at what the file contains: 32 bytes for each
number up to the largest of the memo, and all bytes of a string. A file of a few kilobytes would
take all memory.
"""

from __future__ import annotations

import re
import zipfile

_PICKLES = (".pkl", ".debug_pkl")
_RUN = re.compile(  # opcodes whose arguments have a fixed length, or are two lines
    rb"(?:[\])(\x88\x89Nt\x85-\x87}eal0ds\x81bRQu1]|[\x80qKh].|M..|[Jj].{4}|G.{8}"
    rb"|c[^\n]*\n[^\n]*\n){1,1000}",
    re.DOTALL,
)
_PUT = ord("r")  # LONG_BINPUT: a number of the memo in four bytes
_LENGTHS = {  # the size of the length before the bytes of an argument
    ord("U"): 1,  # SHORT_BINSTRING
    ord("C"): 1,  # SHORT_BINBYTES
    0x8A: 1,  # LONG1
    0x8C: 1,  # SHORT_BINUNICODE
    ord("T"): 4,  # BINSTRING
    ord("B"): 4,  # BINBYTES
    ord("X"): 4,  # BINUNICODE
    0x8B: 4,  # LONG4
    0x8D: 8,  # BINUNICODE8
    0x8E: 8,  # BINBYTES8
}


def check_pickles(archive: zipfile.ZipFile) -> None:
    """Check that no pickle of the archive declares more than it contains.

    Raises
    ------
    ValueError : one does; the message names it.
    """
    for member in archive.infolist():
        if member.filename.endswith(_PICKLES):
            excess = excess_of(archive.read(member))
            if excess is not None:
                raise ValueError(f"{member.filename} declares {excess}")


def excess_of(pickle: bytes) -> str | None:
    """Return what a pickle declares beyond its own size, or None.

    Opcodes that torch's own reader does not know end the search: torch refuses them itself.
    """
    at = 0
    while at < len(pickle):
        if run := _RUN.match(pickle, at):
            at = run.end()
            continue
        opcode, at = pickle[at], at + 1
        if opcode == _PUT:
            number = int.from_bytes(pickle[at : at + 4], "little")
            if number > len(pickle):
                return f"{number:,} entries in {len(pickle):,} bytes"
            at += 4
        elif opcode in _LENGTHS:
            size = _LENGTHS[opcode]
            length = int.from_bytes(pickle[at : at + size], "little")
            at += size + length
            if at > len(pickle):
                return f"a string of {length:,} bytes in {len(pickle):,} bytes"
        else:
            return None
    return None
