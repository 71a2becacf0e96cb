"""Files that cannot be read, folders that cannot be written, and working folders that are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .commands import COMMANDS, Command, checked, is_whole, old_outputs
from .signals import listing

AS_USER = {"no_override": True}  # root reads and writes everything else


@pytest.mark.parametrize(("name", "file"), [
    ("grads", "model.py"), ("render", "report.json"), ("run", "train.py"),
])  # fmt: skip
def test_a_file_without_permission_is_named(name, file, place):
    hidden = place.folder.parent / "hidden"  # what a test reads itself must be readable
    (place.folder / file).rename(hidden)
    (place.folder / file).symlink_to(hidden)
    hidden.chmod(0)
    outcome = checked(COMMANDS[name], replace(place, faults=AS_USER))
    assert outcome.status == 2
    assert outcome.error()[:2] == (f"cannot read {file}: Permission denied", file)


@pytest.mark.parametrize("name", ["check", "snapshot", "run"])
def test_files_without_permission_in_a_folder_without_it_are_kept(name, place):
    old_outputs(COMMANDS[name], place.folder)
    before = listing(place.folder)
    for file in COMMANDS[name].writes:
        (place.folder / file).chmod(0o444)
    place.folder.chmod(0o555)
    outcome = checked(COMMANDS[name], replace(place, faults=AS_USER))
    place.folder.chmod(0o755)
    assert listing(place.folder) == before
    assert outcome.status == 2
    assert outcome.error()[0] == f"cannot write {COMMANDS[name].writes[0]}: permission denied"


@pytest.mark.parametrize("name", ["check", "snapshot", "run"])
def test_files_with_permission_in_a_folder_without_it_are_overwritten(name, place):
    old_outputs(COMMANDS[name], place.folder)
    before = listing(place.folder)
    place.folder.chmod(0o555)
    outcome = checked(COMMANDS[name], replace(place, faults=AS_USER))
    place.folder.chmod(0o755)
    assert outcome.status in {0, 1}
    after = listing(place.folder)
    assert after.keys() == before.keys()
    assert {file for file in after if after[file] != before[file]} == {*COMMANDS[name].writes}
    assert all(is_whole(place.folder / file) for file in COMMANDS[name].writes)


def test_a_folder_that_cannot_be_entered_is_named(place):
    (place.folder / "inner").mkdir()
    (place.folder / "model.py").rename(place.folder / "inner" / "model.py")
    (place.folder / "inner").chmod(0o600)
    command = Command(("inspect", "inner/model.py"))
    outcome = checked(command, replace(place, faults=AS_USER))
    (place.folder / "inner").chmod(0o700)
    assert outcome.status == 2
    assert "inner/model.py" in outcome.error()[0]


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_a_command_in_a_folder_that_is_gone_is_refused(command, place):
    lost = place.folder / "lost"
    lost.mkdir()
    name = place.folder / ("train.py" if command == "run" else "model.py")
    there = replace(place, folder=lost, faults={"lost_folder": True})
    outcome = checked(Command((command, str(name))), there)
    assert outcome.status == 2
    assert outcome.error()[0] == "the working folder no longer exists"


REMOVES = "import os, shutil\nshutil.rmtree(os.getcwd())\n"


def new_folders(place):
    """A folder for outputs, and one for a command that its model or script removes."""
    folders = place.folder.parent / "outputs", place.folder / "lost"
    for folder in folders:
        folder.mkdir()
    return folders


def test_a_model_that_removes_the_working_folder_has_its_report(place):
    outputs, lost = new_folders(place)
    model = place.folder / "model.py"
    model.write_text(model.read_text() + REMOVES)
    arguments = ("grads", str(model), "-f", f"json={outputs}/out.json", "-f", "html=out.html")
    there = replace(place, folder=lost)
    outcome = checked(Command(arguments), there)
    assert outcome.status == 2
    assert outcome.error()[0].startswith("cannot write out.html: ")
    assert not list(outputs.iterdir())  # all outputs or none
    lost.mkdir()
    assert checked(Command(arguments[:4]), there).status == 0
    assert is_whole(outputs / "out.json")


def test_a_script_that_removes_the_working_folder_has_its_report(place):
    outputs, lost = new_folders(place)
    script = place.folder / "train.py"
    script.write_text(script.read_text() + REMOVES)
    command = Command(("run", "-f", f"json={outputs}/out.json", str(script)))
    outcome = checked(command, replace(place, folder=lost))
    assert outcome.status == 0
    assert is_whole(outputs / "out.json")
