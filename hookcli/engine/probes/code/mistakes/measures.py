"""Measures, weights and losses that are computed otherwise than their names say."""

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

_POSITIVE, _NEGATIVE = {"pos", "positive", "positives"}, {"neg", "negative", "negatives"}
_COUNTS, _TOTAL = (
    {"count", "counts", "freq", "frequency", "frequencies"},
    {"total", "sum", "len", "n"},
)
_CUTS = re.compile(r"relu|clamp(_min)?|max(imum)?")
_MODULES = {"F", "torch", "nn.functional", "torch.nn.functional", "functional"}

_BATCHES = {"loader", "dataloader", "dl", "batches"}
_SCORES = {
    "f1_score", "precision_score", "recall_score", "fbeta_score", "roc_auc_score",
    "average_precision_score", "matthews_corrcoef", "balanced_accuracy_score",
}  # fmt: skip
_CURVES = {"roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve"}
_PENALTIES = {"penalty", "reg", "regularization", "regularizer", "lasso", "sparsity"}
_CONVERSIONS = {"float", "int", "long", "astype", "cpu", "numpy", "detach", "tolist"}


def _named_values(code: SearchedCode) -> Iterator[tuple[str, ast.expr, int]]:
    """Yield the names of assignments with their values and lines; of functions what they return."""
    for node in code.all(ast.Assign):
        target = target_of(node)
        if isinstance(target, ast.Name | ast.Attribute):
            yield text_of(target).rpartition(".")[2].lower(), node.value, node.lineno
    for function in code.functions:
        last = function.body[-1]
        if isinstance(last, ast.Return) and last.value is not None:
            yield function.name.lower(), last.value, last.lineno


def wrong_rates(code: SearchedCode) -> Iterator[Mistake]:
    """Yield a precision over tp + fn, a recall over tp + fp, and an F1 score without a factor 2."""
    for name, value, line in _named_values(code):
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
            continue
        below = {one.lower() for one in names_in(value.right)}
        misses = {one for one in below if re.match(r"(fn|false_neg)", one)}
        alarms = {one for one in below if re.match(r"(fp|false_pos)", one)}
        own = words(name)
        if "precision" in own and misses and not alarms:
            yield Mistake(short(value), line, "precision is TP / (TP + FP)")
        elif own & {"recall", "sensitivity", "tpr"} and alarms and not misses:
            yield Mistake(short(value), line, "recall is TP / (TP + FN)")
        elif re.fullmatch(r"f1(_?score)?", name):
            above = text_of(value.left)
            if (
                "*" in above
                and not re.search(r"\b2\b|\b2\.0", above)
                and below & {*names_in(value.left)}
            ):
                yield Mistake(short(value), line, "F1 is 2 P R / (P + R)")


def wrong_errors(code: SearchedCode) -> Iterator[Mistake]:
    """Yield errors by another function than their names say, and a perplexity of base 2."""
    for name, value, line in _named_values(code):
        text = text_of(value)
        rooted = re.search(r"sqrt|\*\* ?\(?(0?\.5|1 / 2)|rmse|root", text)
        if re.fullmatch(r"\w*rmse\w*", name) and re.search(r"mse_loss\(|square\(|\*\* 2", text):
            if not rooted:
                yield Mistake(short(value), line, "RMSE is the root of the mean squared error")
        elif re.fullmatch(r"(\w*_)?mae", name) and "mse_loss(" in text:
            yield Mistake(short(value), line, "MAE is the mean of the absolute errors")
        elif re.fullmatch(r"(\w*_)?mse", name) and "l1_loss(" in text:
            yield Mistake(short(value), line, "MSE is the mean of the squared errors")
        elif re.fullmatch(r"\w*(perplexity|ppl)", name) and re.match(r"2(\.0)? \*\* \w*loss", text):
            yield Mistake(short(value), line, "the perplexity of a loss in nats is exp(loss)")
        elif re.fullmatch(r"(\w+_)?psnr", name) and re.search(r"log10.*mse|mse.*log10", text):
            twice = re.search(r"\b20(\.0)? \*", text)
            if bool(rooted) != bool(twice):
                yield Mistake(short(value), line, "PSNR is 10 log10(max² / MSE)")


