"""What every command prints, in every format: recorded, and compared with an earlier recording.

`python -m benchmarks.outputs record DIR` runs each command on the sample models, the recipes, the
odd models and malformed input, and writes a file for each: the status, both streams, every file
that it wrote. `python -m benchmarks.outputs compare A B` names those that differ. For changes that
must not change what users see. What differs between two runs of one checkout (times, process
numbers, the environment in JSON) is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, SAMPLES, run_cli

WORK = Path(tempfile.gettempdir()) / "hookcli-outputs"  # a fixed place: its name is in outputs
RUNNING = ("inspect", "grads", "trace", "check")
TEXTS = ("table", "tree", "markdown", "junit", "sarif", "github")
_ODD = """\
from hookcli.models.batch import Batch
from zoo import ODD, RAISING
def __getattr__(name):
    wanted = name.removesuffix("__batch")
    odd = {**ODD, **RAISING}.get(wanted)
    if odd is None:
        raise AttributeError(name)
    return odd.build if wanted == name else lambda: Batch(*odd.batch())
"""


_TRAIN = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    optimizer.zero_grad()
    net(torch.ones(2, 3) * step).square().sum().backward()
    optimizer.step()
"""


def cases() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """(name, arguments, environment) of every command, with files below the working folder."""
    for path in sorted(SAMPLES.glob("*.py")):
        yield from _running(path.stem, f"samples/{path.name}", widths=True)
        for other in sorted(SAMPLES.glob("*.py"))[:2]:
            pair = [f"samples/{path.name}", f"samples/{other.name}"]
            for form in ("table", "json", "markdown"):
                yield f"diff {path.stem} {other.stem} {form}", ["diff", *pair, "-f", form], {}
        yield f"snapshot {path.stem}", ["snapshot", f"samples/{path.name}"], {}
        for preset in ("inspect", "grads", "trace"):
            arguments = ["init", f"samples/{path.name}", "--preset", preset]
            yield f"init {preset} {path.stem}", arguments, {}
    for path in sorted((SAMPLES / "recipes").glob("*.yaml")):
        for command in RUNNING:
            arguments = [command, "-c", f"samples/recipes/{path.name}", *_files(command)]
            yield f"recipe {command} {path.stem}", arguments, {}
    for i, name in enumerate(_odd_names()):  # each under one command, in turn
        command = RUNNING[i % len(RUNNING)]
        batch = ["-i", f"odd.py:{name}__batch"]
        arguments = [command, f"odd.py:{name}", *batch, *_files(command)]
        yield f"odd {command} {name}", arguments, {}
    yield from _trainings()
    yield from _suffixes()
    yield from _pages()
    yield from _mistakes()


def _trainings() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    for preset in ("grads", "trace", "inspect"):
        yield f"run {preset}", ["run", "--preset", preset, *_files("run"), "train.py"], {}
    yield "run summary", ["run", "train.py"], {"COLUMNS": "60"}


def _suffixes() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    path = f"samples/{min(SAMPLES.glob('*.py')).name}"
    for suffix in (".json", ".md", ".txt"):
        for command in (*RUNNING, "diff"):
            models = [path, path] if command == "diff" else [path]
            yield f"{command} -o {suffix}", [command, *models, "-o", f"report{suffix}"], {}
        yield f"run -o {suffix}", ["run", "-o", f"report{suffix}", "train.py"], {}


def _running(name: str, model: str, *, widths: bool) -> Iterator[tuple[str, list[str], dict]]:
    for command in RUNNING:
        yield f"{command} {name}", [command, model, *_files(command)], {}
        yield f"{command} {name} -v", [command, model, "-v"], {}
        for width in ("80", "200") if widths else ():
            for form in ("table", "tree"):
                arguments = [command, model, "-f", form, "--color", "always"]
                yield f"{command} {name} {form} {width}", arguments, {"COLUMNS": width}


def _files(command: str) -> list[str]:
    forms = (*TEXTS, "json", *(("perfetto",) if command != "inspect" else ()))
    return [part for form in forms for part in ("-f", f"{form}={form}.out")]


def _odd_names() -> list[str]:
    from tests.odd_models import ODD, RAISING

    return sorted({**ODD, **RAISING})


