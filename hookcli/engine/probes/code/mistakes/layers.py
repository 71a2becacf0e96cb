"""Calls of layers of torch whose arguments or results have other names than they are."""

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
    short,
    target_of,
    text_of,
    words,
)

_QUERIES, _KEYS, _VALUES = {"q", "query", "queries"}, {"k", "key", "keys"}, {"v", "value", "values"}
_HEADS = {"heads", "head", "h", "nheads", "nhead", "num_heads", "n_heads"}
# Positions that are refined in rounds are detached on purpose, as in RAFT.
_STATE = re.compile(
    r"(^|_)(hidden|states?|memory|cell|prev\w*|[hc]([xtn]|\d)?)(_|\d|$)", re.IGNORECASE
)
_LENGTHS = {"t", "l", "n", "s", "length", "len", "seq", "tokens", "time"}
_LABEL_MAPS = {"label", "labels", "gt", "seg", "segmentation"}
_FUNCTIONAL = {"F", "nn.functional", "torch.nn.functional", "functional"}


def swapped_states(code: SearchedCode) -> Iterator[Mistake]:
    """Yield results of an LSTM whose states are named as cell and hidden state, in that order."""
    layers = {
        text_of(target)
        for node in code.all(ast.Assign)
        if called(node.value) == "LSTM" and (target := target_of(node)) is not None
    }
    for node in code.all(ast.Assign):
        target = target_of(node)
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        states = target.elts[1]
        names = [one.id for one in getattr(states, "elts", ()) if isinstance(one, ast.Name)]
        made = text_of(node.value).lower()
        function = text_of(node.value.func) if isinstance(node.value, ast.Call) else ""
        is_lstm = "lstm" in made or "rnn" in made or function in layers
        if len(names) != 2 or not is_lstm:
            continue
        if _is_state(names[0], "c") and _is_state(names[1], "h"):
            yield Mistake(text_of(states), node.lineno)


def _is_state(name: str, letter: str) -> bool:
    whole = {"c": "cell", "h": "hidden"}[letter]
    return re.fullmatch(rf"{letter}(_?n|_?t|\d)?|{whole}\w*", name.lower()) is not None


def swapped_keys_and_values(code: SearchedCode) -> Iterator[Mistake]:
    """Yield attentions that get query, value and key in that order, by their names."""
    for call in code.all(ast.Call):
        roles = [_role(one) for one in call.args[:3]]
        is_attention = "attention" in called(call) or "attn" in called(call).lower()
        if is_attention and roles in (["q", "v", "k"], ["k", "q", "v"], ["v", "k", "q"]):
            yield Mistake(short(call), call.lineno)


def _role(node: ast.expr) -> str:
    """Return which part of an attention a name is: "q", "k", "v" or ""."""
    name = words(text_of(node)) if isinstance(node, ast.Name | ast.Attribute) else set()
    found = [letter for letter, all_ in zip("qkv", (_QUERIES, _KEYS, _VALUES), strict=True)
             if name & all_]  # fmt: skip
    return found[0] if len(found) == 1 else ""


def heads_before_positions(code: SearchedCode) -> Iterator[Mistake]:
    """Yield views that split features into heads in front of the positions, without a transpose."""
    for call in code.all(ast.Call):
        if called(call) not in {"view", "reshape"} or len(call.args) != 4:
            continue
        source = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = called(source) if source is not None else ""
        second, third = (_last_word(one) for one in call.args[1:3])
        of_layer = re.fullmatch(r"(to_|w_?|linear_|fc_)?(q|k|v|query|key|value)(_proj|s)?", made)
        if of_layer and second in _HEADS and third in _LENGTHS:
            yield Mistake(short(call), call.lineno)


def _last_word(node: ast.expr) -> str:
    text = text_of(node).rpartition(".")[2].lower()
    found = [word for word in re.split(r"[^a-z]+|_", text) if word]
    return found[-1] if found else ""


