"""Check that a symbolic expression of a `.pt2` is arithmetic: sympy evaluates it as Python."""

from __future__ import annotations

import ast
import builtins
import math
import re

_LONGEST = 100_000  # characters
_LARGEST_POWER = 4096  # product of the literal exponents: sympy computes powers of numbers at once
# sympy reads numbers of any length and exponent, with as many digits.
_LARGE_NUMBER = re.compile(r"\d{4000}|\d\.?[eE][-+]?0*[1-9]\d{3}")
_MOST_DIGITS = 4096  # the precision of a Float, in digits or bits
_NAME = re.compile(r"(?!.*__)[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_OF_NUMBERS = {"Integer", "Float", "Rational"}
_POWERS = {"Pow", "PowByNatural", "FloatPow"}
_EXPONENTIALS = {"exp", "OpaqueUnaryFn_exp"}  # floor(exp(10**7)) has four million digits
_CALLED = {  # functions of sympy, as srepr and str print them
    *_OF_NUMBERS, *_POWERS,
    "Symbol", "Add", "Mul", "Mod", "Max", "Min", "Abs", "abs", "floor", "ceiling", "sqrt", "exp",
    "log", "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Equality", "Unequality", "StrictLessThan",
    "LessThan", "StrictGreaterThan", "GreaterThan", "And", "Or", "Not", "Xor", "Piecewise",
    "ExprCondPair", "Tuple",
    # torch.utils._sympy.functions
    "FloorDiv", "ModularIndexing", "Where", "PythonMod", "CleanDiv", "CeilToInt", "FloorToInt",
    "CeilDiv", "LShift", "RShift", "FloatTrueDiv", "IntTrueDiv",
    "IsNonOverlappingAndDenseIndicator", "TruncToFloat", "TruncToInt", "RoundToInt",
    "RoundDecimal", "ToFloat", "Identity",
}  # fmt: skip
_OPAQUE = re.compile(r"(?:OpaqueUnaryFn|BitwiseFn)_[a-z0-9_]+")
_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Name,
    ast.Call, ast.keyword, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Tuple,
)  # fmt: skip


def is_expression(text: str) -> bool:
    """Whether a string is arithmetic on symbols, with calls of sympy's functions only.

    It is parsed with Python's grammar, which sympy uses too. Strings are refused except a symbol's
    name and a number's digits, and so is every name of a built-in function.
    """
    if len(text) > _LONGEST or not text.isascii() or not text.isprintable():
        return False
    if _LARGE_NUMBER.search(text.replace("_", "")):
        return False
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    quoted: set[int] = set()
    power = 1
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            quoted |= _quoted(node)
        if not _is_arithmetic(node, quoted):
            return False
        try:
            power *= _exponent(node)
        except RecursionError:
            return False
        if power > _LARGEST_POWER:
            return False
    return True


def _is_arithmetic(node: ast.AST, quoted: set[int]) -> bool:
    if isinstance(node, ast.Call):
        return _is_call(node)
    if isinstance(node, ast.Name):
        return _is_name(node.id)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) or id(node) in quoted
    return isinstance(node, _NODES)


def _is_call(node: ast.Call) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Name)
        and (function.id in _CALLED or _OPAQUE.fullmatch(function.id) is not None)
        and all(keyword.arg is not None for keyword in node.keywords)
        and (function.id != "Float" or _has_few_digits(node))
    )


def _has_few_digits(call: ast.Call) -> bool:
    """Whether the precision of a Float, if it is given, is a small number."""
    return all(
        isinstance(value, ast.Constant)
        and isinstance(value.value, int)
        and value.value <= _MOST_DIGITS
        for value in (*call.args[1:], *(keyword.value for keyword in call.keywords))
    )


def _is_name(name: str) -> bool:
    if name in _CALLED or _OPAQUE.fullmatch(name):
        return True
    return _NAME.fullmatch(name) is not None and not hasattr(builtins, name)


def _quoted(call: ast.Call) -> set[int]:
    """Return the ids of the strings that a call may contain: a symbol's name, a number's digits."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    pattern = _NAME if name == "Symbol" else _NUMBER if name in _OF_NUMBERS else None
    return {
        id(node)
        for node in call.args
        if pattern is not None
        and isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and pattern.fullmatch(node.value)
    }


def _exponent(node: ast.AST) -> int:
    """Return the literal exponent of a power, at least 1; 1 for other nodes."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.BitXor | ast.LShift):
        return _literal(node.right)
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if isinstance(node, ast.Call) and name in _EXPONENTIALS and len(node.args) == 1:
        return _literal(node.args[0])
    if isinstance(node, ast.Call) and len(node.args) == 2 and isinstance(node.func, ast.Name):
        return _literal(node.args[1]) if node.func.id in {*_POWERS, "LShift"} else 1
    return 1


def _literal(node: ast.AST) -> int:
    """Return a bound of the literal part of an exponent: 1 to just above the limit."""
    return int(max(1, _size(node)))


def _size(node: ast.AST) -> float:
    """Return a bound of the numbers below a node without computing a power; a symbol counts 0."""
    if isinstance(node, ast.Constant):
        return _number(node.value)
    sizes = [_size(child) for child in ast.iter_child_nodes(node)]
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    operator = node.op if isinstance(node, ast.BinOp) else None
    if isinstance(operator, ast.Pow | ast.LShift) or name in {*_POWERS, "LShift"}:
        # A base of 1 or a symbol to a power is small; 13 doublings are above the limit.
        exponent = min(sizes[-1], _LARGEST_POWER.bit_length())
        base = max(sizes[:-1], default=0)
        is_shift = isinstance(operator, ast.LShift) or name == "LShift"
        return _capped(max(2.0, base) ** exponent if base > 1 or is_shift else exponent)
    if name in _EXPONENTIALS:
        return _capped(3 ** min(max(sizes[1:], default=0), _LARGEST_POWER.bit_length()))
    if isinstance(operator, ast.Mult) or name == "Mul":
        return _capped(math.prod(max(1.0, size) for size in sizes))
    if isinstance(operator, ast.Add | ast.Sub) or name == "Add":
        return _capped(sum(sizes))
    return max(sizes, default=0)


def _number(value: object) -> float:
    """Return the size of a number, or of one that a string spells; 0 for a symbol's name."""
    if isinstance(value, str):
        return _capped(abs(float(value))) if _NUMBER.fullmatch(value) else 0
    return _capped(abs(value)) if isinstance(value, int | float) else 0


def _capped(size: float) -> float:
    return min(size, _LARGEST_POWER + 1)
