"""Archives that readers may see differently, that expand without end, or with changed bytes."""

from __future__ import annotations

import io
import json
import logging
import random
import struct
import zipfile
import zlib
from dataclasses import replace

import pytest
import torch
from torch import nn

from hookcli.errors import HookcliError, ModelError
from hookcli.models import places
from hookcli.models.load import open_archive
from hookcli.models.sources.parse import Archive, parse_source
from hookcli.spec.request import ModelSpec
from tests.models import made

pytestmark = pytest.mark.filterwarnings("ignore")
CONFIG = "data/weights/model_weights_config.json"
SAMPLE = "data/sample_inputs/model.pt"
READ = (SAMPLE, "data/weights/weight_0", "models/model.json")  # each in its own way


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x):
        return self.fc(x) + self.shift + torch.tensor([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A healthy file of each kind."""
    folder = tmp_path_factory.mktemp("files")
    model = nn.Sequential(nn.Linear(4, 3))
    torch.save(model, folder / "pickled.pt")
    return {
        "exported": made.exported(folder / "m.pt2", Net(), torch.ones(3, 4)),
        "script": made.script(folder / "script.pt", model),
        "package": made.package(folder / "package.pt", {"model/model.pkl": model}),
        "pickled": folder / "pickled.pt",
    }


def opened(path, *, trust=False):
    """The model in a file, as the engine opens it."""
    spec = ModelSpec(str(path), trust=trust)
    named = parse_source(str(path))
    assert isinstance(named, Archive)
    return open_archive(replace(named, path=str(places.START / named.path)), spec, str)


def weights(loaded):
    return {name: value.tolist() for name, value in loaded.root.state_dict().items()}


def outcome(path, **more):
    """The weights that a file gives, or its error of three lines; anything else is a bug."""
    try:
        return weights(opened(path, **more))
    except HookcliError as error:
        assert error.message
        assert error.place
        assert error.hint
        return error


# What torch's reader and Python's may see differently


def written(path, members):
    """A zip of these members, in order; names may be alike."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def member_list(path):
    with zipfile.ZipFile(path) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def _with(members, name, data, *, first=False):
    return [(name, data), *members] if first else [*members, (name, data)]


def changed_names(name):
    """Other names that some reader takes for this one."""
    top, _, below = name.partition("/")
    folder, _, last = name.rpartition("/")
    return [
        name.upper(), f"{top}/{below.title()}", f"{top}/{below.upper()}",
        f"{top}/{below.replace('/s', '/S').replace('/w', '/W')}", f"{folder}/{last.upper()}",
        f"/{name}", f"./{name}", f"{folder}//{last}", f"{folder}/x/../{last}",
        name.replace("/", "\\"), f"{folder}\\{last}", f"{name}\0.txt", f"other/{name}",
        f"{name}/", f"{name} ", f"\ufeff{name}", name.replace("a", "\u0430"),
    ]  # fmt: skip


def archives(path, acting):
    """(what was done, members) for each member of an archive, with a pickle that acts."""
    members = member_list(path)
    for name, _ in members:
        yield f"{name} is a pickle", [(n, acting if n == name else d) for n, d in members]
        for first in (True, False):
            yield f"{name} twice", _with(members, name, acting, first=first)
        for other in changed_names(name) if name.endswith(READ) else ():
            yield f"{other!r} beside {name}", _with(members, other, acting)
            yield f"{other!r} for {name}", [(other if n == name else n, d) for n, d in members]
            renamed = [(n, d) for n, d in members if n != name]
            yield f"a pickle as {other!r}", _with(renamed, other, acting)
    top = members[0][0].partition("/")[0]
    for where in ("/evil", "/data/evil", "../evil", "../../evil", "evil", "weight_0\0", "./evil",
                  "opaque_obj_0", "custom_obj_0", "Opaque_obj_0"):  # fmt: skip
        for config in (CONFIG, CONFIG.replace("weights", "constants")):
            for pickled in (True, False):
                for inside in (acting, made.saved(torch.ones(3, 4))):
                    found = _listed(members, top, config, where, acting, pickled=pickled)
                    own = f"{top}/{config.rpartition('/')[0]}/{where}"
                    yield f"{config} names {where!r}", [*found, (own, inside)]


def _listed(members, top, config, where, acting, *, pickled):
    told = json.loads(dict(members)[f"{top}/{config}"])
    entry = next(iter(told["config"].values()), None)
    if entry is None:
        return members
    entry["path_name"], entry["use_pickle"] = where, pickled
    found = [(n, json.dumps(told).encode() if n == f"{top}/{config}" else d) for n, d in members]
    return [*found, *((f"{top}/{name}", acting) for name in (where, where.lstrip("/")))]


def test_no_member_of_a_pt2_gets_to_act(files, tmp_path):
    mark = tmp_path / "ran"
    path = tmp_path / "m.pt2"
    acting = made.saved({"a": made.Acts(mark)})
    tried = list(archives(files["exported"], acting))
    assert len(tried) > 200
    for what, members in tried:
        outcome(written(path, members))
        assert not mark.exists(), what
    for what, members in tried[:60]:  # a bare pickle
        bare = made.acting_pickle(mark)
        outcome(written(path, [(n, bare if d is acting else d) for n, d in members]))
        assert not mark.exists(), what


def headers(data, info):
    """Where a member's own header and its entry in the central directory begin."""
    name = info.filename.encode()
    at = data.index(b"PK\1\2")
    while data[at + 46 : at + 46 + len(name)] != name:
        at = data.index(b"PK\1\2", at + 4)
    return info.header_offset, at


def disagreeing(path, acting):
    """(what was done, bytes): a directory that says something else than the members."""
    members = member_list(path)
    top = members[0][0].partition("/")[0]
    sample = f"{top}/{SAMPLE}"
    buffer = io.BytesIO()
    hidden = f"{top}/data/sample_inputs/modeX.pt"
    written(buffer, _with(members, hidden, acting))
    data = buffer.getvalue()
    with zipfile.ZipFile(buffer) as archive:
        real, fake = archive.getinfo(sample), archive.getinfo(hidden)
    for info, name in ((fake, sample), (real, hidden)):
        for which in (0, 1):
            at = headers(data, info)[which] + (30, 46)[which]
            yield f"name in {which}", data[:at] + name.encode() + data[at + len(name) :]
    at = headers(data, real)[1]
    yield "offset", data[: at + 42] + struct.pack("<I", fake.header_offset) + data[at + 46 :]
    yield "size", data[: at + 20] + struct.pack("<II", 5, 5) + data[at + 28 :]
    yield "before", acting + data
    yield "behind", data + acting
    healthy = path.read_bytes()
    yield "two archives", healthy + data
    yield "two archives, the other way", data + healthy
    note = len(healthy).to_bytes(2, "little") if len(healthy) < 1 << 16 else b"\xff\xff"
    yield "in the comment", data[:-2] + note + healthy[: 1 << 16]
    yield "in a comment behind another", data[:-2] + b"\x16\0" + data[-22:]


def test_a_directory_that_lies_does_not_let_a_member_act(files, tmp_path):
    mark, path = tmp_path / "ran", tmp_path / "m.pt2"
    for what, data in disagreeing(files["exported"], made.saved({"a": made.Acts(mark)})):
        path.write_bytes(data)
        outcome(path)
        assert not mark.exists(), what


def test_a_file_that_is_swapped_after_the_check_does_not_get_to_act(files, tmp_path):
    from hookcli.models.exported.archive import open_program
    from hookcli.models.exported.screening.trust import safe_to_open

    mark, path = tmp_path / "ran", tmp_path / "m.pt2"
    healthy, acting = files["exported"].read_bytes(), made.saved({"a": made.Acts(mark)})
    path.write_bytes(healthy)
    with safe_to_open(path, trusted=False) as file:
        path.write_bytes((acting * (len(healthy) // len(acting) + 1))[: len(healthy)])
        with pytest.raises(ModelError):
            open_program(file, "m.pt2")
    assert not mark.exists()


def test_what_torch_reads_has_the_weights_of_the_file(files):
    loaded, expected = opened(files["exported"]), torch.export.load(files["exported"])
    assert weights(loaded) == {name: t.tolist() for name, t in expected.state_dict.items()}
    assert loaded.batch[1].args[0].tolist() == expected.example_inputs[0][0].tolist()


# Expansion


@pytest.mark.parametrize("kind", ["exported", "script", "package", "pickled"])
def test_an_archive_that_expands_without_end_is_refused_unread(kind, files, tmp_path):
    members, path = member_list(files[kind]), tmp_path / files[kind].name
    top = members[0][0].partition("/")[0]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(8)) + packer.flush()
    _add_lying(path, f"{top}/extra/bomb", packed, 1 << 34)
    error = outcome(path, trust=True)
    assert isinstance(error, ModelError)
    assert "expand" in error.message


def _add_lying(path, name, packed, size):
    """Add a member that says it would expand to `size` bytes."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, packed)
        info = archive.getinfo(name)
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, size
        info.extract_version = info.create_version = 45


# Changed bytes

MOST = 40  # of each kind of damage


def damaged(data, rng):
    """(what was done, bytes)."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        start = archive.start_dir
    structure = [*range(start, len(data))]
    for info in infos:
        structure += range(info.header_offset, info.header_offset + 30 + len(info.filename))
    for at in [*rng.sample(structure, MOST), *rng.sample(range(len(data)), MOST // 2)]:
        bit = 1 << rng.randrange(8)
        for mask in (bit, 0xFF):
            yield f"byte {at} ^ {mask}", data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
    for at in rng.sample(range(len(data)), MOST // 4):
        yield f"cut at {at}", data[:at]
        other, length = rng.randrange(len(data)), rng.randrange(1, 200)
        piece = data[other : other + length]
        yield f"{length} of {other} put in at {at}", data[:at] + piece + data[at:]
        yield f"{length} of {other} over {at}", data[:at] + piece + data[at + len(piece) :]
        yield f"{length} taken at {at}", data[:at] + data[at + length :]


@pytest.mark.parametrize("kind", ["exported", "script", "package", "pickled"])
def test_changed_bytes_give_an_error_or_the_right_model(kind, files, tmp_path):
    path = tmp_path / files[kind].name
    right = weights(opened(files[kind], trust=True))
    errors = 0
    for what, data in damaged(files[kind].read_bytes(), random.Random(kind)):
        path.write_bytes(data)
        found = outcome(path, trust=kind != "exported" or what.startswith("byte"))
        errors += isinstance(found, HookcliError)
        assert isinstance(found, HookcliError) or found == right, what
    assert errors > MOST


@pytest.mark.parametrize("kind", ["exported", "script"])
def test_a_member_of_other_content_is_no_bug_of_ours(kind, files, tmp_path):
    """With a right checksum, as one who writes the file anew has it."""
    rng, path = random.Random(kind), tmp_path / files[kind].name
    members = member_list(files[kind])
    for number, (_, data) in enumerate(members):
        for new in (b"", b"\0", data[: len(data) // 2], data + data, rng.randbytes(64)):
            changed = [(n, new if i == number else d) for i, (n, d) in enumerate(members)]
            outcome(written(path, changed))
        outcome(written(path, [one for i, one in enumerate(members) if i != number]))


# What torch wrote before 2.8


def legacy(path, **changes):
    """A program as torch 2.7 saved it: members at the top, tensors in pickles."""
    from torch._export.serde.serialize import serialize

    found = serialize(torch.export.export(Net(), (torch.ones(3, 4),)))
    members = {
        "version": ".".join(map(str, torch._export.serde.schema.SCHEMA_VERSION)).encode(),
        "serialized_exported_program.json": found.exported_program,
        "serialized_state_dict.pt": found.state_dict,
        "serialized_constants.pt": found.constants,
        "serialized_example_inputs.pt": found.example_inputs,
    }
    return written(path, {**members, **changes}.items())


def test_a_file_of_an_older_torch_is_opened_without_trust(tmp_path):
    path = legacy(tmp_path / "old.pt2")
    assert weights(opened(path)) == weights(opened(path, trust=True))


def test_no_member_of_an_older_file_gets_to_act(tmp_path):
    mark = tmp_path / "ran"
    acting = made.saved({"a": made.Acts(mark)})
    for name in ("state_dict", "constants", "example_inputs"):
        for end in ("pt", "json", "PT"):
            path = legacy(tmp_path / "old.pt2", **{f"serialized_{name}.{end}": acting})
            outcome(path)
            assert not mark.exists(), (name, end)
        outcome(legacy(tmp_path / "old.pt2", **{f"serialized_{name}.pt": acting}), trust=True)
        assert mark.exists()
        mark.rmdir()
