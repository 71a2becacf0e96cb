"""Which errors are hookcli's own."""

from __future__ import annotations

from hookcli import errors


def test_every_class_of_error_is_known_as_hookclis_own():
    classes = [one for one in vars(errors).values() if isinstance(one, type)]
    assert {one for one in classes if issubclass(one, errors.HookcliError)} == errors.OWN