def weights_by_frequency(code: SearchedCode) -> Iterator[Mistake]:
    """Yield weights of classes that grow with their counts, and a pos_weight of positives."""
    for name, value, line in _named_values(code):
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
            continue
        above, below = words(text_of(value.left)), words(text_of(value.right))
        if name == "pos_weight":
            if above & _POSITIVE and not above & _NEGATIVE and below & (_NEGATIVE | _TOTAL):
                yield Mistake(short(value), line, "negatives / positives")
        elif {"class"} & words(name) and {"weight", "weights"} & words(name):
            plain = isinstance(value.left, ast.Name | ast.Attribute)
            if plain and above & _COUNTS and (below & (_TOTAL | _COUNTS)):
                yield Mistake(short(value), line, "total / counts")


def ratios_of_logarithms(code: SearchedCode) -> Iterator[Mistake]:
    """Yield ratios of policies that are differences or quotients of log-probabilities.

    One whose exponential is taken later is the logarithm of a ratio.
    """
    text = ast.unparse(code.tree) if code.names("ratio") else ""
    for name, value, line in _named_values(code):
        if not re.fullmatch(r"ratios?|prob_ratio|importance_ratio", name):
            continue
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub | ast.Div):
            sides = [text_of(one).lower() for one in (value.left, value.right)]
            logs = all(re.search(r"log_?p", side) and "exp" not in side for side in sides)
            if logs and not re.search(rf"exp\({name}\)|{name}\.exp\(", text):
                yield Mistake(short(value), line)


def rising_actors(code: SearchedCode) -> Iterator[Mistake]:
    """Yield losses of an actor that are the value of its action, without a minus."""
    for name, value, line in _named_values(code):
        if not {"loss"} & words(name) or not words(name) & {"actor", "policy", "pi"}:
            continue
        text = text_of(value)
        critic = re.search(r"\b(self\.)?(critic|q|q1|qf1|q_net|critic1)\w*(\.\w+)?\(", text)
        acts = re.search(r"\b(self\.)?(actor|policy|pi|mu)\w*\(", text)
        if critic and acts and called(value) == "mean" and "-" not in text:
            yield Mistake(short(value), line)


def targets_copied_back(code: SearchedCode) -> Iterator[Mistake]:
    """Yield a network that is trained and loads the state of its own target network.

    A step that went too far may be undone so.
    """
    if code.names("kl|roll_?back|backup|restore"):
        return
    for call in code.all(ast.Call):
        if called(call) != "load_state_dict" or not call.args:
            continue
        if not isinstance(call.func, ast.Attribute) or called(call.args[0]) != "state_dict":
            continue
        receiver, source = text_of(call.func.value), text_of(call.args[0])
        to_target = "target" in receiver.lower()
        stem = re.sub(r"_?target_?", "", source.partition(".state_dict")[0], flags=re.IGNORECASE)
        if not to_target and "target" in source.lower() and _same(stem, receiver):
            yield Mistake(text_of(call), call.lineno)


def _same(stem: str, name: str) -> bool:
    """Return whether two names are of one network, as `net` and `policy_net`."""
    ends = [one.rpartition(".")[2].lower() for one in (stem, name)]
    return bool(ends[0]) and (ends[0] in ends[1] or ends[1] in ends[0])


