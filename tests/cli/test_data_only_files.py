"""--data-only: what a stranger's configuration may write, and what errors show of other files."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.torch import load_file

from hookcli.actions.event import Event
from hookcli.actions.observe import save
from hookcli.actions.tools import Tools
from hookcli.config.load import read_config
from hookcli.errors import ProblemsError, RequestError
from hookcli.models import places
from hookcli.spec.working_folder import parts_below

SECRET = "token: 8c1f-secret"
HOOK = "hooks:\n  - {{kind: forward, at: fc, do: {{save: {}}}}}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with ways out of it, beside a folder that is not to be touched."""
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (outside / "secret.yaml").write_text(f"{SECRET}\n")
    (home / "real").mkdir()
    (home / "link").symlink_to(outside)
    (home / "real" / "up").symlink_to(outside)
    (home / "inner").symlink_to(home / "real")
    (home / "file").write_text("kept")
    os.mkfifo(home / "fifo")
    monkeypatch.chdir(home)
    monkeypatch.setattr(places, "START", home)
    return home


def tools(**more):
    return Tools("c.yaml:2", 0, lambda _: None, lambda _: None, print, lambda *_: print, **more)


def event(target="fc", value=None, seq=0):
    value = torch.ones(2) if value is None else value
    return Event("forward", target, 0, 0, "forward", None, seq, None, value, lambda v: (v,))


def problems(text, *, code=lambda _: None):
    Path("c.yaml").write_text(text)
    try:
        read_config("c.yaml", code=code)
    except ProblemsError as error:
        return list(error.problems)
    except RequestError as error:
        return [error]
    return []


def snapshot(folder):
    return sorted(
        (str(path), path.lstat().st_ino, path.is_symlink() or path.is_dir() or path.read_bytes())
        for path in folder.rglob("*")
        if not path.is_fifo()
    )


_SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
parts = st.sampled_from(
    ["..", ".", "a", "b", "link", "inner", "real", "up", "file", "fifo", "kept", ""]
)
roots = st.sampled_from(["", "{home}/", "{outside}/", "/"])


@given(roots, st.lists(parts, min_size=1, max_size=5).map("/".join))
@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200
)
def test_save_writes_below_the_working_folder_or_not_at_all(folder, root, path):
    outside = folder.parent / "outside"
    named = root.format(home=folder, outside=outside) + path
    if named.startswith("/") and parts_below(folder.parent, named) is None:
        named = f"{outside}/{path}"  # never the machine's own folders
    told = problems(HOOK.format(f'"{named}"'))
    before = snapshot(outside)
    try:
        save(named, tools(data_only=True))(event())
    except RequestError as error:
        assert error.message.startswith("--data-only does not allow")
        assert error.place == "c.yaml:2"
        assert told or "overwriting" in error.message
    else:
        assert not told or not named  # an empty name is refused for itself
    assert snapshot(outside) == before
    assert (folder / "file").read_text() == "kept"
    assert (folder / "link").is_symlink()


def test_where_it_may_not_write_is_told_before_the_run_with_its_line(folder):
    ways = ("../outside", str(folder.parent / "outside"), "link/x", "real/up", "file", "fifo/x")
    for way in ways:
        (told,) = problems(HOOK.format(way))
        assert told.message.startswith(f"--data-only does not allow writing to {way}: ")
        assert told.place.startswith("c.yaml:2: hooks[0].do.save  |  ")
        read_config("c.yaml")  # without the flag it is the user's own


def test_nothing_that_is_there_is_written_over(folder):
    do = save("taps", tools(data_only=True))
    do(event())
    (file,) = (folder / "taps").iterdir()
    with pytest.raises(RequestError, match=r"does not allow overwriting .*/0000000"):
        save("taps", tools(data_only=True))(event(value=torch.zeros(2)))
    assert load_file(file)["value"].tolist() == [1, 1]
    do(event(value=torch.zeros(2)))  # a batch that did not fit was tried before by this very run
    assert load_file(file)["value"].tolist() == [0, 0]
    file.unlink()
    file.symlink_to(folder / "file")
    with pytest.raises(RequestError, match="does not allow overwriting"):
        do(event())
    assert (folder / "file").read_text() == "kept"


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(folder):
    do = save("taps/a", tools(data_only=True))
    (folder / "taps").rename(folder / "moved")
    (folder / "taps").symlink_to(folder.parent / "outside")
    do(event())
    assert len(list((folder / "moved" / "a").iterdir())) == 1
    assert sorted(p.name for p in (folder.parent / "outside").iterdir()) == ["kept", "secret.yaml"]


def test_the_default_folder_is_not_followed_either(folder):
    (folder / "hookcli-saved").symlink_to(folder.parent / "outside")
    with pytest.raises(RequestError, match="hookcli-saved is a symbolic link"):
        save(None, tools(data_only=True))


_COUNT = itertools.count()
hostile = st.text(
    st.one_of(st.sampled_from("./\\-\0\n~$\x1b"), st.characters(codec=None)), max_size=300
)


