"""Puts changed code into a process that has imported the original, also where others hold it."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import gc
import sys
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from .operators import Mutant, mutants, number_statements, uses


class Source:
    """A module whose functions get other code."""

    def __init__(self, module: ModuleType, root: Path, first: int) -> None:
        self.module, self.path = module, module.__file__
        text = Path(self.path).read_text()
        self._original = compile(text, self.path, "exec", dont_inherit=True)
        self.tree = ast.parse(text)
        self.numbers = range(first, number_statements(self.tree, first))
        self.mutants = mutants(self.tree, str(Path(self.path).relative_to(root)))
        self.uses = [*uses(self.tree)]
        self._functions: dict[CodeType, list[FunctionType]] = {}

    def find_functions(self, functions: list[FunctionType]) -> None:
        """Note the functions of this file, those of closures and tables included."""
        by_code = defaultdict(list)
        for one in functions:
            by_code[one.__code__].append(one)
        self._functions = dict(by_code)

    def statements_of(self, function: str) -> list[int]:
        """Return the numbers of the statements of a function that have mutants."""
        found = {one.statement for one in self.mutants if one.function == function}
        return sorted(found - {None})

    def _compile(self, tree: ast.Module) -> CodeType:
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def mark(self) -> None:
        """Let each statement say that it was reached, also when the module is imported."""
        tree = ast.parse(Path(self.path).read_text())
        number_statements(tree, self.numbers.start)
        marked = self._compile(_Marker().visit(tree))
        self._replace(self._original, marked)
        self._import(marked)

    def install(self, mutant: Mutant) -> None:
        """Let all that holds code of this module run the mutant's."""
        mutant.swap()
        changed = self._compile(self.tree)
        self._replace(self._original, changed)
        if mutant.on_import:
            names = dict(vars(self.module))
            for name, new in vars(self._import(changed)).items():
                if not name.startswith("__") and name in names:
                    _transplant(name, names[name], new, self.module.__name__)

    def _import(self, code: CodeType) -> ModuleType:
        again = ModuleType(self.module.__name__)
        again.__dict__.update(__file__=self.path, __package__=self.module.__package__)
        exec(code, again.__dict__)
        return again

    def _replace(self, old: CodeType, new: CodeType) -> None:
        for one in self._functions.get(old, ()):
            one.__code__ = new
        inner = [
            [const for const in code.co_consts if isinstance(const, CodeType)]
            for code in (old, new)
        ]
        if len(inner[0]) == len(inner[1]):
            for pair in zip(*inner, strict=True):
                self._replace(*pair)


def sources(modules: list[ModuleType], root: Path) -> list[Source]:
    """Return the sources of modules, with their functions."""
    made: list[Source] = []
    for module in modules:
        made.append(Source(module, root, made[-1].numbers.stop if made else 0))
    functions = defaultdict(list)
    gc.unfreeze()  # tests/conftest.py has kept them out of collections
    for one in gc.get_objects():
        if type(one) is FunctionType:
            functions[one.__code__.co_filename].append(one)
    for source in made:
        source.find_functions(functions[source.path])
    return made


def _transplant(name: str, old: object, new: object, module: str) -> None:
    """Give an object that others hold the content of the one that the changed module made."""
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        if old.__module__ == module:
            old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
            if old.__code__.co_filename == "<string>":  # of a dataclass
                old.__code__ = new.__code__
    elif isinstance(old, type) and isinstance(new, type):
        if old.__module__ == module:
            for inner, value in vars(new).items():
                before = vars(old).get(inner)
                if isinstance(value, FunctionType):
                    _transplant(inner, before, value, module)
                elif isinstance(value, bool | int | float | tuple | frozenset | None):
                    setattr(old, inner, value)
    elif dataclasses.is_dataclass(old) and type(old).__name__ == type(new).__name__:
        for field in dataclasses.fields(old):
            object.__setattr__(old, field.name, getattr(new, field.name))
    elif type(old).__module__ == module and type(old).__name__ == type(new).__name__:
        vars(old).update(vars(new))
    elif isinstance(old, dict) and isinstance(new, dict):
        old.clear()
        old.update(new)
    elif isinstance(old, list) and isinstance(new, list):
        old[:] = new
    elif type(old) is type(new) or new is None:
        for path, holder in list(sys.modules.items()):
            if path.startswith("hookcli") and vars(holder).get(name) is old:
                setattr(holder, name, new)


class _Marker(ast.NodeTransformer):
    """Calls `_reached_(number)` before each statement that has a number."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                setattr(node, name, [new for one in body for new in (*_marks(one), one)])
        if isinstance(node, ast.Lambda) and hasattr(node, "number"):
            pair = ast.Tuple([_call(node.number), node.body], ast.Load())
            node.body = ast.Subscript(pair, ast.Constant(1), ast.Load())
        return node


def _marks(node: ast.AST) -> list[ast.stmt]:
    return [ast.Expr(_call(node.number))] if hasattr(node, "number") else []


def _call(number: int) -> ast.Call:
    return ast.Call(ast.Name("_reached_", ast.Load()), [ast.Constant(number)], [])


def set_marker(reached: bytearray) -> None:
    """Let marked statements write to this array at their number."""
    builtins._reached_ = lambda number: reached.__setitem__(number, 1)
