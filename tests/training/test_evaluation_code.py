"""Code of evaluations: what only looks like a mistake beside what is one."""

from __future__ import annotations

import ast
import textwrap

import pytest

from hookcli.training.source.evaluation_code import (
    argmax_of_all,
    dropped_labels,
    overwritten_sums,
    unread_targets,
)


def tree_of(text):
    return ast.parse(textwrap.dedent(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            """
            loss, hits = 0, 0
            for x, y in batches:
                loss += f(x)
                hits = g(x)
            print(loss / n, hits / n)
            """,
            [("hits", 5)],
        ),
        (
            """
            loss = hits = 0.0
            while more():
                loss += f(x)
                hits = hits + g(x)
            print(hits)
            """,
            [],  # it reads itself
        ),
        (
            """
            total, last = 0, 0
            for x in batches:
                total += x
                last = f(x)
                print(last)
            print(total, last)
            """,
            [],  # the loop reads it: it is no sum
        ),
        (
            """
            step, best = 0, 0
            for x in batches:
                best = f(x)
            print(best)
            """,
            [],  # nothing is added up
        ),
        (
            """
            total, found = 0, 0
            for x in batches:
                total += x
                if x:
                    found = 1
            print(total, found)
            """,
            [],  # a flag
        ),
        (
            """
            total, hits = 0, 0
            for x in batches:
                total += x
                hits = g(x)
            print(total)
            """,
            [],  # nothing reads it afterwards
        ),
    ],
)
def test_a_sum_that_a_loop_assigns_is_found(text, found):
    assert list(overwritten_sums(tree_of(text))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hits = (torch.argmax(out) == y).sum()", ["torch.argmax(out)"]),
        ("hits = (y == out.argmax()).float().mean()", ["out.argmax()"]),
        ("hits = (out.argmax(1) == y).sum()", []),
        ("hits = (torch.argmax(out, dim=1) == y).sum()", []),
        ("hit = torch.argmax(out) == y", []),  # of one sample
        ("hit = out.argmax().item() == y", []),
    ],
)
def test_an_argmax_without_a_dimension_is_found(text, found):
    assert [what for what, _ in argmax_of_all(tree_of(text))] == found


LOOP = """
loader = DataLoader(data, 8, shuffle={shuffle})
with torch.{context}():
    {body}
"""


@pytest.mark.parametrize(
    ("shuffle", "context", "body", "is_found"),
    [
        (True, "no_grad", "out = torch.cat([net(x) for x, _ in loader])", True),
        (True, "no_grad", "for x, _ in loader: outs.append(net(x))", True),
        (False, "no_grad", "out = torch.cat([net(x) for x, _ in loader])", False),
        (True, "no_grad", "out = torch.cat([net(x) for x, y in loader])", False),
        (True, "enable_grad", "out = torch.cat([net(x) for x, _ in loader])", False),
        (True, "no_grad", "for x, _ in loader: net(x)", False),  # as for batch norms
    ],
)
def test_labels_that_a_shuffled_loop_drops_are_found(shuffle, context, body, is_found):
    found = dropped_labels(tree_of(LOOP.format(shuffle=shuffle, context=context, body=body)))
    assert [name for name, _ in found] == ["loader"] * is_found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("for image, target_image in loader: f(image)", ["target_image"]),
        ("for image, target in loader: f(image, target)", []),
        ("for image, _ in loader: f(image)", []),
        ("for image, path in loader: f(image)", []),
    ],
)
def test_targets_that_a_loop_never_reads_are_found(text, found):
    assert unread_targets(tree_of(text)) == found
