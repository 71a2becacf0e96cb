"""Are the figures that `hookcli inspect` shows of files of weights those of torch?

    python -m benchmarks.proof.weights

Models of transformers with random weights are saved in several formats and dtypes: single files and
shards of safetensors, torch.save with and without an optimizer, and torch.distributed.checkpoint.
Each tensor's figures are compared with torch's, in double precision.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_model
from torch.distributed import checkpoint

NAMES = ("bert", "gpt2", "llama", "t5", "vit", "mixtral")
SMALL = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "n_embd": 64, "n_layer": 2, "n_head": 4,
    "d_model": 64, "d_ff": 96, "num_layers": 2, "num_heads": 4, "num_local_experts": 4,
}  # fmt: skip
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
CLOSE = 1e-6  # relative, of sums in another order

State = dict[str, torch.Tensor]


def models() -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield small models with random weights, some elements of which are zero or not finite."""
    torch.manual_seed(0)
    for name in NAMES:
        config = transformers.AutoConfig.for_model(name)
        known = {key: value for key, value in SMALL.items() if hasattr(config, key)}
        config = transformers.AutoConfig.for_model(name, **known)
        model = transformers.AutoModel.from_config(config)
        with torch.no_grad():
            first, second = list(model.parameters())[:2]
            first.view(-1)[:5] = 0
            second.view(-1)[0] = float("nan")
            second.view(-1)[1] = float("inf")
        yield name, model


def _torch_save(model: torch.nn.Module, folder: Path) -> Path:
    torch.save(model.state_dict(), folder / "model.pt")
    return folder / "model.pt"


def _with_optimizer(model: torch.nn.Module, folder: Path) -> Path:
    optimizer = torch.optim.AdamW(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    path = folder / "checkpoint.ckpt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    return path


def _one_file(model: Any, folder: Path) -> Path:
    save_model(model, str(folder / "model.safetensors"))
    return folder / "model.safetensors"


def _shards(model: Any, folder: Path) -> Path:
    save_torch_state_dict(model.state_dict(), folder, max_shard_size="100KB")
    return folder / "model.safetensors.index.json"


def _distributed(model: torch.nn.Module, folder: Path) -> Path:
    checkpoint.save(model.state_dict(), checkpoint_id=folder)
    return folder


WAYS: dict[str, Callable[[Any, Path], Path]] = {
    "torch.save": _torch_save,
    "with an optimizer": _with_optimizer,
    "safetensors": _one_file,
    "shards": _shards,
    "distributed": _distributed,
}


def truth(tensor: torch.Tensor) -> dict[str, float]:
    """Return the figures of a tensor by torch, in double precision."""
    values = tensor.detach().double().flatten()
    return {
        "norm": values.norm().item(),
        "mean": values.mean().item(),
        "std": values.std().item(),
        "min": values.min().item(),
        "max": values.max().item(),
        "zeros": (values == 0).sum().item(),
        "nans": values.isnan().sum().item(),
        "infs": values.isinf().sum().item(),
    }


def differing(path: Path, state: State) -> tuple[int, list[str]]:
    """Return the number of compared figures, and what differs."""
    command = [sys.executable, "-m", "hookcli", "inspect", str(path), "-f", "json"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    rows = {row["name"].removeprefix("model."): row for row in report["tensors"]}
    compared, wrong = 0, []
    names: dict[int, list[str]] = {}
    for name, tensor in state.items():
        names.setdefault(tensor.data_ptr(), []).append(name)
    for tied in names.values():  # a format may keep a tied tensor under one of its names
        tensor, name = state[tied[0]], tied[0]
        row = next((rows[n] for n in tied if n in rows), None)
        if row is None:
            wrong.append(f"{name} is missing")
            continue
        for key, true in truth(tensor).items():
            shown = row["stats"].get(key)
            compared += 1
            shown = math.nan if shown is None else float(shown)
            scale = max(abs(true), 1e-12)
            same = shown == true or (math.isnan(shown) and math.isnan(true))
            if not same and not abs(shown - true) <= CLOSE * scale:
                wrong.append(f"{name} {key}: {shown} is {true}")
    return compared, wrong


def main() -> None:
    """Print each file with what differs."""
    files = figures = bad = 0
    for name, model in models():
        for way, save in WAYS.items():
            for dtype in DTYPES if way == "safetensors" else DTYPES[files % 3 :][:1]:
                with tempfile.TemporaryDirectory() as folder:
                    cast = model.to(dtype)
                    path = save(cast, Path(folder))
                    compared, wrong = differing(path, cast.state_dict())
                files, figures, bad = files + 1, figures + compared, bad + bool(wrong)
                print(f"{'wrong' if wrong else 'ok':5} {name} {way} {dtype}: {compared} figures")
                print("".join(f"      {line}\n" for line in wrong[:5]), end="")
    print(f"{files} files, {figures} figures, {bad} files with a figure that differs")


if __name__ == "__main__":
    main()
