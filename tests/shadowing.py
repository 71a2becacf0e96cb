"""Files named like the modules of Python and of packages, which tell that they are imported."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from functools import cache
from pathlib import Path

# Optional packages of torch, transformers and timm, which may not be installed.
_OPTIONAL = {
    "cupy", "diffusers", "einops", "flax", "hookcli", "kernels", "numba", "onnx", "opt_einsum",
    "pandas", "peft", "psutil", "scipy", "sitecustomize", "six", "sklearn", "tensorboard",
    "tensorrt", "timm", "torch_xla", "torchvision", "triton", "usercustomize",
}  # fmt: skip


@cache
def names() -> tuple[str, ...]:
    """Every name of the standard library, of the installed packages and of what they may import."""
    found = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions(), *_OPTIONAL}
    for distribution in importlib.metadata.distributions():
        for requirement in distribution.requires or ():
            found.add(re.split(r"[^\w-]", requirement)[0].replace("-", "_").lower())
    return tuple(sorted(name for name in found if name.isidentifier() and name != "__main__"))


def shadow(folder: Path, ran: Path) -> None:
    """Write a file for each name into the folder; each adds its name to the file `ran`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        code = f"with open({str(ran)!r}, 'a') as file: file.write({name + ' '!r})\n"
        (folder / f"{name}.py").write_text(code)


def imported(ran: Path) -> list[str]:
    """The names of the files that were imported."""
    return ran.read_text().split() if ran.exists() else []
