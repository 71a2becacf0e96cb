"""Valid configurations: every kind of hook, action, rule and setting, mutated at most once."""

from __future__ import annotations

from random import Random
from typing import Any

from hookcli.catalogue.actions import CATALOGUE as ACTIONS, Action
from hookcli.catalogue.kind import InCalls, Kind
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.catalogue.options import OPTIONS
from hookcli.rules.catalogue import CATALOGUE as RULES
from hookcli.rules.rule import RuleOption
from tests.fuzz.mutations import mutated_document

OWN = b"""def look(*args, **kwargs):
    return None


def loss(output, *target):
    return output["y"].square().sum()
"""
MODULES = ["*", "fc", "a", "a.*", "a.0.fc", "*.fc", "", {"type": "Linear"}, {"depth": 1},
           {"leaf": True}, {"regex": "a.*"}, {"name": "fc"}]  # fmt: skip
PARAMETERS = ["*", "fc.weight", "a.0.fc.bias", "*.weight", "fc.*"]
LEGACY = {"backward", "global_backward"}  # torch allows them without full backward hooks only
FURTHER = {"neutral", "same_as", "parallel_equal", "compile_equal"}  # run the model in another way
NEVER = {"ddp_comm", "package_extern", "package_intern", "package_mock"}  # need settings of a run


def configuration(rng: Random) -> Any:
    """A configuration that hookcli accepts, or in three of ten cases nearly does."""
    document: dict[str, Any] = {"model": _model(rng)}
    if rng.random() < 0.9:
        inputs = ["2x4", "2x4:float32:-1..1", "1x4:float32:ones", "5x4", "float32[2,4]"]
        document["inputs"] = rng.choice([[rng.choice(inputs)], {"x": rng.choice(inputs)}])
    if rng.random() < 0.6:
        document["run"] = _run(rng)
    if rng.random() < 0.2:
        document["preset"] = rng.choice(["trace", "grads", "inspect", "none"])
    if rng.random() < 0.7:
        legacy = rng.random() < 0.2
        kinds = [
            kind
            for name, kind in KINDS.items()
            if name not in NEVER and (name in LEGACY or "backward" not in name or not legacy)
            if (legacy or name not in LEGACY) and not kind.needs_gpu
        ]
        document["hooks"] = [_hook(rng, rng.choice(kinds)) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        rules = [rule for rule in RULES.values() if rule.name not in FURTHER]
        rules = rng.sample(rules, rng.randint(1, 3))
        document["checks"] = [_check(rng, rule.name, rule.options) for rule in rules]
    if rng.random() < 0.1:
        rule = rng.choice(list(RULES))
        document["suppress"] = [{"rule": rule, "at": rng.choice(["fc", "*"]), "reason": "known"}]
    if rng.random() < 0.1:
        document["fail_on"] = rng.choice(["error", "warning", "never"])
    return mutated_document(rng, document, 1) if rng.random() < 0.3 else document


def _model(rng: Random) -> Any:
    source = rng.choice(["m.py:Net", "m.py:Net", "m.py:Block"])
    if source == "m.py:Block" or rng.random() < 0.5:
        return source
    return {"source": source, "args": {"width": rng.randint(1, 5), "scale": rng.choice([1, -0.5])}}


def _run(rng: Random) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "mode": rng.choice(["train", "eval", "as-is"]),
        "seed": rng.choice([0, 1, 2**63 - 1]),
        "loss": rng.choice(["probe", "sum", "mean", "own.py:loss", "output:.y"]),
        "steps": rng.randint(1, 3),
        "optimizer": rng.choice(["SGD", "Adam", {"name": "AdamW", "lr": 0.1}, {"name": "RMSprop"}]),
        "backward": rng.choice([{"times": 2, "retain_graph": True}, {"create_graph": True},
                                {"inputs": "fc.*"}, {"times": 1}]),
        "batch_size": rng.randint(1, 4),
        "device": "cpu",
        "dtype": rng.choice(["float32", "float64", "bfloat16"]),
        "tensors": rng.choice(["auto", "fake", "real"]),
        "no_grad": rng.random() < 0.3,
        "timeout": rng.choice([30, 60.5]),
        "flops": rng.random() < 0.5,
        "memory": rng.random() < 0.5,
        "what_if": rng.choice(["batch=4", ["batch=2,optimizer=adamw"]]),
    }  # fmt: skip
    if rng.random() < 0.05:
        settings["verify_neutral"] = True
    return {name: settings[name] for name in rng.sample(sorted(settings), rng.randint(1, 4))}


def _hook(rng: Random, kind: Kind) -> dict[str, Any]:
    hook: dict[str, Any] = {"kind": kind.name}
    selectors = [*(MODULES if kind.at.plain == "module" else PARAMETERS if kind.at.plain else [])]
    selectors += [f"{name}:{part}" for name in ("*", "fc", "a") for part in kind.at.parts]
    if kind.at.op:
        selectors += [{"op": "aten.*"}, {"op": "aten.addmm"}, "fc"]
    if selectors and (kind.at.required or rng.random() < 0.5):
        hook["at"] = rng.choice(selectors)
    if kind.calls is InCalls.ALWAYS and rng.random() < 0.2:
        hook["calls"] = rng.choice([[0], [0, 1], [1]])
    if rng.random() < 0.1:
        hook["steps"] = rng.choice([[0], [1]])
    if kind.options and rng.random() < 0.4:
        option = OPTIONS[rng.choice(kind.options)]
        hook["options"] = {option.name: rng.choice(option.choices or (True, False))}
    may_change = kind.replaces and rng.random() < 0.5
    actions = [
        action
        for action in ACTIONS.values()
        if action.argument != "comm" and not action.asks
        if not action.changes or may_change or action.may_look
    ]
    do = [_action(rng, rng.choice(actions)) for _ in range(rng.choice((1, 1, 2)))]
    return {**hook, "do": do if len(do) > 1 or rng.random() < 0.3 else do[0]}


def _action(rng: Random, action: Action) -> Any:
    values: dict[str, list[Any]] = {
        "none": [None], "number": [0.5, -1, 0, 1e30], "figures": ["norm"], "positive": [0.1, 3],
        "range": [[-1, 1], [0, 0]], "directory": ["taps", "taps/a"], "file": ["t.safetensors"],
        "function": ["own.py:look"],
    }  # fmt: skip
    if action.argument == "none" or (action.optional and rng.random() < 0.5):
        return action.name
    return {action.name: rng.choice(values[action.argument])}


def _check(rng: Random, rule: str, options: tuple[RuleOption, ...]) -> dict[str, Any]:
    values: dict[str, list[Any]] = {
        "glob": ["*", "fc", "a.*", "a"], "globs": ["*", ["fc*"], ["a.*", "fc.weight"]],
        "path": [".y", "[0]"], "kind": ["forward", "full_backward"], "modes": [["eval"],
        ["eval", "train"]], "order": [["a", "fc"], ["fc"]], "shape": [["B", 3], [2, "*"]],
        "dtype": ["float32", "bfloat16"], "number": [0.1, 0.5, 2, 10], "count": [1, 3, 40],
        "flag": [True, False], "match": ["subsequence", "exact"], "part": ["output", "parameter"],
        "dimension": [0, 1], "file": ["r.json"], "word": ["Linear", "Block"],
        "settings": [{"bias": True}, {"in_features": 4}],
    }  # fmt: skip
    check: dict[str, Any] = {"rule": rule}
    for option in options:
        if option.required or rng.random() < 0.3:
            check[option.name] = rng.choice(values[option.shape])
    if rng.random() < 0.3:
        check["severity"] = rng.choice(["error", "warning"])
    return check
