"""The tensors with respect to which `run.backward.inputs` takes gradients."""

from __future__ import annotations

from typing import Any

import torch

from hookcli.engine.statistics.statistics import statistics
from hookcli.engine.watcher import Watcher
from hookcli.errors import RequestError
from hookcli.hooks.context import Context
from hookcli.hooks.resolve import Known, module_targets
from hookcli.models.model import Call, CallInputs, Model
from hookcli.models.nested import argument_leaves, leaves
from hookcli.report.recording import EventNote, LeafNote
from hookcli.spec.hooks import Match
from hookcli.spec.selectors import advice, name_matches, path_matches, selector_of

_PLACE = "run.backward.inputs"
_HINT = "write a pattern of parameter names, or a module's value such as `layer1:output`"


class GradInputs(Watcher):
    """The parameters, and the inputs and outputs of calls, that the patterns match."""

    def __init__(self, model: Model, patterns: tuple[str, ...]) -> None:
        self._parameters: dict[int, torch.Tensor] = {}
        self._matches: dict[int, list[tuple[str, Match]]] = {}
        self._values: list[tuple[torch.Tensor, Call, str, str, str]] = []
        known = Known.of(model)
        for pattern in patterns:
            try:
                selector = selector_of(pattern)
            except ValueError as error:
                raise RequestError(str(error.args[0]), place=_PLACE, hint=_HINT) from None
            (match,) = selector.any
            if match.part is None:
                targets = [
                    p.tensor
                    for p in known.parameters
                    if p.tensor.requires_grad and name_matches(selector, p.name, p.aliases)
                ]
                self._parameters.update({id(t): t for t in targets})
                names = [p.name for p in known.parameters]
            else:
                modules = module_targets(match, known)
                for name, module in modules:
                    self._matches.setdefault(id(module), []).append((name, match))
                targets, names = list(modules), known.module_names()  # type: ignore[arg-type]
            if not targets:
                raise RequestError(
                    f"nothing that requires grad matches '{pattern}'",
                    place=_PLACE,
                    hint=advice(selector, names),
                )

    def enter(self, call: Call, batch: CallInputs) -> None:
        """Keep the inputs of a call that starts, if a pattern matches them."""
        self._keep(call, "input", argument_leaves(*batch))

    def leave(self, call: Call, output: Any, error: BaseException | None) -> None:
        """Keep the outputs of a call that ended, if a pattern matches them."""
        self._keep(call, "output", leaves(output))

    def _keep(self, call: Call, part: str, tensors: list[tuple[str, torch.Tensor, bool]]) -> None:
        for name, match in self._matches.get(call.key, ()):
            if match.part != part:
                continue
            self._values += [
                (tensor, call, name, part, path)
                for path, tensor, _ in tensors
                if tensor.requires_grad and path_matches(match, path)
            ]

    def tensors(self) -> list[torch.Tensor]:
        """Return all matched tensors, the parameters first.

        Raises
        ------
        RequestError : the patterns for inputs and outputs of calls matched nothing.
        """
        if self._matches and not self._values:
            raise RequestError(
                "run.backward.inputs matches no value of the run that requires grad",
                place=_PLACE,
                hint="check that the module runs, and that it runs with grad enabled",
            )
        return [*self._parameters.values(), *(value[0] for value in self._values)]

    def sort(
        self, gradients: tuple[torch.Tensor | None, ...], context: Context
    ) -> dict[int, torch.Tensor | None]:
        """Return the parameters' gradients by key, and note those of values as events."""
        count = len(self._parameters)
        for (_, call, name, part, path), gradient in zip(
            self._values, gradients[count:], strict=True
        ):
            notes: tuple[LeafNote, ...] = ()
            if gradient is not None:
                shape, dtype = tuple(gradient.shape), str(gradient.dtype).removeprefix("torch.")
                notes = (("", shape, dtype, False),)
            context.note(
                EventNote(
                    next(context.sequence),
                    context.step,
                    "backward",
                    "tensor",
                    f"{name}:{part}{path}",
                    call.index,
                    call.order,
                    None,
                    None,
                    notes,
                    part,
                    path,
                    None if gradient is None else [statistics(gradient)],
                )
            )
        self._values.clear()
        return dict(zip(self._parameters, gradients[:count], strict=True))