def _pages() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    commands = (*RUNNING, "diff", "init", "snapshot", "list", "explain", "render", "schema")
    for command in commands:
        yield f"help {command}", [command, "--help"], {"COLUMNS": "80"}
    yield "help", ["--help"], {"COLUMNS": "80"}
    for what in ("hooks", "actions", "formats", "rules"):
        yield f"list {what}", ["list", what], {}
        listed = run_cli("list", what, "-f", "json")
        yield f"list {what} json", ["list", what, "-f", "json"], {}
        if listed.status == 0:
            rows: Any = json.loads(listed.out)
            names = [row["name"] if isinstance(row, dict) else row for row in rows]
            for name in names:
                yield f"explain {what} {name}", ["explain", f"{what[:-1]}:{name}"], {}
    for what in ("config", "report", "diff"):
        yield f"schema {what}", ["schema", what], {}


def _mistakes() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    from tests.cli.test_bad_input import CASES

    for name, case in CASES.items():
        yield f"mistake {name}", ["inspect", *case[0]], {}
    wrong = (
        [], ["inspekt", "x"], ["inspect"], ["render", "no.json"], ["schema", "nothing"],
        ["list", "hoks"], ["inspect", "ok.py", "--depth", "-1"], ["explain", "nonsense"],
        ["grads", "ok.py", "--no-grad"], ["trace", "ok.py", "--kinds", "nonsense"],
        ["trace", "ok.py", "--stream", "."], ["check"], ["check", "--against", "no.json"],
        ["check", "ok.py", "--update-baseline"], ["diff", "no.py", "ok.py"], ["diff", "ok.py"],
        ["grads", "-c", "no.yaml"], ["inspect", "ok.py", "--columns", "nonsense"],
        ["inspect", "ok.py", "-f", "perfetto"], ["inspect", "ok.py", "--colums", "x"],
        ["inspect", "ok.py", "-f", "jsn"], ["inspect", "ok.py", "-f", "table", "-f", "tree"],
        ["grads", "ok.py", "--loss", "smu"], ["inspect", "ok.py", "--device", "gpu"],
        ["inspect", "ok.py", "--dtype", "int8"], ["diff", "ok.py?dtpe=x", "ok.py"],
        ["diff", "ok.py", "ok.py", "--tolerance", "x"], ["snapshot", "ok.py", "-o", "ok.py"],
    )  # fmt: skip
    for arguments in wrong:
        yield f"mistake {' '.join(arguments)}", list(arguments), {}
    for name in sorted(_configurations()):
        yield f"configuration {name}", ["trace", "-c", f"configs/{name}.yaml"], {}


def _configurations() -> dict[str, str]:
    """Malformed configurations; most have several mistakes."""
    head = "model: ../ok.py:Net\ninputs: ['2x4']\n"
    return {
        "keys": "modle: x\nhook: []\nrun: {sed: 1, steps: x, loss: smu, device: gpu}\n",
        "hooks": head + "hooks:\n  - {kind: forwrd, at: fc}\n  - {kind: forward}\n"
        "  - {at: fc}\n  - {kind: forward, at: fc, do: scal}\n  - {kind: op, at: {op: 3}}\n"
        "  - {kind: forward, at: fc, do: {scale: x}}\n  - 7\n",
        "at": head + "hooks:\n  - {kind: forward, at: {type: Linear, depht: 1}}\n"
        "  - {kind: parameter, at: {regex: '('}}\n  - {kind: tensor, at: {part: left}}\n"
        "  - {kind: global_forward, at: fc}\n  - {kind: forward, at: fc, calls: 1..}\n",
        "checks": head + "checks:\n  - finit\n  - {rule: budget, params: -1}\n"
        "  - {output_shape: {fc: x}}\n  - {firing_order: 3}\nsuppress: [{rule: finite}]\n",
        "actions": head + "hooks:\n  - {kind: forward, at: fc, do: [{clamp: 1}, {add_noise: x}, "
        "{replace: }, {save: 3}, {call: nope}, {clip_norm: -1}]}\n",
        "empty": "",
        "list": "- 1\n- 2\n",
        "syntax": "model: [1\n",
        "twice": "model: a.py\nmodel: b.py\n",
        "alias": "run: &a {x: *a}\n",
        "nothing matches": head + "hooks:\n  - {kind: forward, at: nothing}\n",
        "distributed": head + "run: {distributed: {nproc: x, parallel: dpp}}\n",
    }


