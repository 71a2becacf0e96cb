"""What a configuration refuses that a typing error makes, and what it says instead."""

from __future__ import annotations

import pytest

from hookcli.config.from_python import as_document


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("model: model.py\nrun: {distributed: {nproc: 2, backend: glo}}",
         "unknown backend 'glo'", "try `gloo`"),
        ("model: model.py\nrun: {distributed: {nproc: 2, static_graph: true, "
         "find_unused_parameters: true}}",
         "static_graph cannot be combined with find_unused_parameters",
         "remove `find_unused_parameters`: static_graph finds unused parameters itself"),
        ("model: model.py\nchecks: [{rule: dtype, dtype: torch.flaot32}]",
         "unknown dtype 'torch.flaot32'", "try `float32`"),
        ("model: model.py\ninputs: [{1.5: 2x3}]",
         "a key must be a string, got 1.5", "put the key in quotes"),
        ("model: model.py\ninputs: [{true: 2x3}]",
         "a key must be a string, got true", "put the key in quotes"),
    ],
)  # fmt: skip
def test_a_value_that_is_refused_says_what_to_write(problem, text, message, hint):
    found = problem(text)
    assert (found[0], found[3]) == (message, hint)


def test_the_arguments_of_a_script_are_a_string_or_a_list(read):
    texts = ("argv: '--lr 0.1 --name \"a b\"'", "argv: [--lr, '0.1', --name, a b]")
    both = [read(f"model: {{source: model.py, {text}}}").model.argv for text in texts]
    assert both == [("--lr", "0.1", "--name", "a b")] * 2


@pytest.mark.parametrize(("base", "got"), [("- model.py", "[model.py]"), ("3", "3")])
def test_a_base_that_is_not_a_mapping_is_reported(folder, problem, base, got):
    (folder / "base.yaml").write_text(f"{base}\n")
    message, place, line, _ = problem("extends: base.yaml\nmodel: model.py")
    assert message == (
        f"the configuration must be a mapping with keys such as model and hooks, got {got}"
    )
    assert (place, line) == ("base.yaml:1", base)


def test_a_backend_that_torch_has_is_read(read):
    made = read("model: model.py\nrun: {distributed: {nproc: 2, backend: gloo}}")
    assert made.run["distributed"].backend == "gloo"


def test_a_configuration_of_python_may_contain_none():
    given = {"model": "net.py", "run": {"seed": None, "steps": 2}, "checks": ({"rule": "finite"},)}
    assert as_document(given) == {
        "model": "net.py", "run": {"seed": None, "steps": 2}, "checks": [{"rule": "finite"}],
    }  # fmt: skip


def test_a_number_beyond_the_range_of_a_float_is_refused(problem):
    message, _, _, hint = problem(
        f"model: model.py\nchecks: [{{rule: grad_share, at: fc, share: 1{'0' * 400}}}]"
    )
    assert "a number" in message
    assert hint
