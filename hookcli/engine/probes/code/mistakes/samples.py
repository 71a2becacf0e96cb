"""Mistakes in how samples are split, shuffled and paired with their labels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Block,
    Mistake,
    SearchedCode,
    called,
    plain_names,
    short,
    target_of,
    text_of,
    words,
)

_TRAIN = {"train", "training", "tr"}
_TEST = {"test", "testing", "val", "valid", "validation", "dev", "te"}
_REPEATS = re.compile(r"fit_resample|over_?sample|upsample_minority", re.IGNORECASE)
_SPLITTERS = {"train_test_split", "random_split"}
_FITS = {"fit", "train", "backward"}
_RENEWS = {"deepcopy", "load", "reset", "init", "reinit", "apply", "clone", "build", "make"}
_PAIRED = {"TensorDataset", "StackDataset", "zip"}
_INPUTS = {"x", "xs", "image", "images", "input", "inputs", "features", "samples", "texts"}
_PICTURES = _INPUTS | {"img", "imgs", "frames", "pictures"}
_DOMAINS = {"target", "targets"}  # of a domain adaptation, perhaps
_LABELS = {"label", "labels", "target", "targets", "y", "ys", "mask", "masks", "answers"}


def _split(node: ast.AST) -> str:
    """Return the split that a value is of, by its name: "train", "test" or ""."""
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    if not isinstance(node, ast.Name | ast.Attribute):
        return ""
    own = words(text_of(node))
    if bool(own & _TRAIN) == bool(own & _TEST):
        return ""
    return "train" if own & _TRAIN else "test"


def orders_of_splits(code: SearchedCode) -> Iterator[Mistake]:
    """Yield results of train_test_split that are assigned in another order.

    The order is train and test of the first array, then train and test of the second.
    """
    for node in code.all(ast.Assign):
        target = target_of(node)
        if called(node.value) != "train_test_split" or not isinstance(target, ast.Tuple):
            continue
        call = node.value
        arrays = len(call.args) if isinstance(call, ast.Call) else 0
        if len(target.elts) != 2 * arrays or arrays < 2:  # inputs and labels
            continue
        splits = [_split(one) for one in target.elts]
        if all(splits) and splits != ["train", "test"] * arrays:
            yield Mistake(short(target), node.lineno)


def fits_to_tests(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls of fit_transform for test data by a scaler that was fitted to training data."""
    fitted: dict[str, str] = {}
    calls = [one for one in code.all(ast.Call) if isinstance(one.func, ast.Attribute) and one.args]
    calls.sort(key=lambda one: (one.lineno, one.col_offset))
    for node in calls:
        if called(node) not in {"fit", "fit_transform"} or not isinstance(node.func, ast.Attribute):
            continue
        owner, split = text_of(node.func.value), _split(node.args[0])
        if split == "train":
            fitted[owner] = split
        elif split == "test" and owner in fitted and called(node) == "fit_transform":
            yield Mistake(short(node), node.lineno, owner)


def separately_shuffled_loaders(code: SearchedCode) -> Iterator[Mistake]:
    """Yield pairs of loaders, one of inputs and one of labels, that both shuffle their samples."""
    for block in code.blocks:
        shuffled = {
            target.id: node.lineno
            for node in block
            if isinstance(node, ast.Assign)
            and isinstance(target := target_of(node), ast.Name)
            and isinstance(node.value, ast.Call)
            and called(node.value) == "DataLoader"
            and any(
                one.arg == "shuffle" and text_of(one.value) == "True" for one in node.value.keywords
            )
        }
        for labels in shuffled:
            kind = words(labels) & (_LABELS - _DOMAINS)
            for inputs in shuffled:
                rest = words(inputs) ^ words(labels)
                if kind and words(inputs) & _PICTURES and rest <= kind | _PICTURES:
                    yield Mistake(inputs, shuffled[labels], labels)


