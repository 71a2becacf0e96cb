"""Formulas that differ from the definition of what their names say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    given_to,
    line_of,
    names_in,
    returns_value,
    short,
    target_of,
    text_of,
    words,
)

_EXPONENTIALS = {"exp", "pow", "log"}
_RESIDUAL = re.compile(r"^(Res|Residual|ResNet|Resnet|BasicRes|PreActRes)\w*(Block|Unit)\w*$")
_SCORES = {"acc", "accuracy", "f1", "auc", "iou", "dice", "miou", "recall", "psnr", "bleu"}
_LOSSES = {"loss", "losses", "error", "mse", "mae", "rmse", "perplexity", "ppl", "wer", "cer"}
_BEST = {"best", "min", "max", "lowest", "highest"}
_OF_ENTROPY = (
    r"((\w+\.)?\w*(coef|coeff|beta|weight|alpha|scale)\w* \* )?(\w+\.)?entropy(\.mean\(\))?"
)
_NEGATED = r"entropy = -|entropy\w* \*= -"
_ADVANTAGES = {"adv", "advs", "advantage", "advantages"}
_VALUES = {"val", "vals", "value", "values", "v", "state"}


def floored_fractions(code: SearchedCode) -> Iterator[Mistake]:
    """Yield exponents with `a / b // c`, which is the floor of a fraction."""
    for call in code.all(ast.Call):
        if called(call) in _EXPONENTIALS:
            yield from _floored(call.args)
    for node in code.all(ast.BinOp):
        if isinstance(node.op, ast.Pow):
            yield from _floored([node.right])


def _floored(values: list[ast.expr]) -> Iterator[Mistake]:
    for value in values:
        for one in ast.walk(value):
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv):
                inner = one.left
                if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div):
                    divisor = f"({text_of(inner.right)} // {text_of(one.right)})"
                    yield Mistake(text_of(one), one.lineno, f"{text_of(inner.left)} / {divisor}")


def equal_waves(code: SearchedCode) -> Iterator[Mistake]:
    """Yield position codes whose even and odd features have the same function of the angle."""
    for block in code.blocks:
        waves: dict[str, tuple[str, str]] = {}
        for node in block:
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            wave = called(value) if value is not None else ""
            if not isinstance(target, ast.Subscript) or wave not in {"sin", "cos"}:
                continue
            slices = re.findall(r"\b([01])?::2", text_of(target.slice))
            if len(slices) != 1:
                continue
            name, half = text_of(target.value), slices[0] or "0"
            other = waves.get(name)
            if other is not None and other[0] != half and other[1] == wave:
                yield Mistake(text_of(target), node.lineno, wave)
            waves[name] = half, wave


def variances_of_variances(code: SearchedCode) -> Iterator[Mistake]:
    """Yield `x.var(2).var(3)`, which is not the variance over both dimensions."""
    for call in code.all(ast.Call):
        inner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if called(call) in {"var", "std"} and called(inner or call.func) in {"var", "std"}:
            parent = code.parents.get(id(call))
            if not isinstance(parent, ast.Attribute) or parent.attr not in {"var", "std"}:
                yield Mistake(short(call), call.lineno)


def shifted_factors(code: SearchedCode) -> Iterator[Mistake]:
    """Yield products with a constant such as `2 / 255 - 1`, where the 1 is meant for the result."""
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        factor = node.right
        if not isinstance(factor, ast.BinOp) or not isinstance(factor.op, ast.Sub):
            continue
        quotient, one = factor.left, factor.right
        numbers = all(
            isinstance(part, ast.Constant | ast.BinOp | ast.operator) for part in ast.walk(factor)
        )
        divided = isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.Div)
        if numbers and divided and text_of(one) in {"1", "1.0"}:
            yield Mistake(
                text_of(node), node.lineno, f"{text_of(node.left)} * ({text_of(quotient)}) - 1"
            )


def limited_logarithms(code: SearchedCode) -> Iterator[Mistake]:
    """Yield logarithms of a deviation, by their names, that a function makes positive."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        name = text_of(target).rpartition(".")[2] if target is not None else ""
        limit = called(node.value)
        is_log = re.fullmatch(r"log_?(std|sigma|var|variance|scale)|logvar|logstd", name.lower())
        if is_log and limit in {"relu", "softplus", "abs"}:
            yield Mistake(text_of(node), node.lineno, limit)


def entropies_added(code: SearchedCode) -> Iterator[Mistake]:
    """Yield losses of a policy that add its entropy, which a minimum then makes small."""
    if not code.names("log_?prob"):
        return
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        terms = text_of(node.left), text_of(node.right)
        for policy, entropy in (terms, terms[::-1]):
            of_policy = re.fullmatch(r"(self\.)?(\w+_)?(pg|policy|actor|pi)_?loss", policy)
            added = re.fullmatch(_OF_ENTROPY, entropy)
            if of_policy and added and not re.search(_NEGATED, ast.unparse(code.tree)):
                yield Mistake(text_of(node), node.lineno)


