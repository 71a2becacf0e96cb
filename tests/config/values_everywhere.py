"""Unusual YAML at every key of a configuration: it is read, or refused in three lines.

`python -m tests.config.values_everywhere` tries each value at each key.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookcli.config.load import read_config
from hookcli.config.schema import config_schema
from hookcli.errors import ProblemsError, RequestError

TOKENS = (
    "1" + "0" * 30, "-1" + "0" * 30, "9" * 5000, "0x" + "f" * 40, "0x" + "f" * 9000, "0o777", "010",
    "1_000", "1:30", "190:20:30", "2026-11-25", "2026-11-25 10:00:00", "!!timestamp 2026-11-25",
    "!!timestamp 9999-99-99", "!!int 1:30", "!!int 0b1", "!!float 1:30.5", "!!float .inf", ".inf",
    "-.INF", ".nan", "1e400", "1e-400", "-0.0", "1e3", "0.5", "-1", "0", "9223372036854775807",
    "9223372036854775808", "yes", "no", "on", "true", "!!bool yes", "~", "null", '""', '"\\0"',
    '"\\ud800"', '"a\\nb\\e[31m"', "'" + "n" * 9000 + "'", "~no-such-user/x", "*undefined",
    "&a [*a]", "&a x",
    "{<<: {a: 1}}", "{<<: [{a: 1}]}", "{a: 1, a: 2}", "{1: 2}", "{[a]: b}", "{? {a: 1} : b}", "[]",
    "{}", "[[]]", "[null]", "[" * 35 + "]" * 35, "[" * 3000 + "]" * 3000,
    "{a: " * 3000 + "}" * 3000,
    "!!binary aGk=", "!!set {a}", "!!omap [a: 1]", "!!python/name:os.system", "!x y", "!!null x",
    "=", "%", "`", "@x", "- x", "a: b", "\ta", "\u2028", "\ufeff", "\x85", "[1, 2", "{", "'",
    "[&a [x, x], &b [*a, *a, *a, *a], &c [*b, *b, *b, *b], &d [*c, *c, *c, *c], [*d, *d, *d, *d]]",
)  # fmt: skip
WHOLE = (
    b"", b"\n", b"---\n", b"---\n---\n", b"model: m.py\n---\nmodel: m.py\n", b"# only a comment\n",
    b"...\n", b"null", b"[]", b"{}", b"3", b"a", b"model", b"\xef\xbb\xbf",
    b"\xef\xbb\xbfmodel: 3\n",
    "model: m.py\n".encode("utf-16"), "model: m.py\n".encode("utf-16-le"),
    "model: m.py\n".encode("utf-32"), b"\xff", b"model: \xe9\n", b"model: m.py\r\nrun: 3\r\n",
    b"model: m.py\rrun: 3\r", b"model:\tm.py\n", b"\tmodel: m.py\n", b"run:\n\tseed: 3\n",
    b"model: 3\nmodel: 4\n", b"\0", b"model: \x07\n", b"%YAML 9.9\n---\nmodel: 3\n",
    b"%YAML 1." + b"9" * 5000 + b"\n--- 3\n", b"%TAG ! tag:x,2000:\n---\nmodel: !a 3\n",
    b"[" * 10_000, b"{a: " * 10_000, b"- " * 10_000, b"? " * 10_000, b"a: &a\n  b: *a\n",
    b"x: &a [z, z, z, z, z, z, z, z, z]\n" + b"".join(
        b"x%d: &%c [%s]\n" % (i, 98 + i, b", ".join([b"*%c" % (97 + i)] * 9)) for i in range(9)
    ),
    b"<<: {model: 3}\n", b"x" * 300_000, b"a: b: c\n", b"? [a]\n: b\n", b"!!map\n", b"&a *a\n",
)  # fmt: skip
_DEEPEST = 8  # of the schema, which contains itself


def places() -> Iterator[tuple[str, str]]:
    """What is before and after the value of each key, on one line, with the keys it requires."""
    schema = config_schema()
    for name, node in schema["properties"].items():
        yield from _places(node, schema["$defs"], f"{{{name}: ", "}", _DEEPEST)


def _places(node: Any, defs: Any, before: str, after: str, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(node, dict) or not depth:
        return
    if "$ref" in node:
        yield from _places(defs[node["$ref"].rpartition("/")[2]], defs, before, after, depth - 1)
        return
    yield before, after
    for key in ("anyOf", "oneOf", "allOf"):
        for branch in node.get(key, ()):
            if "const" not in branch:
                yield from _places(branch, defs, before, after, depth - 1)
    if "items" in node:
        yield from _places(node["items"], defs, f"{before}[", f"]{after}", depth - 1)
    properties = node.get("properties", {})
    for name, child in properties.items():
        needed = [key for key in node.get("required", ()) if key != name]
        others = "".join(f", {key}: {_smallest(properties[key], defs)}" for key in needed)
        yield from _places(child, defs, f"{before}{{{name}: ", f"{others}}}{after}", depth - 1)
    yield from _places(
        node.get("additionalProperties"), defs, f"{before}{{a: ", f"}}{after}", depth - 1
    )


def _smallest(node: Any, defs: Any) -> str:
    """A value that the schema of a required key allows."""
    while True:
        if "$ref" in node:
            node = defs[node["$ref"].rpartition("/")[2]]
        elif "anyOf" in node or "oneOf" in node:
            node = (node.get("anyOf") or node["oneOf"])[0]
        else:
            break
    if "const" in node or "enum" in node:
        return str(node["const"] if "const" in node else node["enum"][0])
    kinds = {"integer": "1", "number": "1", "array": "[a]", "object": "{a: a}", "boolean": "true"}
    return kinds.get(str(node.get("type")), "a")


def fault(file: Path, data: bytes) -> str | None:
    """What is wrong with how a configuration is read; nothing if its errors have three lines."""
    file.write_bytes(data)
    start = time.process_time()
    try:
        read_config(str(file))
    except RequestError as error:
        for one in error.problems if isinstance(error, ProblemsError) else (error,):
            lines = (one.message, one.place, one.hint)
            if not all(lines) or any("\n" in line for line in lines):
                return f"not three lines: {lines}"
            if len(one.message) > 2000:
                return f"{len(one.message)} characters: {one.message[:80]}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    spent = time.process_time() - start
    return f"{spent:.1f} s" if spent > 3 else None


def document(place: tuple[str, str], token: str) -> bytes:
    """A configuration with a value at one place, on a line of its own."""
    return f"{place[0]}\n  {token}\n  {place[1]}".encode("utf-8", "surrogatepass")


def main() -> int:
    """Try each value at each key, and each whole file; print what fails."""
    wrong = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "c.yaml"
        for data in (
            *WHOLE,
            *(document(place, t) for place in dict.fromkeys(places()) for t in TOKENS),
        ):
            tried += 1
            if problem := fault(file, data):
                wrong += 1
                print(problem, data[:200], flush=True)
    print(f"{tried} configurations, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