def exchanged_mixtures(code: SearchedCode) -> Iterator[Mistake]:
    """Yield losses of mixtures of which the first part has the labels of the second."""
    for node in code.all(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        parts = [one for one in (node.left, node.right) if isinstance(one, ast.BinOp)]
        if len(parts) != 2 or not all(isinstance(one.op, ast.Mult) for one in parts):
            continue
        first, second = (text_of(one) for one in parts)
        share = re.match(r"(lam|lam_|lmbda|lambda_|lamb)\b \*", first)
        if share and f"(1 - {share[1]})" in second.replace("1.0", "1"):
            labels = [
                re.findall(r"\b(?:y|targets?|labels?)_(a|b|1|2)\b", one) for one in (first, second)
            ]
            if labels in ([["b"], ["a"]], [["2"], ["1"]]):
                yield Mistake(short(node), node.lineno, share[1])


def distances_turned_around(code: SearchedCode) -> Iterator[Mistake]:
    """Yield triplet losses that make the distance to the positive larger."""
    for call in code.all(ast.Call):
        if not _CUTS.fullmatch(called(call)):
            continue
        given = call.args[0] if call.args else None
        if isinstance(call.func, ast.Attribute) and text_of(call.func.value) not in _MODULES:
            given = call.func.value
        text = "" if given is None else text_of(given)
        found = re.search(r"\b(\w*neg\w*|\w*an)\b - \b(\w*pos\w*|\w*ap)\b", text)
        if found and "margin" in text and re.search(r"dist|\bd_|_d\b", f"{found[1]} {found[2]}"):
            yield Mistake(short(given or call), call.lineno, found[0])


def positive_target_entropies(code: SearchedCode) -> Iterator[Mistake]:
    """Yield a target entropy of continuous actions that is their number, without a minus."""
    for name, value, line in _named_values(code):
        if name != "target_entropy":
            continue
        text = text_of(value)
        if (
            "-" not in text
            and not re.search("log|coef|scale", text)
            and re.search(r"action|act_dim|shape", text)
        ):
            yield Mistake(short(value), line)


def scaled_by_own_values(code: SearchedCode) -> Iterator[Mistake]:
    """Yield test data that is normalized with its own mean, as the training data is with its."""
    found: dict[str, tuple[str, int]] = {}
    for node in code.all(ast.Assign):
        target = target_of(node)
        by_samples = {"mean": set[str](), "std": set[str]()}
        for call in ast.walk(node.value):
            kind = called(call)
            if isinstance(call, ast.Call) and kind in by_samples and _is_over_samples(call):
                owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
                by_samples[kind].add(text_of(owner))
        for own in by_samples["mean"] & by_samples["std"]:
            split = words(own) & {"train", "test", "val", "valid"}
            is_train = "train" in split
            if len(split) == 1 and (is_train or (target is not None and text_of(target) == own)):
                found.setdefault("train" if is_train else "test", (own, node.lineno))
    if len(found) == 2:
        yield Mistake(found["test"][0], found["test"][1], found["train"][0])


def _is_over_samples(call: ast.Call) -> bool:
    """Return whether a mean or a deviation is over the samples, in dimension 0."""
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg in ("dim", "axis"))]
    return not given or text_of(given[0]).strip("([").startswith("0")


def scores_of_batches(code: SearchedCode) -> Iterator[Mistake]:
    """Yield scores that are computed for each batch and added up, as if they were means."""
    for loop in code.all(ast.For):
        if not words(text_of(loop.iter)) & _BATCHES:
            continue
        for node in ast.walk(loop):
            if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
                continue
            score = next((one for one in ast.walk(node.value) if called(one) in _SCORES), None)
            if score is not None:
                yield Mistake(text_of(node.target), node.lineno, called(score))


def scores_of_decisions(code: SearchedCode) -> Iterator[Mistake]:
    """Yield areas under a curve that are computed from classes in place of scores."""
    made: dict[str, list[ast.expr]] = {}
    for node in code.all(ast.Assign):
        target = target_of(node)
        if isinstance(target, ast.Name):
            made.setdefault(target.id, []).append(node.value)
    for call in code.all(ast.Call):
        if called(call) not in _CURVES:
            continue
        given = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "y_score")]
        if not given:
            continue
        values = made.get(text_of(given[0]), []) if isinstance(given[0], ast.Name) else given
        if values and all(map(_is_decision, values)):
            yield Mistake(short(call), call.lineno, short(values[0]))


