"""The line of progress: its words, its width, and the terminal that it shares with the model."""

from __future__ import annotations

import os
import time
import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from hookcli.spec.request import Attempt, ModelSpec, Spec
from hookcli.worker.last_event import LastEvent, LastEventReader, LastEventWriter
from hookcli.worker.process import shared_memory
from hookcli.worker.progress.line import Running, line
from hookcli.worker.progress.screen import Screen
from hookcli.worker.protocol import Job
from tests.worker.running import LONG
from tests.worker.terminal import LINE, Terminal, seen

FAKE, REAL = Attempt("fake"), Attempt("real")
FALLBACK = Attempt("real", fallback="TypeError: no")
FOR_BATCH = Attempt("fake", for_batch=True)


def text_of(*events, attempt=REAL, steps=1, label="", seconds=0, width=200, encoding="utf-8"):
    workers = [Running(attempt, steps, lambda event=event: event) for event in events]
    return line(workers, label, seconds, width, encoding)


def at(phase, layer=None, step=0, doing=None):
    return LastEvent(phase, layer, None, None, step, doing)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (text_of(at("start"), attempt=FAKE), "importing torch"),
        (text_of(at("import"), attempt=FAKE, seconds=2), "importing the model, 2 s"),
        (text_of(at("build"), attempt=FAKE), "building the model, fake run"),
        (text_of(at("build"), attempt=FALLBACK),
         "building the model, real run as the fake run failed"),
        (text_of(at("inputs"), attempt=FOR_BATCH), "inferring the batch"),
        (text_of(at("inputs", doing="inferring the batch, trial 7"), attempt=FAKE),
         "inferring the batch, trial 7, fake run"),
        (text_of(at("forward", "a.b")), "forward: a.b"),
        (text_of(at("forward", "")), "forward"),
        (text_of(at("backward", "a.b", step=1), steps=5, seconds=63),
         "backward, step 2 of 5, 1 min 03 s: a.b"),
        (text_of(at("optimizer", step=4), steps=5), "optimizer step, step 5 of 5"),
        (text_of(at("report", step=4), steps=5), "writing the report"),
        (text_of(at("backward", "a", doing="probe for finite"), steps=2), "probe for finite"),
        (text_of(at("forward", "a"), label="B"), "B: forward: a"),
        (text_of(at("forward", "a"), at("forward", "b")), "forward, 2 ranks: a"),
        (text_of(at("backward", "a"), at("forward"), at("backward")),
         "backward, 2 of 3 ranks: a"),
        (text_of(at("a phase of tomorrow")), "a phase of tomorrow"),
    ],
)  # fmt: skip
def test_what_the_line_says(text, expected):
    assert text == expected


def test_of_a_long_name_the_end_is_shown():
    assert text_of(at("forward", "encoder.layers.11.attention"), width=25) == (
        "forward: …rs.11.attention"
    )
    assert text_of(at("forward", "encoder.layers.11"), width=20, encoding="ascii") == (
        "forward: ~.layers.11"
    )


names = st.text(max_size=300) | st.text("a.卷🔥e\u0301\u202e\x1b\n", max_size=300)


@given(names, st.integers(10, 100), st.sampled_from(["utf-8", "ascii", "latin-1"]), names)
def test_no_name_is_wider_than_the_terminal_or_gives_it_commands(name, width, encoding, doing):
    event = at("forward", name, doing=doing[:20] or None)
    text = text_of(event, width=width, encoding=encoding, seconds=100, steps=3)
    assert text.encode(encoding).decode(encoding) == text
    assert not any(unicodedata.category(letter) in {"Cc", "Zl", "Zp", "Cs"} for letter in text)
    wide = sum(2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1 for letter in text)
    assert wide <= width


@given(st.text(max_size=400), st.text(max_size=2000), st.text(max_size=2000), st.integers(0, 9))
def test_what_is_done_goes_through_the_memory_of_the_last_event(doing, layer, place, step):
    events, dump = shared_memory(), shared_memory()
    try:
        reader = LastEventReader(events, dump)
        LastEventWriter(events).write(LastEvent("backward", layer, 3, place, step, doing))
        last = reader.last()
        assert (last.phase, last.call, last.step) == ("backward", 3, step)
        short = doing.replace("\0", "")
        if len(short.encode("utf-8", "replace")) <= 100:
            assert (last.doing or "") == short.encode("utf-8", "replace").decode()
        LastEventWriter(events).write(LastEvent("forward", None, None, None, step, doing))
        assert reader.last().layer is None
    finally:
        os.close(events)
        os.close(dump)


# What a model may print; no byte of it is that of an escape, so that progress is told from it.
pieces = st.lists(st.text("ab\n\r é│", max_size=12).map(str.encode) | st.just(b"x" * 5000))


@pytest.fixture(scope="module")
def terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()


@settings(deadline=None, max_examples=30)
@given(pieces)
def test_every_byte_of_the_model_arrives_and_the_line_is_never_in_its_way(terminal, printed):
    terminal.data = b""
    screen = Screen(time.monotonic() - 9, "utf-8", terminal=terminal.slave, tick=0.0005)
    try:
        job = Job(Spec("inspect", ModelSpec("m.py")), REAL)
        leave = screen.follow(job, lambda: at("forward", "layer"))
        screen.shows = True
        for piece in printed:
            os.write(screen.slave, piece)
            time.sleep(0.002)
            terminal.read()
        until = time.monotonic() + LONG
        while b"".join(printed)[-1:] in b"\n" and not terminal.read().endswith(b"\x1b[K"):
            assert time.monotonic() < until
            time.sleep(0.001)
        screen.shows = False
        screen.settle()
        leave()
    finally:
        screen.close()
    data = terminal.read()
    model = b"".join(printed)
    if model and not model.endswith(b"\n"):
        model += b"\n"  # what follows begins on a new line
    assert terminal.rest == model
    assert seen(data) == seen(model)
    before = 0
    for match in LINE.finditer(data):
        between = data[before : match.start()]
        assert not between or between.endswith(b"\n"), data
        before = match.end()
