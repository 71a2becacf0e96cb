"""Arguments that are those of other parameters or dimensions of a function, by their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from hookcli.engine.probes.code.mistakes.searched_code import (
    Mistake,
    SearchedCode,
    called,
    given_to,
    is_self,
    names_in,
    short,
    target_of,
    text_of,
    words,
)

_LOG = re.compile(r"^(log|ln)_?(var\w*|std\w*|sigma\w*|scale\w*)$|^logv$", re.IGNORECASE)
_PLAIN = re.compile(r"^(std|stddev|sigma|var|variance|scale)s?$", re.IGNORECASE)
_SYMMETRIC = re.compile(
    r"mse|mae(?!_p)|l1|l2|rmse|dice|iou|cos|corr|accuracy|acc$|equal|psnr|ssim|distance"
)
_PREDICTED = {
    "pred",
    "preds",
    "prediction",
    "predictions",
    "predicted",
    "output",
    "outputs",
    "logits",
}
_TRUE = {"target", "targets", "label", "labels", "true", "truth", "gt", "y"}


class _Meant(NamedTuple):
    """What a parameter of a function of PyTorch is, and names of what it is not.

    `at` is its position. `wrong` matches the names of other quantities, and `instead` is what the
    parameter is.
    """

    function: str
    at: int
    parameter: str
    wrong: str
    instead: str


_LOGARITHM = r"log_?(var\w*|std\w*|sigma\w*|scale\w*)"
_DEVIATION = rf"(\w+_)?(std|stds|stddev|sigma|sigmas|scale)|{_LOGARITHM}"
_VARIANCE = rf"(\w+_)?(var|vars|variance|variances)|cov\w*|{_LOGARITHM}"
_KEPT = r"keep(_?(p|prob|probs|rate|ratio|probability))?|p_?keep"
_MEANT = (
    _Meant("gaussian_nll_loss", 2, "var", _DEVIATION, "the variance"),
    _Meant("GaussianNLLLoss()", 2, "var", _DEVIATION, "the variance"),
    *(
        _Meant(name, 1, "scale", _VARIANCE, "the standard deviation")
        for name in ("Normal", "LogNormal")
    ),
    _Meant("Laplace", 1, "scale", _VARIANCE, "the mean absolute deviation"),
    _Meant("normal", 1, "std", _VARIANCE, "the standard deviation"),
    _Meant("Gamma", 1, "rate", r"(\w+_)?scales?|theta", "the inverse of the scale"),
    _Meant("Exponential", 0, "rate", r"(\w+_)?(scale|mean|means|tau)", "the inverse of the mean"),
    _Meant("Poisson", 0, "rate", r"log_?(rate|lambda|lam|mu|mean)s?", "the rate itself"),
    _Meant("Weibull", 0, "scale", r"(\w+_)?(shape|concentration|k)", "the scale"),
    _Meant("Weibull", 1, "concentration", r"(\w+_)?(scale|lam|lambda_)", "the shape"),
    _Meant("StudentT", 0, "df", r"(\w+_)?(loc|mu|mean|means)", "the degrees of freedom"),
    _Meant("MultivariateNormal", 1, "covariance_matrix",
           r"(\w+_)?(scale_tril|tril|chol|cholesky)", "the covariance itself"),
    *(
        _Meant(name, 0, "p", _KEPT, "the share that is dropped")
        for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")
    ),
    *(
        _Meant(name, 1, "p", _KEPT, "the share that is dropped")
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
    ),
    _Meant("get_total_norm", 0, "tensors", r"(\w+\.)*parameters\(\)|params|parameters",
           "a list of gradients"),
)  # fmt: skip
_FUNCTIONS = {one.function for one in _MEANT}


def other_quantities(code: SearchedCode) -> Iterator[Mistake]:
    """Yield arguments whose names say that they are another quantity than the parameter.

    Functions of the file that have such a name are not those of PyTorch.
    """
    own = {one.name for one in code.functions} | {one.name for one in code.all(ast.ClassDef)}
    objects = _objects(code)
    for call in code.all(ast.Call):
        name = text_of(call.func).rpartition(".")[2]
        function = objects.get(text_of(call.func), name)
        for one in _MEANT if function in _FUNCTIONS - own and _is_plain_or_named(call) else ():
            given = _given(call, one)
            text = "" if given is None else text_of(given)
            simple = isinstance(given, ast.Name | ast.Attribute)
            known = text.rpartition(".")[2] if simple else text
            if one.function == function and given is not None and re.fullmatch(one.wrong, known):
                yield Mistake(
                    text, call.lineno, f"`{one.parameter}` of `{name}`, which is {one.instead}"
                )


def _objects(code: SearchedCode) -> dict[str, str]:
    """Return the variables and attributes to which a loss of the table is assigned."""
    found = {}
    for node in code.all(ast.Assign):
        made = node.value if isinstance(node.value, ast.Call) else None
        kind = "" if made is None else f"{text_of(made.func).rpartition('.')[2]}()"
        if kind in _FUNCTIONS and len(node.targets) == 1:
            found[text_of(node.targets[0])] = kind
    return found


def _is_plain_or_named(call: ast.Call) -> bool:
    stars = any(isinstance(one, ast.Starred) for one in call.args)
    return not stars and None not in [one.arg for one in call.keywords]


def _given(call: ast.Call, meant: _Meant) -> ast.expr | None:
    named = [one.value for one in call.keywords if one.arg == meant.parameter]
    if named:
        return named[0]
    return call.args[meant.at] if len(call.args) > meant.at else None


def swapped_arguments(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls of which two arguments have the names of each other's parameters.

    A function that calls itself so, or is called in both orders, is meant.
    """
    calls = [
        (call, parameters, names)
        for call, parameters in _calls(code)
        if len(names := [text_of(one).rpartition(".")[2] for one in call.args]) > 1
    ]
    straight: dict[str, list[set[str]]] = {}
    for call, parameters, names in calls:
        own = {
            name for name, parameter in zip(names, parameters, strict=False) if name == parameter
        }
        straight.setdefault(text_of(call.func), []).append(own)
    for call, parameters, names in calls:
        for i, j in _exchanged(names, parameters):
            plain = all(isinstance(call.args[k], ast.Name | ast.Attribute) for k in (i, j))
            pair = {names[i], names[j]}
            if plain and not any(pair <= own for own in straight[text_of(call.func)]):
                order = ", ".join(parameters[: max(i, j) + 1])
                yield Mistake(short(call), call.lineno, f"({order})")
                break


