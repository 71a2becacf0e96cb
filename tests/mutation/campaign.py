"""Runs tests on mutants: pytest imports and collects once, then each mutant is a fork.

A first fork runs all tests on code that marks its statements, which tells the tests that reach a
statement. A mutant's fork runs these tests, and ends at the first that fails.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from mmap import mmap
from pathlib import Path

import pytest

from .install import Source, set_marker, sources
from .operators import Mutant
from .runs import Runs

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
_SLACK = 10  # a mutant may take so many times what its tests take, and as many seconds more,
_LONGEST = 60  # but at most so many seconds of processor time in a process; ten times as long


class Campaign:
    """A plugin of pytest that runs the tests in forks instead of in its own process."""

    def __init__(self, part, options, console, filters) -> None:
        self._part, self._options, self._console = part, options, console
        self._filters = filters
        self._failed: str | None = None
        self._runs = Runs()
        self.done = False

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self._failed = self._failed or f"{report.nodeid}\n{report.longreprtext}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session) -> bool | None:
        if session.testsfailed:
            return None
        from hookcli.worker import processes
        from tests.forked import client

        client.Server = _forked_server(client.Server, self._filters)
        processes.adopt_orphans()
        self._session, self._config = session, session.config
        self._items = {item.nodeid: item for item in session.items}
        with tempfile.TemporaryDirectory(prefix="mutants") as folder:
            os.environ["TMPDIR"] = tempfile.tempdir = folder
            self._folder = Path(folder)
            self._config._tmp_path_factory._basetemp = self._folder
            self._sources = sources([*map(_import, _modules(self._part.code))], ROOT)
            self._users: dict[str, list[int]] = defaultdict(list)
            for name, number in [use for source in self._sources for use in source.uses]:
                self._users[name].append(number)
            self._measure()
            self._run_all()
        self.done = True
        return True

    # The first fork.

    def _measure(self) -> None:
        """Find out which tests reach which statements, and how long they take."""
        reached = mmap(-1, max(1, self._sources[-1].numbers.stop))
        pid = self._fork(lambda: self._mark(reached))
        _, status = os.waitpid(pid, 0)
        answer = self._folder / str(pid)
        if status or not answer.exists():
            pytest.exit(f"the tests on the original code ended with status {status}")
        measured = pickle.loads(answer.read_bytes())
        self._seconds, self._tests, imported, names, failed, self._runs.known = measured
        for text in failed:
            self._say(f"left out, as it fails on the original code: {text}")
        for mutant in [one for source in self._sources for one in source.mutants]:
            if mutant.statement in imported and mutant.statement not in self._tests:
                mutant.statement = None
        for name in names:  # so that no fork has to import them again
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    importlib.import_module(name)
                except Exception:
                    continue
        gc.collect()
        gc.freeze()  # a collection in a fork would copy all memory
        self._say(f"{len(self._items)} tests take {sum(self._seconds.values()):.0f} s")

    def _mark(self, reached: mmap) -> None:
        set_marker(reached)
        for source in self._sources:
            source.mark()
        self._runs.record(reached)
        imported = {number for number, was in enumerate(reached[:]) if was}
        seconds, tests, failed = {}, defaultdict(list), []
        for item, following in _pairs(self._session.items):
            reached[:] = bytes(len(reached))
            start = time.perf_counter()
            self._run(item, following)
            seconds[item.nodeid] = time.perf_counter() - start
            for number, was in enumerate(reached[:]):
                if was:
                    tests[number].append(item.nodeid)
            if self._failed:
                failed.append(self._failed)
                self._failed = None
                for reached_by in tests.values():
                    if item.nodeid in reached_by:
                        reached_by.remove(item.nodeid)
        self._runs.replay(())
        kept = {test for test, *_ in self._runs.known}
        for item, following in _pairs([one for one in self._session.items if one.nodeid in kept]):
            start = time.perf_counter()
            self._run(item, following)
            seconds[item.nodeid] = time.perf_counter() - start
            if self._failed:
                self._runs.forget(item.nodeid)
                self._failed = None
        names = [
            name
            for name, module in sys.modules.items()
            if (file := getattr(module, "__file__", None))
            and (f"{os.sep}site-packages{os.sep}" in file or file.startswith(str(ROOT)))
        ]
        answer = pickle.dumps((seconds, dict(tests), imported, names, failed, self._runs.known))
        (self._folder / str(os.getpid())).write_bytes(answer)

    def _run(self, item, following) -> None:
        self._runs.begin(item.nodeid)
        self._config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    # A fork for each mutant.

    def _run_all(self) -> None:
        wanted = [
            (source, mutant)
            for source in self._sources
            for mutant in source.mutants
            if self._options.only in mutant.key
        ]
        self._known = _equivalent()
        RESULTS.mkdir(parents=True, exist_ok=True)
        self._path = RESULTS / f"{self._options.part}.jsonl"
        self._last = {row["key"]: row["result"] for row in _rows(self._path)}
        if self._options.survivors:
            left = ("survived", "not covered")
            wanted = [pair for pair in wanted if self._last.get(pair[1].key) in left]
        if self._options.new:
            wanted = [pair for pair in wanted if pair[1].key not in self._last]
        if self._options.sample is not None and self._options.sample < len(wanted):
            self._say(f"a sample of {self._options.sample} of {len(wanted)} mutants")
            chosen = random.Random(self._options.seed).sample(
                range(len(wanted)), self._options.sample
            )
            wanted = [wanted[index] for index in sorted(chosen)]
        self.results: dict[str, str] = {}
        self._killers: dict[str, Counter] = defaultdict(Counter)
        self._running: dict[int, tuple[Mutant, float, float]] = {}
        self._start = time.perf_counter()
        with self._path.open("a") as self._out:
            for source, mutant in wanted:
                if mutant.key in self._known and not self._options.only:
                    self._note(mutant, "survived", "")
                    continue
                tests = self._tests_of(source, mutant)
                if not tests:
                    self._note(mutant, "not covered", "")
                    continue
                self._wait(self._options.jobs - 1)
                pid = self._fork(lambda s=source, m=mutant, t=tests: self._judge(s, m, t))
                expected = sum(self._seconds[name] for name in tests)
                until = time.monotonic() + min(_SLACK * (1 + expected), 10 * _LONGEST)
                self._running[pid] = mutant, until, time.monotonic()
            self._wait(0)

    def _tests_of(self, source: Source, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant, in an order in which one soon fails.

        First are those that killed its neighbours, then the fastest case of each test function.
        """
        users = [number for one in mutant.names for number in self._users.get(one, ())]
        numbers = self._numbers_of(source, mutant)
        names = reached = {name for number in numbers for name in self._tests.get(number, ())}
        if mutant.on_import or (mutant.names and not users):
            names = set(self._items)  # other files, or other lines of the module, may use it
        killers = self._killers[f"{source.path} {mutant.function}"]
        ranks: Counter[str] = Counter()
        ordered = []
        for name in sorted(names, key=lambda name: (self._seconds[name], name)):
            function = name.partition("[")[0]
            aside = name not in reached
            ordered.append((-killers[name], aside, ranks[function], len(ordered), name))
            ranks[function] += 1
        if self._options.seconds is not None:
            return self._cheap(
                sorted(
                    names,
                    key=lambda name: (-killers[name], name not in reached, self._seconds[name]),
                )
            )
        return [name for *_, name in sorted(ordered)][: self._options.tests]

    def _cheap(self, ranked: list[str]) -> list[str]:
        """Return the first tests that take at most so many seconds together."""
        left = self._options.seconds
        chosen = []
        for name in ranked[: self._options.tests]:
            if self._seconds[name] <= left:
                chosen.append(name)
                left -= self._seconds[name]
        return chosen

    def _numbers_of(self, source: Source, mutant: Mutant) -> list[int]:
        """Return the statements that are changed, or that use or contain what is changed."""
        numbers = source.numbers if mutant.statement is None else [mutant.statement]
        users = [number for one in mutant.names for number in self._users.get(one, ())]
        if mutant.function and mutant.on_import:  # a default of the function's
            users += source.statements_of(mutant.function)
        return [*filter(self._tests.get, users)] or [*numbers]

    def _judge(self, source: Source, mutant: Mutant, tests: list[str]) -> None:
        expected = sum(self._seconds[name] for name in tests)
        seconds = min(int(_SLACK * (1 + expected)), _LONGEST)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        self._runs.replay(self._numbers_of(source, mutant))
        try:
            source.install(mutant)
        except Exception as error:  # the module cannot even be imported
            self._failed = f"import\n{error!r}"
        for item, following in _pairs([self._items[name] for name in tests]):
            if self._failed:
                break
            self._run(item, following)
        (self._folder / str(os.getpid())).write_text(self._failed or "")

    def _fork(self, work) -> int:
        self._console.flush()
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            os.setsid()
            work()
            status = 0
        finally:
            os._exit(status)

    def _wait(self, most: int) -> None:
        """Wait until at most so many mutants are running."""
        while len(self._running) > most:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in self._running:
                self._end(pid, status)
            elif not pid:
                late = [
                    one for one, (_, until, _) in self._running.items() if time.monotonic() > until
                ]
                for one in late:
                    os.waitpid(one, os.kill(one, signal.SIGKILL) or 0)
                    self._end(one, signal.SIGXCPU)
                time.sleep(0.002)

    def _end(self, pid: int, status: int) -> None:
        mutant, _, start = self._running.pop(pid)
        took = time.monotonic() - start
        answer = self._folder / str(pid)
        text = answer.read_text() if answer.exists() else None
        answer.unlink(missing_ok=True)
        test = (text or "").partition("\n")[0]
        if text is None:
            over = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (
                signal.SIGXCPU,
                signal.SIGKILL,
            )
            self._note(mutant, "timeout" if over else "killed", f"status {status}", took)
        else:
            self._note(mutant, "killed" if test else "survived", test, took)
            path = next(source.path for source in self._sources if mutant in source.mutants)
            self._killers[f"{path} {mutant.function}"][test] += 1
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for orphan in {*map(int, children)} - self._running.keys():  # of the mutant's tests
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)

    def _note(self, mutant: Mutant, result: str, test: str, seconds: float = 0.0) -> None:
        if result == "survived" and mutant.key in self._known:
            result = "equivalent"
        self.results[mutant.key] = result
        row = {"key": mutant.key, "result": result, "line": mutant.line, "test": test}
        row["seconds"] = round(seconds, 3)
        print(json.dumps(row), file=self._out, flush=True)
        if result in ("survived", "timeout", "not covered"):
            self._say(f"{result}: line {mutant.line}: {mutant.key}")

    def _say(self, text: str) -> None:
        print(text, file=self._console)

    def report(self) -> int:
        """Print the figures, also with those of earlier campaigns; 1 if a mutant survived."""
        seconds = time.perf_counter() - self._start
        keys = [mutant.key for source in self._sources for mutant in source.mutants]
        results = {**self._last, **self.results}
        known = {key: results[key] for key in keys if key in results}
        self._say(f"{_figures(self.results)} ({seconds:.0f} s)")
        self._say(f"with earlier campaigns, of {len(keys)}: {_figures(known)}")
        return int("survived" in self.results.values())