def squared_variances(code: SearchedCode) -> Iterator[Mistake]:
    """Yield deviations, by their names, that are the square of a variance."""
    for node in code.all(ast.Assign):
        target, value = target_of(node), node.value
        named = isinstance(target, ast.Name) and words(target.id) & {"std", "sigma", "stddev"}
        if not named or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Pow):
            continue
        if text_of(value.right) == "2" and re.search(r"\bvar", text_of(value.left)):
            yield Mistake(text_of(node), node.lineno)


def means_of_whole_batches(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums of a value and advantages that subtract a mean over the whole batch."""
    for node in code.all(ast.BinOp):
        parent = code.parents.get(id(node))
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub):
            continue
        parts = list(_summands(node))
        means = [
            part for sign, part in parts
            if sign < 0 and called(part) == "mean" and not _has_dimension(part)
        ]  # fmt: skip
        said = words(" ".join(text_of(part) for _, part in parts))
        if means and len(parts) > 2 and said & _ADVANTAGES and said & _VALUES:
            yield Mistake(short(node), node.lineno, text_of(means[0]))


def _summands(node: ast.expr, sign: int = 1) -> Iterator[tuple[int, ast.expr]]:
    """Yield the parts of a sum, each with its sign."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _summands(node.left, sign)
        yield from _summands(node.right, sign if isinstance(node.op, ast.Add) else -sign)
    else:
        yield sign, node


def _has_dimension(call: ast.expr) -> bool:
    """Return whether a mean is over given dimensions."""
    if not isinstance(call, ast.Call):
        return False
    of_module = isinstance(call.func, ast.Attribute) and text_of(call.func.value) == "torch"
    return len(call.args) > of_module or bool(call.keywords)


def noise_by_variance(code: SearchedCode) -> Iterator[Mistake]:
    """Yield `sqrt(1 - b) * x + b * noise`, where the noise must be multiplied by sqrt(b).

    So is `sqrt(a) * x + (1 - a) * noise`.
    """
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        for signal, noise in ((node.left, node.right), (node.right, node.left)):
            kept = _kept_share(signal)
            if kept is None or not isinstance(noise, ast.BinOp):
                continue
            if not isinstance(noise.op, ast.Mult):
                continue
            for factor, drawn in ((noise.left, noise.right), (noise.right, noise.left)):
                if text_of(factor) == kept and re.search(r"randn|noise|eps", text_of(drawn)):
                    yield Mistake(short(node), node.lineno, kept)


def _kept_share(node: ast.expr) -> str | None:
    """Return b of a product with sqrt(1 - b), and 1 - a of one with sqrt(a); else None."""
    factors = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    for one in factors:
        inner: ast.expr | None = None
        if called(one) == "sqrt" and isinstance(one, ast.Call):
            owner = one.func.value if isinstance(one.func, ast.Attribute) else None
            inner = one.args[0] if one.args else owner
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
            inner = one.left if text_of(one.right) in {"0.5", ".5"} else None
        is_rest = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub)
        if is_rest and isinstance(inner, ast.BinOp) and text_of(inner.left) in {"1", "1.0"}:
            return text_of(inner.right)
        if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript):
            return f"1 - {text_of(inner)}"
    return None


def corrections_without_tanh(code: SearchedCode) -> Iterator[Mistake]:
    """Yield corrections of a density for tanh in functions whose samples pass through no tanh."""
    for function in code.functions if code.names("softplus") else ():
        text = ast.unparse(function)
        if "tanh" in text.lower():
            continue
        found = re.search(r"\.softplus\(-2(?:\.0)? \* (\w+)\)", text)
        if found is None or not re.search(r"log\(2(\.0)?\)|\.693", text):
            continue
        drawn = re.search(rf"\b{found[1]} = .*\.(rsample|sample)\(\)", text)
        if drawn is not None and re.search(rf"return .*\b{found[1]}\b", text):
            for node in ast.walk(function):
                if called(node) == "softplus":
                    yield Mistake(found[1], line_of(node), function.name)
                    break


def blocks_without_shortcut(code: SearchedCode) -> Iterator[Mistake]:
    """Yield classes that are named as residual blocks, and whose methods add nothing."""
    for kind in code.all(ast.ClassDef):
        if not _RESIDUAL.match(kind.name):
            continue
        methods = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
        forward = methods.pop("forward", None)
        if forward is None or not returns_value(forward):
            continue
        own = {name: one for name, one in methods.items() if name != "__init__"}
        reached = [forward, *(own[name] for name in names_in(forward) & own.keys())]
        text = "\n".join(map(ast.unparse, reached))
        adds = any(
            isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub)
            for one in reached
            for node in ast.walk(one)
        )
        outside = {
            called(node) for one in reached for node in ast.walk(one) if isinstance(node, ast.Call)
        } - own.keys()
        joins = re.search(r"\badd|\bcat\(|\bsum\(|lerp|super\(\)|skip|shortcut|resid|join", text)
        if not adds and not joins and not outside - _known_calls(kind):
            yield Mistake(kind.name, forward.lineno)


