"""`hf:`: a model of transformers, built from its configuration alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models.failures import failure_of
from hookcli.models.sources.config_folders import CONFIG, check_config, read_config_file
from hookcli.models.sources.file_errors import TRUST
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.models.zoo.choice import ZooChoice, library
from hookcli.models.zoo.hub import hub_folder, work_offline
from hookcli.models.zoo.trusted_keys import check_trusted, without_references
from hookcli.spec.request import Argument, ModelSpec
from hookcli.text import join_names, nearest, try_instead

_RANDOM = "built from config.json with random weights"


def hugging_face_choice(model: ZooModel, spec: ModelSpec) -> ZooChoice:
    """Return the model that a configuration describes, with the values of `--arg` in it.

    The class is the first of `architectures` that this transformers has, else the base model.

    Raises
    ------
    RequestError : transformers is not installed, or the model has code of its own and is not
        trusted, or a key is unknown.
    ModelError : transformers rejects the configuration.
    """
    if model.is_folder:
        folder = Path(model.name)
        work_offline()
    else:
        folder = hub_folder(model, spec.source, trust=spec.trust)
    data = read_config_file(folder / CONFIG, spec.source)
    check_config(data, folder.as_posix() if model.is_folder else model.name, spec.source)
    transformers: Any = library("transformers", spec.source)
    shown = _shown(model, folder)
    native = data.get("model_type") in transformers.CONFIG_MAPPING
    if isinstance(data.get("auto_map"), dict) and (spec.trust or not native):
        if not spec.trust:
            raise RequestError(
                f"{shown} refers to Python code in its folder (auto_map)",
                place=spec.source,
                hint=TRUST,
            )
        return _with_own_code(transformers, folder, data, spec, shown)
    if not native:
        raise _unknown_type(transformers, data["model_type"], shown)
    config_class = transformers.CONFIG_MAPPING[data["model_type"]]
    values = merged(data, spec.args)
    if not spec.trust:
        check_trusted(values, spec.args, shown)
        data, values = without_references(data), without_references(values)
    if spec.args:
        with _quiet(transformers):
            _check_keys(_made(lambda: config_class.from_dict(data), shown), spec.args)
    config = _made(lambda: config_class.from_dict(values), shown)
    kind, note = _class(transformers, values, config)
    if kind is None:
        auto, label = transformers.AutoModel, type(config).__name__
        return ZooChoice(lambda: auto.from_config(config), label, note=_note(spec, note))
    return ZooChoice(lambda: kind._from_config(config), kind.__name__, note=_note(spec, note))


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Do not log the warnings about a configuration, which is made again."""
    logging = transformers.logging
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _shown(model: ZooModel, folder: Path) -> str:
    """Return the configuration's path for messages; the cache's own names say nothing."""
    return (folder / CONFIG).as_posix() if model.is_folder else f"{CONFIG} of {model.name}"


def _note(spec: ModelSpec, more: str | None) -> str | None:
    parts = [None if spec.weights else _RANDOM, more]
    return "; ".join(part for part in parts if part) or None


