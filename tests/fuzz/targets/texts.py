"""Hostile text: configurations, snapshots, values of flags, names and selectors."""

from __future__ import annotations

import re
from random import Random

import yaml

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.cli.app import COMMANDS
from hookcli.rules.catalogue import CATALOGUE as RULES
from tests.fuzz.case import Case
from tests.fuzz.configurations import BASES, SNAPSHOT
from tests.fuzz.corpus import MODEL, reports, tensors
from tests.fuzz.hostile import VALUES, WORDS
from tests.fuzz.mutations import mutated_bytes, mutated_document
from tests.fuzz.targets import valid

RUNNING = ("inspect", "grads", "trace", "check")
FORMATS = ("table", "tree", "json", "markdown", "junit", "sarif", "github", "html", "perfetto")
KNOWN = sorted({*ACTIONS, *KINDS, *RULES})
SELECTORS = [
    "*", "fc", "a", "a.*", "*:output", "fc:input", "fc.weight", "a.0.fc:output[0]",
    "{regex: 'a.*'}",
    "{type: Linear}", "{depth: 1}", "{leaf: true}", "{name: fc, part: output}", "",
]  # fmt: skip
# A billion steps, or times that backward is called, are run as asked.
MANY_STEPS = re.compile(rb"((?:steps|times)[\"']?\s*:\s*[\"']?\d{3})[\d_]+")


def configuration(rng: Random) -> Case:
    if rng.random() < 0.75:
        data = _dumped(rng, valid.configuration(rng), damaged=0.03)
        return _with_config(rng, data, rng.choice(RUNNING))
    document = mutated_document(rng, rng.choice(BASES))
    if rng.random() < 0.4:
        document = _with_known(rng, document)
    return _with_config(rng, _dumped(rng, document), rng.choice(RUNNING))


def _with_known(rng: Random, document: object) -> object:
    """Another hook or check, of a kind that exists."""
    if not isinstance(document, dict):
        return document
    action, selector = rng.choice(list(ACTIONS)), rng.choice(SELECTORS)
    example = ACTIONS[action].example
    hook = {
        "kind": rng.choice(list(KINDS)),
        "at": yaml.safe_load(selector) if selector.startswith("{") else selector,
        "do": rng.choice([action, {action: rng.choice(VALUES)}, yaml.safe_load(example)]),
    }
    check = {"rule": rng.choice(list(RULES)), "at": rng.choice(["*", "fc", *WORDS])}
    names = [option.name for option in RULES[check["rule"]].options]
    if names:
        check[rng.choice(names)] = rng.choice(VALUES)
    return {**document, **rng.choice([{"hooks": [hook]}, {"checks": [check]}])}


def _dumped(rng: Random, document: object, damaged: float = 0.15) -> bytes:
    text = yaml.safe_dump(
        document, allow_unicode=True, default_flow_style=rng.choice((True, False, None)), width=90
    )
    data = text.encode("utf-8", "surrogatepass")
    return mutated_bytes(rng, data) if rng.random() < damaged else data


def _with_config(rng: Random, data: bytes, command: str) -> Case:
    data = MANY_STEPS.sub(rb"\1", data)
    arguments = [command, "-c", "c.yaml", *_format(rng)]
    files = {"m.py": MODEL, "c.yaml": data}
    if b"own.py" in data:
        files["own.py"] = valid.OWN
    if b"t.safetensors" in data:
        files["t.safetensors"] = tensors()[0][1]
    return Case(tuple(arguments), files, "c.yaml", writes=b"save" in data)


def _format(rng: Random) -> list[str]:
    return ["-f", rng.choice(FORMATS) if rng.random() < 0.5 else "json"]


def snapshot(rng: Random) -> Case:
    data = SNAPSHOT.encode()
    if rng.random() < 0.4:
        data = mutated_bytes(rng, data)
    else:
        data = _dumped(rng, mutated_document(rng, yaml.safe_load(SNAPSHOT)))
    return _with_config(rng, data, rng.choice(("check", "check", "check", "inspect")))


# What --input, --arg, --target and --loss take.
SIZES = ["0", "1", "2", "4", "-1", "9" * 19, "9" * 30, "010", "²", "B", "2.5", ""]
DTYPES = ["float32", "int64", "bool", "bfloat16", "complex64", "flot", "", "uint8", "f32", "i64"]
FILLS = ["0..5", "5..5", "-1..1", "ones", "rand", "zeros", "..", "0..1e999", "nan..1", ""]
LOSSES = ["mse", "cross_entropy", "nn.CTCLoss", "F.mse", "sum", "probe", "m.py:f", "output:y", "x"]


def _spec(rng: Random, depth: int = 3) -> str:
    kind = rng.randrange(8)
    if kind < 2 and depth:
        parts = [_spec(rng, depth - 1) for _ in range(rng.randrange(4))]
        if rng.random() < 0.5:
            parts = [f"{rng.choice('ab')}: {part}" for part in parts]
        left, right = rng.choice("{[("), rng.choice("}])")
        return f"{left}{', '.join(parts)}{right}"
    sizes = [rng.choice(SIZES) for _ in range(rng.randint(1, 4))]
    if kind == 2:
        return f"{rng.choice(DTYPES)}[{','.join(sizes)}]"
    if kind == 3:
        return f"value:{_value(rng)}"
    if kind == 4:
        return _word(rng)
    if kind == 5:
        return "2x4"
    return ":".join(["x".join(sizes), *[rng.choice(DTYPES)][:kind], rng.choice(FILLS)])