def _known_calls(kind: ast.ClassDef) -> set[str]:
    """Return what a forward may call without adding: layers that are set to self, activations."""
    stored = {
        node.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return stored | {"relu", "leaky_relu", "gelu", "silu", "elu", "relu_", "dropout", "pad", "tanh"}


def swapped_normalizations(code: SearchedCode) -> Iterator[Mistake]:
    """Yield `(x - std) / mean`, where mean and deviation have changed places."""
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp):
            continue
        if not isinstance(node.left.op, ast.Sub):
            continue
        taken, divisor = _last_words(node.left.right), _last_words(node.right)
        if taken & {"std", "stds", "sd", "sigma"} and divisor & {"mean", "means", "mu"}:
            yield Mistake(short(node), node.lineno)


def _last_words(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return {node.func.attr} if not node.args else set()
    return words(text_of(node)) if isinstance(node, ast.Name | ast.Attribute) else set()


def worse_values_kept(code: SearchedCode) -> Iterator[Mistake]:
    """Yield conditions that keep the worse of two values as the best one."""
    for node in code.all(ast.If):
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        left, right, operator = test.left, test.comparators[0], test.ops[0]
        if not all(isinstance(one, ast.Name | ast.Attribute) for one in (left, right)):
            continue
        rises = isinstance(operator, ast.Gt | ast.GtE)
        if not rises and not isinstance(operator, ast.Lt | ast.LtE):
            continue
        if words(text_of(left)) & _BEST:
            left, right, rises = right, left, not rises
        best = words(text_of(right))
        if not best & {"best"} or words(text_of(left)) & _BEST:
            continue
        kept = any(
            text_of(one.targets[0]) == text_of(right) and text_of(one.value) == text_of(left)
            for one in node.body
            if isinstance(one, ast.Assign)
        )
        falls = bool(best & _LOSSES)
        if kept and falls != bool(best & _SCORES) and falls == rises:
            yield Mistake(text_of(test), node.lineno, text_of(right))


def counts_by_batches(code: SearchedCode) -> Iterator[Mistake]:
    """Yield shares of correct predictions that divide a number of samples by that of batches."""
    counted = {
        text_of(node.target)
        for node in code.all(ast.AugAssign)
        if isinstance(node.op, ast.Add) and _counts_matches(node.value)
    }
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.Call):
            continue
        divisor = node.right
        name = text_of(node.left)
        if called(divisor) != "len" or name not in counted or not divisor.args:
            continue
        loader = divisor.args[0]
        if isinstance(loader, ast.Name | ast.Attribute) and _is_loader(loader):
            yield Mistake(text_of(node), node.lineno, text_of(divisor))


def _is_loader(node: ast.expr) -> bool:
    """Return whether a name is of a loader, and not of its data set."""
    last = text_of(node).rpartition(".")[2]
    return bool(words(last) & {"loader", "dataloader", "dl", "loaders"})


def _counts_matches(node: ast.expr) -> bool:
    """Return whether a value is the number of equal elements: (a == b).sum(), perhaps as item()."""
    while isinstance(node, ast.Call) and called(node) in {"item", "float", "int", "cpu", "double"}:
        if not isinstance(node.func, ast.Attribute):
            break
        node = node.func.value
    if called(node) != "sum" or not isinstance(node, ast.Call):
        return False
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    while isinstance(inner, ast.Call) and called(inner) in {"float", "int", "long", "type"}:
        inner = inner.func.value if isinstance(inner.func, ast.Attribute) else None
    if isinstance(inner, ast.Compare):
        return len(inner.ops) == 1 and isinstance(inner.ops[0], ast.Eq)
    return called(inner) == "eq" if inner is not None else False


def inverted_padding(code: SearchedCode) -> Iterator[Mistake]:
    """Yield padding masks of attention that are true where a token is no padding."""
    values: dict[str, ast.expr] = {}
    for node in code.all(ast.Assign):
        target = target_of(node)
        if isinstance(target, ast.Name):
            values[target.id] = node.value
    for call in code.all(ast.Call):
        for keyword in call.keywords:
            if not (keyword.arg or "").endswith("key_padding_mask"):
                continue
            value = keyword.value
            if isinstance(value, ast.Name):
                value = values.get(value.id, value)
            if _tells_tokens(value):
                yield Mistake(f"{keyword.arg}={short(value, 40)}", call.lineno)


