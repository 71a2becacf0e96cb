"""Makes reports of runs whose tensors have one number each."""

from __future__ import annotations

from dataclasses import replace

from hookcli.report.findings import Measurement
from hookcli.report.report import BufferRow, ParameterRow
from hookcli.report.values import Leaf
from tests.comparison.trainings import _layer, record


def sketch(value, norm=None):
    return {"digest": str(value), "norm": abs(value) if norm is None else norm,
            "projections": [value], "nonfinite": ""}  # fmt: skip


def call(name, inputs, outputs, *, parent=0, **more):
    """A call with these numbers as its inputs and outputs; `parent` is the order of its caller."""
    return {"name": name, "inputs": inputs, "outputs": outputs, "parent": parent, **more}


def report(*calls, root=((1.0,), (2.0,)), parameters=(), buffers=(), sketches=True, dtype="float32",
           format="python", **more):  # fmt: skip
    """The report of a model with these calls; `parameters` are (name, value, gradient)."""
    calls = [call("", *root, parent=None, type="Net"), *calls] if root else calls
    layers, measured = [], []

    def leaves(values, dtype):
        return tuple(
            Leaf(f"[{i}]", (2,), dtype, stats={"norm": abs(value)})
            for i, value in enumerate(values)
        )

    for order, given in enumerate(calls):
        given = dict(given)
        inputs, outputs = given.pop("inputs"), given.pop("outputs")
        kind = given.pop("dtype", dtype)
        depth = 0 if given["parent"] is None else layers[given["parent"]].depth + 1
        row = _layer(order, given.pop("name"), given.pop("type", "Linear"))
        layers.append(
            replace(row, depth=depth, inputs=leaves(inputs, kind), outputs=leaves(outputs, kind),
                    **given)
        )  # fmt: skip
        value = {"order": order, "inputs": [*map(sketch, inputs)],
                 "outputs": [*map(sketch, outputs)]}  # fmt: skip
        measured.append(Measurement("sketch", "", None, value, None))
    rows = []
    for name, value, grad in parameters:
        norm = None if grad is None else {"norm": abs(grad)}
        rows.append(ParameterRow(name, "Linear", (2,), dtype, 2, True, grad=norm,
                                 stats={"norm": abs(value)}))  # fmt: skip
        measured.append(Measurement("sketch_parameter", name, None, sketch(value), None))
        if grad is not None:
            measured.append(Measurement("sketch_gradient", name, None, sketch(grad), None))
    for name, value in buffers:
        measured.append(Measurement("sketch_buffer", name, None, sketch(value), None))
    made = record([1.0], {})
    return replace(
        made, layers=tuple(layers), parameters=tuple(rows),
        buffers=tuple(BufferRow(name, (2,), dtype, None) for name, _ in buffers),
        measurements=tuple(measured) if sketches else (),
        model=replace(made.model, format=format, **more), training=None,
    )  # fmt: skip
