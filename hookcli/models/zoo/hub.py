"""Repositories of the Hugging Face hub: their configuration from the cache, else from the network.

Nothing but configurations is downloaded, and the code of the repository only with --trust. The
download is in a process of its own, because the libraries read HF_HUB_OFFLINE when they are
imported, retry for half a minute without a network, and cannot be interrupted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hookcli.errors import RequestError
from hookcli.interpreters.start import python_command, run_python
from hookcli.models.sources.config_folders import CONFIG, no_config
from hookcli.models.sources.zoo_names import ZooModel
from hookcli.models.zoo.choice import library
from hookcli.plain_files import read_bytes
from hookcli.text import first_line

_PATIENCE = 60.0  # seconds for the download of some small files
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_TRUE = {"1", "ON", "YES", "TRUE"}  # as huggingface_hub reads it
_ACCESS = "run `hf auth login`, and request access on the model's page of the hub"
_LOCAL = "pass a local folder, or download it first: `hf download {name} config.json`"

# `model_info` first: unlike a download, it does not retry without a network, and lists the files.
_FETCH = """
import json
name, revision, *patterns = sys.argv[1:]
try:
    from huggingface_hub import HfApi, snapshot_download
    info = HfApi().model_info(name, revision=revision or None, timeout=10)
    files = [file.rfilename for file in info.siblings or ()]
    if "config.json" not in files:
        answer = {"files": files}
    else:
        answer = {"folder": snapshot_download(
            name, revision=revision or None, allow_patterns=patterns, etag_timeout=10)}
except Exception as error:
    answer = {"error": [kind.__name__ for kind in type(error).__mro__], "message": str(error)}
print("\\n" + json.dumps(answer))
"""


def work_offline() -> None:
    """Keep transformers from downloading anything in this process, such as weights or kernels."""
    os.environ["HF_HUB_OFFLINE"] = "1"


def hub_folder(model: ZooModel, source: str, *, trust: bool) -> Path:
    """Return the folder of the hub's cache with the configuration; download it if it is not there.

    Raises
    ------
    RequestError : the repository does not exist or is not accessible, or it is not in the cache
        and the hub cannot be reached.
    """
    offline = any(os.environ.get(key, "").upper() in _TRUE for key in _OFFLINE)
    environment = dict(os.environ)
    work_offline()
    library("transformers", source)  # before the part of it that reads the cache
    cached = _cached(model, source)
    if cached is not None and not (trust and _lacks_code(cached)):
        return cached
    if offline:
        raise RequestError(
            f"{model.name} is not a folder, and not in the hub's cache",
            place=source,
            hint="remove HF_HUB_OFFLINE from the environment to allow the download of config.json",
        )
    patterns = [CONFIG, "*.py"] if trust else [CONFIG]
    return _answered(_fetched(model, patterns, environment, source), model, source)


def _cached(model: ZooModel, source: str) -> Path | None:
    hub: Any = library("huggingface_hub", source)
    file = hub.try_to_load_from_cache(model.name, CONFIG, revision=model.revision)
    return Path(file).parent if isinstance(file, str) else None


def _lacks_code(folder: Path) -> bool:
    """Whether the configuration names code of the repository that is not in the cache."""
    try:
        references = json.loads(read_bytes((folder / CONFIG).as_posix())).get("auto_map", {})
    except (OSError, ValueError, AttributeError):
        return False  # reported when it is read
    files = {str(value).partition(".")[0] + ".py" for value in dict(references).values()}
    return any(not (folder / name).is_file() for name in files)


def _fetched(
    model: ZooModel, patterns: list[str], environment: dict[str, str], source: str
) -> dict[str, Any]:
    """Download the files in a process of its own, and return its answer."""
    command = python_command(sys.executable, _FETCH, model.name, model.revision or "", *patterns)
    try:
        done = run_python(
            command,
            timeout=_PATIENCE,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        answer = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        answer = {"error": ["TimeoutError"], "message": f"no answer within {_PATIENCE:g} s"}
    except (ValueError, IndexError):
        answer = {"error": ["RuntimeError"], "message": first_line(done.stderr.decode()[-500:])}
    if not isinstance(answer, dict):
        raise _unreachable(model, "the answer is not JSON", source)
    return answer


def _answered(answer: dict[str, Any], model: ZooModel, source: str) -> Path:
    if "folder" in answer:
        return Path(answer["folder"])
    if "files" in answer:
        raise no_config(answer["files"], model.name, source)
    kinds = set(answer.get("error", ()))
    if "GatedRepoError" in kinds:
        raise RequestError(f"{model.name} is gated on the hub", place=source, hint=_ACCESS)
    if "RevisionNotFoundError" in kinds:
        raise RequestError(
            f"{model.name} has no revision '{model.revision}'",
            place=source,
            hint="give a branch, a tag or a commit: `hf:ORG/NAME@main`",
        )
    if kinds & {"RepositoryNotFoundError", "HFValidationError"}:
        raise RequestError(
            f"{model.name} is neither a folder nor a public model of the hub",
            place=source,
            hint="check the name; run `hf auth login` if the model is private",
        )
    raise _unreachable(model, first_line(str(answer.get("message", ""))), source)


def _unreachable(model: ZooModel, reason: str, source: str) -> RequestError:
    return RequestError(
        f"{model.name} is not in the hub's cache, and the hub cannot be reached: {reason:.160}",
        place=source,
        hint=_LOCAL.format(name=model.name),
    )
