"""What to say of files that hold no model that can be run: what each is, and what to do."""

from __future__ import annotations

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.content import Content

_SOURCE = "name a Python file that defines a model: model.py or model.py:Net"
_WEIGHTS = "name the Python source and give these as its weights: model.py --weights {path}"
_EXPORTED_FROM = "name the PyTorch source that it was made from: model.py or model.py:Net"
_ELSEWHERE = "it is no PyTorch model; " + _SOURCE

_WHAT: dict[str, tuple[str, str]] = {
    "state_dict": ("a state dict: weights without a model", _WEIGHTS),
    "checkpoint": ("a checkpoint (keys {detail}): weights without a model", _WEIGHTS),
    "dict": (
        "a dict without a model (keys {detail})",
        "name the Python source; --weights takes a dict of tensors, or one under state_dict",
    ),
    "pickle": (
        "{detail} that torch.save wrote, not a model",
        "name the Python source; --input {path} gives tensors to a model",
    ),
    "plain_pickle": (
        "a pickle that torch.save did not write: {detail}",
        "save it anew with torch.save(model, path), or name its Python source",
    ),
    "safetensors": ("a safetensors file: weights without a model", _WEIGHTS),
    "index": (
        "an index of weights in several files",
        "name the Python source; --weights takes one file: join the parts first",
    ),
    "gguf": (
        "a GGUF file: weights for llama.cpp",
        "name the PyTorch source, or the weights' own: transformers:AutoModel.from_pretrained",
    ),
    "mobile": (
        "a TorchScript archive for mobile, without its code: it cannot be looked into",
        "name the archive that torch.jit.save wrote, or the Python source",
    ),
    "aotinductor": (
        "an AOTInductor package: compiled code without modules",
        "name the .pt2 of torch.export.save that it was compiled from, or the Python source",
    ),
    "executorch": ("an ExecuTorch program", _EXPORTED_FROM),
    "mar": (
        "a TorchServe archive (.mar)",
        "unpack it (unzip {path}) and name the model file or the archive in it",
    ),
    "onnx": ("an ONNX model", _EXPORTED_FROM),
    "tensorrt": ("a TensorRT engine", _EXPORTED_FROM),
    "openvino": ("an OpenVINO model", _EXPORTED_FROM),
    "coreml": ("a Core ML model", _EXPORTED_FROM),
    "hdf5": ("an HDF5 file, as Keras writes", _ELSEWHERE),
    "keras": ("a Keras model", _ELSEWHERE),
    "tflite": ("a TensorFlow Lite model", _ELSEWHERE),
    "tensorflow": ("a TensorFlow graph", _ELSEWHERE),
    "saved_model": ("a TensorFlow SavedModel", _ELSEWHERE),
    "flax": ("a Flax checkpoint", _ELSEWHERE),
    "numpy": (
        "a file of NumPy arrays",
        "name the Python source; --input {path} gives an array to a model",
    ),
    "library": (
        "a compiled library",
        "name a Python file that defines a model; libraries: of a configuration loads operators",
    ),
    "wheel": ("a Python wheel", "install it with pip, then write package.module:Net"),
    "notebook": (
        "a notebook",
        "write it as Python first: jupyter nbconvert --to script {path}",
    ),
    "bytecode": ("compiled Python", "name the .py file that it was compiled from"),
    "lfs": ("a Git LFS pointer, not the file itself", "fetch the file: git lfs pull"),
    "html": ("a web page: a download went wrong", "fetch the file anew, and look at its size"),
    "compressed": ("a compressed file", "unpack it first, and name the file in it"),
    "tar": ("a tar archive", "unpack it first (tar xf {path}), and name the file in it"),
    "zip": ("a zip archive of an unknown kind", "unpack it, and name the file in it"),
    "config": ("a configuration, not a model", "name a Python file that defines a model"),
    "empty": ("empty", "name a Python file that defines a model"),
    "unknown": ("no file of a kind that hookcli reads", _SOURCE),
    "distributed_checkpoint": (
        "a distributed checkpoint: weights without a model",
        "make it one file: python -m torch.distributed.checkpoint.format_utils dcp_to_torch "
        "{path} weights.pt",
    ),
    "pretrained": (
        "a directory of pretrained weights",
        "write transformers:AutoModel.from_pretrained --arg {path}",
    ),
}


def refusal(content: Content, path: str, source: str) -> RequestError | ModelError:
    """The error for a file of this kind: status 3 where it is damaged, else 2."""
    if content.kind == "corrupt":
        return ModelError(
            f"{path} is {content.detail}",
            place=source,
            hint="is the file whole? fetch or save it anew",
        )
    what, hint = _WHAT[content.kind]
    return RequestError(
        f"{path} is {what.format(detail=content.detail)}",
        place=source,
        hint=hint.format(path=path),
    )
