"""Sums, means and counters of a loop that count something else than they seem to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    names_in,
    plain_names,
    short,
    target_of,
    text_of,
    words,
)

_LOSS = re.compile(r"loss|criterion|cross_entropy|mse|nll|error", re.IGNORECASE)
_BEST = re.compile(r"^best(_\w+)?$|^\w+_best$")
_LARGE = 100  # a first value that each later one is below
_MEASURES = {"acc", "accuracy", "correct", "f1", "iou", "dice", "score"}
_SPLITS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


def overwritten_totals(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums that begin with 0, and whose name a loop gives to the value of a batch."""
    for block in code.blocks:
        zero = set()
        for node in block:
            if isinstance(node, ast.Assign) and text_of(node.value) in {"0", "0.0"}:
                zero |= {one.id for one in node.targets if isinstance(one, ast.Name)}
            if not isinstance(node, ast.For):
                continue
            made: dict[str, int] = {}
            for one in _statements(node.body):
                target = target_of(one)
                if isinstance(target, ast.Name) and target.id in zero and _is_new(one, target.id):
                    made[target.id] = target.lineno
                elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
                    name = one.target.id
                    if (
                        name in made
                        and isinstance(one.op, ast.Add)
                        and name in plain_names(one.value)
                    ):
                        yield Mistake(name, made.pop(name), text_of(one))