@given(st.lists(hostile, min_size=1, max_size=3), hostile, st.booleans())
@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100
)
def test_names_of_layers_and_values_do_not_lead_out_of_the_folder(folder, targets, key, confined):
    with_names = folder / f"names{next(_COUNT)}"
    do = save(str(with_names), tools(data_only=confined))
    before = snapshot(folder.parent / "outside")
    for seq, target in enumerate(targets):
        value = {key: torch.ones(1), "__metadata__": torch.ones(1), f".{key}": torch.ones(1)}
        do(event(target, value, seq=seq))
    for file in with_names.iterdir():
        assert file.suffix == ".safetensors"
        assert len(load_file(file)) == 3
    assert snapshot(folder.parent / "outside") == before


def test_ranks_do_not_write_over_each_other(folder):
    for rank in (0, 1):
        save("taps", tools(data_only=True, rank=rank))(event("x" * 500))
    assert len(list((folder / "taps").iterdir())) == 2


def test_errors_show_no_file_from_elsewhere(folder):
    (folder / ".git").mkdir()
    (folder / ".git" / "config.yaml").write_text(f"{SECRET}\n")
    (folder / "notes.txt").write_text(f"{SECRET}\n")
    (folder / "way.yaml").symlink_to(folder.parent / "outside" / "secret.yaml")
    ways = ("../outside/secret.yaml", "link/secret.yaml", "way.yaml", ".git/config.yaml",
            "notes.txt")  # fmt: skip
    kinds = (SECRET, f"  {SECRET}: x: y", f"model: [{SECRET}", f"\t{SECRET}", f"{SECRET}\0",
             f"hooks: {SECRET}", f"run: {{mode: {SECRET}}}", f"extends: {SECRET}")  # fmt: skip
    for way, text in itertools.product(ways, kinds):
        (folder / way).write_text(f"{text}\n{text}\n")
        told = problems(f"extends: {way}\n")
        (one,) = told
        assert "8c1f" not in one.message + one.place + one.hint
        assert one.place == way
        assert any("8c1f" in one.message + one.place for one in all_problems("c.yaml"))


def all_problems(path):
    with pytest.raises(RequestError) as caught:
        read_config(path)
    error = caught.value
    return error.problems if isinstance(error, ProblemsError) else (error,)


def test_a_base_in_the_folder_is_told_with_its_line(folder):
    (folder / "base.yaml").write_text("colour: red\n")
    (one,) = problems("extends: base.yaml\n")
    assert one.place == "base.yaml:1: colour  |  colour: red"


def test_hints_name_no_files_of_other_folders(folder):
    (folder.parent / "outside" / "id_rsa.pt").write_text("x")
    (one,) = problems("model: {source: m.pt2, weights: ../outside/id_rs.pt}\n")[-1:]
    assert "id_rsa" not in one.hint
    assert any("id_rsa" in one.hint for one in all_problems("c.yaml"))


def test_what_the_kernel_makes_up_is_no_file(folder):
    (folder / "batch.pt").symlink_to("/proc/self/environ")
    (one,) = problems("inputs: [batch.pt]\n")
    assert one.message == "batch.pt is not a file on a disk"


@pytest.mark.parametrize("command", ["check", "snapshot", "inspect", "diff"])
def test_every_command_that_takes_the_flag_keeps_to_it(folder, command, cli):
    (folder / "net.py").write_text("from torch import nn\nmodel = nn.Linear(2, 2)\n")
    (folder / "c.yaml").write_text("extends: ../outside/secret.yaml\n")
    sides = ("net.py", "c.yaml") if command == "diff" else ("net.py", "-c", "c.yaml")
    done = cli(command, *sides, "--data-only", cwd=folder)
    assert done.status == 2
    assert "8c1f" not in done.out + done.err


def test_a_saved_report_is_judged_by_it_too(folder, cli):
    (folder / "c.yaml").write_text("extends: ../outside/secret.yaml\n")
    (folder / "report.json").write_text("{}")
    done = cli("check", "-c", "c.yaml", "--against", "report.json", "--data-only", cwd=folder)
    assert done.status == 2
    assert "8c1f" not in done.out + done.err


def test_the_run_ends_with_three_lines_where_a_file_is_there_already(folder, cli):
    (folder / "net.py").write_text("from torch import nn\nmodel = nn.Linear(2, 2)\n")
    (folder / "c.yaml").write_text('hooks:\n  - {kind: forward, at: "", do: {save: taps}}\n')
    command = ("trace", "net.py", "-i", "2x2", "-c", "c.yaml", "--data-only")
    assert cli(*command, cwd=folder).status == 0
    again = cli(*command, cwd=folder)
    message, place, hint = again.error()
    assert (again.status, place) == (2, "c.yaml:2: hooks[0].do")
    assert message.startswith("--data-only does not allow overwriting ")
    assert hint.startswith("remove ")
