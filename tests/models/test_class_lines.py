"""The line of a class in a user's file is the one that inspect gives."""

from __future__ import annotations

import importlib.util
import inspect

import pytest

from hookcli.models import places

SOURCE = """\
def mark(kind):
    return kind


class First:
    class Inner:
        pass


@mark
@mark
class Decorated(First):
    def method(self):
        class Local:
            pass

        return Local


if First:

    class Twice:
        pass

    class Conditional:
        pass
else:

    class Twice:
        pass

    class Conditional2:
        pass


try:
    text = "class Second: pass"
except ValueError:
    pass
finally:

    class Second: ...


async def asynchronous():
    class Local: ...


Made = type("Made", (), {})
"""
CASES = ["First", "First.Inner", "Decorated", "Twice", "Conditional", "Second"]


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "classes.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("classes_of_a_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CASES)
def test_it_is_that_of_inspect(module, monkeypatch, name):
    kind = module
    for part in name.split("."):
        kind = getattr(kind, part)
    monkeypatch.setitem(inspect.sys.modules, module.__name__, module)
    line = inspect.getsourcelines(kind)[1]
    assert places.of_class(kind).endswith(f"classes.py:{line}")
    if name == "Decorated":
        local = kind().method()
        line = inspect.getsourcelines(local)[1]
        assert SOURCE.splitlines()[line - 1].strip() == "class Local:"
        assert places.of_class(local).endswith(f"classes.py:{line}")


def test_lines_are_counted_by_hand_and_names_defined_twice_are_left_to_inspect():
    assert places._class_lines(SOURCE) == {
        "First": 5, "First.Inner": 6, "Decorated": 10, "Decorated.method.<locals>.Local": 14,
        "Conditional": 25, "Conditional2": 32, "Second": 42, "asynchronous.<locals>.Local": 46,
    }  # fmt: skip


def test_a_class_without_a_definition_has_no_line(module, monkeypatch):
    monkeypatch.setitem(inspect.sys.modules, module.__name__, module)
    assert places.of_class(module.Made) is None


def test_a_file_that_is_written_again_is_read_again(module, monkeypatch, tmp_path):
    monkeypatch.setitem(inspect.sys.modules, module.__name__, module)
    assert places.of_class(module.First).endswith(":5")
    (tmp_path / "classes.py").write_text("\n\n" + SOURCE)
    assert places.of_class(module.First).endswith(":7")
