"""Finds what makes the tensors of B that no module of A makes: shared ones, and single ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hookcli.comparison.ports.maps.fits import Made, fit
from hookcli.comparison.ports.maps.names import likeness, meaning, number_of
from hookcli.report.report import ParameterRow, Report
from hookcli.spec.request import MadeTensor, WeightPart

_MOST = 4_000_000  # pairs of tensors that are compared
_LEAST = 0.3  # likeness of names
# Last names of tensors that do not tell which of a module they are.
_ANY_LEAF = {"weight", "gamma", "scale", "lambda1", "bias", "beta"}


def add_shared(made: Made, a: Report, b: Report) -> None:
    """Add tensors of B that A has as one with another: the head that shares its embedding."""
    shared = [row for row in a.parameters if row.shared_with]
    for row in b.parameters:
        if row.name in made:
            continue
        fitting = [one for one in shared if fit(one.shape, row.shape) == "same"]
        if fitting:
            best = max(
                fitting,
                key=lambda one: max(likeness(name, row.name) for name in one.shared_with),
            )
            made[row.name] = MadeTensor(row.name, (WeightPart(best.name),))


def add_namesakes(made: Made, a: Report, b: Report) -> None:
    """Add single tensors that are left, if one of A and one of B alone have a name and a place.

    The place is the nearest module around both of which other tensors are counterparts; the name is
    what the path from there says: "layer_scale_1" and "layer_scale_1.gamma".
    """
    used = {source.name for row in made.values() for source in row.parts}
    ours = [row for row in a.parameters if row.name not in used]
    theirs = [row for row in b.parameters if row.name not in made]
    around = _counterparts(made)
    named: dict[tuple[object, ...], list[ParameterRow]] = {}
    for row in ours:
        for module in _callers_of(row.name):
            for place in around.get(module, ()):
                key = (place, *_said(row.name[len(module) + 1 :]))
                named.setdefault(key, []).append(row)
    found: list[tuple[ParameterRow, ParameterRow]] = []
    for row in theirs:
        for place in _callers_of(row.name):
            own = named.get((place, *_said(row.name[len(place) + 1 :])), [])
            if len(own) == 1 and fit(own[0].shape, row.shape) is not None:
                found.append((own[0], row))
                break
    sources = Counter(source.name for source, _ in found)
    for source, row in found:
        if sources[source.name] == 1:
            turned = fit(source.shape, row.shape) == "turned"
            made[row.name] = MadeTensor(row.name, (WeightPart(source.name, turned),))


def _said(path: str) -> tuple[object, ...]:
    """Return what a path says of a tensor: its words, without a last one that names any weight."""
    module, _, leaf = path.rpartition(".")
    stem = module if module and leaf in _ANY_LEAF else path
    return (meaning(stem), number_of(stem))


def _callers_of(name: str) -> Iterator[str]:
    """Yield the modules around a tensor, the innermost first."""
    module = name.rpartition(".")[0]
    while module:
        yield module
        module = module.rpartition(".")[0]


def _counterparts(made: Made) -> dict[str, list[str]]:
    """Return for each module of A those of B that have all that is made of it, and nothing else."""
    pairs = [(part.name, target) for target, row in made.items() for part in row.parts]
    ours, theirs = _inside(pairs), _inside((target, source) for source, target in pairs)
    found = {}
    for module, targets in ours.items():
        places = [
            place
            for place in _callers_of(next(iter(targets)))
            if all(target.startswith(f"{place}.") for target in targets)
            and all(source.startswith(f"{module}.") for source in theirs[place])
        ]
        if places and len(targets) > 1:
            found[module] = places
    return found


def _inside(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, None]]:
    """Return for each module the second names of the pairs whose first name is inside it."""
    found: dict[str, dict[str, None]] = {}
    for name, other in pairs:
        for module in _callers_of(name):
            found.setdefault(module, {})[other] = None
    return found


def add_left(made: Made, a: Report, b: Report) -> None:
    """Add single tensors that are left, such as biases that only one of the models has in a layer.

    They are aligned in the order of the parameters, where names are alike, or where as many of one
    shape are left in A and in B.
    """
    used = {source.name for row in made.values() for source in row.parts}
    ours = [row for row in a.parameters if row.name not in used]
    theirs = [row for row in b.parameters if row.name not in made]
    if not ours or not theirs or len(ours) * len(theirs) > _MOST:
        return
    counts = Counter(row.shape for row in ours), Counter(row.shape for row in theirs)
    best = [[0.0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    scores: dict[tuple[int, int], float] = {}
    for i, own in enumerate(ours):
        for j, other in enumerate(theirs):
            score = 0.0
            if fit(own.shape, other.shape) is not None:
                alike = likeness(own.name, other.name)
                even = counts[0][own.shape] == counts[1][other.shape]
                score = 0.2 + alike if even or alike >= _LEAST else 0.0
            scores[i, j] = score
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], best[i][j] + score)
    i, j = len(ours), len(theirs)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            turned = fit(ours[i].shape, theirs[j].shape) == "turned"
            part = WeightPart(ours[i].name, turned)
            made[theirs[j].name] = MadeTensor(theirs[j].name, (part,))


def add_buffers_for(made: Made, a: Report, b: Report) -> None:
    """Add parameters of B that are left, and alone have the shape that one buffer of A alone has.

    Positions may be a buffer in one model and the weight of an embedding in the other.
    """
    used = {source.name for row in made.values() for source in row.parts}
    left = [row for row in b.parameters if row.name not in made]
    rivals = Counter(row.shape for row in a.parameters if row.name not in used)
    wanted = Counter(row.shape for row in left)
    there = Counter(row.shape for row in a.buffers)
    buffers = {row.shape: row for row in a.buffers if there[row.shape] == 1}
    for row in left:
        buffer = buffers.get(row.shape)
        alone = wanted[row.shape] == 1 and not rivals[row.shape] and len(row.shape) > 1
        if alone and buffer is not None and buffer.dtype == row.dtype:
            made[row.name] = MadeTensor(row.name, (WeightPart(buffer.name),))
