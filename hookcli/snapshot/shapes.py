"""Checks of shapes and dtypes. `B` is the number of samples, if it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from hookcli.report.report import LayerRow, Report
from hookcli.report.values import Leaf
from hookcli.rules.select import leaves_of
from hookcli.snapshot.globs import Folded, cover, exactly, folded
from hookcli.snapshot.section import Section, by_depth, by_module, known_names

PROBE = "grown"
_MOST = 40  # lines of layers
_OUTER = 12  # tensors of the model's own inputs, and of its outputs
_INNER = 3  # tensors of a layer's output that have separate checks

_Dims: TypeAlias = tuple[int | str, ...]
_Grown: TypeAlias = Mapping[tuple[str, int], Mapping[str, Any]]


def _grown(report: Report) -> _Grown:
    """Return the inputs and outputs of each call with one more sample."""
    return {
        (measurement.target, measurement.call or 0): measurement.value
        for measurement in report.measurements
        if measurement.probe == PROBE
    }


def _dims(row: LayerRow, leaf: Leaf, part: str, grown: _Grown) -> _Dims:
    """Return the sizes of a leaf: `B` if one more sample adds one to it, `*` if it varies."""
    known = grown.get((row.name or "", row.call))
    more = None if known is None else known[part].get(leaf.path)
    if known is None or more is None or len(more) != len(leaf.shape):
        return tuple("*" if size is None else size for size in leaf.shape)
    samples = known["samples"]
    sizes: list[int | str] = []
    for now, then in zip(leaf.shape, more, strict=True):
        if now is None or then is None:
            sizes.append("*")
        elif now == then:
            sizes.append(now)
        else:
            sizes.append("B" if (now, then) == (samples, samples + 1) else "*")
    return tuple(sizes)


def _over_calls(rows: Sequence[LayerRow], part: str, grown: _Grown) -> dict[str, _Dims] | None:
    """Return the shapes by path that all calls share; None if their structures differ."""
    shapes: dict[str, _Dims] | None = None
    for row in rows:
        own = {leaf.path: _dims(row, leaf, part, grown) for leaf in leaves_of(row, part)}
        if shapes is None:
            shapes = own
            continue
        if own.keys() != shapes.keys() or any(len(own[p]) != len(shapes[p]) for p in own):
            return None
        shapes = {
            path: tuple(a if a == b else "*" for a, b in zip(shapes[path], own[path], strict=True))
            for path in own
        }
    return shapes


def _of_the_model(rows: Sequence[LayerRow], part: str, grown: _Grown) -> list[dict[str, Any]]:
    shapes = _over_calls(rows, part, grown) or {}
    checks = []
    for path, dims in list(shapes.items())[:_OUTER]:
        at = {"path": path} if path else {}
        checks.append({"rule": f"{part}_shape", **at, "shape": dims})
    return checks


def outer(report: Report) -> Section:
    """Return checks of the model's inputs and outputs."""
    rows, grown = by_module(report).get("", []), _grown(report)
    checks = [c for part in ("input", "output") for c in _of_the_model(rows, part, grown)]
    says = ["The inputs and outputs of the model."]
    if any("B" in check["shape"] for check in checks):
        says = ["The inputs and outputs of the model. B is the number of samples."]
    most = max((len(leaves_of(row, p)) for row in rows for p in ("input", "output")), default=0)
    if most > _OUTER:
        says.append(f"The first {_OUTER} of {most:,} tensors.")
    return Section(tuple(says), tuple(checks))


def _value(shapes: dict[str, _Dims] | None) -> tuple[tuple[str | None, _Dims], ...]:
    """Return the shapes by path for a layer's checks; the path is None if all are the same."""
    if not shapes:
        return ()
    if len(set(shapes.values())) == 1:
        return ((None, next(iter(shapes.values()))),)
    return tuple(shapes.items())[:_INNER]


