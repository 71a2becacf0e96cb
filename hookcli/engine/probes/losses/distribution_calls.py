"""How a loss uses torch.distributions: samples without a gradient, entropies, arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch import distributions, nn
from torch.distributions import kl

from hookcli.engine.probes.losses.loss_calls import dimensions_of_shares, maker, readable
from hookcli.engine.probes.trainability.divergences import weighed_terms
from hookcli.engine.probes.trainability.loss_graph import Node, nodes_behind
from hookcli.refusals import raise_if_external

_MOST = 50  # samples that are remembered
_FEW = 2  # classes: of them, a sigmoid's results may add up to 1 by chance


@dataclass(slots=True)
class _Drawn:
    """A tensor that a distribution has drawn; it is kept, so that its address stays its own.

    `name` is that of the distribution's class, and `fed` the class of the first module that got it.
    """

    values: torch.Tensor
    owner: Any
    name: str
    place: str | None
    fed: str | None = None


@dataclass(slots=True)
class DistributionCalls:
    """Notes what is drawn from distributions and what becomes of it.

    `place_of` returns the user's line of a frame.
    """

    place_of: Callable[[FrameType], str | None]
    found: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    _drawn: list[_Drawn] = field(default_factory=list)
    _reparametrized: list[_Drawn] = field(default_factory=list)
    _scored: list[tuple[Any, torch.Tensor]] = field(default_factory=list)
    _entropies: list[_Drawn] = field(default_factory=list)

    def begins(self) -> dict[CodeType, Callable[[FrameType], None]]:
        """Return what is told when functions begin, by their code."""
        return {
            **_by_code("log_prob", self._scores),
            kl.kl_divergence.__code__: self._diverges,
            distributions.Categorical.__init__.__code__: self._constructed,
            distributions.Bernoulli.__init__.__code__: self._constructed,
            nn.Module.__call__.__code__: self._feeds,
        }

    def ends(self) -> dict[CodeType, Callable[[FrameType, Any], None]]:
        """Return what is told when functions return, by their code."""
        return {
            **_by_code("sample", self._draws),
            **_by_code("rsample", self._draws_with_gradient),
            **_by_code("entropy", self._returns_entropy),
        }

    def clear(self) -> None:
        """Forget the samples."""
        for kept in (self.found, self._drawn, self._reparametrized, self._scored, self._entropies):
            kept.clear()

    # What is told.

    def _draws(self, frame: FrameType, result: Any) -> None:
        owner = frame.f_locals.get("self")
        has_room = torch.is_grad_enabled() and len(self._drawn) < _MOST
        if isinstance(result, torch.Tensor) and has_room:
            self._drawn.append(_drawn(result, owner, self.place_of(frame)))

    def _draws_with_gradient(self, frame: FrameType, result: Any) -> None:
        owner = frame.f_locals.get("self")
        has_room = len(self._reparametrized) < _MOST
        if isinstance(result, torch.Tensor) and result.requires_grad and has_room:
            self._reparametrized.append(_drawn(result, owner, self.place_of(frame)))

    def _returns_entropy(self, frame: FrameType, result: Any) -> None:
        owner = frame.f_locals.get("self")
        has_room = len(self._entropies) < _MOST
        if isinstance(result, torch.Tensor) and result.grad_fn is not None and has_room:
            self._entropies.append(_drawn(result, owner, self.place_of(frame)))

    def _scores(self, frame: FrameType) -> None:
        value = frame.f_locals.get("value")
        if isinstance(value, torch.Tensor) and len(self._scored) < _MOST:
            self._scored.append((frame.f_locals.get("self"), value))

    def _feeds(self, frame: FrameType) -> None:
        """Note that a module gets a sample."""
        todo = [one for one in self._drawn if one.fed is None]
        if not todo or not torch.is_grad_enabled():
            return
        given = frame.f_locals
        for tensor in (*given["args"], *given["kwargs"].values()):
            for one in todo if isinstance(tensor, torch.Tensor) else ():
                if _is_same(one.values, tensor):
                    one.fed = type(given["self"]).__name__

    def _diverges(self, frame: FrameType) -> None:
        """Look at the order of the arguments of kl_divergence."""
        p, q = frame.f_locals.get("p"), frame.f_locals.get("q")
        if _is_standard(p) and not _is_trained(p) and _is_trained(q):
            self.found.append(("prior_first", {"name": type(p).__name__}, self.place_of(frame)))

    def _constructed(self, frame: FrameType) -> None:
        """Look at the logits of a distribution."""
        given = frame.f_locals
        logits = readable(given.get("logits"))
        name = type(given.get("self")).__name__
        if logits is None or not logits.dim() or logits.dtype is torch.bool:
            return
        if name != "Bernoulli":
            shares = logits.shape[-1] > _FEW and logits.dim() - 1 in dimensions_of_shares(
                logits.float()
            )
            what = "probabilities" if shares else None
        else:
            what = "the result of a sigmoid" if maker(given["logits"]) == _SIGMOID else None
        if what is not None:
            found = ("logits", {"name": name, "what": what}, self.place_of(frame))
            self.found.append(found)

    # What becomes of it.

    def conclude(self, start: torch.Tensor) -> Iterator[tuple[str, dict[str, Any], str | None]]:
        """Yield what was found, before backward from `start` frees the graph."""
        yield from self.found
        scored = [id(owner) for owner, _ in self._scored]
        for one in self._drawn:
            names = _trained(one.owner)
            is_scored = id(one.owner) in scored or any(
                _is_same(one.values, value) for _, value in self._scored
            )
            if one.fed is not None and not is_scored and names:
                values = {"name": one.name, "fed": one.fed, "parameters": names}
                yield "sample", values, one.place
        yield from self._scores_of_own(start)
        yield from self._entropy_signs(start)

    def _scores_of_own(
        self, start: torch.Tensor
    ) -> Iterator[tuple[str, dict[str, Any], str | None]]:
        """Yield the samples whose gradient goes into their own log_prob and nowhere else."""
        users: dict[Node, set[str]] = {}
        if any(one.owner is owner for one in self._reparametrized for owner, _ in self._scored):
            for node in nodes_behind(start):
                for before, _ in node.next_functions:
                    if before is not None:
                        users.setdefault(before, set()).add(node.name())
        for one in self._reparametrized:
            own = any(owner is one.owner and value is one.values for owner, value in self._scored)
            if own and users.get(one.values.grad_fn) == {"SubBackward0"}:
                yield "own_score", {"name": one.name}, one.place

    def _entropy_signs(
        self, start: torch.Tensor
    ) -> Iterator[tuple[str, dict[str, Any], str | None]]:
        """Yield the entropies of policies that the loss makes small."""
        policies = [id(one.owner) for one in self._drawn]
        scored = [id(owner) for owner, _ in self._scored]
        nodes = {
            one.values.grad_fn: one
            for one in self._entropies
            if id(one.owner) in policies and id(one.owner) in scored
        }
        for term in weighed_terms(start.grad_fn, frozenset(nodes)) if nodes else ():
            if term.node in nodes and term.factor > 0:
                one = nodes[term.node]
                yield "entropy", {"name": one.name}, one.place


_SIGMOID = "SigmoidBackward0"


def _by_code(method: str, told: Callable[..., None]) -> dict[CodeType, Callable[..., None]]:
    """Return the code of a method of all distributions that define it."""
    kinds = [kind for kind in vars(distributions).values() if isinstance(kind, type)]
    bases = {base for kind in kinds for base in kind.__mro__}
    found = [vars(base).get(method) for base in bases if _is_distribution(base)]
    return {one.__code__: told for one in found if isinstance(one, FunctionType)}


def _is_distribution(kind: type) -> bool:
    return issubclass(kind, distributions.Distribution)


def _drawn(values: torch.Tensor, owner: Any, place: str | None) -> _Drawn:
    return _Drawn(values, owner, type(owner).__name__, place)


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors share their memory, as views do."""
    if one is other:
        return True
    try:
        first, second = one.untyped_storage().data_ptr(), other.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError) as error:  # a tensor without memory
        raise_if_external(error)
        return False
    return first == second != 0


def _inner(owner: Any) -> Iterator[Any]:
    """Yield a distribution and those that it is made of."""
    while owner is not None:
        yield owner
        made_of = vars(owner)
        owner = made_of.get("base_dist") or made_of.get("_categorical")


def _trained(owner: Any) -> list[str]:
    """Return the names of the parameters of a distribution with a gradient."""
    return sorted(
        {
            name.strip("_")
            for one in _inner(owner)
            if getattr(one, "has_rsample", False)
            for name, value in vars(one).items()
            if isinstance(value, torch.Tensor) and value.requires_grad
        }
    )


def _is_trained(owner: Any) -> bool:
    return any(
        isinstance(value, torch.Tensor) and value.requires_grad
        for one in _inner(owner)
        for value in vars(one).values()
    )


def _is_standard(owner: Any) -> bool:
    """Return whether a distribution is normal, with a mean of 0 and a deviation of 1."""
    normal = [one for one in _inner(owner) if isinstance(one, distributions.Normal)]
    if not normal:
        return False
    loc, scale = readable(normal[-1].loc), readable(normal[-1].scale)
    if loc is None or scale is None:
        return False
    return bool(torch.all(loc == 0)) and bool(torch.all(scale == 1))
