"""Mistakes of scripts: seeds of workers, states that are not loaded, changes of one part alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    plain_names,
    short,
    target_of,
    text_of,
    words,
)

_PLACED = {"box", "boxes", "bbox", "bboxes", "mask", "masks", "keypoints", "landmarks", "points"}
_TURNS = re.compile(r"\bflip\b|\.flip\(|hflip|vflip|rot90|fliplr|flipud|::-1")
_TEMPERATURES = re.compile(r"^(self\.)?(temperature|temp|tau)$")
_STATES = ("optimizer", "optimizer_state_dict", "optim", "optimizer_state")
_MODULES = {"F", "torch", "nn.functional", "functional", "torch.nn.functional"}
_MODELS = {"model", "net", "network"}
_SETTERS = {"eval", "train", "to"}
_LOSSES = {"criterion", "loss"}
_LATER = {"test", "val", "valid", "validation", "later", "dev"}
_LABELS = {"y", "ys", "label", "labels", "target", "targets"}


def equal_worker_seeds(code: SearchedCode) -> Iterator[Mistake]:
    """Yield functions that seed all workers of a loader, in each epoch, with one number."""
    used = {text_of(one.value) for one in code.all(ast.keyword) if one.arg == "worker_init_fn"}
    for function in code.functions if used else ():
        given = [one.arg for one in function.args.args]
        text = ast.unparse(function)
        if function.name not in used or len(given) != 1 or "seed" not in text:
            continue
        read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        if given[0] not in read and not re.search(r"initial_seed|worker_info|time|urandom", text):
            yield Mistake(function.name, function.lineno, given[0])


def states_left_behind(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loads of a checkpoint that has an optimizer's state, which nothing reads."""
    keys = {id(key): key.value for node in code.all(ast.Dict) for key in node.keys
            if isinstance(key, ast.Constant)}  # fmt: skip
    names = [name for name in dict.fromkeys(keys.values()) if name in _STATES]
    if not names or not any(called(one) == "save" for one in code.all(ast.Call)):
        return
    read = {one.value for one in code.all(ast.Constant) if id(one) not in keys}
    loads = [one for one in code.all(ast.Call) if called(one) == "load_state_dict" and one.args]
    if any(re.search(r"\[\w+\]$", text_of(one.args[0])) for one in loads):
        return  # in a loop over all names
    model = next((one for one in loads if "model" in text_of(one.args[0])), None)
    for name in names if model is not None else ():
        if name not in read and model is not None:
            yield Mistake(str(name), model.lineno, text_of(model))


def models_that_nobody_calls(code: SearchedCode) -> Iterator[Mistake]:
    """Yield functions that set a model to eval mode, compute a loss, and never call the model."""
    for function in code.functions:
        given = {one.arg for one in function.args.args} & _MODELS
        loops = any(isinstance(one, ast.For) for one in ast.walk(function))
        if not given or not loops:
            continue
        calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
        loss = next((one for one in calls if words(called(one)) & _LOSSES and one.args), None)
        for name in given if loss is not None else ():
            uses = [
                one
                for one in ast.walk(function)
                if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
            ]
            modes = [code.parents.get(id(one)) for one in uses]
            is_eval = any(isinstance(one, ast.Attribute) and one.attr == "eval" for one in modes)
            only = all(isinstance(one, ast.Attribute) and one.attr in _SETTERS for one in modes)
            if is_eval and only and loss is not None:
                yield Mistake(name, loss.lineno, function.name)


def turned_alone(code: SearchedCode) -> Iterator[Mistake]:
    """Yield random flips of an image in __getitem__ that leave its boxes or mask as they are."""
    for function in code.functions:
        if function.name != "__getitem__":
            continue
        returned = [one for one in ast.walk(function) if isinstance(one, ast.Return)]
        given = {
            name for one in returned if one.value is not None for name in plain_names(one.value)
        }
        placed = {name for name in given if words(name) & _PLACED}
        for node in ast.walk(function):
            if not placed or not isinstance(node, ast.If) or "rand" not in text_of(node.test):
                continue
            changed = {
                name
                for one in node.body
                for part in ast.walk(one)
                if isinstance(part, ast.Name | ast.Subscript) and isinstance(part.ctx, ast.Store)
                for name in plain_names(part)
            }
            turned = [
                one for one in node.body
                if isinstance(one, ast.Assign) and _TURNS.search(text_of(one.value))
            ]  # fmt: skip
            if turned and not changed & placed and not _sets_a_flag(node):
                what = sorted(placed)[0]
                yield Mistake(text_of(turned[0]), turned[0].lineno, what)