def heads_left_in_front(code: SearchedCode) -> Iterator[Mistake]:
    """Yield views of attended values back to three dimensions, while heads are in front."""
    for function in code.functions if code.names("head") else ():
        text = ast.unparse(function)
        if not re.search(
            r"transpose\(1, 2\)|permute\((\d, )*0, 2, 1, 3\)|permute\(2, 0, 3, 1, 4\)", text
        ):
            continue
        attended = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and isinstance(target := target_of(node), ast.Name)
            and _is_attended(node.value)
        }
        for call in ast.walk(function):
            if called(call) not in {"view", "reshape"} or not isinstance(call, ast.Call):
                continue
            source = call.func.value if isinstance(call.func, ast.Attribute) else None
            while source is not None and called(source) == "contiguous":
                source = source.func.value if isinstance(source, ast.Call) and isinstance(
                    source.func, ast.Attribute
                ) else None  # fmt: skip
            direct = source is not None and _is_attended(source)
            named = isinstance(source, ast.Name) and source.id in attended
            moved = isinstance(source, ast.Name) and re.search(
                rf"\b{source.id} = {source.id}\..*(transpose|permute)", text
            )
            if (direct or named) and not moved and len(call.args) == 3:
                yield Mistake(short(call), call.lineno)


def _is_attended(node: ast.expr) -> bool:
    """Return whether a value is the product of attention weights with values."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        parts = [node.left, node.right]
    elif called(node) == "matmul" and isinstance(node, ast.Call):
        parts = node.args
    if len(parts) != 2:
        return False
    weights, values = (text_of(one).lower() for one in parts)
    return values in {"v", "value", "values"} and bool(re.search(r"att|weight|prob|score", weights))


def implicit_softmaxes(code: SearchedCode) -> Iterator[Mistake]:
    """Yield softmaxes without a dimension."""
    for call in code.all(ast.Call):
        name = called(call)
        owner = text_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if any(one.arg in {None, "dim", "dims", "axis"} for one in call.keywords):
            continue
        function = name in {"softmax", "log_softmax"} and owner in _FUNCTIONAL
        layer = name in {"Softmax", "LogSoftmax"} and owner in {"nn", "torch.nn"}
        if (function and len(call.args) == 1) or (layer and not call.args):
            yield Mistake(short(call), call.lineno)


def packed_by_time(code: SearchedCode) -> Iterator[Mistake]:
    """Yield packed sequences that take time for the first dimension, where layers take the batch.

    A class whose recurrent layers have batch_first=True must pack and unpack so.
    """
    if any(one.name.startswith(("pack_", "pad_packed_")) for one in code.functions):
        return  # functions of the file itself
    for kind in code.all(ast.ClassDef):
        layers = [
            one
            for one in ast.walk(kind)
            if called(one) in {"LSTM", "GRU", "RNN"} and isinstance(one, ast.Call)
        ]
        first = [any(k.arg == "batch_first" and text_of(k.value) == "True" for k in one.keywords)
                 for one in layers]  # fmt: skip
        if not layers or not all(first):
            continue
        for call in ast.walk(kind):
            if called(call) not in {"pack_padded_sequence", "pad_packed_sequence"}:
                continue
            if not isinstance(call, ast.Call) or any(
                k.arg in {None, "batch_first"} for k in call.keywords
            ):
                continue
            least = 3 if called(call) == "pack_padded_sequence" else 2
            if len(call.args) < least and not re.search("transpose|permute", text_of(call)):
                yield Mistake(short(call), call.lineno)


def rising_frequencies(code: SearchedCode) -> Iterator[Mistake]:
    """Yield exponentials of log(10000) that grow with the feature, and that are multiplied."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        value = node.value
        if called(value) != "exp" or not isinstance(target, ast.Name | ast.Attribute):
            continue
        text = text_of(value)
        if not re.search(r"log\((10000|1e4)", text) or "-" in text:
            continue
        name = text_of(target)
        divides = any(
            isinstance(one.op, ast.Div) and text_of(one.right).startswith(name)
            for one in code.all(ast.BinOp)
        )
        if not divides:
            yield Mistake(short(value), node.lineno)