def _statements(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block, and those in blocks with a context in it."""
    for node in block:
        yield node
        if isinstance(node, ast.With):
            yield from _statements(node.body)


def _is_new(node: ast.stmt, name: str) -> bool:
    """Return whether an assignment gives a name a value that its former one is no part of."""
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.Call) and name not in plain_names(value)


def values_of_last_batches(code: SearchedCode) -> Iterator[Mistake]:
    """Yield measures of the last batch that a function returns beside a mean over all batches."""
    for function in code.functions:
        for node in function.body:
            if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
                continue
            loops = [one for one in function.body if isinstance(one, ast.For)]
            inside = [one for loop in loops for one in ast.walk(loop)]
            assigned = {
                name.id
                for one in inside
                if (target := target_of(one)) is not None
                for name in (target.elts if isinstance(target, ast.Tuple) else [target])
                if isinstance(name, ast.Name)
            }
            outside = {
                target.id for one in function.body if isinstance(target := target_of(one), ast.Name)
            }
            collected = {
                name
                for one in inside
                if called(one) == "append" or isinstance(one, ast.AugAssign)
                for name in plain_names(one)
            }
            for part in node.value.elts:
                names = plain_names(part)
                if len(names) != 1 or not isinstance(part, ast.Name | ast.Call):
                    continue
                (name,) = names
                last = name in assigned - outside and name in collected
                if last and words(name) & _MEASURES:
                    yield Mistake(name, node.lineno)


def best_never_updated(code: SearchedCode) -> Iterator[Mistake]:
    """Yield best values that a loop compares others with, and that stay the number of before."""
    first = {
        name: node.lineno
        for node in code.all(ast.Assign)
        if _BEST.search(name := text_of(node.targets[0])) and _is_first(node.value)
    }
    for loop in (*code.all(ast.For), *code.all(ast.While)):
        stored = {
            one.id
            for one in ast.walk(loop)
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
        }
        compared = {
            one.id: node.lineno
            for node in ast.walk(loop)
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Gt | ast.Lt)
            for one in (node.left, *node.comparators)
            if isinstance(one, ast.Name)
        }
        for name, line in compared.items():
            before = first.get(name)
            if before is None or before > loop.lineno or name in stored:
                continue
            others = [node for node in code.all(ast.Name) if node.id == name]
            if sum(not isinstance(one.ctx, ast.Load) for one in others) == 1:
                yield Mistake(name, line, str(before))


def _is_first(node: ast.expr) -> bool:
    """Return whether a value is what a search for the best one begins with: 0, -1 or infinity."""
    text = text_of(node).lower().strip("-")
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return text.endswith(("inf", "inf')"))
    return isinstance(value, int | float) and (value in {0, 1, -1} or abs(value) >= _LARGE)


def counters_without_reset(code: SearchedCode) -> Iterator[Mistake]:
    """Yield early stopping whose counter of bad rounds is not reset by a better one."""
    for node in code.all(ast.If):
        counted = [
            one.target
            for one in node.orelse
            if isinstance(one, ast.AugAssign)
            and isinstance(one.op, ast.Add)
            and text_of(one.value) == "1"
        ]
        if len(counted) != 1:
            continue
        name = text_of(counted[0])
        kept = any("best" in text_of(one.targets[0]).lower() for one in _assignments(node.body))
        reset = any(
            name in map(text_of, getattr(target, "elts", [target]))
            for one in _assignments(node.body)
            for target in one.targets
        )
        compared = [
            one
            for one in code.all(ast.Compare)
            if name in {text_of(one.left), *map(text_of, one.comparators)}
        ]
        calls = any(_may_reset(one, name, code) for part in node.body for one in ast.walk(part))
        patience = any("patience" in text_of(one).lower() for one in compared)
        if kept and patience and not reset and not calls:
            yield Mistake(name, node.lineno)


_HARMLESS = {
    "append", "copy", "deepcopy", "float", "format", "info", "item", "print", "round", "save",
    "state_dict", "write",
}  # fmt: skip


def _may_reset(node: ast.AST, counter: str, code: SearchedCode) -> bool:
    """Return whether a node calls a function that may change a counter."""
    name = called(node)
    if not isinstance(node, ast.Call) or name in _HARMLESS:
        return False
    made = [one for one in code.functions if one.name == name]
    attribute = counter.rpartition(".")[2]
    return not made or any(attribute in names_in(one) for one in made)


def _assignments(block: list[ast.stmt]) -> list[ast.Assign]:
    return [one for part in block for one in ast.walk(part) if isinstance(one, ast.Assign)]


def quotients_of_quotients(code: SearchedCode) -> Iterator[Mistake]:
    """Yield losses that are divided by a number of samples, and later by the same once more."""
    for function in code.functions:
        divided: dict[str, str] = {}
        for node in function.body:
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            for one in ast.walk(node):
                if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
                    name = one.left.id if isinstance(one.left, ast.Name) else ""
                    if name and divided.get(name) == text_of(one.right):
                        yield Mistake(short(one), one.lineno, name)
            if isinstance(target, ast.Name):
                divided.pop(target.id, None)
                is_quotient = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)
                if is_quotient and isinstance(value, ast.BinOp) and "loss" in target.id.lower():
                    divided[target.id] = text_of(value.right)


def divided_means(code: SearchedCode) -> Iterator[Mistake]:
    """Yield losses of a function that averages, which are divided by the number of samples too.

    Files in which a loss is a sum, or is not reduced, are not looked at.
    """
    reductions = [text_of(one.value) for one in code.all(ast.keyword) if one.arg == "reduction"]
    if any(one != "'mean'" for one in reductions) or code.names("^size_average$|reduce$"):
        return
    own = {function.name for function in code.functions}
    own |= {kind.name for kind in code.all(ast.ClassDef)}
    averaging = {
        target.id
        for node in code.all(ast.Assign)
        if isinstance(target := target_of(node), ast.Name)
        and called(node.value).endswith("Loss")
        and called(node.value) not in own
    }
    for function in code.functions:
        means: set[str] = set()
        for node in ast.walk(function):
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Name) and value is not None:
                name = called(value)
                of_torch = text_of(getattr(value, "func", value)).startswith(
                    ("F.", "nn.functional")
                )
                if name in averaging or (of_torch and _LOSS.search(name)):
                    means.add(target.id)
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            left, right = text_of(node.left), node.right
            samples = called(right) == "len" and isinstance(right, ast.Call) and right.args
            if left in means and samples and not _counts_batches(right):
                yield Mistake(text_of(node), node.lineno, left)


def _counts_batches(node: ast.expr) -> bool:
    """Return whether a number is that of batches or steps, not of samples."""
    return bool(
        words(text_of(node))
        & {"loader", "dataloader", "loaders", "batches", "losses", "steps", "tasks"}
    )


def means_of_one(code: SearchedCode) -> Iterator[Mistake]:
    """Yield means and deviations along a dimension that a slice has cut to one element."""
    for call in code.all(ast.Call):
        cut = call.func.value if isinstance(call.func, ast.Attribute) else None
        if called(call) not in {"mean", "std", "var"} or not isinstance(cut, ast.Subscript):
            continue
        given = [text_of(one) for one in call.args[:1]]
        given += [text_of(one.value) for one in call.keywords if one.arg in {"dim", "axis"}]
        parts = cut.slice.elts if isinstance(cut.slice, ast.Tuple) else [cut.slice]
        if not given or not re.fullmatch(r"\d", given[0]) or int(given[0]) >= len(parts):
            continue
        part = parts[int(given[0])]
        first = isinstance(part, ast.Slice) and part.lower is None and part.step is None
        if first and isinstance(part, ast.Slice) and part.upper and text_of(part.upper) == "1":
            yield Mistake(short(call), call.lineno, given[0])


def sums_by_other_loaders(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums over the batches of one loader that are divided by the length of another one."""
    summed: list[tuple[int, str, str]] = []  # where a loop ends, its sum and its loader
    for loop in code.all(ast.For):
        source = loop.iter
        while isinstance(source, ast.Call) and source.args:
            source = source.args[0]
        if not isinstance(source, ast.Name | ast.Attribute):
            continue
        for one in ast.walk(loop):
            if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add):
                row = loop.end_lineno or loop.lineno, text_of(one.target), text_of(source)
                summed.append(row)
    for node in code.all(ast.BinOp) if summed else ():
        right = node.right
        if not isinstance(node.op, ast.Div) or called(right) != "len":
            continue
        before = [row for row in summed if row[0] < node.lineno and row[1] == text_of(node.left)]
        if not before or not isinstance(right, ast.Call) or not right.args:
            continue
        loader, other = max(before)[2], text_of(right.args[0])
        splits = [words(one) & _SPLITS for one in (loader, other)]
        rest = [words(one) - _SPLITS for one in (loader, other)]
        if all(splits) and splits[0] != splits[1] and rest[0] == rest[1]:
            yield Mistake(text_of(node), node.lineno, loader)


