"""Errors for files without a model that hookcli can run: what each file is, and what to do."""

from __future__ import annotations

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.content import Content
from hookcli.models.sources.file_errors import COMPLETE, PYTHON_FILE

_SOURCE = f"{PYTHON_FILE}: `model.py` or `model.py:Net`"
_WEIGHTS = "pass the Python source with these weights: `model.py --weights {path}`"
_EXPORTED_FROM = "pass the PyTorch source that it was made from: `model.py` or `model.py:Net`"

_WHAT: dict[str, tuple[str, str]] = {
    "state_dict": ("a state dict: weights without a model", _WEIGHTS),
    "checkpoint": ("a checkpoint (keys {detail}): weights without a model", _WEIGHTS),
    "dict": (
        "a dict without a model (keys {detail})",
        "pass the Python source; `--weights` accepts a dict of tensors, or one under `state_dict`",
    ),
    "pickle": (
        "{detail} that torch.save wrote, not a model",
        "pass the Python source; `--input {path}` passes these values to a model",
    ),
    "plain_pickle": (
        "a pickle that torch.save did not write: {detail}",
        "save it again with `torch.save(model, PATH)`, or pass its Python source",
    ),
    "safetensors": ("a safetensors file: weights without a model", _WEIGHTS),
    "index": (
        "an index of weights in several files",
        _WEIGHTS,
    ),
    "gguf": (
        "a GGUF file: weights for llama.cpp",
        "pass the PyTorch source, or `transformers:AutoModel.from_pretrained`",
    ),
    "mobile": (
        "a TorchScript archive for mobile, without its code: it cannot be inspected",
        "pass the archive that `torch.jit.save` wrote, or the Python source",
    ),
    "aotinductor": (
        "an AOTInductor package: compiled code without modules",
        "pass the .pt2 of `torch.export.save` that it was compiled from, or the Python source",
    ),
    "executorch": ("an ExecuTorch program", _EXPORTED_FROM),
    "mar": (
        "a TorchServe archive (.mar)",
        "unpack it with `unzip {path}`, then pass the model file or the archive in it",
    ),
    "onnx": ("an ONNX model", _EXPORTED_FROM),
    "tensorrt": ("a TensorRT engine", _EXPORTED_FROM),
    "openvino": ("an OpenVINO model", _EXPORTED_FROM),
    "coreml": ("a Core ML model", _EXPORTED_FROM),
    "hdf5": ("an HDF5 file, as Keras writes", _SOURCE),
    "keras": ("a Keras model", _SOURCE),
    "tflite": ("a TensorFlow Lite model", _SOURCE),
    "tensorflow": ("a TensorFlow graph", _SOURCE),
    "saved_model": ("a TensorFlow SavedModel", _SOURCE),
    "flax": ("a Flax checkpoint", _SOURCE),
    "numpy": (
        "a file of NumPy arrays",
        "pass the Python source; `--input {path}` passes an array to a model",
    ),
    "library": (
        "a compiled library",
        f"{PYTHON_FILE}; the key `libraries` of a configuration loads operators",
    ),
    "wheel": ("a Python wheel", "install it with pip, then write `package.module:Net`"),
    "notebook": (
        "a notebook",
        "convert it to Python first: `jupyter nbconvert --to script {path}`",
    ),
    "bytecode": ("compiled Python", "pass the .py file that it was compiled from"),
    "lfs": ("a Git LFS pointer, not the file itself", "run `git lfs pull` to download the file"),
    "html": ("a web page: the download failed", "download the file again, and check its size"),
    "compressed": ("a compressed file", "unpack it, then pass the file in it"),
    "tar": ("a tar archive", "unpack it with `tar xf {path}`, then pass the file in it"),
    "zip": ("a zip archive of an unknown kind", "unpack it, then pass the file in it"),
    "config": ("a configuration, not a model", PYTHON_FILE),
    "empty": ("empty", PYTHON_FILE),
    "unknown": ("not a kind of file that hookcli reads", _SOURCE),
    "distributed_checkpoint": (
        "a distributed checkpoint: weights without a model",
        "convert it: `python -m torch.distributed.checkpoint.format_utils dcp_to_torch "
        "{path} weights.pt`",
    ),
    "pretrained": (
        "a directory of pretrained weights",
        "write `hf:{path}`, and `--weights {path}` for its weights",
    ),
}


def refusal(content: Content, path: str, source: str) -> RequestError | ModelError:
    """Return the error for a file of this kind: status 3 if it is damaged, else 2."""
    if content.kind == "corrupt":
        return ModelError(
            f"{path} is {content.detail}",
            place=source,
            hint=COMPLETE,
        )
    what, hint = _WHAT[content.kind]
    return RequestError(
        f"{path} is {what.format(detail=content.detail)}",
        place=source,
        hint=hint.format(path=path),
    )
