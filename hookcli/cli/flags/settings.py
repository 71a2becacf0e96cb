"""The values of flags that are settings of a run."""

from __future__ import annotations

from typing import Any

from hookcli.errors import RequestError
from hookcli.spec.settings import Form, Setting


def flag_value(setting: Setting, value: Any) -> Any:
    """Return the value of the field of RunSpec; None if the flag was not given.

    Raises
    ------
    RequestError : the value is wrong; the place is the flag as it was typed.
    """
    form = setting.form
    if form is Form.TEXTS:
        return tuple(_parsed(setting, text) for text in value) or None
    if form is Form.TEXT:
        value = _parsed(setting, value)
    elif form is Form.COUNT:
        _check_count(setting.flag, value)
    elif form is Form.NUMBER:
        _check_number(setting, value)
    return value if setting.convert is None else setting.convert(value)


def _parsed(setting: Setting, text: str) -> Any:
    try:
        return setting.parse(text)
    except ValueError as error:
        message, hint = error.args
        raise RequestError(message, place=f"{setting.flag} {text}", hint=hint) from None


def _check_count(flag: str, value: int) -> None:
    from hookcli.spec.inputs import LARGEST

    if value > LARGEST:
        raise RequestError(
            f"{flag} must be at most {LARGEST}, got {value}",
            place=f"{flag} {value}",
            hint=f"pass a smaller number, as in `{flag} 2`",
        )


def _check_number(setting: Setting, value: float) -> None:
    if not 0 < value <= setting.most:
        raise RequestError(
            f"{setting.flag} must be above 0 and at most {setting.most:g}, got {value:g}",
            place=f"{setting.flag} {value:g}",
            hint=f"pass `{setting.flag} 60`",
        )
