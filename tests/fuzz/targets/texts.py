"""Hostile text: configurations, snapshots, values of flags, names and selectors."""

from __future__ import annotations

from random import Random

import yaml

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.cli.app import COMMANDS
from hookcli.rules.catalogue import CATALOGUE as RULES
from tests.fuzz.case import Case
from tests.fuzz.configurations import BASES, SNAPSHOT
from tests.fuzz.corpus import MODEL, reports
from tests.fuzz.hostile import VALUES, WORDS
from tests.fuzz.mutations import mutated_bytes, mutated_document

RUNNING = ("inspect", "grads", "trace", "check")
FORMATS = ("table", "tree", "json", "markdown", "junit", "sarif", "github", "html", "perfetto")
KNOWN = sorted({*ACTIONS, *KINDS, *RULES})
SELECTORS = [
    "*", "fc", "a", "a.*", "*:output", "fc:input", "fc.weight", "a.0.fc:output[0]",
    "{regex: 'a.*'}",
    "{type: Linear}", "{depth: 1}", "{leaf: true}", "{name: fc, part: output}", "",
]  # fmt: skip


def configuration(rng: Random) -> Case:
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


def _dumped(rng: Random, document: object) -> bytes:
    text = yaml.safe_dump(
        document, allow_unicode=True, default_flow_style=rng.choice((True, False, None)), width=90
    )
    data = text.encode("utf-8", "surrogatepass")
    return mutated_bytes(rng, data) if rng.random() < 0.15 else data


def _with_config(rng: Random, data: bytes, command: str) -> Case:
    arguments = [command, "-c", "c.yaml", *_format(rng)]
    return Case(tuple(arguments), {"m.py": MODEL, "c.yaml": data}, "c.yaml", writes=b"save" in data)


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


def values(rng: Random) -> Case:
    """The values of --input, --arg, --target and --loss."""
    arguments = [rng.choice(RUNNING), "m.py:Net", *_format(rng)]
    for _ in range(rng.randint(1, 2)):
        flag = rng.choice(["-i", "-i", "--arg", "--target", "--loss", "--weights"])
        text = {
            "-i": lambda: f"x={_spec(rng)}" if rng.random() < 0.2 else _spec(rng),
            "--arg": lambda: rng.choice(["width=", "scale=", "", "x="]) + _value(rng),
            "--target": lambda: _spec(rng),
            "--loss": lambda: rng.choice(LOSSES) + rng.choice(["", f"(x={_value(rng)})", "("]),
            "--weights": lambda: _word(rng),
        }[flag]()
        arguments += [flag, text.replace("\0", "").replace("\ud800", "\udcff")]
    return Case(tuple(arguments), {"m.py": MODEL})


FLAGS = (
    "-c --arg --argv --weights -i --batch-size --device --dtype --tensors --mode --seed --loss "
    "--target --steps --timeout --max-memory --fail-on --kinds --phase --depth --only --columns "
    "--sort -f --color --baseline --against --tolerance --preset --what-if --python --rule "
    "--root --max-steps --stop-on"
).split()
SWITCHES = "--no-grad --flops --verify-neutral --memory --own-weights --grads -q -v --trust".split()


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
