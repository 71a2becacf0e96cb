"""Failures of the user's code whose cause is known from their type and message, and their hints."""

from __future__ import annotations

import re

from hookcli.interpreters.names import distribution_of

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_NO_CUDA = re.compile(
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available"
    r"|not linked with support for cuda|CUDA driver version is insufficient"
    r"|when torch\.cuda\.is_available\(\) is False"
)
_TWO_DEVICES = re.compile(
    r"Expected all tensors to be on the same device|found at least two devices"
)
_RECURSION = re.compile(r"RecursionError: maximum recursion depth exceeded")
_NO_SUPER = re.compile(r"before Module\.__init__\(\) call")
_NOT_REPLACED = re.compile(r"CannotReplaceError: ")
_NO_FORWARD = re.compile(r'is missing the required "forward" function')
_NETWORK = re.compile(
    r"We couldn't connect to|outgoing traffic has been disabled|cannot reach https?://"
    r"|offline mode is enabled|OfflineModeIsEnabled|LocalEntryNotFoundError|<urlopen error"
    r"|Max retries exceeded|name resolution|Name or service not known|Network is unreachable"
    r"|Failed to establish a new connection|ConnectionError|ConnectTimeout|ConnectError"
)

_HUB = re.compile(r"hugging ?face|outgoing traffic|[Oo]ffline|LocalEntryNotFound")
# Errors of torch in trainings, each with what to do.
_OF_TRAININGS = (
    (r"IndexError: Target -?\d+ is out of bounds",
     "make the labels go from 0 to the number of classes - 1: they may begin at 1, or the last "
     "layer has too few outputs"),
    (r"ValueError: Expected more than 1 value per channel when training",
     "pass `drop_last=True` to the DataLoader: a batch of one sample has reached a batch norm"),
    (r"RuntimeError: Trying to backward through the graph a second time",
     "call backward once for each forward: detach what is kept from an earlier step, such as a "
     "hidden state"),
    (r"RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
     "look for `detach`, `item`, `no_grad` or frozen parameters between the model and the loss"),
    (r"RuntimeError: expected (scalar type|target dtype to be) Long",
     "convert the labels with `.long()`: this loss takes the number of a class"),
    (r"RuntimeError: (Found dtype Long but expected|result type Float can't be cast to .* Long)",
     "convert the targets with `.float()`: this loss compares real numbers"),
    (r"ValueError: optimizer got an empty parameter list",
     "register the layers as attributes or in an nn.ModuleList, so that parameters() has them"),
)  # fmt: skip


def training_hint(error: str) -> str | None:
    """Return what to do about an error of torch in a training, as "Type: message"; else None."""
    return next((hint for known, hint in _OF_TRAININGS if re.match(known, error)), None)


def missing_package(module: str) -> str:
    """Return the hint for a module that is not installed."""
    name = distribution_of(module)
    return f"install {name} in the environment that runs the model, or pass another with `--python`"


def is_network_failure(text: str) -> bool:
    """Whether an error, as "Type: message", comes from the network: it fails again if repeated."""
    return _NETWORK.search(text) is not None


def hint_for(error: str) -> str | None:
    """Return what to do about an error, as "Type: message"; None if its cause is not known."""
    if match := _NO_MODULE.search(error):
        return missing_package(match[1])
    if _RECURSION.search(error):
        return "look for a module that calls itself, or a parent, from its own forward"
    if _NO_SUPER.search(error):
        return "call `super().__init__()` first in `__init__`"
    if _NO_FORWARD.search(error):
        return (
            "pass `--loss training_step` if it has that method, or another method that runs with "
            "`--method`"
        )
    if _NO_CUDA.search(error):
        return "replace `.cuda()` by `.to(x.device)`, and use `--device cuda` where there is a GPU"
    if _TWO_DEVICES.search(error):
        return "create tensors on the device of the inputs, or move the model with `--device`"
    if _NOT_REPLACED.match(error):
        return (
            "attach the hook to a module whose values are tensors, or lists or dictionaries of them"
        )
    if is_network_failure(error):
        if _HUB.search(error):
            return (
                "fetch the files first, and set HF_HUB_OFFLINE=1 to use only the cache of the hub"
            )
        return "fetch the files where there is a network, and load them from disk"
    return None