def _made(make: Callable[[], Any], shown: str) -> Any:
    """Return the configuration that transformers makes of it."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  # validation of any kind
        failure = failure_of(error, "import")
        raise ModelError(
            f"transformers rejects the configuration: {failure.type}: "
            f"{' '.join(failure.message.split()):.300}",
            place=shown,
            hint="correct the value, in the file or with `--arg KEY=VALUE`",
            details=failure.details,
        ) from None


def _unknown_type(transformers: Any, model_type: str, shown: str) -> RequestError:
    near = nearest(model_type, list(transformers.CONFIG_MAPPING), cutoff=0.75)
    version = transformers.__version__
    return RequestError(
        f"transformers {version} does not know the model_type '{model_type:.60}'",
        place=shown,
        hint=try_instead(near, "install a newer transformers: `pip install -U transformers`"),
    )


def _class(
    transformers: Any, values: dict[str, Any], config: Any
) -> tuple[type[Any] | None, str | None]:
    """Return the class that `architectures` names, and a note if it has none that is usable."""
    names = values.get("architectures")
    names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    for name in names:
        kind = getattr(transformers, name, None) if name.isidentifier() else None
        if isinstance(kind, type) and issubclass(kind, nn.Module):
            expected = getattr(kind, "config_class", None)
            if isinstance(expected, type) and isinstance(config, expected):
                return kind, None
    if type(config) not in transformers.MODEL_MAPPING:
        return None, None  # reported by AutoModel
    base = transformers.MODEL_MAPPING[type(config)]
    base = base[0] if isinstance(base, tuple) else base
    if not names:
        return base, f"config.json names no architecture: built {base.__name__}"
    listed = join_names(names, 2)
    return base, f"transformers does not have {listed}: built {base.__name__}"


def _with_own_code(
    transformers: Any, folder: Path, data: dict[str, Any], spec: ModelSpec, shown: str
) -> ZooChoice:
    """Return a model whose code is in its folder. It is trusted."""
    where = str(folder)
    values = {argument.name: argument.value for argument in spec.args if argument.name}
    config = _made(
        lambda: transformers.AutoConfig.from_pretrained(
            where, trust_remote_code=True, local_files_only=True
        ),
        shown,
    )
    _check_keys(config, spec.args)
    for name, value in values.items():
        setattr(config, name, value)
    auto_map = data["auto_map"]
    wanted = next(iter(data.get("architectures") or ()), None)
    autos = [name for name in auto_map if name.startswith("AutoModel")]
    name = next(
        (auto for auto in autos if str(auto_map[auto]).rpartition(".")[2] == wanted),
        autos[0] if autos else "AutoModel",
    )
    auto = getattr(transformers, name, transformers.AutoModel)
    return ZooChoice(
        lambda: auto.from_config(config, trust_remote_code=True),
        str(wanted or name),
        note=_note(spec, None),
    )


# Values of `--arg` in a configuration of transformers.

_LAYERS = "num_hidden_layers"


def merged(data: dict[str, Any], args: Iterable[Argument]) -> dict[str, Any]:
    """Return the configuration with the values of the arguments.

    A mapping changes the keys that it names: `text_config={num_hidden_layers: 2}`.
    """
    return _merged(data, {argument.name or "": argument.value for argument in args})


def _merged(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    values = dict(data)
    for key, value in changes.items():
        old = values.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        values[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    layers = changes.get(_LAYERS)
    if isinstance(layers, int) and not isinstance(layers, bool):
        _fit_layers(values, data.get(_LAYERS), layers, changes)
    return values


def _fit_layers(values: dict[str, Any], before: Any, layers: int, changes: dict[str, Any]) -> None:
    """Shorten the lists with an entry for each layer, such as `layer_types`.

    Longer ones are omitted, so that transformers computes them.
    """
    for key, value in list(values.items()):
        per_layer = "layer" in key and isinstance(value, list) and len(value) == before
        if not per_layer or key in changes:
            continue
        if len(value) >= layers:
            values[key] = value[:layers]
        else:
            del values[key]


def _check_keys(config: Any, args: Iterable[Argument]) -> None:
    """Check that a configuration without the arguments has every key that they name.

    Raises
    ------
    RequestError : a key is unknown.
    """
    values = config.to_dict()
    known = set(values) | set(config.attribute_map)
    for argument in args:
        name = argument.name or ""
        if name in known:
            continue
        parts = [key for key, part in values.items() if isinstance(part, dict) and name in part]
        near = nearest(name, known, cutoff=0.6)
        hint = try_instead(near, "choose a key of config.json, or of its configuration class")
        raise RequestError(
            f"unknown key '{name}' of {type(config).__name__}",
            place=argument.place,
            hint=f"write `--arg '{parts[0]}={{{name}: VALUE}}'`" if parts else hint,
        )