def blended_labels(code: SearchedCode) -> Iterator[Mistake]:
    """Yield labels that are resized by interpolation between their values."""
    for call in code.all(ast.Call):
        if called(call) not in {"interpolate", "resize", "grid_sample"} or not call.args:
            continue
        given = call.args[0]
        while isinstance(given, ast.Call | ast.Subscript | ast.Attribute):
            inner = given.func if isinstance(given, ast.Call) else given.value
            if not isinstance(inner, ast.expr) or is_self(given):
                break
            given = inner
        modes = [
            text_of(one.value) for one in call.keywords if one.arg in {"mode", "interpolation"}
        ]
        mixed = any(re.search(r"linear|cubic|BILINEAR|BICUBIC", mode) for mode in modes)
        mixed |= called(call) == "grid_sample" and not modes  # bilinear by default
        if mixed and isinstance(given, ast.Name) and words(given.id) & _LABEL_MAPS:
            yield Mistake(short(call), call.lineno, given.id)


def states_not_turned_back(code: SearchedCode) -> Iterator[Mistake]:
    """Yield outputs of a recurrent layer for a reversed sequence, which are joined as they are."""
    layers = {
        text_of(target)
        for node in code.all(ast.Assign)
        if called(node.value) in {"LSTM", "GRU", "RNN"} and (target := target_of(node)) is not None
    }
    for function in code.functions if code.names("^flip$|flip") else ():
        reversed_: dict[str, int] = {}
        for node in ast.walk(function):
            target = target_of(node)
            value = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(value, ast.Call) or not value.args or target is None:
                continue
            name = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            made = text_of(value.func).lower()
            named = re.search(r"lstm|gru|rnn|enc_bw|backward_|_bw\b|bw_", made)
            if (
                (named or text_of(value.func) in layers)
                and called(value.args[0]) == "flip"
                and isinstance(name, ast.Name)
            ):
                reversed_[name.id] = value.lineno
        text = ast.unparse(function) if reversed_ else ""
        for own, line in reversed_.items():
            joined = re.search(rf"cat\([\(\[][^\)\]]*\b{own}\b[^\)\]]*[\)\]]", text)
            if joined and not re.search(rf"\b{own}(\[[^\]]*\])?\.flip|flip\({own}", text):
                yield Mistake(own, line)


def settings_kept_from_evaluation(code: SearchedCode) -> Iterator[Mistake]:
    """Yield settings that a forward changes in eval mode, and that nothing sets back."""
    for kind in code.all(ast.ClassDef):
        methods = {one.name: one for one in kind.body if isinstance(one, ast.FunctionDef)}
        made = methods.get("__init__")
        for name, method in methods.items():
            if name == "__init__" or made is None:
                continue
            stored = {
                one.attr
                for one in ast.walk(made)
                if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
            }
            for node in ast.walk(method):
                if not isinstance(node, ast.If) or text_of(node.test) != "not self.training":
                    continue
                for one in node.body:
                    target = target_of(one)
                    fixed = isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
                    if not fixed or not isinstance(target, ast.Attribute) or node.orelse:
                        continue
                    if is_self(target) and target.attr in stored:
                        yield Mistake(text_of(one), one.lineno, text_of(target))