def logits_at_half(code: SearchedCode) -> Iterator[Mistake]:
    """Yield logits that are compared with 0.5, as probabilities are."""
    losses = {
        text_of(node.targets[0])
        for node in code.all(ast.Assign)
        if called(node.value) == "BCEWithLogitsLoss"
    }
    given = [
        call.args[0]
        for call in code.all(ast.Call)
        if call.args
        and (text_of(call.func) in losses or called(call) == "binary_cross_entropy_with_logits")
    ]
    names = {one.id for one in given if isinstance(one, ast.Name)}
    models = {text_of(one.func) for one in given if isinstance(one, ast.Call)}
    for node in code.all(ast.Assign):
        target = target_of(node)
        if isinstance(target, ast.Name) and target.id in names:
            if isinstance(node.value, ast.Call) and not isinstance(node.value.func, ast.Attribute):
                models.add(text_of(node.value.func))
            if "sigmoid" in text_of(node.value).lower():
                names.discard(target.id)
    models = {name for name in models if "sigmoid" not in name.lower()}
    for test in code.all(ast.Compare):
        if not isinstance(test.ops[0], ast.Gt | ast.GtE) or text_of(test.comparators[0]) != "0.5":
            continue
        left = test.left
        is_logit = isinstance(left, ast.Name) and left.id in names
        is_logit |= isinstance(left, ast.Call) and text_of(left.func) in models
        if is_logit:
            yield Mistake(short(test), test.lineno)


def penalties_without_abs(code: SearchedCode) -> Iterator[Mistake]:
    """Yield penalties that are sums of the parameters themselves: they push them to minus."""
    for node in code.all(ast.GeneratorExp):
        value, loop = node.elt, node.generators[0]
        if called(value) != "sum" or not isinstance(value, ast.Call) or value.args:
            continue
        if called(loop.iter) not in ("parameters", "named_parameters"):
            continue
        owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or owner.id not in plain_names(loop.target):
            continue
        parent: ast.AST | None = node
        while parent is not None and not _is_penalty(parent):
            parent = code.parents.get(id(parent))
        if parent is not None:
            yield Mistake(text_of(value), node.lineno)


def _is_penalty(node: ast.AST) -> bool:
    """Return whether a function or an assignment is named as a penalty."""
    name = node.name if isinstance(node, ast.FunctionDef) else ""
    target = target_of(node)
    return bool(words(name or ("" if target is None else text_of(target))) & _PENALTIES)


def _is_decision(node: ast.expr) -> bool:
    """Return whether an expression is a class: of a threshold, rounded, or of an argmax."""
    while isinstance(node, ast.Call) and called(node) in _CONVERSIONS:
        if not isinstance(node.func, ast.Attribute):
            return False
        node = node.func.value
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], ast.Gt | ast.GtE)
    return called(node) in {"round", "argmax"}


def scaled_alone(code: SearchedCode) -> Iterator[Mistake]:
    """Yield training data that is divided by 255, while test data of the same name is not."""
    divided: dict[str, int] = {}
    nodes: list[ast.Assign | ast.AugAssign] = [*code.all(ast.Assign), *code.all(ast.AugAssign)]
    for node in nodes:
        target = node.target if isinstance(node, ast.AugAssign) else target_of(node)
        if not isinstance(target, ast.Name | ast.Attribute):
            continue
        by = re.search(r"/ 255(\.0?)?", text_of(node.value)) is not None
        if isinstance(node, ast.AugAssign):
            by = isinstance(node.op, ast.Div) and text_of(node.value).startswith("255")
        if by:
            divided[text_of(target)] = node.lineno
    known = {text_of(one) for one in (*code.all(ast.Name), *code.all(ast.Attribute))}
    for name, line in divided.items():
        if words(name) & {"transform", "transforms"}:
            continue
        if len(words(name) & {"train"}) == 1 and not any(
            "test" in one or "val" in one for one in divided
        ):
            for other in ("test", "val", "valid"):
                twin = re.sub("train", other, name)
                if twin in known:
                    yield Mistake(name, line, twin)
                    break


def losses_of_logits(code: SearchedCode) -> Iterator[Mistake]:
    """Yield calls of nll_loss beside cross_entropy, in a file that takes no logarithm."""
    if code.names("log_?softmax|logsigmoid|log_prob|^log$") or not code.names("cross_?entropy"):
        return
    used = {called(one) for one in code.all(ast.Call)}
    for call in code.all(ast.Call):
        parent = code.parents.get(id(call))
        target = None if parent is None else target_of(parent)
        is_used = isinstance(target, ast.Name) and target.id in used
        if (called(call) == "nll_loss" and call.args) or (called(call) == "NLLLoss" and is_used):
            yield Mistake(short(call), call.lineno)