def means_over_samples(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums of means of batches that are divided by the number of samples."""
    for function in [*code.functions, code.tree]:
        nodes = list(ast.walk(function))
        means = {
            target.id
            for one in nodes
            if isinstance(target := target_of(one), ast.Name)
            and isinstance(one, ast.Assign)
            and _is_mean(one.value)
        }
        summed: dict[str, ast.AugAssign] = {}
        for node in nodes:
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                value = node.value
                if called(value) == "item" and isinstance(value, ast.Call):
                    value = getattr(value.func, "value", value)
                if _is_mean(value) or (isinstance(value, ast.Name) and value.id in means):
                    summed[text_of(node.target)] = node
        for node in nodes:
            divisor = None
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
                name, divisor = text_of(node.target), node.value
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                name, divisor = text_of(node.left), node.right
            if divisor is None or name not in summed or not _counts_data(divisor):
                continue
            yield Mistake(short(summed[name]), summed[name].lineno, text_of(divisor))
            return


def losses_over_samples(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums of mean losses of batches that are divided by the number of samples."""
    means = {
        text_of(node.targets[0])
        for node in code.all(ast.Assign)
        if _LOSS_CLASS.search(called(node.value)) and _takes_mean(node.value)
    }
    for function in [*code.functions, code.tree]:
        nodes = list(ast.walk(function))
        made: dict[str, list[bool]] = {}
        for one in nodes:
            target = target_of(one)
            if isinstance(one, ast.Assign) and isinstance(target, ast.Name):
                made.setdefault(target.id, []).append(_is_mean_loss(one.value, means))
        losses = {name for name, are_means in made.items() if all(are_means)}
        sums = {
            text_of(one.target): one
            for one in nodes
            if isinstance(one, ast.AugAssign)
            and isinstance(one.op, ast.Add)
            and called(one.value) == "item"
            and plain_names(one.value) & losses
            and isinstance(one.value, ast.Call)
            and isinstance(getattr(one.value.func, "value", None), ast.Name)
        }
        for node in nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                total = sums.get(text_of(node.left))
                if total is not None and _counts_data(node.right):
                    yield Mistake(short(total), total.lineno, text_of(node.right))
                    return


_LOSS_CLASS = re.compile(r"^\w+Loss$")
_LOSS_FUNCTION = re.compile(r"^(cross_entropy|nll_loss|mse_loss|l1_loss|binary_cross_entropy\w*)$")


def _is_mean_loss(node: ast.expr, means: set[str]) -> bool:
    """Return whether a node calls a loss function that returns a mean; some are in variables."""
    if not isinstance(node, ast.Call):
        return False
    if text_of(node.func) in means:
        return True
    return _LOSS_FUNCTION.search(called(node)) is not None and _takes_mean(node)


def _takes_mean(call: ast.expr) -> bool:
    """Return whether a loss is the mean over a batch, as it is by default."""
    given = call.keywords if isinstance(call, ast.Call) else []
    return not any(one.arg in ("reduction", "size_average", "reduce") for one in given)


def metrics_without_reset(code: SearchedCode) -> Iterator[Mistake]:
    """Yield metrics that each epoch updates and computes, and that nothing resets."""
    calls: dict[str, dict[str, ast.Call]] = {}
    for call in code.all(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_METRIC:
            calls.setdefault(text_of(call.func.value), {}).setdefault(call.func.attr, call)
    for loop in code.all(ast.For):
        if "epoch" not in text_of(loop.target).lower():
            continue
        inside = {id(one) for one in ast.walk(loop)}
        deeper = {
            id(one)
            for part in ast.walk(loop)
            if isinstance(part, ast.For) and part is not loop
            for one in ast.walk(part)
        }
        stored = {text_of(t) for one in ast.walk(loop) if (t := target_of(one)) is not None}
        for name, used in calls.items():
            update, compute = used.get("update"), used.get("compute")
            if update is None or compute is None or "reset" in used or name in stored:
                continue
            if id(update) in deeper and id(compute) in inside and id(compute) not in deeper:
                yield Mistake(name, compute.lineno)


_OF_METRIC = {"update", "compute", "reset"}


def _is_mean(node: ast.expr) -> bool:
    """Return whether a node is the mean of a comparison, over all elements."""
    plain = isinstance(node, ast.Call) and not node.args and not node.keywords
    return called(node) == "mean" and plain


def _counts_data(node: ast.expr) -> bool:
    """Return whether a node is the length of a data set."""
    return (
        isinstance(node, ast.Call)
        and called(node) == "len"
        and len(node.args) == 1
        and (re.search(r"dataset$|_ds$|_data$|_set$", text_of(node.args[0])) is not None)
    )