def _checks(folds: Folded) -> list[dict[str, Any]]:
    checks = []
    for glob, value in folds:
        for path, dims in value:  # type: ignore[attr-defined]  # from _value
            at = {"path": path} if path else {}
            checks.append({"rule": "output_shape", "at": glob, **at, "shape": dims})
    return checks


def layers(report: Report, depth: int | None) -> Section:
    """Return checks of each layer's output, down to `depth`, or as deep as few lines allow."""
    modules, grown, names = by_module(report), _grown(report), known_names(report)
    values = {
        name: _value(_over_calls(rows, "output", grown)) for name, rows in modules.items() if name
    }
    told = [name for name, value in values.items() if value]

    def lines(some: list[str]) -> list[dict[str, Any]]:
        return _checks(folded({name: values[name] for name in some}, names))

    checks, cut = by_depth(told, depth, _MOST, lines)
    return Section(("The outputs of the layers.", *cut), tuple(checks))


def _kind(dtype: str) -> str:
    """Return the group of a dtype. The rule compares floating-point dtypes with each other."""
    if dtype.startswith(("float", "bfloat")):
        return "float"
    return "complex" if dtype.startswith("complex") else "other"


def dtypes(report: Report) -> Section:
    """Return checks of the dtypes of parameters, layers, inputs and outputs."""
    checks = _of_parameters(report)
    modules = by_module(report)
    given = {
        leaf.dtype
        for rows in modules.values()
        for row in rows
        for leaf in row.outputs
        if _kind(leaf.dtype) == "float"
    }
    if len(given) == 1:
        checks.append({"rule": "dtype", "dtype": given.pop()})
    else:
        checks += _mixed(report, modules)
    for part in ("input", "output"):
        checks += _of_root(modules.get("", []), part)
    return Section(("The dtypes.",), tuple(checks))


def _of_parameters(report: Report) -> list[dict[str, Any]]:
    """Return checks of the floating-point dtype of parameters; by glob if there are several."""
    kept: dict[str, list[str]] = {}
    names: list[str] = []
    for row in report.parameters:
        names += [row.name, *row.shared_with]
        if _kind(row.dtype) == "float":
            kept.setdefault(row.dtype, []).extend((row.name, *row.shared_with))
    if len(kept) == 1:
        return [{"rule": "dtype", "part": "parameter", "dtype": next(iter(kept))}]
    checks = [
        {"rule": "dtype", "part": "parameter", "at": glob, "dtype": dtype}
        for dtype, some in kept.items()
        for glob in cover(some, names)
    ]
    return checks if len(checks) <= _MOST else []


def _mixed(report: Report, modules: Mapping[str, list[LayerRow]]) -> list[dict[str, Any]]:
    """Return the checks of layers by dtype, for a model with several dtypes."""
    of = {
        name: tuple(sorted({x.dtype for r in rows for x in r.outputs if _kind(x.dtype) == "float"}))
        for name, rows in modules.items()
    }
    single = {name: float_dtypes[0] for name, float_dtypes in of.items() if len(float_dtypes) == 1}
    folds, _ = by_depth(
        single, None, _MOST, lambda some: folded({n: single[n] for n in some}, known_names(report))
    )
    return [{"rule": "dtype", "at": glob, "dtype": dtype} for glob, dtype in folds]


def _of_root(rows: Sequence[LayerRow], part: str) -> list[dict[str, Any]]:
    """Return checks of the dtypes of the model's own inputs or outputs."""
    by_kind: dict[str, set[str]] = {}
    for row in rows:
        for leaf in leaves_of(row, part):
            by_kind.setdefault(_kind(leaf.dtype), set()).add(leaf.dtype)
    return [
        {"rule": "dtype", "at": exactly(""), "part": part, "dtype": next(iter(dtypes))}
        for kind, dtypes in sorted(by_kind.items())
        if len(dtypes) == 1 and (kind != "float" or part == "input")
    ]
