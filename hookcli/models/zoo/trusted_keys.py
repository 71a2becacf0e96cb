"""The keys of a configuration that can name code, or something to download, and what they may be.

transformers looks up some values on the hub, in timm, or as attributes of torch. Without --trust,
each of these keys has a list or a form of allowed values: a value that a new version of a library
adds is refused until it is added here. Keys are checked in nested mappings and lists too. Other
keys hold numbers and names that transformers looks up in tables of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hookcli.errors import RequestError
from hookcli.models.sources.file_errors import TRUST
from hookcli.spec.request import Argument

_FLASH = tuple(f"flash_attention_{version}" for version in (2, 3, 4))
_ATTENTION = frozenset(
    {"eager", "sdpa", "flex_attention", *_FLASH}
    | {f"paged|{name}" for name in ("eager", "sdpa", *_FLASH)}
)
_EXPERTS = frozenset({"eager", "batched_mm", "grouped_mm"})
_DTYPE = re.compile(
    r"(torch\.)?(auto|float|half|double|bfloat16|bool|u?int\d+|complex\d+|[iu]nt|long|short|"
    r"float(16|32|64)|float8_e\w+|float4_e\w+)"
)
_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_LIBRARY_NAME = re.compile(r"[A-Za-z0-9][\w.]*", re.ASCII)


def _among(names: frozenset[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, bool) or value in names


def _matching(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: not isinstance(value, str) or pattern.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class KeyRule:
    """What the values of some keys may be without --trust.

    `keys` is a pattern of their names. `shown` names the keys, and `allowed` the values, in
    docs/trust.md and in messages. `is_allowed` tells whether a string, a number or a Boolean is
    allowed; null is. If `anywhere`, the rule holds for all values in a mapping or a list.
    """

    keys: re.Pattern[str]
    shown: str
    allowed: str
    is_allowed: Callable[[Any], bool]
    anywhere: bool = True


KEY_RULES = (
    KeyRule(
        re.compile(r"_?attn_implementation(_internal|_autoset)?"),
        "`attn_implementation`, `_attn_implementation`, `_attn_implementation_internal`",
        "`eager`, `sdpa`, `flex_attention` or `flash_attention_2` to `4`, also in their `paged` "
        "forms",
        _among(_ATTENTION),
    ),
    KeyRule(
        re.compile(r"_?experts_implementation(_internal)?"),
        "`experts_implementation`, `_experts_implementation`, `_experts_implementation_internal`",
        "`eager`, `batched_mm` or `grouped_mm`",
        _among(_EXPERTS),
    ),
    KeyRule(
        re.compile(
            r"(?!_?(attn|experts)_implementation)\w*(_implementation|_kernel|kernel_name|kernel_repo)"
        ),
        "other keys that end with `_implementation` or `_kernel`",
        "a name of letters, digits, `_`, `-` and `.`",
        _matching(_PLAIN),
    ),
    KeyRule(
        re.compile(r"use_kernels?|kernel_config|kernel_mapping|use_hub_kernels"),
        "`use_kernels`, `kernel_config`, `kernel_mapping`",
        "false or null",
        lambda value: not value,
        anywhere=False,
    ),
    KeyRule(
        re.compile(r"(\w*_)?dtype"),
        "`dtype`, `torch_dtype` and keys that end with `_dtype`",
        "a dtype of torch, or `auto`",
        _matching(_DTYPE),
    ),
    KeyRule(
        # EdgeTAM of transformers has the third spelling.
        re.compile(r"backbone|architecture|archirecture|timm_model\w*"),
        "`backbone`, `architecture`",
        "a name of timm without `:`, `/` and `-`",
        _matching(_LIBRARY_NAME),
        anywhere=False,
    ),
    KeyRule(
        re.compile(
            r"checkpoint_path|pretrained_cfg_overlay|custom_generate|gguf_file|code_revision"
            r"|trust_remote_code"
        ),
        "`checkpoint_path`, `pretrained_cfg_overlay`, `custom_generate`, `gguf_file`, "
        "`code_revision`, `trust_remote_code`",
        "false or null",
        lambda value: not value,
        anywhere=False,
    ),
    KeyRule(
        re.compile(r"quant_method"),
        "`quant_method` in `quantization_config`",
        "a name of letters, digits, `_`, `-` and `.`",
        _matching(_PLAIN),
    ),
)
# The arguments of timm.create_model in a configuration of transformers.
_TIMM_ARGUMENTS = ("model_args", "backbone_kwargs")
_OF_TIMM = KeyRule(
    re.compile(
        r"pretrained(_(?!window_size)\w+)?|checkpoint_path|cache_dir|custom_load|hf_hub_id|url|file"
    ),
    "`pretrained`, `pretrained_cfg`, `cache_dir`, `hf_hub_id`, `url`, `file` in `model_args`, "
    "`backbone_kwargs` and the arguments of `timm:NAME`",
    "false or null",
    lambda value: not value,
    anywhere=False,
)
RULES_IN_ARGUMENTS = (_OF_TIMM, *KEY_RULES)
RULES_OF_TORCHVISION = (
    KeyRule(
        re.compile(r"weights(_\w+)?|(\w+_)?pretrained(_\w+)?"),
        "`weights`, `weights_backbone`, `pretrained`, `pretrained_backbone`",
        "false or null",
        lambda value: not value,
        anywhere=False,
    ),
)
# References to code and to repositories, which the structure of a model does not depend on.
DROPPED = frozenset(
    {"auto_map", "custom_pipelines", "_commit_hash", "_name_or_path", "name_or_path", "_from_auto"}
)
_WEIGHTS = "use_pretrained_backbone"  # makes older versions of transformers download weights


@dataclass(frozen=True, slots=True)
class _Found:
    """A value that is not allowed: the path of its key, the rule, and the value."""

    path: str
    rule: KeyRule
    value: Any


def check_trusted(
    values: Mapping[str, Any], args: Iterable[Argument], shown: str, *, rules: Any = KEY_RULES
) -> None:
    """Check that no key of a configuration names code or something to download.

    `values` has the values of `args` in it. `shown` is the place of those that a file has.

    Raises
    ------
    RequestError : a value is not allowed without --trust.
    """
    found = next(_refused(values, "", rules), None)
    if found is None:
        return
    first = found.path.partition(".")[0].partition("[")[0]
    places = [argument.place for argument in args if argument.name == first]
    raise RequestError(
        f"'{found.path}' must be {found.rule.allowed.replace('`', '')}, got {_text(found.value)}",
        place=places[-1] if places else shown,
        hint=TRUST,
    )


def _text(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, str | bool | int | float) else type(value).__name__


def _refused(value: Any, path: str, rules: tuple[KeyRule, ...]) -> Iterator[_Found]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = str(key)
            where = f"{path}.{name}" if path else name
            for rule in rules:
                if rule.keys.fullmatch(name) is not None:
                    yield from _refused_by(rule, inner, where)
            yield from _refused(
                inner, where, RULES_IN_ARGUMENTS if name in _TIMM_ARGUMENTS else rules
            )
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from _refused(inner, f"{path}[{i}]", rules)


def _refused_by(rule: KeyRule, value: Any, where: str) -> Iterator[_Found]:
    if value is None:
        return
    if isinstance(value, Mapping | list | tuple) and rule.anywhere:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, inner in pairs:
            yield from _refused_by(rule, inner, f"{where}.{key}")
    elif isinstance(value, Mapping | list | tuple):
        if value and not rule.is_allowed(value):
            yield _Found(where, rule, value)
    elif not rule.is_allowed(value):
        yield _Found(where, rule, value)


def without_references(value: Any) -> Any:
    """Return a configuration without the keys that refer to code, repositories and weights."""
    if isinstance(value, Mapping):
        kept = {k: without_references(v) for k, v in value.items() if k not in DROPPED}
        return {**kept, _WEIGHTS: False} if kept.get(_WEIGHTS) else kept
    if isinstance(value, list):
        return [without_references(item) for item in value]
    return value