def _tells_tokens(node: ast.expr) -> bool:
    """Return whether a value is `tokens != padding`."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return False
    other = node.comparators[0]
    zero = isinstance(other, ast.Constant) and other.value == 0
    padding = any("pad" in name.lower() for name in names_in(other))
    return isinstance(node.ops[0], ast.NotEq) and (zero or padding)


def bounds_of_logarithms(code: SearchedCode) -> Iterator[Mistake]:
    """Yield limits of the result of exp whose lower bound is negative, as that of a logarithm."""
    for block in code.blocks:
        exponentials: dict[str, str] = {}
        for node in block:
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            if target is None or value is None:
                continue
            name = text_of(target)
            given = _limited(value)
            if given is not None:
                limited, bound = given
                made = limited if called(limited) == "exp" else None
                text = text_of(made) if made is not None else exponentials.get(text_of(limited))
                number = _number(code, bound)
                if text and number is not None and number < 0:
                    yield Mistake(short(value), node.lineno, f"{number:g}")
            exponentials.pop(name, None)
            if called(value) == "exp":
                exponentials[name] = text_of(value)


def _limited(value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return what a clamp limits, and its lower bound."""
    if not isinstance(value, ast.Call) or called(value) not in {"clamp", "clip", "clamp_"}:
        return None
    return given_to(value, "min")


def _number(code: SearchedCode, bound: ast.expr) -> float | None:
    """Return a number, or that of a name of which all assignments and defaults are one number."""
    try:
        return float(ast.literal_eval(bound))
    except (TypeError, ValueError):
        pass
    if not isinstance(bound, ast.Name | ast.Attribute):
        return None
    name = bound.id if isinstance(bound, ast.Name) else bound.attr
    found = set()
    for function in code.functions:
        arguments = [*function.args.args, *function.args.kwonlyargs]
        defaults = [*function.args.defaults, *function.args.kw_defaults]
        for argument, default in zip(reversed(arguments), reversed(defaults), strict=False):
            if argument.arg == name and default is not None:
                found.add(text_of(default))
    for node in code.all(ast.Assign):
        target = target_of(node)
        assigned = "" if target is None else text_of(target).removeprefix("self.")
        if assigned == name != text_of(node.value):
            found.add(text_of(node.value))
    try:
        return float(ast.literal_eval(found.pop())) if len(found) == 1 else None
    except (TypeError, ValueError, SyntaxError):
        return None


def sums_of_shares(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums and means of a softmax over its own dimension, which are constant."""
    for call in code.all(ast.Call):
        if called(call) not in {"sum", "mean"}:
            continue
        given = given_to(call, "dim")
        inner = None if given is None else given[0]
        if given is None or not isinstance(inner, ast.Call) or called(inner) != "softmax":
            continue
        shares = given_to(inner, "dim")
        parent = code.parents.get(id(call))
        is_test = isinstance(parent, ast.Compare | ast.Assert | ast.Call)
        if shares is not None and not is_test and text_of(shares[1]) == text_of(given[1]):
            yield Mistake(short(call), call.lineno)


def paddings_of_wrong_sides(code: SearchedCode) -> Iterator[Mistake]:
    """Yield values of the step before, by their name, that are padded at their end."""
    for node in code.all(ast.Assign):
        target, value = target_of(node), node.value
        name = text_of(target).rpartition(".")[2].lower() if target is not None else ""
        if not re.search(r"_(prev|previous|before)$", name) or called(value) not in {"pad", "cat"}:
            continue
        text = text_of(value)
        shifted = re.search(r"\[:-1\]", text) and re.search(r"\(0, 1\)", text)
        joined = re.match(r"torch\.cat\([\[(](?P<x>\w+)\[:-1\], ", text)
        if shifted or joined:
            yield Mistake(short(node), node.lineno, name)


def temperatures_as_factors(code: SearchedCode) -> Iterator[Mistake]:
    """Yield products of similarities and a temperature below 1, which make all shares alike."""
    small = {
        argument.arg
        for function in code.functions
        for argument, default in _defaults(function)
        if isinstance(default, ast.Constant)
        and isinstance(default.value, float)
        and 0 < default.value < 1
    }
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        name = text_of(node.right).rpartition(".")[2]
        if not re.fullmatch(r"(\w+_)?(temperature|temp|tau)", name) or name not in small:
            continue
        inner = text_of(node.left)
        if "@" in inner or re.search(r"\b(matmul|mm|bmm|einsum|cosine_similarity)\(", inner):
            yield Mistake(short(node), node.lineno)


def _defaults(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Yield the arguments that have defaults, with these."""
    own = function.args
    plain = [*own.posonlyargs, *own.args]
    count = len(own.defaults)
    yield from zip(plain[len(plain) - count :], own.defaults, strict=True)
    for argument, default in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        if default is not None:
            yield argument, default
