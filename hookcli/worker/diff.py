"""Two runs to compare, each in a separate process, and the files that they exchange."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hookcli.comparison.diff import Diff, ExactDiff, exact_diff
from hookcli.comparison.locate import closely, locate
from hookcli.comparison.ports.dump_diff import compare_dumps
from hookcli.comparison.ports.maps.weight_map import MapRow
from hookcli.comparison.ports.plan import has_weights_of, is_port, loaded_by, port_settings
from hookcli.comparison.ports.port_diff import compare_ports
from hookcli.comparison.tolerance import Tolerances
from hookcli.errors import HookcliError, RequestError
from hookcli.report.encode import to_json
from hookcli.report.path_ends.end_rows import CUT
from hookcli.report.report import Report
from hookcli.sentences import cannot_write
from hookcli.spec.checks import request_probe
from hookcli.spec.plan import plan
from hookcli.spec.request import Argument, MadeTensor, ModelSpec, SideSpec, Spec
from hookcli.whole_files import private_folder, replacing, write_whole
from hookcli.worker.attempts import run_within
from hookcli.worker.process import start_ahead
from hookcli.worker.progress.screen import labelled
from hookcli.worker.worker import Limits

_Name = Literal["a", "b"]
_BUILD = "cannot build Dumps: "
_DUMPS = f"{Path(__file__).parents[1] / 'engine' / 'diff' / 'dumps.py'}:Dumps"


@dataclass(frozen=True, slots=True)
class PairRequest:
    """What to compare. `save` is a folder for the tensors of the first call that differs.

    `map` tells which weights of A make those of B, if their names differ.
    """

    a: Spec
    b: Spec
    own_weights: bool
    tolerances: Tolerances
    save: Path | None = None
    map: tuple[MapRow, ...] | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A side whose model failed, with its partial report."""

    side: _Name
    report: Report


def _named(error: HookcliError, side: str) -> HookcliError:
    """Add the side to the message of an error."""
    error.message = f"{side.upper()}: {error.message}"
    return error


def _python(spec: Spec) -> str:
    return sys.executable if spec.run.python is None else spec.run.python.path