def initializations_of_another(code: SearchedCode) -> Iterator[Mistake]:
    """Yield functions that look at the type of a module, and initialize another one."""
    for function in code.functions:
        names = [one.arg for one in function.args.args if one.arg != "self"]
        if len(names) != 1:
            continue
        tested = [
            one
            for one in ast.walk(function)
            if called(one) == "isinstance" and isinstance(one, ast.Call) and one.args
        ]
        reads = [
            one
            for one in ast.walk(function)
            if isinstance(one, ast.Name) and one.id == names[0] and isinstance(one.ctx, ast.Load)
        ]
        starts = [
            one
            for one in ast.walk(function)
            if isinstance(one, ast.Call)
            and re.match(r"(torch\.)?(nn\.)?init\.\w+_$", text_of(one.func))
        ]
        only = len(reads) == len(tested) == sum(text_of(one.args[0]) == names[0] for one in tested)
        if (
            tested
            and only
            and starts
            and all(text_of(one.args[0]).startswith("self.") for one in starts)
        ):
            yield Mistake(text_of(starts[0].args[0]), starts[0].lineno, names[0])


def buffers_in_lists(code: SearchedCode) -> Iterator[Mistake]:
    """Yield lists of the very tensors that a constructor registers as buffers."""
    for function in code.functions if code.names("register_buffer") else ():
        if function.name != "__init__":
            continue
        registered = {
            text_of(one.args[1]): text_of(one.args[0])
            for one in ast.walk(function)
            if called(one) == "register_buffer" and isinstance(one, ast.Call) and len(one.args) > 1
        }
        for call in ast.walk(function):
            if called(call) != "append" or not isinstance(call, ast.Call) or len(call.args) != 1:
                continue
            owner = call.func.value if isinstance(call.func, ast.Attribute) else call
            given = text_of(call.args[0])
            again = {f"getattr(self, {name})" for name in registered.values()}
            if is_self(owner) and (given in registered or given in again):
                yield Mistake(text_of(owner), call.lineno, given)


def states_cut_each_step(code: SearchedCode) -> Iterator[Mistake]:
    """Yield states that each step of a forward's loop takes without their gradient.

    A loop over batches, which calls backward, may cut them: so does truncated backpropagation.
    """
    for function in code.functions:
        if function.name == "__init__" or not any(one.arg == "self" for one in function.args.args):
            continue
        if any(called(one) in {"backward", "step", "no_grad"} for one in ast.walk(function)):
            continue
        for loop in (one for one in ast.walk(function) if isinstance(one, ast.For)):
            for i, statement in enumerate(loop.body):
                cut = _cut_state(statement)
                if cut is None or not _STATE.search(cut):
                    continue
                later = [target_of(one) for one in loop.body[i + 1 :]]
                if any(one is not None and text_of(one) == cut for one in later):
                    yield Mistake(short(statement), statement.lineno, cut)


def _cut_state(statement: ast.stmt) -> str | None:
    """Return the variable that a statement replaces by its value without a gradient."""
    target = target_of(statement)
    if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
        return None
    value: ast.expr = statement.value
    while True:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr == "detach":
                owner = value.func.value
                break
            if value.func.attr not in {"clone", "contiguous", "requires_grad_"}:
                return None
            value = value.func.value
        elif isinstance(value, ast.Attribute) and value.attr == "data":
            owner = value.value
            break
        elif called(value) == "Variable" and isinstance(value, ast.Call) and value.args:
            value = value.args[0]
        else:
            return None
    return target.id if isinstance(owner, ast.Name) and owner.id == target.id else None


def initialized_after_norms(code: SearchedCode) -> Iterator[Mistake]:
    """Yield initializations of layers whose weights `weight_norm` computes since a line before."""
    for function in code.functions:
        normed: dict[str, int] = {}
        for node in sorted(ast.walk(function), key=line_of):
            target = target_of(node)
            if isinstance(node, ast.Assign) and target is not None:
                made = {called(one) for one in ast.walk(node.value)}
                if "weight_norm" in made:
                    owner = target.value if isinstance(target, ast.Subscript) else target
                    normed.setdefault(text_of(owner), node.lineno)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner_of_call = text_of(node.func.value)
                given = text_of(node.args[0]).lower() if node.args else ""
                is_init = node.func.attr == "apply" and "init" in given
                if is_init and owner_of_call in normed:
                    yield Mistake(short(node), node.lineno, str(normed[owner_of_call]))


