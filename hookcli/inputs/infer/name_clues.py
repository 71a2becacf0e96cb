"""Guesses for a parameter of forward from its name and type hint.

Names count more than layers: a wrong guess that runs is worse than an error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from hookcli.inputs.infer.layer_clues import LENGTH, Clues, ids
from hookcli.inputs.infer.source_clues import Parts, Use
from hookcli.inputs.infer.state_clues import state_guesses
from hookcli.spec.inferred import Guess, Hypothesis, InferredDict, InferredList, Slot
from hookcli.spec.inputs import Fill, TensorSpec, ValueSpec

_WAVE_SAMPLES = 16_000
_MEL_FRAMES = 128
_NODES = 8


def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|_)(?:{pattern})(?:$|_|\d)", re.IGNORECASE)


_MASK = _word("masks?|padding")
_LENGTHS = re.compile(r"(?:^|_)(?:lengths?|lens?|seq_?lens?|seqlens?)$", re.IGNORECASE)
_POSITIONS = re.compile(r"(?:^|_)(?:position_ids|positions?|pos_ids)$", re.IGNORECASE)
_TYPES = re.compile(r"(?:token_type|segment)_ids|segments?$", re.IGNORECASE)
_IDS = _word("ids?|tokens?|idx|indices|index|words?|chars?|texts?|sentences?|captions?|codes?")
_PAIRS = re.compile(r"^(?:src|tgt|source|target|trg|query|document|premise|hypothesis)$", re.I)
_IMAGE = _word("images?|imgs?|pixels?|pixel_values|pictures?|photos?|rgb|lr|hr")
_VIDEO = _word("videos?|clips?|frames?")
_WAVE = _word("waves?|waveforms?|wavs?|audios?|speech|signals?|input_values")
_MEL = _word("mels?|spectrograms?|specs?|fbanks?|input_features|log_mel")
_TIME = re.compile(
    r"^(?:t|ts|time|times|timesteps?|time_steps?|steps?|noise_levels?|sigmas?)$", re.I
)
_EDGES = re.compile(r"^(?:edge_index|edges|edge_indices)$", re.I)
_ADJACENCY = re.compile(r"^(?:adj|adjacency|adj_?mat\w*|adjacency_matrix|graph|a_hat)$", re.I)
_LABELS = re.compile(r"^(?:labels?|targets?|class_labels|classes|gt|y)$", re.I)
_EDGE_FEATURES = re.compile(r"^edge_(?:attrs?|feats?|features?|weights?)$|^e_?feats?$", re.I)
_CODES = _word("codes?|words?|texts?|sentences?|captions?")  # ids, or what was made of them
_GRAPHS = re.compile(r"^(?:batch_(?:idx|index|ids?|vec)|graph_(?:ids?|idx))$", re.I)
_ENDS = re.compile(r"^(?:src|dst)(?:_idx|_index|_ids?|_nodes?)?$", re.I)  # of edges, both
_DONE = re.compile(r"^(?:dones?|terminals?|terminated|is_first|resets?)$", re.I)
_OFFSETS = re.compile(r"^offsets?$", re.I)
_DERIVED = _word("outputs?|features?|feats?|embeddings?|embeds?|memory|contexts?|hidden_states?")
_DENSE = _word("num|numeric|numerical|dense|cont|continuous")
_SERIES = re.compile(r"^(?:past_values|time_series)$", re.I)
_NOISE = re.compile(r"^(?:z|noise|latents?)$", re.I)


def _edge_features(name: str, clues: Clues) -> list[Guess]:
    linear = [m for m in clues.layers() if isinstance(m, nn.Linear)]
    features = linear[-1].in_features if linear else LENGTH
    return [TensorSpec((2 * _NODES, features)), TensorSpec((2 * _NODES,))]


def _mask(name: str, clues: Clues) -> list[Guess]:
    if "padding" in name:
        return [TensorSpec((clues.batch, LENGTH), "bool", Fill("zeros"))]
    return [
        TensorSpec((clues.batch, LENGTH), "int64", Fill("ones")),
        TensorSpec((LENGTH, LENGTH), "bool", Fill("zeros")),
        TensorSpec((clues.batch, 1, 1, LENGTH), "bool", Fill("ones")),
        TensorSpec((LENGTH, LENGTH), None, Fill("zeros")),
    ]


def _time(name: str, clues: Clues) -> list[Guess]:
    return [
        ids((clues.batch,), 1000),
        TensorSpec((clues.batch,), None, Fill("rand")),
        TensorSpec((clues.batch, 1), None, Fill("rand")),
        ValueSpec(1),
    ]


def _token_ids(name: str, clues: Clues) -> list[Guess]:
    high = int(clues.token_ids().fill.high)
    tokens: list[Guess] = [clues.token_ids(), ids((clues.batch,), high)]
    return tokens[::-1] if clues.graph else tokens


def _dense(name: str, clues: Clues) -> list[Guess]:
    linear = next((m for m in clues.layers() if isinstance(m, nn.Linear)), None)
    return [TensorSpec((clues.batch, LENGTH if linear is None else linear.in_features))]


def _images(name: str, clues: Clues) -> list[Guess]:
    if clues.number(("num_frames",)) is not None:
        return _videos(name, clues)
    return [clues.image()]


def _waves(name: str, clues: Clues) -> list[Guess]:
    bins = clues.number(("num_mel_bins",))
    if bins is not None:  # a spectrogram, even if the name means a waveform
        return [TensorSpec((clues.batch, clues.number(("max_length",)) or _MEL_FRAMES, bins))]
    channels = clues.number(("audio_channels",))
    if channels is not None:
        return [TensorSpec((clues.batch, channels, _WAVE_SAMPLES))]
    plain = TensorSpec((clues.batch, _WAVE_SAMPLES))
    channel = TensorSpec((clues.batch, 1, _WAVE_SAMPLES))
    first = next(clues.layers(), None)
    return [channel, plain] if isinstance(first, nn.Conv1d) else [plain, channel]


def _mels(name: str, clues: Clues) -> list[Guess]:
    features = clues.number(("input_feat_per_channel",))
    if features is not None:
        return [TensorSpec((clues.batch, _MEL_FRAMES, features))]
    bins = clues.number(("num_mel_bins", "n_mels", "feature_size", "num_mels")) or 80
    frames = 2 * (clues.number(("max_source_positions",)) or _MEL_FRAMES // 2)
    return [TensorSpec((clues.batch, bins, frames)), TensorSpec((clues.batch, frames, bins))]


def _series(name: str, clues: Clues) -> list[Guess]:
    steps = clues.number(("context_length",)) or LENGTH
    channels = clues.number(("num_input_channels", "input_size")) or 1
    return [TensorSpec((clues.batch, steps, channels)), TensorSpec((clues.batch, steps))]


def _videos(name: str, clues: Clues) -> list[Guess]:
    image = clues.image()
    frames = clues.number(("num_frames",)) or 8
    return [
        TensorSpec((clues.batch, frames, *image.shape[1:])),
        TensorSpec((clues.batch, image.shape[1], frames, *image.shape[2:])),
        image,
    ]


_BY_NAME: tuple[tuple[re.Pattern[str], Callable[[str, Clues], list[Guess]]], ...] = (
    (
        _LENGTHS,
        lambda name, c: [TensorSpec((c.batch,), "int64", Fill("range", LENGTH, LENGTH + 1))],
    ),
    (_MASK, _mask),
    (_TYPES, lambda name, c: [ids((c.batch, LENGTH), 1)]),
    (_POSITIONS, lambda name, c: [ids((c.batch, LENGTH), LENGTH)]),
    (_EDGES, lambda name, c: [ids((2, 2 * _NODES), _NODES)]),
    (_EDGE_FEATURES, _edge_features),
    (_GRAPHS, lambda name, c: [TensorSpec((c.batch,), "int64", Fill("zeros"))]),
    (_DONE, lambda name, c: [TensorSpec((c.batch,), None, Fill("zeros"))]),
    (_OFFSETS, lambda name, c: [TensorSpec((c.batch,), "int64", Fill("zeros"))]),
    (_ADJACENCY, lambda name, c: [TensorSpec((_NODES, _NODES), None, Fill("ones"))]),
    (_TIME, _time),
    (_IMAGE, _images),
    (_VIDEO, _videos),
    (_WAVE, _waves),
    (_MEL, _mels),
    (_SERIES, _series),
    (_DENSE, _dense),
    (_IDS, _token_ids),
)


def _hinted(annotation: Any) -> list[Guess]:
    """Guesses from the type hint alone; none if it is a tensor or unknown."""
    text = annotation if isinstance(annotation, str) else str(annotation)
    text = text.replace("typing.", "").replace("<class '", "").replace("'>", "")
    name = text.partition("[")[0].lower()
    if name == "bool":
        return [ValueSpec(False)]
    if name == "int":
        return [ValueSpec(1)]
    if name == "float":
        return [ValueSpec(1.0)]
    if name == "str":
        return [ValueSpec("text")]
    return []


def _is_list(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else str(annotation)
    return bool(re.match(r"(?:typing\.)?(?:list|sequence|tuple)\[.*tensor", text, re.IGNORECASE))


def guesses(parameter: inspect.Parameter, clues: Clues, *, alone: bool) -> list[Guess]:
    """Guesses for one parameter, the likeliest first. `alone`: no other parameter is required."""
    name = parameter.name
    hinted = _hinted(parameter.annotation)
    if hinted:
        return hinted
    use = clues.use(name)
    if (use.keys or use.parts or use.unpacked_into) and not _named(name, clues, alone=alone):
        return _container(use, clues)
    candidates = _named(name, clues, alone=alone) or list(clues.generic())
    if use.layers:
        items = [next(iter(specs), None) for specs in clues.inputs_of_each(use.layers)]
        if items and None not in items:
            return [InferredList(tuple(item for item in items if item is not None)), *candidates]
    if _is_list(parameter.annotation):
        tensors = [guess for guess in candidates if isinstance(guess, TensorSpec)][:3]
        singles = [TensorSpec(t.shape[1:], t.dtype, t.fill) for t in tensors if len(t.shape) > 1]
        return [InferredList((guess, guess)) for guess in (*singles, *tensors)]
    return candidates


def _container(use: Use, clues: Clues) -> list[Guess]:
    """A mapping with the keys that forward looks up, or a list of the parts that it unpacks."""
    keys = use.keys or _keywords(getattr(clues.root, use.unpacked_into, None))
    if keys:
        return [InferredDict(tuple((key, part(key, clues)) for key in keys))]

    def made(parts: Parts) -> Guess:
        items = (part(p, clues) if isinstance(p, str) else made(p) for p in parts)
        return InferredList(tuple(items))

    return [made(use.parts), *clues.generic()]


_MOST_KEYWORDS = 4  # of a forward that requires none


def _keywords(module: Any) -> tuple[str, ...]:
    """Return the keyword arguments that a module is called with: those that it requires.

    If it requires none, these are its main input and the labels, or the first ones.
    """
    forward = getattr(module, "forward", None)
    if forward is None:
        return ()
    known = [p for p in inspect.signature(forward).parameters.values() if p.kind not in _KINDS]
    required = tuple(p.name for p in known if p.default is p.empty)
    main = getattr(module, "main_input_name", None)
    if required or not isinstance(main, str):
        return required or tuple(p.name for p in known[:_MOST_KEYWORDS])
    return tuple(p.name for p in known if p.name in (main, "labels"))


def part(name: str, clues: Clues) -> Guess:
    """Return the likeliest guess for a part of a mapping or list."""
    return (_named(name, clues, alone=False) or clues.generic())[0]


def _named(name: str, clues: Clues, *, alone: bool) -> list[Guess]:
    for pattern, make in _BY_NAME:
        if pattern.search(name):
            found = make(name, clues)
            if make is _token_ids and not clues.embeddings():  # `code` may be floats too
                floats = [spec for spec in clues.generic() if spec.dtype is None]
                found = [*floats, *found] if _CODES.search(name) else [*found, *floats]
            return found
    if clues.graph and _ENDS.match(name):
        return [ids((2 * _NODES,), _NODES)]
    if name == "batch" and clues.graph:
        return [TensorSpec((_NODES,), "int64", Fill("zeros"))]
    states = [] if alone else state_guesses(name, list(clues.layers()), clues.batch)
    if states:
        return states
    if _PAIRS.match(name) and clues.embeddings():
        return _token_ids(name, clues)
    if _LABELS.match(name) and not alone:
        floats = [spec for spec in clues.generic() if spec.dtype is None]
        labels: list[Guess] = [ids((clues.batch,), 2)]
        if clues.embeddings():
            labels.append(clues.token_ids())
        return (
            [*labels, *floats] if name.lower() != "y" or clues.embeddings() else [*floats, *labels]
        )
    if _DERIVED.search(name) and not alone and clues.embeddings():
        width = clues.number(("hidden_size", "hidden_dim", "d_model", "embed_dim"))
        width = width or clues.embeddings()[0].embedding_dim
        return [TensorSpec((clues.batch, LENGTH, width)), TensorSpec((LENGTH, width))]
    if _NOISE.match(name):
        size = clues.number(("latent_dim", "z_dim", "nz", "latent_size", "noise_dim"))
        if size is not None:
            return [TensorSpec((clues.batch, size)), TensorSpec((clues.batch, size, 1, 1))]
        first = next(clues.layers(), None)
        if isinstance(first, nn.ConvTranspose2d):
            return [TensorSpec((clues.batch, first.in_channels, 1, 1))]
    return []


def clues_of(
    root: nn.Module,
    signature: inspect.Signature,
    batch: int,
    function: Callable[..., Any] | None = None,
) -> Clues:
    """Return the clues of a model. The rows of a graph are its nodes."""
    required = [p.name for p in signature.parameters.values() if p.default is p.empty]
    graph = any(_EDGES.match(name) or _ADJACENCY.match(name) for name in required)
    graph = graph or {name[:3].lower() for name in required if _ENDS.match(name)} == {"src", "dst"}
    return Clues(root, _NODES if graph else batch, graph, function)


_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def start(signature: inspect.Signature, clues: Clues, given: dict[str, Guess]) -> list[Hypothesis]:
    """The first hypotheses, the likeliest first. Optional parameters are omitted.

    If no parameter is required, the model's `main_input_name` is used, else the first parameter.
    """
    parameters = [p for p in signature.parameters.values() if p.kind not in _KINDS]
    used = [p for p in parameters if p.default is p.empty]
    main = getattr(clues.root, "main_input_name", None)
    if isinstance(main, str) and main in signature.parameters and not used:
        used = [signature.parameters[main]]
    elif not used and parameters:
        used = parameters[:1]
    if not parameters:
        accepts_any = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
        if accepts_any:
            return [Hypothesis((Slot("args", g, False),)) for g in clues.generic()]
        return [Hypothesis(())]
    used += [p for p in parameters if p.name in given and p not in used]
    used.sort(key=parameters.index)
    options = [
        [given[p.name]] if p.name in given else guesses(p, clues, alone=len(used) == 1)
        for p in used
    ]
    positional = True
    keyword: list[bool] = []
    for parameter in used:
        index = parameters.index(parameter)
        positional = (
            positional and index == len(keyword) and parameter.kind is not parameter.KEYWORD_ONLY
        )
        keyword.append(not positional)
    hypotheses = []
    for choice in _choices([len(o) for o in options]):
        slots = tuple(
            Slot(p.name, o[min(i, len(o) - 1)], k)
            for p, o, k, i in zip(used, options, keyword, choice, strict=True)
        )
        if Hypothesis(slots) not in hypotheses:
            hypotheses.append(Hypothesis(slots))
    return hypotheses


def _choices(counts: list[int]) -> Iterator[tuple[int, ...]]:
    """Which option each parameter gets: the same for all, and between, another for one alone."""
    for i in range(max(counts)):
        yield (i,) * len(counts)
        for j, count in enumerate(counts):
            if len(counts) > 1 and 0 < i + 1 < min(count, 3):
                yield tuple(i + 1 if k == j else 0 for k in range(len(counts)))
