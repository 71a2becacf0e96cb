"""Interpreters as text: their path in reports, and the command that installs a package for one."""

from __future__ import annotations

import os
import shlex


def shown_executable(path: str) -> str | None:
    """Return the path of an interpreter from the working folder if it is below it.

    Links are not resolved, because the path of a link tells the virtual environment. None if the
    path is empty, as in a program that embeds Python.
    """
    try:
        here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
    except OSError:  # the folder is gone
        here = ""
    return path.removeprefix(here) or None


def has_package(folder: str, package: str) -> bool:
    """Return whether the folder of an environment contains a package."""
    for libraries in ("lib", "lib64", "Lib"):
        library = os.path.join(folder, libraries)  # noqa: PTH118  # pathlib is slow to import
        try:
            names = os.listdir(library)  # noqa: PTH208
        except OSError:
            continue
        for name in (".", *(name for name in names if name.startswith("python"))):
            path = os.path.join(library, name, "site-packages", package)  # noqa: PTH118
            if os.path.exists(os.path.join(path, "__init__.py")):  # noqa: PTH110, PTH118
                return True
    return False


# What installs a module, if its name is another. Only packages that files of models often import.
_DISTRIBUTIONS = {
    "cv2": "opencv-python", "dotenv": "python-dotenv", "PIL": "pillow", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "yaml": "pyyaml", "pytorch_lightning": "pytorch-lightning",
    "segmentation_models_pytorch": "segmentation-models-pytorch", "torch_geometric":
    "torch-geometric", "hydra": "hydra-core", "git": "gitpython",
    "attr": "attrs", "absl": "absl-py", "clip": "git+https://github.com/openai/CLIP.git",
}  # fmt: skip


def distribution_of(module: str) -> str:
    """Return the name by which pip installs a module: "cv2.dnn" → "opencv-python"."""
    package = module.partition(".")[0]
    return _DISTRIBUTIONS.get(package, package)


def install_command(python: str, package: str) -> str:
    """Return the command that installs a package for an interpreter.

    Environments that uv made have no pip.
    """
    folder = os.path.dirname(os.path.dirname(python))  # noqa: PTH120  # links are not resolved
    if _made_by_uv(folder) and not has_package(folder, "pip"):
        return f"uv pip install --python {shlex.quote(python)} {package}"
    return f"{shlex.quote(python)} -m pip install {package}"


def _made_by_uv(folder: str) -> bool:
    """Whether uv made a virtual environment: it writes its version into pyvenv.cfg."""
    try:
        with open(os.path.join(folder, "pyvenv.cfg"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            return any(line.startswith("uv =") for line in file)
    except (OSError, UnicodeDecodeError):
        return False
