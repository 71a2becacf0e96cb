"""Zip archives as hookcli reads and rebuilds them, held against `zipfile` and torch."""

from __future__ import annotations

import io
import os
import struct
import zipfile

import pytest
import torch

from hookcli.models.sources import rebuilt_zip
from hookcli.models.sources.pickle_scan import BoundedReader
from hookcli.models.sources.rebuilt_zip import Member, Part, rebuild
from hookcli.models.sources.zip_members import (
    below_top,
    check_expansion,
    member_named,
    part_of,
    unzipped,
    why_ambiguous,
)


def zipped(*members, compression=zipfile.ZIP_STORED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return data


# What is read


def test_a_healthy_archive_is_opened():
    with unzipped(zipped(("a/x", b"1"), ("a/y", b"22"))) as archive:
        assert archive.namelist() == ["a/x", "a/y"]
    with unzipped(zipped()) as archive:
        assert archive.namelist() == []


@pytest.mark.parametrize("before", [b"x", b"x" * 100])
def test_bytes_before_the_first_member_mean_that_the_end_is_missing(before):
    data = io.BytesIO(before + zipped(("a/x", b"1")).getvalue())
    with pytest.raises(zipfile.BadZipFile, match="its end is missing"), unzipped(data):
        pass


def test_members_that_share_bytes_are_refused():
    names = ("a/x", "a/y")
    whole = bytearray(zipped(*((name, b"same bytes") for name in names)).getvalue())
    second = whole.rindex(b"PK\1\2")
    struct.pack_into("<I", whole, second + 42, 0)  # the second is where the first is
    with (
        pytest.raises(zipfile.BadZipFile, match="its members overlap"),
        unzipped(io.BytesIO(whole)),
    ):
        pass


def test_a_member_may_not_reach_into_the_directory():
    whole = bytearray(zipped(("a/x", b"1"), ("a/y", bytes(100))).getvalue())
    at = whole.rindex(b"PK\1\2") + 20
    struct.pack_into("<II", whole, at, 103, 103)  # its name is also 3 bytes: they touch
    with unzipped(io.BytesIO(whole)):
        pass
    struct.pack_into("<II", whole, at, 104, 104)
    with pytest.raises(zipfile.BadZipFile, match="overlap"), unzipped(io.BytesIO(whole)):
        pass


MIB = 1 << 20


@pytest.mark.parametrize(
    ("size", "packed", "plausible"),
    [
        (64 * MIB, 1, True),  # as much as any source code is
        (64 * MIB + 1, 1, False),
        (100 * MIB, MIB, True),  # a hundred times
        (100 * MIB + 1, MIB, False),
    ],
)
def test_only_small_archives_may_expand_more_than_a_hundred_times(size, packed, plausible):
    archive = zipfile.ZipFile(zipped(("a/x", b"")), "r")
    [info] = archive.infolist()
    info.compress_type, info.file_size, info.compress_size = zipfile.ZIP_DEFLATED, size, packed
    if plausible:
        check_expansion(archive)
        return
    with pytest.raises(zipfile.BadZipFile, match="times, to") as caught:
        check_expansion(archive)
    assert f"{size // packed:,} times, to {size:,} bytes" in str(caught.value)


def test_members_that_are_not_compressed_do_not_expand():
    archive = zipfile.ZipFile(zipped(("a/x", b"")), "r")
    archive.infolist()[0].file_size = 1 << 40
    check_expansion(archive)


def test_an_archive_that_expands_from_nothing_is_refused():
    archive = zipfile.ZipFile(zipped(("a/x", b"")), "r")
    [info] = archive.infolist()
    info.compress_type, info.file_size, info.compress_size = zipfile.ZIP_DEFLATED, 1 << 40, 0
    with pytest.raises(zipfile.BadZipFile, match=f"expand {1 << 40:,} times"):
        check_expansion(archive)


@pytest.mark.parametrize(
    ("names", "reasons"),
    [
        (["a/x", "a/y/z"], []),
        (["a/x", "a/X"], ["it contains a/X twice"]),
        (["a/x", "b/x"], ["it contains more than one top-level folder"]),
        (["a/x\n"], ["invalid member name: 'a/x\\n'"]),
        (["a\\x"], ["invalid member name: 'a\\\\x'"]),
        (["a//x"], ["invalid member path: 'a//x'"]),
        (["a/./x"], ["invalid member path: 'a/./x'"]),
        (["a/../x"], ["invalid member path: 'a/../x'"]),
        (["a/x/"], []),
        (["a/" + "x" * 70 + "\n"], [f"invalid member name: 'a/{'x' * 58}'"]),
        (["a/./" + "x" * 70], [f"invalid member path: 'a/./{'x' * 56}'"]),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_readers_may_see_differently_have_a_reason(names, reasons):
    with zipfile.ZipFile(zipped(*((name, b"") for name in names))) as archive:
        assert [*why_ambiguous(archive, one_folder=True)] == reasons
        without = [reason for reason in reasons if "folder" not in reason]
        assert [*why_ambiguous(archive, one_folder=False)] == without


def test_a_name_that_zipfile_cuts_at_a_null_is_ambiguous():
    data = zipped(("a/x!b", b"")).getvalue().replace(b"a/x!b", b"a/x\0b")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["a/x"]
        assert [*why_ambiguous(archive, one_folder=True)] == ["invalid member name: 'a/x\\x00b'"]


def test_the_position_of_a_member_is_that_of_its_bytes():
    data = zipped(("a/x", b"first"), ("a/longer name", b"second one"))
    with zipfile.ZipFile(data) as archive:
        for info in archive.infolist():
            part = part_of(archive, info)
            there = data.getvalue()[part.offset : part.offset + part.size]
            assert there == archive.read(info)
            assert part.crc == info.CRC


def test_a_compressed_member_has_no_position():
    data = zipped(("a/x", bytes(100)), compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(data) as archive:
        assert part_of(archive, archive.infolist()[0]) is None


def test_a_member_whose_sizes_differ_has_none_either():
    with zipfile.ZipFile(zipped(("a/x", b"12345"))) as archive:
        info = archive.infolist()[0]
        info.compress_size = 4
        with pytest.raises(zipfile.BadZipFile, match="the size of a/x differs"):
            part_of(archive, info)


def test_a_member_that_has_another_name_in_its_own_header_has_none_either():
    data = zipped(("a/x", b"12345")).getvalue().replace(b"a/x", b"a/y", 1)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["a/x"]
        with pytest.raises(zipfile.BadZipFile, match="differ"):
            part_of(archive, archive.infolist()[0])


def test_a_member_is_found_below_the_folder_of_the_archive():
    assert below_top("m/data/x") == "data/x"
    with zipfile.ZipFile(zipped(("m/a", b""), ("m/data/x", b""), ("n/data/x", b""))) as archive:
        assert member_named(archive, "data/x") == "m/data/x"
        with pytest.raises(ValueError, match=r"^x not found in the archive$"):
            member_named(archive, "x")


# What is built


@pytest.fixture
def parts(tmp_path):
    """A file, its descriptor, and a part of it."""
    path = tmp_path / "whole"
    path.write_bytes(b"before" + bytes(range(200)) + b"after")
    with path.open("rb") as file:
        yield file, Part(6, 200, zipfile.crc32(bytes(range(200))))


def test_a_rebuilt_archive_has_the_members_in_their_order(parts):
    file, part = parts
    wanted = {"m/a": b"one", "m/empty": b"", "m/ü": bytes(range(200)), "m/last": b"x" * 1000}
    members = [Member(name, part if name == "m/ü" else data) for name, data in wanted.items()]
    with zipfile.ZipFile(rebuild(members, file.fileno())) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == wanted
        assert archive.namelist() == list(wanted)
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.file_size == info.compress_size == len(wanted[info.filename])
            assert info.date_time == (1980, 1, 1, 0, 0, 0)


def test_torch_reads_a_rebuilt_archive(tmp_path):
    value = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(100_000)}
    path = tmp_path / "x.pt"
    torch.save(value, path)
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        members = [
            Member(info.filename, part_of(archive, info) or archive.read(info))
            for info in archive.infolist()
        ]
        found = torch.load(rebuild(members, file.fileno()), weights_only=True)
    assert found.keys() == value.keys()
    assert all(found[key].equal(value[key]) for key in value)


def test_an_archive_of_many_members_is_read_by_its_64_bit_count(parts):
    members = [Member(f"m/{number}", b"") for number in range(0x10000)]
    built = rebuild(members, parts[0].fileno())
    built.seek(-22, os.SEEK_END)
    assert struct.unpack_from("<2H", built.read(), 8) == (0xFFFF, 0xFFFF)  # see the 64-bit record
    with zipfile.ZipFile(built) as archive:
        assert len(archive.namelist()) == 0x10000


def test_the_records_at_the_end_are_those_of_the_specification(parts):
    """APPNOTE.TXT of PKWARE, 4.3.14 to 4.3.16."""
    names = ("m/a", "m/bc")
    whole = rebuild([Member(name, b"12345") for name in names], parts[0].fileno()).read()
    heads = [30 + len(name) + 20 for name in names]  # with the 64-bit sizes
    start = sum(heads) + 2 * 5
    directory = sum(46 + len(name) + 28 for name in names)
    assert whole[start : start + 4] == b"PK\1\2"
    at = start + directory
    assert struct.unpack_from("<4sQHHIIQQQQ", whole, at) == (
        b"PK\6\6", 44, 45, 45, 0, 0, 2, 2, directory, start,
    )  # fmt: skip
    assert struct.unpack_from("<4sIQI", whole, at + 56) == (b"PK\6\7", 0, at, 1)
    everything = 0xFFFFFFFF
    assert struct.unpack_from("<4s4H2IH", whole, at + 76) == (
        b"PK\5\6", 0, 0, 2, 2, everything, everything, 0,
    )  # fmt: skip
    assert len(whole) == at + 98
    flags, method, time, date, *_ = struct.unpack_from("<4H", whole, 6)
    assert (flags, method, time, date) == (0x800, 0, 0, 0x21)  # UTF-8, stored, 1980-01-01
    assert struct.unpack_from("<HHQQ", whole, 30 + len(names[0])) == (1, 16, 5, 5)  # 4.5.3
    disk_and_attributes = struct.unpack_from("<2HI", whole, start + 34)
    assert disk_and_attributes == (0, 0, 0)


def test_an_archive_is_read_like_a_file(parts):
    file, part = parts
    built = rebuild([Member("m/a", b"one"), Member("m/b", part)], file.fileno())
    whole = built.read()
    assert (built.readable(), built.seekable(), built.tell()) == (True, True, len(whole))
    raw, twin = built.detach(), io.BytesIO(whole)
    moves = [(5, os.SEEK_SET), (3, os.SEEK_CUR), (-7, os.SEEK_END), (0, os.SEEK_SET),
             (9, os.SEEK_END), (-4, os.SEEK_CUR), (len(whole), os.SEEK_SET)]  # fmt: skip
    for offset, whence in moves:
        assert raw.seek(offset, whence) == twin.seek(offset, whence) == raw.tell()
        assert raw.read(3) == twin.read(3)
    for at in range(len(whole)):
        raw.seek(at)
        found = raw.read(50)
        assert found  # a range may end here
        assert whole[at : at + len(found)] == found
    with pytest.raises(ValueError, match="before the start"):
        raw.seek(-1)
    raw.seek(0)
    assert raw.tell() == 0


@pytest.mark.parametrize("lacking", [(), ("preadv",), ("preadv", "pread")])
def test_parts_are_read_on_every_system(parts, lacking, monkeypatch):
    for name in lacking:
        monkeypatch.delattr(rebuilt_zip.os, name)
    file, part = parts
    with zipfile.ZipFile(rebuild([Member("m/b", part)], file.fileno())) as archive:
        assert archive.read("m/b") == bytes(range(200))


def test_a_file_that_became_shorter_ends_the_part_early(parts, tmp_path):
    file, part = parts
    os.truncate(tmp_path / "whole", 100)
    with (
        zipfile.ZipFile(rebuild([Member("m/b", part)], file.fileno())) as archive,
        pytest.raises((zipfile.BadZipFile, EOFError)),
    ):
        archive.read("m/b")


# Lengths that a file declares


def test_short_arguments_are_read_as_they_are():
    reader = BoundedReader(io.BytesIO(b"abcdef"))
    assert reader.read(2) == b"ab"
    assert reader.tell() == 2
    assert reader.read(10) == b"cdef"


@pytest.mark.parametrize(("left", "whole"), [(MIB + 1, True), (MIB, False), (0, False)])
def test_a_long_argument_is_skipped_if_the_file_has_it(left, whole):
    file = io.BytesIO(b"ab" + bytes(left) + b"yz"[: 2 * whole])
    reader = BoundedReader(file)
    reader.read(2)
    skipped = reader.read(MIB + 1)
    assert bytes(skipped) == b""
    assert len(skipped) == (MIB + 1 if whole else 0)
    if whole:
        assert reader.read(2) == b"yz"


def test_the_longest_argument_that_is_read_has_a_mebibyte():
    reader = BoundedReader(io.BytesIO(b"x" * MIB))
    assert bytes(reader.read(MIB)) == b"x" * MIB


@pytest.mark.parametrize("length", [1 << 62, 1 << 70])
def test_a_length_that_no_file_has_is_no_argument(length, tmp_path):
    path = tmp_path / "short"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        assert BoundedReader(file).read(length) == b""


def test_of_a_long_line_only_the_beginning_is_read():
    reader = BoundedReader(io.BytesIO(b"a\n" + b"x" * (MIB + 5)))
    assert reader.readline() == b"a\n"
    assert len(reader.readline()) == MIB
    assert len(reader.readline()) == 5