def _sets_a_flag(node: ast.If) -> bool:
    """Return whether a condition notes that it was true, for what comes later."""
    return any(
        isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant) for one in node.body
    )


def temperatures_both_ways(code: SearchedCode) -> Iterator[Mistake]:
    """Yield softmaxes of scores times the temperature that other scores are divided by."""
    for kind in (*code.all(ast.ClassDef), *code.functions):
        divided = {
            text_of(node.right)
            for node in ast.walk(kind)
            if isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and _TEMPERATURES.match(text_of(node.right))
        }
        if not divided or isinstance(code.parents.get(id(kind)), ast.ClassDef):
            continue
        for call in ast.walk(kind):
            if called(call) not in {"softmax", "log_softmax"} or not isinstance(call, ast.Call):
                continue
            given = call.args[0] if call.args else None
            if isinstance(call.func, ast.Attribute) and text_of(call.func.value) not in _MODULES:
                given = call.func.value
            if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Mult):
                continue
            for factor in (given.left, given.right):
                if text_of(factor) in divided:
                    yield Mistake(short(given), call.lineno, text_of(factor))


def separate_permutations(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls of a function that permutes its argument at random for labels and samples."""
    permuting = {
        function.name
        for function in code.functions
        if len(function.args.args) == 1
        and re.search(r"randperm|permutation\(", text := ast.unparse(function))
        and "seed" not in text
    }
    for function in code.functions if permuting else ():
        calls: dict[str, list[tuple[str, str, int]]] = {}
        for node in ast.walk(function):
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            name = called(value) if value is not None else ""
            arguments = value.args if isinstance(value, ast.Call) and name in permuting else []
            if target is not None and len(arguments) == 1:
                row = text_of(arguments[0]), text_of(target), target.lineno
                calls.setdefault(name, []).append(row)
        for name, rows in calls.items():
            labels = [row for row in rows if words(row[0]) & _LABELS]
            others = [row for row in rows if row not in labels]
            if labels and others:
                yield Mistake(f"{name}({labels[0][0]})", labels[0][2], f"{name}({others[0][0]})")


def turned_by_separate_draws(code: SearchedCode) -> Iterator[Mistake]:
    """Yield a function that turns or moves its argument at random, called for images and masks.

    Each call draws anew. Both lists of calls are in one block.
    """
    moving = {
        function.name
        for function in code.functions
        if len(function.args.args) == 1
        and _TURNS.search(text := ast.unparse(function))
        and re.search(r"\brand|random", text)
        and "seed" not in text
    }
    for block in code.blocks if moving else ():
        rows: dict[str, list[tuple[str, int]]] = {}
        for node in block:
            if not isinstance(node, ast.Assign):
                continue
            for one in ast.walk(node.value):
                if called(one) in moving and isinstance(one, ast.Call) and len(one.args) == 1:
                    rows.setdefault(called(one), []).append((text_of(one.args[0]), node.lineno))
        for name, found in rows.items():
            masks = [row for row in found if words(row[0]) & _PLACED]
            others = [row for row in found if row not in masks]
            if masks and others:
                yield Mistake(f"{name}({masks[0][0]})", masks[0][1], f"{name}({others[0][0]})")


def scaled_by_own_ranges(code: SearchedCode) -> Iterator[Mistake]:
    """Yield a function that scales by the statistics of its argument, called for train and test."""
    own = set()
    for function in code.functions:
        given = [one.arg for one in function.args.args]
        text = ast.unparse(function)
        least = len(given) == 1 and re.search(rf"\b{given[0]}\.(min|mean)\(", text)
        if least and re.search(rf"\b{given[0]}\.(max|std)\(", text) and "/" in text:
            own.add(function.name)
    calls: dict[str, list[tuple[str, int]]] = {}
    for node in code.all(ast.Assign):
        if called(node.value) in own and isinstance(node.value, ast.Call) and node.value.args:
            row = text_of(node.value.args[0]), node.lineno
            calls.setdefault(called(node.value), []).append(row)
    for name, rows in calls.items():
        train = [row for row in rows if words(row[0]) & {"train", "training"}]
        later = [row for row in rows if words(row[0]) & _LATER]
        if train and later:
            yield Mistake(f"{name}({later[0][0]})", later[0][1], f"{name}({train[0][0]})")


def states_before_schedules(code: SearchedCode) -> Iterator[Mistake]:
    """Yield states of an optimizer that are loaded before its scheduler, which resets them."""
    for function in (*code.functions, code.tree):
        loaded: dict[str, int] = {}
        for node in sorted(
            (one for one in ast.walk(function) if isinstance(one, ast.Call)),
            key=lambda one: one.lineno,
        ):
            owner = text_of(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if called(node) == "load_state_dict":
                loaded.setdefault(owner, node.lineno)
            elif "lr_scheduler" in owner and node.args and text_of(node.args[0]) in loaded:
                last = any(one.arg == "last_epoch" for one in node.keywords)
                if not last and isinstance(function, ast.FunctionDef):
                    yield Mistake(
                        f"{text_of(node.args[0])}.load_state_dict", loaded[text_of(node.args[0])],
                        called(node),
                    )  # fmt: skip


def changed_before_read(code: SearchedCode) -> Iterator[Mistake]:
    """Yield chains of methods in place, of which a later one reads what an earlier one changed."""
    for call in code.all(ast.Call):
        inner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not called(call).endswith("_") or not isinstance(inner, ast.Call):
            continue
        base = inner.func.value if isinstance(inner.func, ast.Attribute) else None
        if not called(inner).endswith("_") or not isinstance(base, ast.Name):
            continue
        if called(call).startswith("_") or called(inner).startswith("_"):
            continue
        given = [*call.args, *(one.value for one in call.keywords)]
        if any(base.id in _valuesplain_names(one) for one in given):
            yield Mistake(short(call), call.lineno, base.id)


def _valuesplain_names(node: ast.AST) -> set[str]:
    """Return the names whose values an expression reads, not only their shape or dtype."""
    if isinstance(node, ast.Attribute) and node.attr in {"shape", "dtype", "device", "ndim"}:
        return set()
    if isinstance(node, ast.Call) and (called(node).endswith("_like") or called(node) == "size"):
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return {name for child in ast.iter_child_nodes(node) for name in _valuesplain_names(child)}


def neighbours_without_self(code: SearchedCode) -> Iterator[Mistake]:
    """Yield normalizations of a graph by the roots of degrees, in files that add no self-loops."""
    if not code.names("adj") or code.names("eye|self_?loop|fill_diagonal|diag|identity"):
        return
    for function in code.functions:
        text = ast.unparse(function)
        roots = len(re.findall(r"sqrt\(|\*\* ?\(?-0\.5|pow\(-0\.5", text))
        named = re.search(r"norm", function.name, re.IGNORECASE)
        if named and "adj" in text and re.search(r"deg", text) and (roots > 1 or "@" in text):
            yield Mistake(function.name, function.lineno)


def setters_of_trained_alone(code: SearchedCode) -> Iterator[Mistake]:
    """Yield setters of `requires_grad` that pass over frozen parameters, which stay frozen."""
    for node in code.all(ast.If):
        test = node.test
        is_trained = isinstance(test, ast.Attribute) and test.attr == "requires_grad"
        if not is_trained or len(node.body) != 1 or node.orelse:
            continue
        statement = node.body[0]
        target = target_of(statement)
        value = statement.value if isinstance(statement, ast.Assign) else None
        same = target is not None and text_of(target) == text_of(test)
        may_be_true = isinstance(value, ast.Name) or (
            isinstance(value, ast.Constant) and value.value is True
        )
        if same and may_be_true and value is not None:
            yield Mistake(text_of(statement), node.lineno, text_of(test))


def best_without_copy(code: SearchedCode) -> Iterator[Mistake]:
    """Yield a best model or state that is kept without a copy, so that training changes it too."""
    models = {
        text_of(one.func.value)
        for one in code.all(ast.Call)
        if isinstance(one.func, ast.Attribute) and one.func.attr in {"parameters", "train"}
    }
    for node in code.all(ast.If):
        if not re.search(r"best|lowest|highest|min_|max_", text_of(node.test).lower()):
            continue
        saved = any(called(one) == "save" for part in node.body for one in ast.walk(part))
        for statement in () if saved else node.body:
            target = target_of(statement)
            if target is None or not isinstance(statement, ast.Assign):
                continue
            name, value = text_of(target), statement.value
            if "best" not in name.lower() or _is_made_in_loop(code, node, value):
                continue
            is_own = text_of(value) in models or _is_own_state(value)
            if is_own and _is_read_later(code, name):
                yield Mistake(short(statement), statement.lineno, name)


def _is_own_state(node: ast.expr) -> bool:
    """Return whether a node is `model.state_dict()`, which refers to the weights themselves."""
    return called(node) == "state_dict" and isinstance(node, ast.Call) and not node.args


def _is_made_in_loop(code: SearchedCode, node: ast.AST, value: ast.expr) -> bool:
    """Return whether a loop around a statement gives the first name of a value another object."""
    first = next((one.id for one in ast.walk(value) if isinstance(one, ast.Name)), "")
    parent = code.parents.get(id(node))
    while parent is not None:
        if isinstance(parent, ast.For | ast.While):
            made = (one for one in ast.walk(parent) if isinstance(one, ast.Assign | ast.For))
            targets = [
                t for one in made for t in getattr(one, "targets", [getattr(one, "target", None)])
            ]
            if any(t is not None and first in plain_names(t) for t in targets if first != "self"):
                return True
        parent = code.parents.get(id(parent))
    return False


def _is_read_later(code: SearchedCode, name: str) -> bool:
    """Return whether a variable or attribute is read: it is not enough to keep it."""
    return any(
        isinstance(one.ctx, ast.Load) and text_of(one) == name for one in code.all(ast.Name)
    ) or any(
        isinstance(one.ctx, ast.Load) and text_of(one) == name for one in code.all(ast.Attribute)
    )


def epochs_without_shuffle(code: SearchedCode) -> Iterator[Mistake]:
    """Yield distributed samplers that a script never tells the epoch."""
    if code.names("^set_epoch$|accelerat|lightning|^Trainer"):
        return
    epochs = [
        one
        for one in code.all(ast.For)
        if called(one.iter) in {"range", "trange"} and "epoch" in text_of(one.target).lower()
    ]
    if not any(
        isinstance(part, ast.For) for one in epochs for part in ast.walk(one) if part is not one
    ):
        return
    for call in code.all(ast.Call):
        shuffle = next((text_of(k.value) for k in call.keywords if k.arg == "shuffle"), "True")
        held_out = re.search(r"val|test|eval|dev", text_of(call).lower())
        if called(call) == "DistributedSampler" and shuffle == "True" and not held_out:
            yield Mistake(short(call), call.lineno)
            return


def schedules_without_state(code: SearchedCode) -> Iterator[Mistake]:
    """Yield checkpoints with the state of an optimizer, and without that of its schedule.

    Only if the file loads such a checkpoint too.
    """
    text = " ".join(text_of(one).lower() for one in code.all(ast.Attribute))
    counted = (  # by the epoch that it is given
        one for one in code.all(ast.Call)
        if called(one) == "step" and one.args and "sched" in text_of(one.func).lower()
    )  # fmt: skip
    if any(counted):
        return
    steps = re.search(r"(\w*sched\w*)\.step\b", text)
    kept = re.search(r"sched\w*\.(load_)?state_dict|last_epoch", text)
    if steps is None or kept or any(one.arg == "last_epoch" for one in code.all(ast.keyword)):
        return
    if re.search(r"optim\w*\.load_state_dict", text) is None:
        return
    for node in code.all(ast.Dict):
        states = [text_of(one) for one in node.values if called(one) == "state_dict"]
        of_optimizer = [one for one in states if "optim" in one.lower()]
        if len(states) > 1 and len(of_optimizer) == 1:
            line = next(one.lineno for one in node.values if text_of(one) == of_optimizer[0])
            yield Mistake(of_optimizer[0], line, steps[1])
            return


def rates_of_first_group(code: SearchedCode) -> Iterator[Mistake]:
    """Yield assignments of a learning rate to the first group of an optimizer that has several.

    All optimizers of the file must have several, so that it is one of these.
    """
    made = [one for one in code.all(ast.Call) if _OPTIMIZER.fullmatch(text_of(one.func))]
    others = code.names("add_param_group") or any(
        text_of(one.iter).endswith("param_groups") for one in code.all(ast.For)
    )
    if others or not made or not all(_has_groups(one) for one in made):
        return
    changed = [
        *(target for one in code.all(ast.Assign) for target in one.targets),
        *(one.target for one in code.all(ast.AugAssign)),
    ]
    for target in changed:
        if re.search(r"\.param_groups\[0\]\['lr'\]$", text_of(target)):
            yield Mistake(text_of(target), target.lineno)


_OPTIMIZER = re.compile(
    r"((\w+\.)*optim\.)?(SGD|Adam\w*|RAdam|NAdam|RMSprop|Adagrad|Adadelta|Rprop)"
)


def _has_groups(call: ast.Call) -> bool:
    given = call.args[0] if call.args else None
    return isinstance(given, ast.List) and _are_groups(given)


def _are_groups(node: ast.List) -> bool:
    """Return whether a list is one of several groups of parameters."""
    groups = [one for one in node.elts if isinstance(one, ast.Dict)]
    keys = [text_of(key) for one in groups for key in one.keys if key is not None]
    return len(groups) > 1 and len(groups) == len(node.elts) and "'params'" in keys


_UNREAD = {"lr", "learning_rate", "weight_decay", "momentum"}


def rates_as_attributes(code: SearchedCode) -> Iterator[Mistake]:
    """Yield settings that are assigned to an optimizer of torch itself, which reads its groups."""
    made = {
        text_of(target)
        for node in code.all(ast.Assign)
        if isinstance(node.value, ast.Call)
        and re.search(r"\boptim\.[A-Z]\w+$", text_of(node.value.func))
        and (target := target_of(node)) is not None
    }
    for node in (*code.all(ast.Assign), *code.all(ast.AugAssign)):
        target = node.target if isinstance(node, ast.AugAssign) else target_of(node)
        if not isinstance(target, ast.Attribute) or text_of(target.value) not in made:
            continue
        if target.attr in _UNREAD:
            yield Mistake(text_of(target), node.lineno, target.attr)


def averages_without_updates(code: SearchedCode) -> Iterator[Mistake]:
    """Yield averaged models that a file never updates, though it calls them."""
    if code.names(r"\bupdate_parameters\b"):
        return
    for node in code.all(ast.Assign):
        target = target_of(node)
        if called(node.value) != "AveragedModel" or target is None:
            continue
        name = text_of(target)
        given = [one for call in code.all(ast.Call) for one in (call.func, *call.args)]
        if any(text_of(one) == name for one in given):
            yield Mistake(name, node.lineno)


def averages_without_statistics(code: SearchedCode) -> Iterator[Mistake]:
    """Yield averages of weights (SWA) of a model with batch norms without `update_bn`."""
    if code.names(r"\b(update_bn|bn_update|use_buffers)\b") or not code.names(r"\bBatchNorm\dd\b"):
        return
    if not code.names(r"\bSWALR\b|\bswa_(model|start)\b"):
        return
    for node in code.all(ast.Assign):
        target = target_of(node)
        if called(node.value) == "AveragedModel" and target is not None:
            yield Mistake(text_of(target), node.lineno)