def splits_of_repeated_samples(code: SearchedCode) -> Iterator[Mistake]:
    """Yield splits of data in which samples of rare classes were repeated before."""
    repeated = {
        name: node.lineno
        for node in code.all(ast.Assign)
        if _REPEATS.search(called(node.value))
        for name in plain_names(node.targets[0])
    }
    for call in code.all(ast.Call):
        if called(call) not in _SPLITTERS:
            continue
        given = {name for one in call.args for name in plain_names(one)}
        known = [name for name in given if name in repeated and repeated[name] < call.lineno]
        if known:
            yield Mistake(short(call), call.lineno, str(min(repeated[name] for name in known)))


def transforms_of_shared_data(code: SearchedCode) -> Iterator[Mistake]:
    """Yield transforms that are set on the data of a subset, which other subsets share."""
    splits: dict[str, str] = {}  # subsets: their data
    for node in code.all(ast.Assign):
        target, value = node.targets[0], node.value
        if called(value) == "random_split" and isinstance(value, ast.Call) and value.args:
            for one in getattr(target, "elts", ()):
                splits[text_of(one)] = text_of(value.args[0])
        elif called(value) == "Subset" and isinstance(value, ast.Call) and value.args:
            splits[text_of(target)] = text_of(value.args[0])
    for node in code.all(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or not words(target.attr) & {"transform"}:
            continue
        owner = target.value
        if not isinstance(owner, ast.Attribute) or owner.attr != "dataset":
            continue
        own = text_of(owner.value)
        data = splits.get(own)
        others = [name for name, of in splits.items() if of == data and name != own]
        replaced = any(text_of(one.targets[0]) == text_of(owner) for one in code.all(ast.Assign))
        if data and others and not replaced:
            yield Mistake(text_of(target), node.lineno, others[0])


def models_of_several_folds(code: SearchedCode) -> Iterator[Mistake]:
    """Yield models that are trained on one fold after another, and tested on what they know."""
    for block in code.blocks:
        for loop in block:
            if not isinstance(loop, ast.For) or not _is_over_folds(loop):
                continue
            before = {
                name
                for node in block
                if isinstance(node, ast.Assign) and node.lineno < loop.lineno
                for name in plain_names(node.targets[0])
                if isinstance(node.value, ast.Call)
            }
            inside = [*ast.walk(loop)]
            stored = {
                one.id
                for one in inside
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            }
            trained = {
                name
                for one in inside
                if isinstance(one, ast.Call) and words(called(one)) & _FITS
                for name in plain_names(one) & {"model", "net", "network"}
            }
            renewed = any(words(called(one)) & _RENEWS for one in inside)
            for name in sorted(trained & before - stored) if not renewed else ():
                yield Mistake(name, loop.lineno)


def _is_over_folds(loop: ast.For) -> bool:
    """Return whether a loop is over the folds of a cross-validation."""
    if re.search(r"fold", text_of(loop.iter) + " " + text_of(loop.target), re.IGNORECASE):
        return True
    own = plain_names(loop.target)
    return any(
        isinstance(one, ast.Subscript)
        and re.search(r"folds?$", text_of(one.value), re.IGNORECASE)
        and plain_names(one.slice) & own
        for one in ast.walk(loop)
    )


def mixed_splits(code: SearchedCode) -> Iterator[Mistake]:
    """Yield data sets that pair values of the training split with values of the test split."""
    for node in code.all(ast.Call):
        if called(node) not in _PAIRED or len(node.args) < 2:
            continue
        if called(node) == "zip" and not all(map(_is_part, node.args)):
            continue
        if len({_split(one) for one in node.args} - {""}) == 2 and _are_parts(node.args):
            yield Mistake(short(node), node.lineno)


def _is_part(node: ast.expr) -> bool:
    """Return whether a name says nothing but the split and the part of samples."""
    return words(text_of(node)) <= _TRAIN | _TEST | _LABELS | _INPUTS | {"data", "self"}


def _are_parts(arguments: list[ast.expr]) -> bool:
    """Return whether arguments are parts of samples: inputs and labels, not one part twice."""
    kinds = [
        bool(words(text_of(one)) & _LABELS) for one in arguments if not isinstance(one, ast.Starred)
    ]
    return len(set(kinds)) == 2


def loaders_of_other_splits(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loaders named after the test split that read the training split."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        if called(node.value) != "DataLoader" or not isinstance(target, ast.Name):
            continue
        call = node.value
        given = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if given is None or _split(target) != "test" or _split(given) != "train":
            continue
        if isinstance(given, ast.Name | ast.Attribute) and not words(target.id) & {"eval"}:
            yield Mistake(target.id, node.lineno, text_of(given))


def transforms_of_other_splits(code: SearchedCode) -> Iterator[Mistake]:
    """Yield data sets of the test split with the transform of the training split."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        if target is None or _split(target) != "test" or not isinstance(node.value, ast.Call):
            continue
        for keyword in node.value.keywords:
            named = isinstance(keyword.value, ast.Name | ast.Attribute)
            if keyword.arg == "transform" and named and _split(keyword.value) == "train":
                yield Mistake(text_of(target), node.lineno, text_of(keyword.value))


def separate_shuffles(code: SearchedCode) -> Iterator[Mistake]:
    """Yield shuffles of labels that follow a shuffle of their samples, with no seed between."""
    for block in code.blocks:
        first = ""
        for statement in block:
            shuffled = _shuffled(statement)
            if not shuffled:
                if first and ("seed" in (text := text_of(statement)) or "set_state" in text):
                    first = ""
                continue
            is_label = bool(words(shuffled) & _LABELS)
            if first and is_label and not words(first) & _LABELS:
                yield Mistake(shuffled, statement.lineno, first)
            first = "" if is_label else shuffled


def _shuffled(statement: ast.stmt) -> str:
    """Return what a statement shuffles with a draw of its own; else ""."""
    if isinstance(statement, ast.Expr) and called(statement.value) == "shuffle":
        call = statement.value
        if isinstance(call, ast.Call) and len(call.args) == 1:
            owner = text_of(call.func)
            return text_of(call.args[0]) if "random" in owner or owner == "shuffle" else ""
    target = target_of(statement)
    value = statement.value if isinstance(statement, ast.Assign) else None
    if target is None or not isinstance(value, ast.Subscript):
        return ""
    drawn = called(value.slice) in {"randperm", "permutation"}
    return text_of(value.value) if drawn else ""


def lists_before_shuffles(code: SearchedCode) -> Iterator[Mistake]:
    """Yield lists that were taken from a table before it was shuffled, beside one taken after."""
    for block in code.blocks:
        for number, statement in enumerate(block):
            table = _shuffled_table(statement)
            before = _taken(block[:number], table) if table else {}
            after = _taken(block[number + 1 :], table) if table else {}
            for name, line in before.items():
                if after and name not in after:
                    yield Mistake(name, line, f"{next(iter(after))} from `{table}`")


def _shuffled_table(statement: ast.stmt) -> str:
    """Return the list that a statement shuffles in place; else ""."""
    if not isinstance(statement, ast.Expr) or called(statement.value) != "shuffle":
        return ""
    call = statement.value
    given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    return given.id if isinstance(given, ast.Name) else ""


def _taken(block: Block, table: str) -> dict[str, int]:
    """Return the names that get a list of one part of each row of a table, with their lines."""
    found = {}
    for statement in block:
        target = target_of(statement)
        value = statement.value if isinstance(statement, ast.Assign) else None
        if target is None or not isinstance(value, ast.ListComp) or len(value.generators) != 1:
            continue
        source = value.generators[0]
        plain = isinstance(source.iter, ast.Name) and source.iter.id == table and not source.ifs
        if plain and re.fullmatch(r"[\w.]+", text_of(target)):
            found[text_of(target)] = statement.lineno
    return found
