"""Mistakes in classes of modules: layers that are lost, modes, and values that are not kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    is_self,
    line_of,
    names_in,
    plain_names,
    short,
    target_of,
    text_of,
)

_REPEATS = re.compile(r"shar|tied|tie_|univers|recur|rnn|cell|iter|step|refin|act\b", re.IGNORECASE)
_MANY = re.compile(r"(^|\.|_)(blocks?|layers?|depth)$")
_CONTAINERS = {"ModuleList", "ModuleDict", "Sequential", "Parameter", "Dropout"}
_SHARED = ("shared", "tied", "same", "common")
_PLAIN = {"Sequential", "ModuleList", "ModuleDict", "int", "range", "len", "OrderedDict", "max"}
_ACTIVATIONS = {
    "ReLU", "LeakyReLU", "GELU", "SiLU", "ELU", "Tanh", "Sigmoid", "Softplus", "PReLU", "SELU",
    "Mish",
}  # fmt: skip
_DRAWS = {"rand", "randn", "randperm", "randint", "multinomial", "bernoulli"}
_MOVES = {
    "cat", "stack", "view", "reshape", "t", "transpose", "permute", "unsqueeze", "squeeze", "long",
    "float", "argsort", "sort", "sign",
}  # fmt: skip
_BACKWARDS = frozenset({"backward"})


def mode_methods(code: SearchedCode) -> Iterator[Mistake]:
    """Yield conditions that read the method `self.train`, which is always true.

    A class that has such an attribute of its own is not looked at.
    """
    if not any(is_self(node, "train") for node in code.all(ast.Attribute)):
        return
    for kind in code.all(ast.ClassDef):
        own = SearchedCode(kind)
        assigned = any(
            is_self(node, "train") and isinstance(node.ctx, ast.Store)
            for node in own.all(ast.Attribute)
        )
        defined = any(
            isinstance(one, ast.FunctionDef) and one.name == "train" and one.decorator_list
            for one in kind.body
        ) or any(
            isinstance(one, ast.AnnAssign) and text_of(one.target) == "train" for one in kind.body
        )
        based = {text_of(base).rpartition(".")[2] for base in kind.bases}
        if assigned or defined or not based & {"Module", "LightningModule"}:
            continue
        for node in own.conditions:
            test = node.test
            parts = test.values if isinstance(test, ast.BoolOp) else [test]
            for one in parts:
                inner = one.operand if isinstance(one, ast.UnaryOp) else one
                if is_self(inner, "train"):
                    yield Mistake(f"if {text_of(test)}", node.lineno)
        for call in own.all(ast.Call):
            for keyword in call.keywords:
                if keyword.arg == "training" and is_self(keyword.value, "train"):
                    yield Mistake("training=self.train", call.lineno)


def returns_of_first_passes(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loops over layers or batches that return in their first pass.

    The loop must carry the value that it returns from one pass to the next, as in
    `x = layer(x); return x`, or add to it, as in `total += 1; return total`.
    """
    for loop in code.all(ast.For):
        last = loop.body[-1]
        if isinstance(last, ast.Return) and last.value is not None and not loop.orelse:
            read, parts = plain_names(last.value), [*ast.walk(loop)]
            sums = {text_of(one.target) for one in loop.body if isinstance(one, ast.AugAssign)}
            if sums & read and not any(isinstance(one, ast.Continue) for one in parts):
                names = short(loop.target).strip("()")
                passes = f"for {names} in {short(loop.iter)}"
                yield Mistake(passes, last.lineno, short(last))
                continue
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
            continue
        if loop.orelse or not isinstance(loop.target, ast.Name):
            continue
        name, layer = last.value.id, loop.target.id
        for node in loop.body:
            target = target_of(node)
            if not isinstance(target, ast.Name) or target.id != name:
                continue
            value = node.value if isinstance(node, ast.Assign) else node
            reads = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
            if name in reads and layer in reads:
                yield Mistake(f"for {layer} in {short(loop.iter)}", last.lineno, f"return {name}")
                break


