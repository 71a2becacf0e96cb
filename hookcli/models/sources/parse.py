"""Parse MODEL: a Python file or module, or a file of a model. Torch-free."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.content import Content, identify, identify_folder, refusal
from hookcli.models.sources.file_errors import PYTHON_FILE, TRUST, file_not_found, reason_of
from hookcli.models.sources.model_files import model_files
from hookcli.models.sources.torch_files import resources
from hookcli.models.sources.zoo_names import ZooModel, checked_arguments, zoo_model
from hookcli.plain_files import near_file
from hookcli.sentences import cannot_read, missing_file, missing_name, not_a_file
from hookcli.spec.request import ModelSpec
from hookcli.text import join_or, nearest, try_instead


@dataclass(frozen=True, slots=True)
class PythonFile:
    """`path.py[:attr]`."""

    path: str
    attr: str | None


@dataclass(frozen=True, slots=True)
class PythonModule:
    """`package.module:attr`."""

    module: str
    attr: str


ArchiveKind: TypeAlias = Literal["torchscript", "exported", "package", "pickled"]


@dataclass(frozen=True, slots=True)
class Archive:
    """`file.pt[:inner]`, with its kind, which is detected from the content.

    `inner` is a resource of a torch.package archive, `package/resource.pkl`, or the key of a module
    in a pickled dict; it is None only if there is no choice. "pickled" is a whole module that
    torch.save wrote.
    """

    path: str
    kind: ArchiveKind
    inner: str | None = None


Source: TypeAlias = PythonFile | PythonModule | Archive | ZooModel

_FILE = re.compile(r"(.+?\.py)(?::([A-Za-z_][\w.]*))?")
_SETTING = re.compile(r"\?(dtype|device|mode|weights|arg|argv|python)=([^&]+)")
_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_ACTS = {  # kinds of archives that run code when they are opened
    "package": "a torch.package archive, which contains Python code that runs when it is opened",
    "pickled": "a module pickled by torch.save, which can run code when it is opened",
}


def parse_source(source: str) -> Source:
    """Parse MODEL, and check it as far as possible without torch and without the file's code.

    Raises
    ------
    RequestError : the file does not exist, or is of a kind that is not supported.
    ModelError : it is damaged.
    """
    try:
        return _parsed(source)
    except OSError as error:  # a name that is too long, a folder without permission
        why = error.strerror or str(error)
        hint = "check the path and the permissions of its folders"
        raise RequestError(cannot_read(source, why), place=source, hint=hint) from None


def _parsed(source: str) -> Source:
    zoo = zoo_model(source)
    if zoo is not None:
        return zoo
    path, after = _split(source)
    if path.is_dir():
        raise _folder(path, source)
    if not path.exists() and not path.is_symlink():
        module = _MODULE.fullmatch(source)
        if module and _FILE.fullmatch(source) is None:
            return PythonModule(module[1], module[2])
        if (setting := _SETTING.search(source)) is not None:
            raise RequestError(
                missing_file(source),
                place=source,
                hint=f"pass `--{setting[1]} {setting[2]}`: only `hookcli diff` accepts settings "
                "after a question mark",
            )
        raise _missing(source, path)
    if not path.is_file():
        raise file_not_found(path.as_posix(), source, PYTHON_FILE)
    content = _content(path, source)
    if content.kind == "python":
        return PythonFile(str(path), after)
    if content.kind == "package":
        return Archive(str(path), "package", _resource(path, after, source))
    if content.kind == "pickled":
        return Archive(str(path), "pickled", _key(path, content, after, source))
    if content.kind not in {"torchscript", "exported"}:
        raise refusal(content, path.as_posix(), source)
    if after is not None:
        raise RequestError(
            f"{path.as_posix()} contains one model, of which ':{after}' cannot select a part",
            place=source,
            hint=f"write `{path.as_posix()}`",
        )
    return Archive(str(path), content.kind)  # type: ignore[arg-type]  # one of the two


def check_opening(named: Source, model: ModelSpec) -> None:
    """Check that a model may be opened with these settings.

    Raises
    ------
    RequestError : it can run code and is not trusted, or constructor arguments are given that it
        does not accept.
    """
    if isinstance(named, ZooModel) and model.args:
        checked_arguments(named, tuple(item.name for item in model.args), model.args[0].place)
    if not isinstance(named, Archive):
        return
    if model.args:
        raise RequestError(
            f"{named.path} contains a built model, which accepts no constructor arguments",
            place=model.args[0].place,
            hint="omit the arguments, or pass the Python source",
        )
    if model.argv:
        raise RequestError(
            f"{named.path} contains a built model, which no script defines",
            place="--argv",
            hint="omit `--argv`, or pass the Python source",
        )
    if model.method is not None:
        raise RequestError(
            f"{named.path} contains a built model, which runs its forward only",
            place="--method",
            hint="omit `--method`, or pass the Python source",
        )
    if named.kind in _ACTS and not model.trust:
        raise RequestError(
            f"{named.path} is {_ACTS[named.kind]}",
            place=model.source,
            hint=TRUST,
        )


def code_in(source: str, *, trusted: bool) -> str | None:
    """Describe what MODEL names if running it runs its own code; None if it is data.

    TorchScript files and configurations of Hugging Face models are data, and so are exported
    programs unless they are trusted. The functions of a library can run anything with arguments.
    """
    try:
        named = parse_source(source)
    except (RequestError, ModelError):
        return None  # none of it is run
    if isinstance(named, Archive):
        if named.kind == "exported" and trusted:
            return "a torch.export archive, which --trust allows to run code"
        return _ACTS.get(named.kind, "").partition(",")[0] or None
    if isinstance(named, ZooModel) and named.library == "hf" and not trusted:
        return None if named.is_folder else "a model of the hub, which is downloaded"
    return "a Python model"


def _split(source: str) -> tuple[Path, str | None]:
    """Split MODEL into the path and the part after the colon."""
    whole = Path(source)
    if whole.exists():
        return whole, None
    match = _FILE.fullmatch(source)
    if match:
        return Path(match[1]), match[2]
    front, colon, after = source.partition(":")
    while colon:
        if after and Path(front).is_file():
            return Path(front), after
        more, colon, after = after.partition(":")
        front += f":{more}"
    return whole, None


def _content(path: Path, source: str) -> Content:
    try:
        return identify(path)
    except OSError as error:
        raise RequestError(
            cannot_read(path.as_posix(), error.strerror),
            place=source,
            hint="check the file's permissions",
        ) from None


def _resource(path: Path, after: str | None, source: str) -> str:
    """Return the module to load from a torch.package archive, as `package/resource.pkl`."""
    try:
        entries = resources(path)
    except Exception as error:  # noqa: BLE001  # zipfile and zlib raise many types for damage
        detail = f"a torch.package archive that cannot be read ({reason_of(error)})"
        damaged = Content("corrupt", detail)
        raise refusal(damaged, path.as_posix(), source) from None
    modules = [candidate.inner for candidate in entries if candidate.is_module]
    if after is None:
        return _only(path, modules, "resources with models", source)
    names = [candidate.inner for candidate in entries]
    dotted = after.removesuffix(".pkl").replace(".", "/") + ".pkl"  # of a package in dotted form
    return next(
        (candidate for candidate in (after, dotted) if candidate in names), None
    ) or _raise_unknown(path, after, modules or names, source)


def _key(path: Path, content: Content, after: str | None, source: str) -> str | None:
    """Return the key of the module to load from a pickled dict; None if there is no dict."""
    names = content.names
    if names == ("",):
        if after is None:
            return None
        _raise_unknown(path, after, (), source)
    if after is None:
        return _only(path, names, "models", source)
    return after if after in names else _raise_unknown(path, after, names, source)


def _only(path: Path, names: Sequence[str], what: str, source: str) -> str:
    if len(names) == 1:
        return names[0]
    if not names:
        raise RequestError(
            f"{path.as_posix()} is a torch.package archive without a pickled model",
            place=source,
            hint="add one with `exporter.save_pickle('model', 'model.pkl', model)`",
        )
    raise RequestError(
        f"{path.as_posix()} contains {len(names)} {what}",
        place=source,
        hint=f"write {_either(_commands(path, names[:6]))}",
        instead=[f"{path.as_posix()}:{name}" for name in names],
    )


def _raise_unknown(path: Path, after: str, names: Sequence[str], source: str) -> NoReturn:
    near = nearest(after, names, cutoff=0.6)
    shown = [near] if near else names[:6]
    commands = _commands(path, shown)
    raise RequestError(
        missing_name(after, path.as_posix()),
        place=source,
        hint=try_instead(commands if near else None, f"write {_either(commands)}"),
        instead=[f"{path.as_posix()}:{name}" for name in shown] or [path.as_posix()],
    )


def _commands(path: Path, names: Sequence[str]) -> list[str]:
    """Return what to write as MODEL to choose each of these names."""
    return [f"{path.as_posix()}:{name}" for name in names] or [path.as_posix()]


def _either(commands: Sequence[str]) -> str:
    return join_or([f"`{command}`" for command in commands])


def _folder(path: Path, source: str) -> RequestError | ModelError:
    kind = identify_folder(path)
    if kind != "folder":
        return refusal(Content(kind), path.as_posix(), source)
    scripts = sorted(entry.name for entry in path.glob("*.py"))
    hint = f"pass a file in it: `{(path / scripts[0]).as_posix()}`" if scripts else PYTHON_FILE
    return RequestError(
        not_a_file(path.as_posix()),
        place=source,
        hint=hint,
        instead=[file.as_posix() for file in model_files(path)],
    )


def _missing(source: str, path: Path) -> RequestError:
    near = near_file(path)
    hint = try_instead(
        near,
        "write MODEL as `path.py`, `path.py:Net`, `package.module:Net` or `file.pt`",
    )
    error = file_not_found(path.as_posix(), source, hint)
    if near:
        match = _FILE.fullmatch(source)
        attr = f":{match[2]}" if match and match[2] else ""
        error.instead = (near + attr,)
    else:
        error.instead = tuple(file.as_posix() for file in model_files(path.parent))
    return error