_SCALES = {"weight", "bias", "gamma", "beta", "gain", "scale", "shift", "alpha"}


def scales_in_buffers(code: SearchedCode) -> Iterator[Mistake]:
    """Yield buffers of ones or zeros with the names of weights, which a forward multiplies or adds.

    Nothing else may write them, and running statistics tell that a norm is frozen on purpose.
    """
    for kind in code.all(ast.ClassDef):
        text = text_of(kind)
        if "Frozen" in kind.name or "running_mean" in text or "freeze" in text:
            continue
        for call in ast.walk(kind):
            if not isinstance(call, ast.Call) or called(call) != "register_buffer":
                continue
            if len(call.args) < 2 or not isinstance(call.args[0], ast.Constant):
                continue
            name, made = str(call.args[0].value), called(call.args[1])
            own = re.escape(f"self.{name}")
            written = re.search(rf"{own}(\.\w+_\(|\.data|\[[^\]]*\] \S?= | \S?= )", text)
            used = re.search(rf"(\* |\+ ){own}\b|{own} (\*|\+) ", text)
            if name in _SCALES and made in {"ones", "zeros"} and used and not written:
                yield Mistake(f"self.{name}", call.lineno)


def unscaled_drops(code: SearchedCode) -> Iterator[Mistake]:
    """Yield dropout that is written by hand and does not divide by the share that it keeps."""
    for kind in code.all(ast.ClassDef):
        if not re.search(r"drop", kind.name, re.IGNORECASE):
            continue
        for function in (one for one in code.forwards if one in kind.body):
            text = text_of(function)
            drawn = re.search(r"rand(_like)?\(|bernoulli", text)
            if not drawn or "self.training" not in text or re.search(r" / |div|/=|\*\*", text):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp):
                    is_product = isinstance(node.value.op, ast.Mult)
                    if is_product and not names_in(node.value) & {"scale", "keep_prob"}:
                        yield Mistake(short(node.value), node.lineno)


def states_not_passed_on(code: SearchedCode) -> Iterator[Mistake]:
    """Yield loops in which a recurrent layer returns a state that no later pass gets."""
    for loop in code.all(ast.For):
        for node in loop.body:
            target = target_of(node)
            call = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
                continue
            state = target.elts[-1]
            given = call.args[-1] if len(call.args) > 1 else None
            named = re.search(r"rnn|lstm|gru|cell|decoder", text_of(call.func).lower())
            if not isinstance(state, ast.Name) or not isinstance(given, ast.Name) or not named:
                continue
            stored = {
                one.id
                for one in ast.walk(loop)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            }
            read = {
                one.id
                for one in ast.walk(loop)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
            }
            is_state = re.fullmatch(r"h\w?|hid\w*|state\w*|hx|c\w?|\w*_state|\w*hidden", given.id)
            is_lost = state.id not in read and state.id != "_" and given.id not in stored
            if is_state and is_lost:
                yield Mistake(short(node), node.lineno, given.id)


def sums_nobody_reads(code: SearchedCode) -> Iterator[Mistake]:
    """Yield sums that are assigned to a name which nothing reads afterwards, as of a shortcut.

    A part of the sum is read afterwards, so that it may have been meant as the name.
    """
    for function in code.forwards:
        loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.While)]
        inside = {id(node) for loop in loops for node in ast.walk(loop)}
        names = [one for one in ast.walk(function) if isinstance(one, ast.Name)]
        for node in ast.walk(function):
            target = target_of(node)
            if not isinstance(target, ast.Name) or not isinstance(node, ast.Assign):
                continue
            value = node.value
            if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
                continue
            end = node.end_lineno or node.lineno
            later = {n.id for n in names if n.lineno > end and isinstance(n.ctx, ast.Load)}
            parts = {one.id for one in (value.left, value.right) if isinstance(one, ast.Name)}
            if id(node) not in inside and target.id not in later | parts and parts & later:
                yield Mistake(short(node), node.lineno, target.id)