def overwritten_modules(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loops of constructors that assign each new module to the same attribute."""
    for loop in code.all(ast.For):
        stored = [
            node
            for node in loop.body
            if isinstance(node, ast.Assign)
            and is_self(node.targets[0])
            and _makes_a_module(node.value)
        ]
        for node in stored:
            target = text_of(node.targets[0])
            reads = [
                one
                for one in ast.walk(loop)
                if isinstance(one, ast.Attribute)
                and isinstance(one.ctx, ast.Load)
                and text_of(one) == target
            ]
            ends = any(isinstance(one, ast.Break) for one in ast.walk(loop))
            if not reads and not ends:
                yield Mistake(text_of(node), node.lineno, target)


def modules_made_twice(code: SearchedCode) -> Iterator[Mistake]:
    """Yield second assignments of a module to an attribute, with none that reads the first."""
    for function in code.functions:
        if function.name != "__init__":
            continue
        made: dict[str, int] = {}
        for node in function.body:
            for one in ast.walk(node):
                if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load):
                    made.pop(text_of(one), None)
            if any(isinstance(one, ast.Call) and called(one) not in _PLAIN for one in _calls(node)):
                made.clear()
            target = target_of(node)
            if target is None or not is_self(target) or not isinstance(node, ast.Assign):
                continue
            name = text_of(target)
            if not _makes_a_module(node.value):
                made.pop(name, None)
                continue
            if name in made:
                yield Mistake(name, node.lineno, str(made[name]))
            made[name] = node.lineno


def modules_with_two_names(code: SearchedCode) -> Iterator[Mistake]:
    """Yield second attributes for one module, where a forward calls both.

    A name that says that the module is shared is meant.
    """
    for kind in code.all(ast.ClassDef):
        methods = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
        made, forward = methods.get("__init__"), methods.get("forward")
        if made is None or forward is None:
            continue
        new = {
            target.id
            for node in made.body
            if isinstance(target := target_of(node), ast.Name)
            and isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and not any(word in target.id.lower() for word in _SHARED)
        }
        run = {called(one) for one in ast.walk(forward) if is_self(getattr(one, "func", one))}
        first: dict[str, str] = {}
        for node in made.body:
            value = node.value if isinstance(node, ast.Assign) else None
            target = target_of(node)
            if not isinstance(value, ast.Name) or value.id not in new or target is None:
                continue
            if not isinstance(target, ast.Attribute) or target.attr not in run:
                continue
            if value.id in first:
                yield Mistake(text_of(target), node.lineno, first[value.id])
            first.setdefault(value.id, text_of(target))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a statement that may read attributes: not those that make a module."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and not _makes_a_module(one):
            yield one


def _makes_a_module(node: ast.AST) -> bool:
    """Return whether a node is a call of a class of torch.nn, such as nn.Linear(2, 2)."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = text_of(node.func.value)
    return owner in {"nn", "torch.nn"} and node.func.attr[:1].isupper()


def unused_layers(code: SearchedCode) -> Iterator[Mistake]:
    """Yield dropout layers and activations of a class that nothing in the file reads."""
    read = {node.attr for node in code.all(ast.Attribute) if isinstance(node.ctx, ast.Load)} | {
        node.value for node in code.all(ast.Constant) if isinstance(node.value, str)
    }
    for kind in code.all(ast.ClassDef):
        text = ast.unparse(kind)
        if re.search(r"children\(\)|modules\(\)|_modules|__dict__|\bvars\(", text):
            continue
        for node in ast.walk(kind):
            target = target_of(node)
            if not isinstance(target, ast.Attribute) or not is_self(target):
                continue
            value = node.value if isinstance(node, ast.Assign) else node
            made = called(value) if _makes_a_module(value) else ""
            numbered = "getattr(" in text and re.search(r"\d$", target.attr)
            idle = "Dropout" in made or made in _ACTIVATIONS
            if idle and target.attr not in read and not numbered:
                yield Mistake(text_of(target), target.lineno, made)


def lost_random_values(code: SearchedCode) -> Iterator[Mistake]:
    """Yield random tensors in attributes that no state_dict has, and that a method reads."""
    for kind in code.all(ast.ClassDef):
        if not any("Module" in text_of(base) for base in kind.bases):
            continue
        methods = [one for one in kind.body if isinstance(one, ast.FunctionDef)]
        made = next((one for one in methods if one.name == "__init__"), None)
        read = {
            node.attr
            for one in methods
            if one is not made
            for node in ast.walk(one)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        }
        drawn: set[str] = set()
        for node in made.body if made is not None else ():
            target = target_of(node)
            if target is None or not isinstance(node, ast.Assign):
                continue
            if not _is_random(node.value, drawn):
                continue
            if isinstance(target, ast.Name):
                drawn.add(target.id)
            elif isinstance(target, ast.Attribute) and target.attr in read:
                yield Mistake(text_of(target), node.lineno)


def _is_random(node: ast.expr, drawn: set[str]) -> bool:
    """Return whether a value is drawn by torch, or computed of such values alone."""
    if isinstance(node, ast.Name):
        return node.id in drawn
    if isinstance(node, ast.Subscript):
        return _is_random(node.value, drawn)
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(_is_random(one, drawn) for one in node.elts)
    if isinstance(node, ast.ListComp):
        return _is_random(node.elt, drawn)
    if isinstance(node, ast.BinOp):
        return _is_random(node.left, drawn) or _is_random(node.right, drawn)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner, name = node.func.value, node.func.attr
    of_torch = isinstance(owner, ast.Name) and owner.id == "torch"
    if of_torch and name in _DRAWS:
        return True
    if name not in _MOVES:
        return False
    return _is_random(node.args[0], drawn) if of_torch and node.args else _is_random(owner, drawn)


def backwards_without_gradient(code: SearchedCode) -> Iterator[Mistake]:
    """Yield the backward of an autograd Function that never reads the gradient that it gets."""
    for kind in code.all(ast.ClassDef):
        if not any(text_of(base).rpartition(".")[2] == "Function" for base in kind.bases):
            continue
        for one in kind.body:
            if not isinstance(one, ast.FunctionDef) or one.name not in _BACKWARDS:
                continue
            given = [argument.arg for argument in one.args.args[1:]]
            read = {
                node.id
                for node in ast.walk(one)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            }
            returned = [node.value for node in ast.walk(one) if isinstance(node, ast.Return)]
            computed = any(value is not None and not _is_nothing(value) for value in returned)
            if given and one.args.vararg is None and computed and not read & {*given}:
                yield Mistake(kind.name, one.lineno, given[0])


def _is_nothing(node: ast.expr) -> bool:
    """Return whether a value is None, or a tuple of None."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(one, ast.Constant) for one in parts)


def overwritten_settings(code: SearchedCode) -> Iterator[Mistake]:
    """Yield attributes of a constructor that forward replaces by a part of themselves."""
    for kind in code.all(ast.ClassDef):
        made = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
        start, forward = made.get("__init__"), made.get("forward")
        if start is None or forward is None:
            continue
        given = {
            one.attr
            for one in ast.walk(start)
            if isinstance(one, ast.Attribute) and is_self(one) and isinstance(one.ctx, ast.Store)
        }
        arguments = {one.arg for one in forward.args.args[1:]}
        for node in ast.walk(forward):
            target = target_of(node)
            if not isinstance(target, ast.Attribute) or not is_self(target):
                continue
            value = node.value if isinstance(node, ast.Assign) else None
            if target.attr not in given or value is None or not plain_names(value) & arguments:
                continue
            if _is_part_of(value, target.attr):
                yield Mistake(short(node), target.lineno, f"self.{target.attr}")


def _is_part_of(node: ast.expr, attribute: str) -> bool:
    """Return whether a node picks values of an attribute of self."""
    if isinstance(node, ast.Subscript):
        return is_self(node.value, attribute)
    picks = called(node) in {"gather", "index_select", "take", "masked_select"}
    return (
        picks
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (is_self(node.func.value, attribute))
    )


def predictions_in_train_mode(code: SearchedCode) -> Iterator[Mistake]:
    """Yield models that a function builds, loads weights into, and calls without `eval()`."""
    if not code.names("Dropout|BatchNorm|dropout"):
        return
    classes = {one.name for one in code.all(ast.ClassDef)}
    for function in code.functions:
        nodes = list(ast.walk(function))
        calls = [one for one in nodes if isinstance(one, ast.Call)]
        names = {called(one) for one in calls}
        if names & {"eval", "backward", "train"} or not names & {"no_grad", "inference_mode"}:
            continue
        built = {
            target.id
            for one in nodes
            if isinstance(target := target_of(one), ast.Name)
            and isinstance(one, ast.Assign)
            and names_in(one.value) & classes
        }
        loaded = {
            text_of(one.func.value)
            for one in calls
            if isinstance(one.func, ast.Attribute) and one.func.attr == "load_state_dict"
        }
        for call in calls:
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name in built & loaded:
                yield Mistake(short(call), call.lineno, name)
                break


def layers_called_for_all(code: SearchedCode) -> Iterator[Mistake]:
    """Yield modules that forward calls once for each of a number of layers, all with one weight.

    Names that tell of shared weights, steps or iterations mean it.
    """
    for kind in code.all(ast.ClassDef):
        made = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
        start, forward = made.get("__init__"), made.get("forward")
        if start is None or forward is None or _REPEATS.search(kind.name):
            continue
        single = {
            target.attr
            for one in ast.walk(start)
            if isinstance(target := target_of(one), ast.Attribute)
            and is_self(target)
            and isinstance(one, ast.Assign)
            and called(one.value) not in _CONTAINERS
        }
        for loop in (one for one in ast.walk(forward) if isinstance(one, ast.For)):
            bound = (
                loop.iter.args[0] if isinstance(loop.iter, ast.Call) and loop.iter.args else None
            )
            if called(loop.iter) != "range" or bound is None or not _MANY.search(text_of(bound)):
                continue
            if plain_names(loop.target) & {n for one in loop.body for n in plain_names(one)}:
                continue
            for call in (one for part in loop.body for one in ast.walk(part)):
                func = call.func if isinstance(call, ast.Call) else None
                if not isinstance(func, ast.Attribute) or not is_self(func):
                    continue
                name = func.attr
                if name in single and name not in made and not _REPEATS.search(name):
                    yield Mistake(f"self.{name}", line_of(call), text_of(bound))
