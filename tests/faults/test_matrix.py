"""Every command in every state that a process inherits; a rotation of those that run a model."""

from __future__ import annotations

import pytest

from . import matrix
from .matrix import (
    CHEAP,
    COMMANDS,
    MODEL,
    STATES,
    commands_for,
    judged,
    place_for,
    run_forked as run,
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return how a command ends in no special state, which is run once."""
    known = {}

    def outcome(name):
        if name not in known:
            known[name] = run(COMMANDS[name], place_for(tmp_path_factory.mktemp(name) / "plain"))
            assert known[name].status == COMMANDS[name].status, known[name].err
        return known[name]

    return outcome


@pytest.mark.parametrize(("number", "label"), list(enumerate(STATES)), ids=list(STATES))
def test_a_command_copes_with_what_it_inherits(number, label, plain, tmp_path):
    state = STATES[label]
    if reason := state.why_not():
        pytest.skip(reason)
    found = [
        f"{name}: {problem}"
        for name in commands_for(number)
        for problem in judged(name, state, tmp_path / name, run, plain(name))
    ]
    assert not found, "\n".join(found)


def test_the_rotation_covers_each_command_and_each_state():
    from hookcli.cli.commands import COMMANDS as ALL

    rest = set(ALL) - {"ask", "follow"}  # of a training that runs: see tests/cli/following
    assert set(COMMANDS) == rest
    assert {name for i in range(len(STATES)) for name in commands_for(i)} == rest
    assert set(CHEAP).isdisjoint(MODEL)


@pytest.mark.parametrize(
    ("outcome", "problem"),
    [
        ((0, "another", ""), "another stdout"),
        ((3, "", "no lines"), "not status 0"),
        ((0, "text", "Traceback (most recent call last):"), "Traceback on stderr"),
        ((141, "text", ""), "not status 0"),
    ],
)
def test_the_laws_find_what_they_look_for(outcome, problem, tmp_path):
    found = judged(
        "list", matrix.State(), tmp_path, lambda *_: matrix.Outcome(*outcome),
        matrix.Outcome(0, "text", ""),
    )  # fmt: skip
    assert any(line.startswith(problem) for line in found)


def test_the_laws_find_what_is_left(tmp_path):
    def leave(_command, place):
        (place.temporary / "hookcli-x").mkdir()
        (place.folder / "model.py").write_text("changed")
        return matrix.Outcome(0, "text", "")

    found = judged("list", matrix.State(), tmp_path, leave, matrix.Outcome(0, "text", ""))
    assert [line.partition(":")[0] for line in found] == [
        "model.py was changed, made or removed",
        "hookcli-x is left in TMPDIR",
    ]
