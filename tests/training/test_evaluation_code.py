"""Code of evaluations: what only looks like a mistake beside what is one."""

from __future__ import annotations

import ast
import textwrap

import pytest

from hookcli.training.source.average_code import averages_that_move_away
from hookcli.training.source.data_code import separate_draws
from hookcli.training.source.evaluation_code import (
    argmax_of_all,
    argmax_of_rows,
    dropped_labels,
    overwritten_sums,
    unread_targets,
)
from hookcli.training.source.loss_code import replaced_losses, zero_terms


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gap = s - p\ns.add_(gap * (1 - decay))", [("s", 4)]),
        ("s.add_((s - p) * rate)", [("s", 3)]),
        ("s += rate * (s - p)", [("s", 3)]),
        ("s.data.sub_(rate * (p.data - s.data))", [("s", 3)]),
        ("s.sub_((s - p) * (1 - decay))", []),
        ("s.add_(rate * (p - s))", []),
        ("s += -rate * (s - p)", []),
        ("s += p - q", []),
        ("s.mul_(decay).add_(p, alpha=1 - decay)", []),
    ],
)
def test_averages_that_move_away(text, found):
    code = "def update_ema(p, s):\n    pass\n" + textwrap.indent(text, "    ")
    assert list(averages_that_move_away(tree_of(code))) == found


DRAWS = """
def random_flip(x):
    return x.flip(-1) if random.random() < 0.5 else x

def noisy(x):
    return x + torch.randn(3)

class Pictures:
    def __getitem__(self, i):
        return {}
"""


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ("random_flip(self.x[i]), random_flip(self.mask[i])", [("random_flip", 10)]),
        ("random_flip(self.x[i]), random_flip(self.x[i])", []),  # two views
        ("random_flip(self.x[i]), random_flip(self.x[j])", []),  # a pair of samples
        ("random_flip(anchor), random_flip(positive)", []),
        ("random_flip(torch.stack([self.x[i], self.mask[i]]))", []),
        ("noisy(self.x[i]), noisy(self.y[i])", []),
        ("self.load(self.x[i]), self.load(self.y[i])", []),
    ],
)
def test_parts_of_a_sample_that_are_moved_apart(result, found):
    assert list(separate_draws(ast.parse(DRAWS.format(result)))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("loss = F.cross_entropy(a, b)\nif more:\n    loss = const_loss", [("loss", 5)]),
        ("loss = criterion(a, b)\nloss = aux_loss", [("loss", 4)]),
        ("loss = criterion(a, b)\nif more:\n    loss = loss + aux_loss", []),
        ("loss = criterion(a, b)\nlog(loss)\nloss = aux_loss", []),
        ("loss = criterion(a, b)\nif smooth:\n    loss = smoothed(a, b)", []),  # another formula
        ("loss = criterion(a, b)\nif smooth:\n    loss = aux_loss\nelse:\n    loss *= 2", []),
        ("loss = 0.0\nloss = aux_loss", []),
    ],
)
def test_losses_that_another_term_replaces(text, found):
    code = "def step(a, b):\n    pass\n" + textwrap.indent(text, "    ") + "\n    return loss\n"
    assert list(replaced_losses(tree_of(code))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("loss += 0.0 * moco_loss", [("moco_loss", 1)]),
        ("loss = loss + aux_loss * 0", [("aux_loss", 1)]),
        ("loss = loss + 0.0 * out.sum()", []),  # so that all parameters are used
        ("loss = loss + 0.5 * aux_loss", []),
        ("loss = loss + weight * aux_loss", []),
    ],
)
def test_losses_that_are_multiplied_by_zero(text, found):
    assert list(zero_terms(ast.parse(text))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("z = model(x)\n_, y = torch.max(z.data, 1)", [("torch.max(z.data, 1)", 2)]),
        ("z = self.net(x)\ny = z.detach().argmax(dim=1)", [("z.detach().argmax(dim=1)", 2)]),
        ("z = model(x)\ny = z.argmax(0)", []),  # over the samples
        ("z = model(x)\ny = z.max()", []),
        ("z = one_hot(x)\ny = z.argmax(1)", []),
    ],
)
def test_the_largest_of_a_row_of_a_models_output(text, found):
    assert list(argmax_of_rows(tree_of(text))) == found