def _exchanged(names: list[str], parameters: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of two arguments that each have the name of the other's parameter."""
    size = min(len(names), len(parameters))
    for i in range(size):
        for j in range(i + 1, size):
            if names[i] == parameters[j] and names[j] == parameters[i] and names[i] != names[j]:
                yield i, j


def swapped_roles(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls that pass a prediction for a target and a target for a prediction, by names.

    Functions in which both have the same part are not looked at.
    """
    for call, parameters in _calls(code):
        function = text_of(call.func).rpartition(".")[2].lower()
        if len(call.args) < 2 or len(parameters) < 2 or _SYMMETRIC.search(function):
            continue
        given = [_role(one) for one in call.args[:2]]
        meant = [_role(ast.Name(one)) for one in parameters[:2]]
        if "" not in given and meant == given[::-1] != given:
            yield Mistake(short(call), call.lineno, f"({', '.join(parameters[:2])})")


def _role(node: ast.expr) -> str:
    """Return whether a name is of a prediction or of a target: "predicted", "true" or ""."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return ""
    own = words(text_of(node).rpartition(".")[2])
    predicted, true = bool(own & _PREDICTED) or "hat" in own, bool(own & _TRUE)
    return "" if predicted == (true and "hat" not in own) else "predicted" if predicted else "true"


def plain_for_logarithms(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls that pass a deviation for a parameter that is the logarithm of one, or so."""
    for call, parameters in _calls(code):
        for given, parameter in zip(call.args, parameters, strict=False):
            if not isinstance(given, ast.Name | ast.Attribute):
                continue
            name = text_of(given).rpartition(".")[2]
            for one, other in ((name, parameter), (parameter, name)):
                if _PLAIN.match(one) and _LOG.match(other):
                    yield Mistake(short(call), call.lineno, parameter)


def _calls(code: SearchedCode) -> Iterator[tuple[ast.Call, list[str]]]:
    """Yield the calls of functions, methods and classes of the file, with their parameters."""
    functions: dict[str, list[str]] = {}
    twice = set()
    methods: dict[str, dict[str, list[str]]] = {}
    inside = set()
    for kind in code.all(ast.ClassDef):
        own = methods.setdefault(kind.name, {})
        for one in kind.body:
            if isinstance(one, ast.FunctionDef):
                inside.add(id(one))
                own[one.name] = _parameters(one)[_bound(one) :]
        if "__init__" in own:
            functions[kind.name] = own["__init__"]
    for function in code.functions:
        if id(function) not in inside:
            twice |= {function.name} & functions.keys()
            functions[function.name] = _parameters(function)
    for kind in code.all(ast.ClassDef):
        for node in ast.walk(kind):
            if isinstance(node, ast.Call) and is_self(node.func) and _is_plain(node):
                own = methods[kind.name]
                name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                if name in own:
                    yield node, own[name]
    for node in code.all(ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in functions and name not in twice and _is_plain(node):
            yield node, functions[name]


def _bound(function: ast.FunctionDef) -> int:
    """Return how many parameters of a method a call does not pass."""
    static = any(text_of(one) == "staticmethod" for one in function.decorator_list)
    return 0 if static else 1


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def _is_plain(call: ast.Call) -> bool:
    return bool(call.args) and not any(isinstance(one, ast.Starred) for one in call.args)


_PARTS = re.compile(
    r"(z_?)?(mu|mean|means|loc|log_?var|log_?std|logsigma|std|sigma|scale|shift|gamma|beta|gate"
    r"|query|key|value|q|k|v)(_\w)?"
)


def split_samples(code: SearchedCode) -> Iterator[Mistake]:
    """Yield chunks without a dimension that are named as parts of the features of each sample."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        if not isinstance(target, ast.Tuple) or called(node.value) != "chunk":
            continue
        call = node.value
        names = [one.id for one in target.elts if isinstance(one, ast.Name)]
        of_torch = isinstance(call, ast.Call) and text_of(call.func) == "torch.chunk"
        plain = isinstance(call, ast.Call) and len(call.args) == 1 + of_torch and not call.keywords
        features = len(names) == len(target.elts) and all(map(_PARTS.fullmatch, names))
        if plain and features and len(names) > 1:
            yield Mistake(short(node), node.lineno)


_SIDES = (
    re.compile(r"(pad_?)?(t|top|h|height|up|upper|pad_?h|pad_?y|dy)(_?pad)?\d?"),
    re.compile(r"(pad_?)?(b|bottom|h|height|down|lower|pad_?h|pad_?y|dy)(_?pad)?\d?"),
    re.compile(r"(pad_?)?(l|left|w|width|pad_?w|pad_?x|dx)(_?pad)?\d?"),
    re.compile(r"(pad_?)?(r|right|w|width|pad_?w|pad_?x|dx)(_?pad)?\d?"),
)


def paddings_by_height(code: SearchedCode) -> Iterator[Mistake]:
    """Yield amounts of F.pad in the order top, bottom, left, right: the last dimension is first."""
    for call in code.all(ast.Call):
        if text_of(call.func) not in {"F.pad", "nn.functional.pad", "torch.nn.functional.pad"}:
            continue
        amounts = call.args[1] if len(call.args) > 1 else None
        names = [text_of(one).rpartition(".")[2] for one in getattr(amounts, "elts", ())]
        pairs = zip(_SIDES, names, strict=False)
        if len(names) == 4 and all(side.fullmatch(name.lower()) for side, name in pairs):
            yield Mistake(short(call), call.lineno)


_ROW = re.compile(r"(grid_?|g)?(y|ys|yy|row|rows|i)|y_(grid|coords?)|grid_row")
_COLUMN = re.compile(r"(grid_?|g)?(x|xs|xx|col|cols|column|columns|j)|x_(grid|coords?)|grid_col")


def grids_by_row(code: SearchedCode) -> Iterator[Mistake]:
    """Yield grids of grid_sample that are stacked as (y, x)."""
    read = {
        name
        for call in code.all(ast.Call)
        if called(call) == "grid_sample" and len(call.args) > 1
        for name in names_in(call.args[1])
    }
    for node in code.all(ast.Assign):
        target = target_of(node)
        if not isinstance(target, ast.Name) or target.id not in read:
            continue
        for call in ast.walk(node.value):
            if called(call) != "stack" or not isinstance(call, ast.Call) or not call.args:
                continue
            names = [text_of(one).rpartition(".")[2] for one in getattr(call.args[0], "elts", ())]
            if len(names) == 2 and _ROW.fullmatch(names[0]) and _COLUMN.fullmatch(names[1]):
                yield Mistake(short(call), node.lineno)


def open_one_hots(code: SearchedCode) -> Iterator[Mistake]:
    """Yield one_hot without a number of classes in a forward: the largest label decides it."""
    for function in code.forwards:
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or called(call) != "one_hot":
                continue
            of_torch = text_of(call.func) in {"F.one_hot", "torch.nn.functional.one_hot"}
            if of_torch and len(call.args) == 1 and not call.keywords:
                yield Mistake(short(call), call.lineno)


def wrapped_targets(code: SearchedCode) -> Iterator[Mistake]:
    """Yield targets that are shifted by roll, whose last token becomes the first one."""
    for function in code.functions:
        text = text_of(function)
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or called(call) != "roll":
                continue
            given = text_of(call)
            by_one = re.search(r"shifts=1\b|, 1\b", given) and "-1" not in given
            meant = re.search(r"shift_?(right|tokens)|teacher", function.name.lower())
            named = re.search(r"\b(tgt|targets?|labels|decoder_in\w*)\b", given.lower())
            if by_one and (meant or named) and not re.search(r"\[:, (:1|0)\] = ", text):
                yield Mistake(short(call), call.lineno)


def equal_parts(code: SearchedCode) -> Iterator[Mistake]:
    """Yield tensors that are joined, and were computed by the same expression."""
    for function in code.functions:
        made: dict[str, list[ast.expr]] = {}
        source = text_of(function)
        for node in ast.walk(function):
            target = target_of(node)
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                made.setdefault(target.id, []).append(node.value)
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or called(call) not in {"cat", "stack", "concat"}:
                continue
            parts = getattr(call.args[0], "elts", ()) if call.args else ()
            names = [one.id for one in parts if isinstance(one, ast.Name)]
            once = [
                name
                for name in names
                if len(made.get(name, ())) == 1
                and not re.search(rf"\b{name}(\[[^=]*\] \S?= |\.\w+_\(| \S= )", source)
            ]
            for i, name in enumerate(once):
                text = text_of(made[name][0])
                twin = [one for one in once[:i] if one != name and text_of(made[one][0]) == text]
                if twin and re.search(r"\.(repeat|expand|repeat_interleave)\(", text):
                    yield Mistake(f"{twin[0]} and {name}", call.lineno, text)


def exchanged_meshgrids(code: SearchedCode) -> Iterator[Mistake]:
    """Yield meshgrids of columns and rows, in this order, whose results are [width, height]."""
    for function in code.functions:
        text = text_of(function)
        if "meshgrid" not in text or re.search(r"\.m?T\b|\.t\(|transpose|permute|swapaxes", text):
            continue
        ranges = {
            target.id: text_of(node.value)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and isinstance(target := target_of(node), ast.Name)
            and called(node.value) in {"linspace", "arange"}
        }
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or text_of(call.func) != "torch.meshgrid":
                continue
            indexing = [text_of(one.value) for one in call.keywords if one.arg == "indexing"]
            sizes = [ranges.get(text_of(one), "") for one in call.args]
            if indexing not in ([], ["'ij'"]) or len(sizes) != 2:
                continue
            first, second = ({*re.findall(r"\b\w+\b", one.lower())} for one in sizes)
            if first & {"w", "width"} and second & {"h", "height"}:
                yield Mistake(short(call), call.lineno)


def frozen_embeddings(code: SearchedCode) -> Iterator[Mistake]:
    """Yield embeddings that are made of given vectors, and frozen by default."""
    for call in code.all(ast.Call):
        is_made = re.fullmatch(r"(\w+\.)*Embedding(Bag)?\.from_pretrained", text_of(call.func))
        named = {one.arg for one in call.keywords}
        if is_made and len(call.args) < 2 and named.isdisjoint({"freeze", None}):
            yield Mistake(short(call), call.lineno)


def whole_circles(code: SearchedCode) -> Iterator[Mistake]:
    """Yield angles from 0 to 2 pi with both ends, which are one direction."""
    for call in code.all(ast.Call):
        if text_of(call.func) != "torch.linspace" or len(call.args) < 3:
            continue
        first, last = (text_of(one).replace(" ", "") for one in call.args[:2])
        is_whole = re.fullmatch(r"2(\.0)?\*(\w+\.)?pi|(\w+\.)?(pi\*2(\.0)?|tau)", last)
        cut = code.parents.get(id(call))
        if first in {"0", "0.0"} and is_whole and not isinstance(cut, ast.Subscript):
            count = text_of(call.args[2]).replace(" ", "")
            if not re.search(r"\+1$|^1\+", count):
                yield Mistake(short(call), call.lineno)


_REDUCES = {"sum", "mean", "norm", "amax", "std"}


def lost_dimensions(code: SearchedCode) -> Iterator[Mistake]:
    """Yield `x / x.sum(1)` and its like without keepdim, whose result lies along other rows."""
    for node in code.all(ast.BinOp):
        right = node.right
        if not isinstance(node.op, ast.Div | ast.Sub) or called(right) not in _REDUCES:
            continue
        if not isinstance(right, ast.Call) or not isinstance(right.func, ast.Attribute):
            continue
        given = given_to(right, "dim")
        named = {one.arg for one in right.keywords}
        over = None if given is None else given[1]
        at = over.value if isinstance(over, ast.Constant) else None
        if given is None or named - {"dim"} or len(right.args) > 1 or type(at) is not int:
            continue
        if at > 0 and text_of(given[0]) == text_of(node.left):
            yield Mistake(short(node), node.lineno, text_of(right))
