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
_NOT_REPLACED = re.compile(r"CannotReplaceError: ")
_NO_FORWARD = re.compile(r'is missing the required "forward" function')
_NETWORK = re.compile(
    r"We couldn't connect to|outgoing traffic has been disabled|cannot reach https?://"
    r"|offline mode is enabled|OfflineModeIsEnabled|LocalEntryNotFoundError|<urlopen error"
    r"|Max retries exceeded|name resolution|Name or service not known|Network is unreachable"
    r"|Failed to establish a new connection|ConnectionError|ConnectTimeout|ConnectError"
)

_HUB = re.compile(r"hugging ?face|outgoing traffic|[Oo]ffline|LocalEntryNotFound")


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