def _figures(results: dict[str, str]) -> str:
    counts = Counter(results.values())
    words = ("killed", "timeout", "equivalent", "survived", "not covered")
    return f"{len(results)} mutants: " + ", ".join(f"{counts[word]} {word}" for word in words)


def _pairs(items: list) -> list[tuple]:
    return [*zip(items, [*items[1:], None], strict=True)]


def _modules(places: tuple[str, ...]) -> list[str]:
    paths = [
        path
        for place in places
        for path in (
            [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
        )
        if path.name != "__init__.py"
    ]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]


def _import(name: str):
    return importlib.import_module(name)


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _equivalent() -> set[str]:
    """Return the keys of mutants that behave as the original; the reason is above each group."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def _forked_server(base: type, filters: list) -> type:
    """The server of tests that run commands, as a fork that has the mutant's code."""

    class ForkedServer(base):
        def __init__(self, env: dict[str, str]) -> None:
            import socket
            import threading

            self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._pid = os.fork()
            if self._pid == 0:
                self._socket.close()
                _serve(other.detach(), env, filters)
            other.close()
            self._free = threading.Lock()
            self._socket.settimeout(240)
            assert self._socket.recv(16) == b"ready"

        def close(self) -> None:
            self._socket.close()
            os.waitpid(self._pid, 0)

    return ForkedServer


def _serve(fd: int, env: dict[str, str], filters: list) -> None:
    try:
        from tests.forked import server

        os.closerange(3, fd)  # whoever reads from the other end of a pipe would wait for us
        os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(env)
        warnings.filters[:] = filters
        server.main(fd)
    finally:
        os._exit(0)
