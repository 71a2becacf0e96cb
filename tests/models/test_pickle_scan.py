"""What a pickle would build, told from its opcodes: held against the values that were pickled."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import pytest
import torch
from torch import nn

from hookcli.models.sources import pickle_scan
from hookcli.models.sources.pickle_scan import read_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
Pair = namedtuple("Pair", "a b")


class Plain:
    def __init__(self, **state):
        self.__dict__.update(state)


class Made(Plain):
    def __reduce__(self):
        return Made, ("argument", [1]), self.__dict__


class New(Plain):
    def __new__(cls, *_, **more):
        return super().__new__(cls)

    def __getnewargs_ex__(self):
        return ("positional",), {"keyword": 1}


class Old(dict):
    """A mapping with a state, which pickle fills by SETITEMS."""


def scanned(value, protocol=2):
    return read_pickle(io.BytesIO(pickle.dumps(value, protocol)))


def own(name):
    return f"{__name__}.{name}"


def described(value):
    """A scanned value as plain Python, with what is not described as None."""
    if value.kind == "text":
        return value.name
    if value.kind == "items":
        return [described(item) for item in value.items]
    if value.kind == "dict":
        return {key: described(entry) for key, entry in value.entries}
    return None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a text", "a text"),
        ("x" * 300, "x" * 300),
        ("ü", "ü"),
        (3, None), (1 << 80, None), (True, None), (None, None), (2.5, None), (b"ab", None),
        ((), []), ((1,), [None]), (("a", 2), ["a", None]), (("a", "b", "c"), ["a", "b", "c"]),
        (("a", "b", "c", "d"), ["a", "b", "c", "d"]),
        ([], []), (["a"], ["a"]), (["a", ["b", "c"], ()], ["a", ["b", "c"], []]),
        ({}, {}), ({"a": "b"}, {"a": "b"}),
        ({"a": {"c": ["d"]}, "b": 1}, {"a": {"c": ["d"]}, "b": None}),
        ({1: "x", "a": "y"}, {"": "x", "a": "y"}),
        (OrderedDict(a="x", b="y"), {"a": "x", "b": "y"}),
        (defaultdict(list, a=["x"]), {"a": ["x"]}),
        ([{"a", "b"} - {"b"}, "after"], [None, "after"]),
        ([frozenset(["a"]), "after"], [None, "after"]),
        ([bytearray(b"ab"), "after"], [None, "after"]),
        (list("abcdefgh") * 200, list("abcdefgh") * 200),  # more than one batch of appends
    ],
)  # fmt: skip
def test_plain_values(value, expected, protocol):
    assert described(scanned(value, protocol)) == expected


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_value_that_comes_twice_is_the_same(protocol):
    shared = {"k": "v"}
    found = scanned([shared, ["x"], shared, "x", "x"], protocol)
    assert found.items[0] is found.items[2]
    assert described(found) == [{"k": "v"}, ["x"], {"k": "v"}, "x", "x"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_many_values_are_remembered_by_their_numbers(protocol):
    shared = [[str(number)] for number in range(300)]  # numbers of more than a byte
    found = scanned([shared, shared[::-1]], protocol)
    assert described(found.items[1]) == described(found.items[0])[::-1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_object_has_the_name_of_its_class_and_its_state(protocol):
    found = scanned(Plain(a="x", b={"c": 1}), protocol)
    assert (found.kind, found.name) == ("object", own("Plain"))
    assert [(key, described(value)) for key, value in found.entries] == [
        ("a", "x"), ("b", {"c": None}),
    ]  # fmt: skip
    assert not found.is_module


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_object_of_a_function_has_its_arguments_and_the_state(protocol):
    found = scanned(Made(a="x"), protocol)
    assert (found.kind, found.name) == ("object", own("Made"))
    assert [described(item) for item in found.items] == ["argument", [None]]
    assert [key for key, _ in found.entries] == ["a"]


@pytest.mark.parametrize("protocol", PROTOCOLS[2:])
def test_an_object_with_keyword_arguments_has_the_name_of_its_class(protocol):
    found = scanned([New(a="x"), "after"], protocol)
    assert [value.kind for value in found.items] == ["object", "text"]
    assert [key for key, _ in found.items[0].entries] == ["a"]
    if protocol > 3:
        assert found.items[0].name == own("New")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_class_and_a_named_tuple_and_a_mapping_with_a_state(protocol):
    found = scanned([Plain, Pair("x", "y"), "after"], protocol)
    assert [(value.kind, value.name) for value in found.items] == [
        ("global", own("Plain")), ("object", own("Pair")), ("text", "after"),
    ]  # fmt: skip
    filled = Old(a="x")
    filled.mark = "y"
    found = scanned(filled, protocol)
    assert (found.kind, found.name) == ("object", own("Old"))
    assert ("mark", "y") in [(key, described(value)) for key, value in found.entries]


@pytest.mark.parametrize(
    ("text", "name", "items"),
    [
        (b"(S'a'\nicollections\nCounter\n.", "collections.Counter", ["a"]),  # INST
        (b"(ccollections\nCounter\nS'a'\no.", "collections.Counter", ["a"]),  # OBJ
        (b"ccollections\nCounter\n(S'a'\ntR.", "collections.Counter", ["a"]),  # REDUCE
        (b"\x80\x02ccollections\nCounter\nU\x01a\x85\x81.", "collections.Counter", ["a"]),  # NEWOBJ
    ],
)
def test_every_way_to_make_an_object(text, name, items):
    found = read_pickle(io.BytesIO(text))
    assert (found.kind, found.name) == ("object", name)
    assert [described(item) for item in found.items] == items


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"](S'a'\nS'b'\ne.", ["a", "b"]),  # APPENDS
        (b"]S'a'\naS'b'\na.", ["a", "b"]),  # APPEND
        (b"(S'a'\nS'b'\nS'c'\nI1\nd.", {"a": "b", "c": None}),  # DICT
        (b"(S'a'\nS'b'\nl.", ["a", "b"]),  # LIST
        (b"}S'a'\nS'b'\ns.", {"a": "b"}),  # SETITEM
        (b"}(S'a'\nS'b'\nS'c'\nu.", {"a": "b"}),  # a key without a value
        (b"S'a'\n2\x86.", ["a", "a"]),  # DUP
        (b"S'a'\nS'b'\n0\x85.", ["a"]),  # POP
        (b"S'a'\n(S'b'\nS'c'\n1\x85.", ["a"]),  # POP_MARK
        (b"((S'a'\nlS'b'\nt.", [["a"], "b"]),  # a mark within a mark
        (b"S'a'\np7\n0g7\n.", "a"),  # PUT and GET
        (b"S'a'\nq\x07S'b'\nr\x08\0\0\0h\x07j\x08\0\0\0\x87\x85.", [["b", "a", "b"]]),
        (b"\x80\x04S'a'\n\x94S'b'\n\x94h\0h\x01\x86\x85.", [["a", "b"]]),  # MEMOIZE
        (b"Pid\nS'b'\n\x86.", [None, "b"]),  # PERSID
        (b"\x80\x04\x8f(S'a'\n\x90S'b'\n\x86.", [None, "b"]),  # ADDITEMS
    ],
)
def test_every_opcode_of_containers(text, expected):
    assert described(read_pickle(io.BytesIO(text))) == expected


def test_a_global_by_two_strings_on_the_stack():
    found = read_pickle(io.BytesIO(b"\x80\x04\x8c\x02os\x8c\x06system\x93."))
    assert (found.kind, found.name) == ("global", "os.system")


def stored(pid):
    """A pickle of one value that is stored outside of it."""
    data = io.BytesIO()
    pickler = pickle.Pickler(data, 2)
    pickler.persistent_id = lambda value: pid if value is ... else None
    pickler.dump([..., "after"])
    data.seek(0)
    [value, after] = read_pickle(data).items
    assert after.name == "after"
    return value


def test_what_torch_stores_outside_of_a_pickle():
    assert stored(("module", Plain, "x.py", "source")).name == own("Plain")
    assert stored(("module", Plain)).kind == "global"
    assert stored(("module",)).kind == "other"
    found = stored(("reduce_package", 0, "package.Net"))
    assert (found.kind, found.name) == ("object", "package.Net")
    assert stored(("reduce_package", 0)).kind == "other"
    assert stored(("storage", torch.FloatStorage, "0", "cpu", 4)).kind == "other"
    assert stored(()).kind == "other"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_modules_and_tensors_are_known(protocol):
    found = scanned([nn.ReLU(), torch.ones(2), nn.Parameter(torch.ones(2)), "x"], protocol)
    assert [(value.is_module, value.is_tensor) for value in found.items] == [
        (True, False), (False, True), (False, True), (False, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "module"),
    [({"_modules": {}}, True), ({"_parameters": {}}, True), ({"modules": {}}, False)],
)
def test_an_object_with_the_state_of_a_module_is_one(state, module):
    assert scanned(Plain(**state)).is_module is module
    assert not scanned(state).is_module


def test_an_object_whose_state_is_a_module_is_none_itself():
    class Holder(Plain):
        def __getstate__(self):
            return [nn.ReLU()]

    Holder.__qualname__ = "Holder"
    globals()["Holder"] = Holder
    try:
        found = scanned(Holder())
    finally:
        del globals()["Holder"]
    assert (found.kind, found.entries, found.is_module) == ("object", [], False)


def test_a_module_of_fx_has_the_state_that_its_function_gets():
    found = scanned(torch.fx.symbolic_trace(nn.Sequential(nn.ReLU())))
    assert found.is_module
    assert "_modules" in [key for key, _ in found.entries]


def test_a_state_of_slots_counts_too():
    text = b"\x80\x02ccollections\nCounter\n)\x81}U\x01aU\x01bs}U\x01cU\x01ds\x86b."
    found = read_pickle(io.BytesIO(text))
    assert [(key, value.name) for key, value in found.entries] == [("a", "b"), ("c", "d")]


def test_a_state_of_what_is_not_an_object_is_ignored():
    assert described(read_pickle(io.BytesIO(b"]S'a'\na}S'b'\nS'c'\nsb."))) == ["a"]


def test_after_a_pickle_the_file_is_at_the_next_one():
    file = io.BytesIO(pickle.dumps("a") + pickle.dumps(["b"]))
    assert described(read_pickle(file)) == "a"
    assert described(read_pickle(file)) == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "pickle"),
        (b"]S'a'\na", "pickle"),
        (b"(S'a'\n", "pickle"),
        (b".", "not a pickle"),
        (b"0.", "not a pickle"),
        (b"g7\n.", "not a pickle"),
        (b"t.", "not a pickle"),
        (b"\xff.", "opcode"),
    ],
)
def test_damage_is_a_value_error(text, message):
    with pytest.raises(ValueError, match=message):
        read_pickle(io.BytesIO(text))


@pytest.fixture
def most(monkeypatch):
    monkeypatch.setattr(pickle_scan, "_MOST", 40)
    return 40


def test_of_a_long_pickle_the_first_values_are_told(most):
    found = scanned({"epoch": 1, "state": [0] * 100, "later": 2}, 2)
    keys = [key for key, _ in found.entries]
    assert keys[:2] == ["epoch", "state"]
    assert "later" not in keys


def test_a_module_in_a_long_pickle_is_known_by_its_state(most):
    found = scanned(Plain(training=True, _modules={str(n): n for n in range(100)}), 2)
    assert found.kind == "object"
    assert found.is_module
    assert not scanned(Plain(training=True, modules={str(n): n for n in range(100)}), 2).is_module


def test_a_pickle_of_as_many_opcodes_as_are_read_is_told_whole(most):
    short = b"]" + b"I1\na" * ((most - 1) // 2)  # with the STOP it has `most` opcodes, or one less
    assert len(read_pickle(io.BytesIO(short + b".")).items) == (most - 1) // 2
    longer = b"](" + b"I1\n" * (most + 1) + b"e."
    assert read_pickle(io.BytesIO(longer)).items == []


def test_a_dict_that_is_added_many_times_is_not_copied_without_end(monkeypatch):
    monkeypatch.setattr(pickle_scan, "_MOST", 400)
    state = b"}(" + b"".join(b"U\x02%02dI1\n" % number for number in range(10)) + b"u"
    text = b"\x80\x02ccollections\nCounter\n)\x81" + state + b"q\x01b" + b"h\x01b" * 90 + b"."
    monster = read_pickle(io.BytesIO(text))
    # 28 opcodes of the dict, then 2 opcodes and 11 values each time, until there are 400
    assert len(monster.entries) in (280, 290)