def compare_pair(
    request: PairRequest,
    check: Callable[[], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> Diff | Broken:
    """Run A, then B with A's batch, and compare; the first call that differs is run again.

    Raises
    ------
    HookcliError : a side could not be run; the message names it.

    """
    timeout = request.a.run.timeout
    limits = Limits(time.monotonic() + timeout, timeout, request.a.run.max_memory)
    with private_folder() as folder:
        pair = _Pair(request, limits, folder, check)
        return pair.compare(meanwhile)


def compare_with_dumps(
    a: Spec,
    path: str,
    tolerances: Tolerances,
    check: Callable[[], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> Diff | Broken:
    """Run A, and compare its calls with the tensors in a file or a folder.

    Raises
    ------
    HookcliError : A could not be run, or a file cannot be read.
    """
    limits = Limits(time.monotonic() + a.run.timeout, a.run.timeout, a.run.max_memory)
    model = ModelSpec(_DUMPS, (Argument("path", str(Path(path).absolute()), path),))
    b = dataclasses.replace(a, model=model, inputs=(), libraries=())
    request = PairRequest(a, b, own_weights=True, tolerances=tolerances)
    with private_folder() as folder:
        pair = _Pair(request, limits, folder, check)
        return pair.dumps(path, meanwhile)


class _Pair:
    def __init__(
        self, request: PairRequest, limits: Limits, folder: str, check: Callable[[], None]
    ) -> None:
        self._request, self._limits, self._folder = request, limits, folder
        self._check = check
        self._made: tuple[MadeTensor, ...] | None = None

    def compare(self, meanwhile: Callable[[], None]) -> Diff | Broken:
        with contextlib.suppress(OSError):  # reported when the run itself cannot start
            start_ahead(_python(self._request.b))  # B's process imports torch while A runs
        a = self._side("a", meanwhile)
        if a.error is not None:
            return Broken("a", a)
        b = self._side("b")
        if b.error is not None:
            return Broken("b", b)
        if self._request.map is not None or is_port(a, b):
            return self._port(a, b)
        diff = locate(a, b, self._request.tolerances, self._again)
        self._save(a, b)
        return diff

    def dumps(self, path: str, meanwhile: Callable[[], None]) -> Diff | Broken:
        """Compare A with tensors that another program wrote."""
        a = self._side("a", meanwhile)
        if a.error is None:
            a = self._side("a", ordered=True)
        if a.error is not None:
            return Broken("a", a)
        try:
            b = self._side("b", ordered=True)
        except HookcliError as error:
            _, built, raised = error.message.partition(_BUILD)
            if not built:
                raise
            reason = raised.partition(": ")[2]  # without the class of the exception
            raise RequestError(
                f"B: {reason}",
                place=path,
                hint="pass files of NumPy, safetensors or torch.save that contain tensors",
            ) from None
        if b.error is not None:
            return Broken("b", b)
        model = dataclasses.replace(b.model, source=path)
        diff = compare_dumps(a, dataclasses.replace(b, model=model), self._request.tolerances)
        self._save(a, b)
        return diff

    def _port(self, a: Report, b: Report) -> Diff | Broken:
        """Run both again, with A's weights in B, and compare calls whatever their names."""
        request = self._request
        settings = port_settings(
            a, b, request.map, own_weights=request.own_weights, tolerances=request.tolerances
        )
        if request.map is None and has_weights_of(a, b, settings.made):
            settings = dataclasses.replace(settings, weights="own")
        self._made = None if settings.weights == "own" else loaded_by(settings)
        a = self._side("a", ordered=True)
        if a.error is not None:
            return Broken("a", a)
        b = self._side("b", ordered=True)
        if b.error is not None:
            return Broken("b", b)
        diff = closely(
            lambda exact: compare_ports(a, b, dataclasses.replace(settings, exact=exact)),
            self._again,
        )
        self._save(a, b)
        return diff

    def _side(
        self,
        name: _Name,
        meanwhile: Callable[[], None] = lambda: None,
        keep: tuple[int, ...] = (),
        *,
        ordered: bool = False,
    ) -> Report:
        spec = self._request.a if name == "a" else self._request.b
        side = SideSpec(
            name,
            self._folder,
            weights=not self._request.own_weights,
            keep=keep,
            ordered=ordered,
            made=self._made,
        )
        probes = (request_probe(CUT),) if spec.command == "grads" and not keep else ()
        spec = dataclasses.replace(spec, side=side, probes=probes)
        if keep:  # only the forward, in the same mode as before
            run = dataclasses.replace(spec.run, mode=plan(spec).mode)
            spec = dataclasses.replace(spec, command="inspect", run=run)
        try:
            with labelled(f"{name.upper()} again" if keep or ordered else name.upper()):
                return run_within(spec, self._limits, self._check, meanwhile).report
        except HookcliError as error:
            raise _named(error, name) from None

    def _again(self, a: int, b: int) -> dict[tuple[int, str], tuple[ExactDiff, ...]]:
        """Run one call of each side again, and compare them element by element."""
        with contextlib.suppress(OSError):
            start_ahead(_python(self._request.a))
            start_ahead(_python(self._request.b))
        for old in Path(self._folder).glob("0.*"):
            old.unlink()
        self._side("a", keep=(a,))
        report = self._side("b", keep=(b,))
        return {
            (a, measurement.target): tuple(exact_diff(value) for value in measurement.value)
            for measurement in report.measurements
            if measurement.probe == "exact"
        }

    def _save(self, a: Report, b: Report) -> None:
        """Save both reports, and the tensors of the call that was run again.

        Raises
        ------
        RequestError : they cannot be written.
        """
        folder = self._request.save
        if folder is None:
            return
        try:
            for name, report in (("a", a), ("b", b)):
                write_whole(folder / f"{name}.json", to_json(report).encode())
            for file in sorted(Path(self._folder).glob("0.?.*")):
                with replacing(folder / file.name.removeprefix("0.")) as temporary:
                    shutil.copyfile(file, temporary)
        except OSError as error:
            raise RequestError(
                cannot_write(folder, error.strerror),
                place=f"--save {folder}",
                hint="check that the disk is not full, or choose another folder",
            ) from None
