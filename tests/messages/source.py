"""The package's source, indexed: what a name, a call or an expression can be as text.

An expression is followed to its literals through local variables, constants, conditional
expressions, dictionaries, fields of `self` and functions of the package. What depends on the run
becomes a placeholder: `‹name›`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path

from tests.source_code import tree_of

DEEPEST = 8  # names and calls that are followed from one expression
MOST = 24  # variants of one message
OPEN, CLOSE = "‹", "›"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Callable_:
    """A function or a class of the package, and how its arguments are bound."""

    name: str
    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    parameters: tuple[str, ...]

    def bind(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """Each argument that is given by itself, with the name of its parameter."""
        for name, value in zip(self.parameters, call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            yield name, value
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression is read: its module, what the parameters around it are bound to, and how
    many names and calls were followed to it."""

    module: Module
    bound: Mapping[str, tuple[Scope, ast.expr]] = field(default_factory=dict)
    depth: int = 0

    def at(self, module: Module) -> Scope:
        """The same depth in another module, where nothing is bound."""
        return Scope(module, {}, self.depth)


@dataclass(slots=True)
class Module:
    """A file of the package."""

    path: Path
    name: str
    tree: ast.Module
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    constants: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """The functions and classes around a node, from the inside."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
                yield node


class Package:
    """All modules of the package, and the calls in them."""

    def __init__(self, root: Path) -> None:
        self.root = root.parent
        self.modules: dict[str, Module] = {}
        self.callables: dict[str, list[Callable_]] = defaultdict(list)
        self.calls: dict[str, list[tuple[Module, ast.Call]]] = defaultdict(list)
        self.assigned: dict[ast.AST, dict[str, list[ast.expr]]] = {}  # by a function
        for path in sorted(root.rglob("*.py")):
            self._read(path)
        self._inherit()

    def _read(self, path: Path) -> None:
        parts = path.relative_to(self.root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        module = Module(path, name, tree_of(path))
        self.modules[name] = module
        for node in ast.walk(module.tree):
            for child in ast.iter_child_nodes(node):
                module.parents[child] = node
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    module.imports[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, FUNCTIONS):
                self._add(module, node, _parameters(node))
            elif isinstance(node, ast.ClassDef):
                self._add(module, node, _fields(node))
            elif isinstance(node, ast.Call) and (called := _last_name(node.func)):
                self.calls[called].append((module, node))
        for statement in module.tree.body:
            for target, value in _assigned(statement):
                module.constants[target].append(value)

    def _add(
        self,
        module: Module,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        parameters: tuple[str, ...],
    ) -> None:
        self.callables[node.name].append(Callable_(node.name, module, node, parameters))

    def _inherit(self) -> None:
        """A class without parameters of its own has those of its first base."""
        for name, candidates in self.callables.items():
            for index, one in enumerate(candidates):
                if isinstance(one.node, ast.ClassDef) and not one.parameters:
                    base = self._base(one.node)
                    if base is not None:
                        candidates[index] = Callable_(name, one.module, one.node, base.parameters)

    def _base(self, node: ast.ClassDef, depth: int = 0) -> Callable_ | None:
        for base in node.bases:
            for candidate in self.callables.get(_last_name(base) or "", ()):
                if candidate.parameters:
                    return candidate
                if isinstance(candidate.node, ast.ClassDef) and depth < DEEPEST:
                    return self._base(candidate.node, depth + 1)
        return None

    def texts(self, scope: Scope, node: ast.expr) -> list[str]:
        """What an expression can be, with placeholders; one placeholder if nothing is known."""
        if scope.depth > DEEPEST:
            return [placeholder(node)]
        deeper = Scope(scope.module, scope.bound, scope.depth + 1)
        texts = self._texts(deeper, node)
        return list(dict.fromkeys(texts))[:MOST] if texts else [placeholder(node)]

    def _texts(self, scope: Scope, node: ast.expr) -> list[str]:
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.JoinedStr):
            return _joined([self._part(scope, part) for part in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _joined([self.texts(scope, node.left), self.texts(scope, node.right)])
        if isinstance(node, ast.IfExp):
            return self.texts(scope, node.body) + self.texts(scope, node.orelse)
        if isinstance(node, ast.BoolOp):
            return [text for value in node.values for text in self.texts(scope, value)]
        if isinstance(node, ast.NamedExpr):
            return self.texts(scope, node.value)
        if isinstance(node, ast.Subscript):
            return self._values(scope, node.value)
        if isinstance(node, ast.Dict):
            return [text for value in node.values for text in self.texts(scope, value)]
        if isinstance(node, ast.Name):
            return self._named(scope, node)
        if isinstance(node, ast.Attribute):
            return self._field(scope, node)
        if isinstance(node, ast.Call):
            return self._called(scope, node)
        return []

    def _part(self, scope: Scope, part: ast.expr) -> list[str]:
        """A part of an f-string: literal words are kept, and a value that varies is one word."""
        if isinstance(part, ast.Constant):
            return [str(part.value)]
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(inner, (ast.IfExp, ast.Subscript, ast.BoolOp)):
            return self.texts(scope, inner)
        if isinstance(inner, ast.Name):
            texts = self.texts(scope, inner)
            return texts if all(OPEN not in text for text in texts) else [placeholder(inner)]
        return [placeholder(inner)]

    def _values(self, scope: Scope, node: ast.expr) -> list[str]:
        """The texts of a dictionary that is a constant."""
        if not isinstance(node, ast.Name):
            return []
        return [
            text
            for home, value in self._definitions(scope, node)
            if isinstance(value, ast.Dict)
            for text in self.texts(home, value)
        ]

    def _definitions(self, scope: Scope, node: ast.Name) -> list[tuple[Scope, ast.expr]]:
        """The expressions that a name is assigned: in its function, in its module, or in the module
        that it is imported from."""
        module = scope.module
        for function in module.enclosing(node):
            if isinstance(function, FUNCTIONS):
                local = self._assigned_in(function).get(node.id)
                if local:
                    return [(scope, value) for value in local]
        if node.id in module.constants:
            return [(scope, value) for value in module.constants[node.id]]
        home, name = module.imports.get(node.id, ("", ""))
        other = self.modules.get(home)
        return (
            [(scope.at(other), value) for value in other.constants.get(name, ())] if other else []
        )

    def _assigned_in(self, function: ast.AST) -> dict[str, list[ast.expr]]:
        """The expressions that a function assigns to each name."""
        if function not in self.assigned:
            found = self.assigned[function] = defaultdict(list)
            for inner in ast.walk(function):
                for target, value in _assigned(inner):
                    found[target].append(value)
        return self.assigned[function]

    def _named(self, scope: Scope, node: ast.Name) -> list[str]:
        if node.id in scope.bound:
            return self.texts(*scope.bound[node.id])
        definitions = self._definitions(scope, node)
        if definitions:
            return [text for home, value in definitions for text in self.texts(home, value)]
        for function in scope.module.enclosing(node):
            if isinstance(function, FUNCTIONS) and node.id in _parameters(function):
                return self._passed(scope, function, node.id)
        return []

    def _field(self, scope: Scope, node: ast.Attribute) -> list[str]:
        """What a field of `self` is given wherever its class is called."""
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            return []
        for around in scope.module.enclosing(node):
            if isinstance(around, ast.ClassDef):
                return self._passed(scope, around, node.attr)
        return []

    def _passed(self, scope: Scope, node: ast.AST, parameter: str) -> list[str]:
        """What a parameter is given wherever its function or class is called."""
        return [
            text
            for candidate in self.callables.get(node.name, ())
            if candidate.node is node
            for module, call in self.calls.get(node.name, ())
            if module is scope.module or node.name in module.imports
            for name, value in candidate.bind(call)
            if name == parameter
            for text in self.texts(scope.at(module), value)
        ]

    def _called(self, scope: Scope, node: ast.Call) -> list[str]:
        """What a function of the package returns, its parameters bound to what it is given."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"format", "rstrip"}:
            return self.texts(scope, node.func.value)
        if not isinstance(node.func, ast.Name):
            return []
        name = node.func.id
        home = self.modules.get(scope.module.imports.get(name, (scope.module.name, name))[0])
        returned = []
        for candidate in self.callables.get(name, ()):
            if candidate.module is home and isinstance(candidate.node, FUNCTIONS):
                bound = {key: (scope, value) for key, value in _defaults(candidate.node)}
                bound |= {key: (scope, value) for key, value in candidate.bind(node)}
                inner = Scope(candidate.module, bound, scope.depth)
                for value in _returned(candidate.node):
                    returned += self.texts(inner, value)
        return returned

    def expressions(self, module: Module, node: ast.expr) -> Iterator[tuple[Module, ast.expr]]:
        """The expressions that one stands for: what a local variable is assigned, and both sides of
        a conditional expression; else itself."""
        definitions = self._definitions(Scope(module), node) if isinstance(node, ast.Name) else []
        for scope, value in definitions:
            yield from self._sides(scope.module, value)
        if not definitions:
            yield from self._sides(module, node)

    def _sides(self, module: Module, node: ast.expr) -> Iterator[tuple[Module, ast.expr]]:
        for side in _both(node):
            yield from self._passed_on(module, side) or [(module, side)]

    def _passed_on(self, module: Module, node: ast.expr) -> list[tuple[Module, ast.expr]]:
        """What a function of the package returns, if it only chooses among those of others."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return []
        name = node.func.id
        home = self.modules.get(module.imports.get(name, (module.name, name))[0])
        for candidate in self.callables.get(name, ()):
            if candidate.module is home and isinstance(candidate.node, FUNCTIONS):
                sides = [side for value in _returned(candidate.node) for side in _both(value)]
                if sides and all(_is_imported(home, side) for side in sides):
                    return [(home, side) for side in sides]
        return []

    def home(self, module: Module, node: ast.expr) -> str:
        """The module in which an expression's words are written: that of the function or of the
        constant that it names, else its own."""
        name = node.func if isinstance(node, ast.Call) else node
        if isinstance(name, ast.Name):
            return module.imports.get(name.id, (module.name, ""))[0]
        return module.name

    def of_parameter(
        self, names: frozenset[str]
    ) -> Iterator[tuple[Module, ast.Call, str, ast.expr]]:
        """Each argument that is given to a parameter of one of these names, anywhere."""
        for called, sites in self.calls.items():
            candidates = [
                one for one in self.callables.get(called, ()) if names & {*one.parameters}
            ]
            for module, call in sites:
                bound = {
                    (name, value)
                    for candidate in candidates
                    for name, value in candidate.bind(call)
                    if name in names
                }
                for name, value in sorted(bound, key=lambda pair: pair[0]):
                    yield module, call, name, value


def _both(node: ast.expr) -> list[ast.expr]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def _is_imported(module: Module, node: ast.expr) -> bool:
    """Whether it is a call of a function of another module."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in module.imports
    )


def placeholder(node: ast.expr) -> str:
    """How a value that only a run knows is shown."""
    return OPEN + ast.unparse(node) + CLOSE


def _joined(parts: list[list[str]]) -> list[str]:
    return ["".join(choice) for choice in islice(product(*parts), MOST)]


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _parameters(node: ast.AST) -> tuple[str, ...]:
    arguments = node.args  # type: ignore[attr-defined]
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return tuple(names[1:] if names[:1] in (["self"], ["cls"]) else names)


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, value in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        yield argument.arg, value
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument.arg, default


def _fields(node: ast.ClassDef) -> tuple[str, ...]:
    for item in node.body:
        if isinstance(item, FUNCTIONS) and item.name == "__init__":
            return _parameters(item)
    return tuple(
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names with the expressions that a statement assigns to them."""
    if isinstance(node, ast.NamedExpr):
        yield node.target.id, node.value
        return
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    else:
        return
    for target in targets:
        if isinstance(target, ast.Name) and value is not None:
            yield target.id, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for inner, part in zip(target.elts, value.elts, strict=False):
                if isinstance(inner, ast.Name):
                    yield inner.id, part


def _returned(node: ast.AST) -> Iterator[ast.expr]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Return) and inner.value is not None:
            yield inner.value