def _value(rng: Random) -> str:
    return yaml.safe_dump(rng.choice(VALUES), default_flow_style=True, width=10**9).strip()


def _word(rng: Random) -> str:
    """A text that an operating system passes as an argument."""
    text = rng.choice(WORDS).replace("\0", "").replace("\ud800", "\udcff")
    return text if rng.random() < 0.8 else text + rng.choice(WORDS[:5]).replace("\0", "")


# What these models accept: the batch of one, any batch of the other.
ANYTHING = b"""import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, *args, **kwargs):
        y = self.fc(torch.ones(2, 4))
        for one in _tensors([*args, kwargs]):
            y = y + one.abs().sum().nan_to_num(0, 0, 0).to(torch.float32)
        return y


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
"""
GOOD_INPUTS = ["2x4", "1x4", "x=2x4", "2x4:float32:-1..1", "3x4:float32:ones", "float32[2,4]",
               "7x2x4", "x=2x4:float32:0..5"]  # fmt: skip
GOOD_SPECS = [*GOOD_INPUTS, "value:3", "y=value:[1, 2]", "{a: 2x4, b: [3, 2x2:bool]}",
              "2:int64:0..9", "[2x4, (2x4, 1)]", "k=2x4:complex64", "0x4",
              "2x4:bfloat16:zeros"]  # fmt: skip
GOOD_ARGUMENTS = ["width=1", "width=7", "scale=0.5", "scale=1e30", "scale=true", "3", "scale=nan"]
GOOD_LOSSES = ["sum", "mean", "probe", "output:y", "output:.y", "output:['y']"]


def values(rng: Random) -> Case:
    """The values of --input, --arg, --target and --loss: most of them good but for one."""
    anything = rng.random() < 0.6
    inputs = GOOD_SPECS if anything else GOOD_INPUTS
    given = [["-i", rng.choice(inputs)] for _ in range(rng.randint(1, 3) if anything else 1)]
    if rng.random() < 0.4:
        given += [["--arg", rng.choice(GOOD_ARGUMENTS)]]
    command = rng.choice(RUNNING)
    if command != "inspect" and rng.random() < 0.4:
        mse = ["--loss", "mse", "--target", "2x3"]
        given += [mse if anything else ["--loss", rng.choice(GOOD_LOSSES)]]
    match rng.randrange(10):
        case 0 | 1 | 2:
            given = [_hostile_value(rng) for _ in range(rng.randint(1, 2))]
        case 3 | 4 | 5:
            given[rng.randrange(len(given))] = _hostile_value(rng)
        case 6 | 7:
            words = rng.choice(given)
            words[-1] = _mutated_text(rng, words[-1])
        case _:
            pass
    arguments = [command, "m.py:Net", *_format(rng)]
    for words in given:
        arguments += [word.replace("\0", "").replace("\ud800", "\udcff") for word in words]
    return Case(tuple(arguments), {"m.py": ANYTHING if anything else MODEL})


def _hostile_value(rng: Random) -> list[str]:
    flag = rng.choice(["-i", "-i", "-i", "--arg", "--target", "--loss", "--weights"])
    text = {
        "-i": lambda: f"x={_spec(rng)}" if rng.random() < 0.2 else _spec(rng),
        "--arg": lambda: rng.choice(["width=", "scale=", "", "x="]) + _value(rng),
        "--target": lambda: _spec(rng),
        "--loss": lambda: rng.choice(LOSSES) + rng.choice(["", f"(x={_value(rng)})", "("]),
        "--weights": lambda: _word(rng),
    }[flag]()
    return [flag, text]


def _mutated_text(rng: Random, text: str) -> str:
    """The text with one character replaced by one that means something in such a text."""
    start = rng.randrange(len(text))
    letter = rng.choice("0123456789x:=.,[]{}()'\" -e\n_*")
    return text[:start] + letter + text[start + rng.randrange(2) :]


FLAGS = (
    "-c --arg --argv --weights -i --batch-size --device --dtype --tensors --mode --seed --loss "
    "--target --steps --timeout --max-memory --fail-on --kinds --phase --depth --only --columns "
    "--sort -f --color --baseline --against --tolerance --preset --what-if --python --rule "
    "--root --max-steps --stop-on --keep-batches"
).split()
SWITCHES = (
    "--no-grad --flops --verify-neutral --memory --per-sample --own-weights --grads -q -v --trust"
).split()


def command_line(rng: Random) -> Case:
    """Names of models, selectors and any flag of any command."""
    command = rng.choice([*COMMANDS, *RUNNING, *RUNNING])
    if command == "run":
        command = "trace"  # a script is code, and its status is its own
    names = ["m.py", "m.py:Net", "m.py:Block", "r.json", "c.yaml", "m.py?dtype=float64"]
    arguments = [command]
    for _ in range({"diff": 2, "schema": 1, "list": 1}.get(command, 1)):
        arguments.append(rng.choice(names) if rng.random() < 0.7 else _word(rng))
    for _ in range(rng.randint(0, 3)):
        if rng.random() < 0.3:
            arguments.append(rng.choice(SWITCHES))
            continue
        known = [*names, *KNOWN, *SELECTORS, *FORMATS, "1", "2", "0", "cpu", "all", "2x4"]
        text = rng.choice(known) if rng.random() < 0.5 else _word(rng)
        arguments += [rng.choice(FLAGS), text]
    files = {"m.py": MODEL, "r.json": reports()[0], "c.yaml": b"model: m.py\ninputs: [2x4]\n"}
    return Case(tuple(arguments), files, piped=rng.choice((b"", b"{}", reports()[1])))
