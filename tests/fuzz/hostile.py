"""Values and texts that parsers forget, for every place that takes one.

No text is an absolute path that could be written: a configuration may name files to write.
"""

from __future__ import annotations

from typing import Any

NUMBERS: list[Any] = [
    0, 1, -1, 2, 3, 255, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(10**25), 10**31, 10**400, 0.5,
    -0.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
WORDS: list[str] = [
    "", " ", "nan", "-inf", "Infinity", "1e999", "9" * 40, "9" * 5000, "a.b", "..", ".", "*", "**",
    "[", "(", "{regex: '('}", "\0", "a\0b", "\x1b[31m", "\ufffe\u202e", "\u2028", "]]>", "{}%s",
    "%(x)s", "fail", "gradient", "net.py:999999999", "m.py:", ":", "m.py:Net", "fc", "fc.weight",
    "a.0", "²", "٣", "a" * 300, "true", "no", "~", "null", "2001-12-14", "<<", "2x4", "f32[2,4]",
    "</script><script>", "-->", "${HOME}", "`id`", "$(touch CANARY)", "\r\n", "hookcli.report/1",
    "😀" * 9, "\ud800", "-1", "--help", "@file", "nested:" * 30, "\t",
    "x\n::error::x", "##[error]x", "##vso[task.setvariable variable=x]y", "##teamcity[x]", "\x9b2J",
    "\x1b[0Ksection_start:1:x\r", "![a](http://x)", "[a](javascript:x)", "www.a.b", "a@b.cc",
    "@user",
    "#123", "| a | b |", "$x$", "{{7*7}}", "__b__", "\u200b\u2066\ufeff", "\"q' onload='x",
]  # fmt: skip
CONTAINERS: list[Any] = [
    [], {}, [[]], [None], [{}], {"": ""}, {"norm": []}, {"norm": "x"}, {"value": "x"},
    {"tuple": [{}]}, {"call": "m.py:Net"}, {"regex": "a{99999}"}, [0] * 300, {"a": {"a": {"a": 1}}},
    {"name": "*", "part": "output"}, [1, [2, [3, [4]]]],
]  # fmt: skip
VALUES: list[Any] = [None, True, False, *NUMBERS, *WORDS, *CONTAINERS]

# Pieces of bytes: lengths that a header may claim, ends of lines, opcodes.
BYTES: list[bytes] = [
    b"\0", b"\xff", b"\n", b"\xff" * 4, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\xff" * 8,
    b"\0" * 8, b"\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"PK\x03\x04", b"PK\x05\x06", b"\x80\x04",
    b"cos\nsystem\n", b"R", b".", b"{", b"}", b"[" * 2000, b'"', b"'", b": ", b"- ", b"&a ", b"*a",
    b"!!python/object/apply:os.getcwd []", b"\x1b[31m", b"9" * 5000, b"\xed\xa0\x80", b"NaN",
]  # fmt: skip
