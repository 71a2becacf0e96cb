"""What in the texts of a `.pt2` can run code, and what torch writes there itself."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import pytest
import sympy
from torch._export.serde import schema
from torch.utils import _pytree as pytree

from hookcli.models.exported.screening.expressions import is_expression
from hookcli.models.exported.screening.graph_scan import screened, why_tree_acts

s0, s1 = sympy.symbols("s0 s1", positive=True, integer=True)


# Expressions


@pytest.mark.parametrize(
    "value",
    [
        s0 + 1, 2 * s0 - s1, s0 / 3, s0**2, -s0, sympy.Rational(1, 3), sympy.Float("1.5e-3"),
        sympy.Max(s0, s1), sympy.floor(s0 / 2), sympy.Ne(s0, 1), sympy.And(s0 > 1, s1 < 2),
        sympy.Or(s0 >= 1, s1 <= 2), sympy.Not(sympy.Eq(s0, s1)), sympy.Mod(s0, 2),
        sympy.Piecewise((s0, s0 > 1), (0, True)), sympy.sqrt(s0), sympy.Symbol("u0"),
    ],
)  # fmt: skip
def test_what_sympy_prints_is_an_expression(value):
    assert is_expression(sympy.srepr(value))
    assert is_expression(str(value))


@pytest.mark.parametrize(
    "text",
    [
        "Symbol('s0')", "Symbol('s0', integer=True)", "Integer(2)", "Integer('2')", "Float('-.5')",
        "Float('1.5e-3', precision=53)", "Rational('3')", "OpaqueUnaryFn_sqrt(s0)",
        "BitwiseFn_bitwise_and(s0, 3)", "s0", "1", "1.5", "(s0, s1)",
        "s0 < s1 < 3", "s0 | s1", "s0 >> 2", "FloorDiv(s0, 2)", "not_a_builtin", "~s0", "+s0",
        "abs(s0)", "Max(s0, " * 20 + "s1" + ")" * 20,
    ],
)  # fmt: skip
def test_arithmetic(text):
    assert is_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "s0 +", "s0; s1", "print(1)", "print", "exec", "__import__", "a__b", "Symbol('a__b')",
        "Symbol('print(1)')", "Symbol('1')", "Symbol(b's0')", "'s0'", "S('s0')",
        "Integer('exit()')",
        "Integer('0x1')", "Float('1', '2', x='y')", "Max('1')", "Symbol(name='s0')", "f(s0)",
        "s0(1)", "s0.real", "(lambda: 1)()", "Max(*s0)", "Max(**s0)", "[1]", "{1}", "{1: 2}",
        "s0[0]", "s0 if s1 else 1", "(s0 := 1)", "f'{s0}'", "[a for a in s0]", "None",
        "True + None",
        "...", "1j", "OpaqueUnaryFn_(s0)", "OpaqueUnaryFn_A(s0)", "XOpaqueUnaryFn_a(s0)",
        "Symbol('ß')", "ß", "s0\n+ 1", "s0\t", "Max.__class__(1)", "Symbol('s0').name",
    ],
)  # fmt: skip
def test_anything_else_is_not_arithmetic(text):
    assert not is_expression(text)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("2**4096", True), ("2**4097", False), ("2**-4097", False), ("s0**2", True),
        ("Pow(2, 4096)", True), ("Pow(2, 4097)", False), ("Pow(4097, 2)", True),
        ("PowByNatural(s0, 4097)", False), ("FloatPow(s0, 4097)", False),
        ("LShift(1, 4096)", True), ("LShift(1, 4097)", False), ("RShift(1, 4097)", True),
        ("1 << 4096", True), ("1 << 4097", False), ("1 >> 4097", True), ("2 ^ 4097", False),
        ("Max(1, 4097)", True), ("(2**64)**64", True), ("(2**64)**65", False),
        ("2**64 + 2**65", False), ("2**(1 + 4097)", False), ("2**(-5000)", False),
        ("9**(9**9)", False), ("2**(10**9)", False), ("Pow(9, Pow(9, 9))", False),
        ("2**(64*65)", False), ("2**(2**13)", False), ("2**(1 << 13)", False),
        ("Pow(2, Integer('4097'))", False), ("2**(3*s0 + 1)", True),
        ("2**0", True), ("(s0**1)**4096", True),
        ("2**s0", True), ("2**(s0 + 4096)", True), ("2**1e300", False),
        ("2**Integer('9')", True), ("Pow(2, 4097, evaluate=1)", False),
    ],
)  # fmt: skip
def test_powers_are_small_as_sympy_computes_them_at_once(text, allowed):
    assert is_expression(text) is allowed


LONG_TO_COMPUTE = [
    "9**(9**9)", "2**100000000", "2.0**1e9", "9**9**9", "(1/3)**(9**9)", "2**-100000000",
    "factorial(10000000)", "gamma(100000000)", "binomial(10**9, 5*10**8)", "fibonacci(10**9)",
    "1e999999999", "1e-999999999", "Float('1e999999999')", "Float('1.5', 100000000)",
    "Float('1.5', precision=10**8)", "Float('1.5', dps=99999999)", "Integer('" + "9" * 90000 + "')",
    "9" * 5000, "Rational('" + "9" * 5000 + "', '7')", "floor(exp(10000000))", "exp(10**9)",
    "floor(exp(exp(10)))", "floor(OpaqueUnaryFn_exp(10**7))", "exp(s0)**(9**5)",
    "Mod(" * 2000 + "9" + ", 7)" * 2000, "FloorDiv(" * 2000 + "9" + ", 7)" * 2000,
    "floor(" * 2000 + "s0" + ")" * 2000, "(" * 5000 + "1" + ")" * 5000, "prime(10**9)",
    "Sum(s0, (s0, 1, 10**9))", "integrate(exp(s0), s0)", "9_9" * 2000, "zoo.__class__",
]  # fmt: skip


@pytest.mark.parametrize("text", LONG_TO_COMPUTE, ids=lambda text: text[:30])
def test_what_sympy_computes_for_long_is_not_arithmetic(text):
    start = time.process_time()
    assert not is_expression(text)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    "text",
    ["1e999", "1.5e300*s0", "Float('1.5', precision=53)", "9" * 3999, "exp(s0)", "exp(4096)",
     "floor(exp(1.5)*s0)", "OpaqueUnaryFn_exp(s0/2)", "Rational('1', '3')"],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_what_is_computed_at_once_is_arithmetic(text):
    assert is_expression(text)


def test_an_expression_of_a_hundred_thousand_characters_is_the_longest():
    assert is_expression("1" + " " * 99_999)
    assert not is_expression("1" + " " * 100_000)


def test_an_expression_nested_too_deep_is_refused():
    assert not is_expression("(" * 50_000 + ")" * 50_000)
    assert not is_expression("-" * 90_000 + "1")


# Tree specs


def spec(kind, context, *children):
    return {"type": kind, "context": context, "children_spec": list(children)}


LEAF = spec(None, None)
POSITIONAL = spec("builtins.tuple", "null", LEAF)


def reasons(tree, *, of_arguments=True):
    return [*why_tree_acts(json.dumps([1, tree]), of_arguments=of_arguments)]


def of_keywords(keywords):
    return reasons(spec("builtins.tuple", "null", POSITIONAL, keywords))


@pytest.mark.parametrize("of_arguments", [True, False])
def test_what_torch_writes_is_harmless(of_arguments):
    from collections import OrderedDict, defaultdict

    values = (([1, (2,)], OrderedDict(a=1), defaultdict(int, x=1)), {"scale": {"a.b": 2}})
    text = pytree.treespec_dumps(pytree.tree_structure(values))
    assert not [*why_tree_acts(text, of_arguments=of_arguments)]


def test_no_tree_spec_is_harmless():
    assert not [*why_tree_acts("", of_arguments=True)]


UNREADABLE = ["a tree spec of its arguments cannot be read"]


@pytest.mark.parametrize(
    "text",
    ["{", "1", "[1]", "[1, 2]", "[1, {}]", '[1, {"type": null}]', "[1, 2, 3]",
     '[1, {"type": null, "context": null}]',
     '[1, {"type": null, "context": null, "children_spec": 1}]',
     "[" * 100_000],
)  # fmt: skip
def test_a_tree_spec_that_cannot_be_read_is_a_reason(text):
    assert [*why_tree_acts(text, of_arguments=True)] == UNREADABLE


TYPE = "a tree spec of its arguments has an invalid type name"


@pytest.mark.parametrize("name", ["a'b", 'a"b', "a\\b", "a\nb", 1, ["x"]])
def test_the_name_of_a_type_has_no_quotes_and_no_control_characters(name):
    assert reasons(spec("builtins.tuple", "null", spec(name, "null")), of_arguments=False) == [TYPE]
    assert reasons(spec(name, "null"), of_arguments=False) == [TYPE]


IMPORTS = "a tree spec of its arguments imports a module"
FACTORY = {"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": []}


@pytest.mark.parametrize(
    ("context", "imports"),
    [
        (FACTORY, False),
        ({**FACTORY, "default_factory_name": "exec"}, True),
        ({**FACTORY, "default_factory_module": "os"}, True),
        ({"default_factory_module": "builtins"}, True),
        ({"__enum__": True}, True),
        ({"a": [{"__enum__": 1}]}, True),
        ([{"a": 1}], False),
    ],
)
def test_a_context_imports_only_factories_of_plain_containers(context, imports):
    expected = [IMPORTS] if imports else []
    kind = "collections.defaultdict" if "default_factory_module" in context else "builtins.dict"
    for written in (context, json.dumps(context)):  # torch writes JSON in JSON
        assert reasons(spec(kind, written), of_arguments=False) == expected
        below = spec("builtins.tuple", "null", LEAF, spec(kind, written))
        assert reasons(below, of_arguments=False) == expected


def test_a_context_hides_nothing_by_escapes():
    context = '{"\\u005f_enum__": true}'
    assert "__enum__" not in context
    assert reasons(spec("builtins.dict", context), of_arguments=False) == [IMPORTS]


def test_a_defaultdict_without_a_factory_that_is_known_is_refused():
    for context in (None, "null", "[]", "not JSON", '{"dict_context": []}'):
        tree = spec("collections.defaultdict", context)
        assert reasons(tree, of_arguments=False) == [IMPORTS]


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        (spec("builtins.dict", '["a", "b"]', LEAF, LEAF), None),
        (spec("builtins.dict", ["a"], LEAF), None),
        (spec("builtins.dict", "[]"), None),
        (spec("builtins.dict", '["a", "b=exit()"]', LEAF, LEAF), "identifier"),
        (spec("builtins.dict", "[1]", LEAF), "identifier"),
        (spec("builtins.dict", '{"a": 1}', LEAF), "not a dictionary"),
        (spec("builtins.dict", '"a"', LEAF), "not a dictionary"),
        (spec("collections.OrderedDict", '["a"]', LEAF), "not a dictionary"),
        (spec("builtins.tuple", "null", LEAF), None),
        (spec("builtins.list", '["a=1"]', LEAF), None),
        (LEAF, None),
        (spec(None, '["a=1"]', LEAF), "not a dictionary"),
    ],
)
def test_keywords_are_identifiers(keywords, reason):
    found = of_keywords(keywords)
    assert (reason in found[0]) if reason else not found
    assert len(found) == (1 if reason else 0)
    tree = spec("builtins.tuple", "null", POSITIONAL, keywords)
    assert not reasons(tree, of_arguments=False)  # of results they are no parameters


def test_only_keywords_of_arguments_are_parameters_in_generated_code():
    keywords = spec("builtins.dict", '["a b"]', LEAF)
    text = json.dumps([1, spec("builtins.tuple", "null", POSITIONAL, keywords)])
    assert of_field(schema.ModuleCallSignature, "in_spec", text) == [
        "the name of a keyword argument is not an identifier"
    ]
    assert not of_field(schema.ModuleCallSignature, "out_spec", text)


def test_only_the_second_child_has_keywords():
    keywords = spec("builtins.dict", '["b=exit()"]', LEAF)
    assert not reasons(spec("builtins.tuple", "null", keywords))
    assert not reasons(spec("builtins.tuple", "null", POSITIONAL, LEAF, keywords))


# Fields of the schema


def of_field(kind, name, text):
    value, found = screened(kind, {name: text})
    assert value == {name: text}
    return found


@pytest.mark.parametrize(
    ("kind", "name", "good", "bad"),
    [
        (schema.TensorArgument, "name", ["x", "_1", ""], ["a b", "a.b", "1", "__class__", "a=1"]),
        (schema.Node, "target",
         ["torch.ops.aten.add.Tensor", "torch.ops.mine.clip", "_operator.getitem", "math.floor",
          "torch.sym_max", "torch.ops.aten.__or__.Scalar", "torch.ops.aten.__ilshift__.Scalar",
          "#ns:name.x", "torch._sym_sqrt"],
         ["torch.ops.load_library", "torch.ops.aten", "torch.ops.a.b.c.d", "_operator.call",
          "_operator.attrgetter", "_operator.itemgetter", "_operator.methodcaller", "os.system",
          "torch.ops.aten.__class__", "torch.ops.aten.__init__.x", "torch.sym_max.x", "eval",
          "torch.ops.aten.add.Tensor()", "math.floor.x", "#ns", "torch.ops.aten._dir",
          "torch.ops.aten.x__y"]),
        (schema.InputToParameterSpec, "parameter_name",
         ["fc.weight", "layers.0.a b", "dict.key-1", "a/b", ""],
         ["fc.__class__", "a\nb", "a'b", "a(b)", "__init__.x", "a;b"]),
        (schema.CustomObjArgument, "class_fqn",
         ["__torch__.torch.classes.mine.Thing", "a::b", "a.b"], ["a.b()", "a b", "a-b"]),
        (schema.ExportedProgram, "torch_version",
         ["2.13.0+cpu", "2.8", ""], ["2.8 x", "2'", "a\n"]),
        (schema.SymExpr, "expr_str", ["s0 + 1"], ["exec(chr(1))", "a\nb"]),
        (schema.ModuleCallEntry, "fqn", ["layer.0"], ["a\nb"]),
        (schema.ModuleCallSignature, "in_spec", [""], ["{"]),
        (schema.ModuleCallSignature, "out_spec", [""], ["{"]),
    ],
)  # fmt: skip
def test_the_strings_of_a_field_have_its_form(kind, name, good, bad):
    for text in good:
        assert not of_field(kind, name, text), text
    for text in bad:
        assert len(of_field(kind, name, text)) == 1, text


def test_an_argument_of_an_operator_may_be_any_string():
    for name, value in (("as_string", "exec('x')"), ("as_strings", ["a b", "__class__"])):
        assert screened(schema.Argument, {name: value}) == ({name: value}, [])


def test_the_names_of_a_mapping_are_screened_too():
    meta = {"dtype": 7, "sizes": [], "requires_grad": False}
    value, found = screened(schema.Graph, {"tensor_values": {"x": meta, "a=1": meta}})
    assert found == ["invalid name in its graph: a=1"]
    assert value == {"tensor_values": {"x": meta, "a=1": meta}}


def test_what_torch_does_not_read_is_dropped_and_a_reason_comes_once():
    value, found = screened(
        schema.Graph,
        {"inputs": [{"as_tensor": {"name": "a=1"}}, {"as_tensor": {"name": "a=1", "unknown": 1}}]},
    )
    assert found == ["invalid name in its graph: a=1"]
    assert value == {"inputs": [{"as_tensor": {"name": "a=1"}}] * 2}
    assert screened(schema.ExportedProgram, {"guards_code": ["exit()"], "other": 1}) == ({}, [])


def test_a_long_text_is_shown_in_one_line_of_sixty_characters():
    text = "a b\n" + "x" * 100
    assert of_field(schema.TensorArgument, "name", text) == [
        f"invalid name in its graph: a b {'x' * 56}"
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (schema.TensorArgument, {"name": 1}),
        (schema.TensorArgument, []),
        (schema.Graph, {"inputs": {}}),
        (schema.Graph, {"inputs": [1]}),
        (schema.Graph, {"tensor_values": []}),
        (schema.Argument, {"as_int": "1"}),
        (schema.Argument, {"as_float": "1.5"}),
        (schema.Argument, {"as_bool": "x"}),
        (schema.Node, {"metadata": []}),
    ],
)
def test_a_value_of_another_type_is_refused(kind, value):
    with pytest.raises(ValueError, match="unexpected type of"):
        screened(kind, value)


@pytest.mark.parametrize(
    "value",
    [{"as_float": 1.5}, {"as_float": 2}, {"as_float": "NaN"}, {"as_float": "-Infinity"},
     {"as_int": 3}, {"as_bool": True}, {"as_ints": [1, 2]}, {"as_none": True}],
)  # fmt: skip
def test_numbers_are_kept(value):
    assert screened(schema.Argument, value) == (value, [])


def test_an_optional_field_may_be_none():
    entry = {"fqn": "a", "signature": None}
    assert screened(schema.ModuleCallEntry, entry) == (entry, [])


# The notes of an operator, about the source that it comes from


def notes(**metadata):
    value, found = screened(schema.Node, {"metadata": metadata})
    return value["metadata"], found


def test_of_the_notes_only_those_that_are_read_are_kept():
    assert notes(stack_trace="a", nn_module_stack="", other="x", source_fn="y") == (
        {"stack_trace": "a", "nn_module_stack": ""}, [],
    )  # fmt: skip
    assert notes(stack_trace=1) == ({}, [])


def test_control_characters_of_notes_become_spaces():
    assert notes(stack_trace="a\x1b[31m\tb\nnext")[0] == {"stack_trace": "a [31m b\nnext"}


@pytest.mark.parametrize(
    ("stack", "reason"),
    [
        ("L__self__,,m.Net;L__self___fc,fc,torch.nn.Linear", None),
        ("L__self___layers.slice(0, 2),layers.0,m.Net", None),
        ("__self__,a.__b__,m.Net", "invalid module name: __self__,a.__b__,m.Net"),
        ("x[0,1],__class__,m.Net", "invalid module name: x[0,1],__class__,m.Net"),
        ("x(0,1),a,m.__Net__", None),
        ("a;b{}", "invalid module name: b{}"),
        ("__x__", None),
    ],
)
def test_a_stack_of_modules_has_keys_paths_and_classes(stack, reason):
    assert notes(nn_module_stack=stack) == (
        {"nn_module_stack": stack}, [reason] if reason else [],
    )  # fmt: skip


def test_a_field_of_a_type_that_torch_s_schema_does_not_have_is_refused():
    @dataclass
    class Odd:
        field: bytes

    with pytest.raises(ValueError, match=r"^the type of Odd\.field is unknown$"):
        screened(Odd, {"field": b"x"})