def _prepare() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()


def _folder(number: int) -> Path:
    """A fresh folder with all files, at a path of the same length for every case."""
    from tests.cli.test_bad_input import FILES

    folder = WORK / f"{number:05d}"
    folder.mkdir()
    keep_out = shutil.ignore_patterns("__pycache__", "features")
    shutil.copytree(SAMPLES, folder / "samples", ignore=keep_out)
    (folder / "zoo").symlink_to(ROOT / "tests" / "odd_models")
    (folder / "odd.py").write_text(_ODD)
    (folder / "train.py").write_text(_TRAIN)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "configs").mkdir()
    for name, text in _configurations().items():
        (folder / "configs" / f"{name}.yaml").write_text(text)
    return folder


def _record(job: tuple[int, str, list[str], dict[str, str], Path]) -> None:
    number, name, arguments, env, into = job
    folder = _folder(number)
    before = {path for path in folder.rglob("*") if path.is_file()}
    try:
        done = run_cli(*arguments, cwd=folder, **env)
        parts = [f"$ hookcli {' '.join(arguments)}", f"status {done.status}"]
        parts += ["--- stdout", _steady(done.out, folder), "--- stderr", _steady(done.err, folder)]
    except Exception as error:  # noqa: BLE001  # a timeout is a result too
        parts = [f"$ hookcli {' '.join(arguments)}", f"{type(error).__name__}"]
    for path in sorted({path for path in folder.rglob("*") if path.is_file()} - before):
        if "__pycache__" not in path.parts and path.relative_to(folder).parts[0] != "zoo":
            text = path.read_text(errors="backslashreplace")
            parts += [f"--- {path.relative_to(folder)}", _steady(text, folder)]
    slug = re.sub(r"[^\w.-]+", "_", name)[:120]
    (into / f"{number:05d}-{slug}.txt").write_text("\n".join(parts))
    shutil.rmtree(folder)


_SECONDS = re.compile(r"\b\d+(?:\.\d+)?(?:e-\d+)? ?(?:s|ms|us|µs)\b")
_JSON_TIMES = re.compile(r'"(?:ts|dur|seconds|start|end|pid)": ?-?[\d.e-]+')


def _steady(text: str, folder: Path) -> str:
    """The text less what differs between two runs of one checkout."""
    text = text.replace(str(folder), "FOLDER")
    if text.startswith("{"):
        with contextlib.suppress(ValueError):
            whole = json.loads(text)
            for key in ("environment", "timings", "traceEvents"):
                if key in whole and key != "traceEvents":
                    whole[key] = None
            text = json.dumps(whole, indent=1)
    text = _JSON_TIMES.sub("TIME", text)
    text = re.sub(r'\btime="[\d.]+"', 'time="TIME"', text)
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    return _SECONDS.sub("TIME", text)


def record(into: Path) -> int:
    """Run all commands, two at a time; the number of recordings."""
    into.mkdir(parents=True)
    _prepare()
    jobs = [(i, name, args, env, into) for i, (name, args, env) in enumerate(cases())]
    fresh = get_context("spawn")  # a fork would share the server that runs commands with its parent
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "2")), mp_context=fresh) as pool:
        for done, _ in enumerate(pool.map(_record, jobs, chunksize=4), 1):
            if done % 100 == 0:
                sys.stderr.write(f"{done} of {len(jobs)}\n")
    shutil.rmtree(WORK)
    return len(jobs)


def compare(a: Path, b: Path) -> list[str]:
    """The names of the recordings that differ, or that only one side has."""
    names = sorted({path.name for folder in (a, b) for path in folder.iterdir()})
    return [
        name
        for name in names
        if not (a / name).exists()
        or not (b / name).exists()
        or not filecmp.cmp(a / name, b / name, shallow=False)
    ]


def main() -> int:
    """Record or compare, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    if given.what == "record":
        print(f"{record(given.folders[0])} outputs in {given.folders[0]}")
        return 0
    different = compare(*given.folders)
    count = len(list(given.folders[0].iterdir()))
    print("\n".join(different))
    print(f"{count} outputs compared, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
