"""Why an operator returned NaN or Inf: only what its inputs prove, for operators called alone."""

from __future__ import annotations

import math

import pytest
import torch

from hookcli.operators.reasons import Operation, why, why_from_inf

A = torch.ops.aten
INF, NAN = math.inf, math.nan


def f(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def half(*values):
    return f(*values, dtype=torch.float16)


def reason(check, func, *args, **kwargs):
    """The name of the reason for the first output; None if nothing is certain."""
    output = func(*args, **kwargs)
    output = output if isinstance(output, torch.Tensor) else output[0]
    assert not torch.isfinite(output).all()
    found = check(Operation(func, args, kwargs, output))
    return None if found is None else found[0]


SINGULAR = torch.ones(2, 2)
CASES = {
    "a quotient that is too large": (A.div.Tensor, (f(1e38), f(1e-10)), "overflow"),
    "a power that is too large": (A.pow.Tensor_Scalar, (f(10.0), 100.0), "overflow"),
    "a power in float64": (A.pow.Tensor_Scalar, (f(10.0, dtype=torch.float64), 400.0), None),
    "a product in float64": (
        A.mul.Tensor, (f(1e300, dtype=torch.float64), f(1e300, dtype=torch.float64)), "overflow",
    ),
    "a complex logarithm": (A.log.default, (torch.tensor([0j]),), None),
    "a root of zero below a fraction": (A.rsqrt.default, (f(0.0),), "root_of_zero"),
    "the edge of a domain": (A.atanh.default, (f(1.0),), "pole"),
    "outside of a domain": (A.acosh.default, (f(0.5),), "domain"),
    "log1p at its pole": (A.log1p.default, (f(-1.0),), "pole"),
    "the deviation of one value": (A.std.correction, (f(3.0),), "one_element"),
    "the variance along a dimension of one value": (
        A.var.correction, (torch.ones(4, 1), [1]), "one_element",
    ),
    "the mean of nothing": (A.mean.default, (f(),), "empty"),
    "a loss of ignored targets": (
        A.nll_loss_forward.default, (torch.zeros(1, 2), torch.tensor([-100]), None, 1, -100),
        "no_target",
    ),
    "a loss whose weights are zero": (
        A.nll_loss_forward.default, (torch.zeros(1, 2), torch.tensor([1]), f(1.0, 0.0), 1, -100),
        "no_target",
    ),
    "a loss whose inputs are too large": (
        A.nll_loss_forward.default,
        (torch.full((2, 2), 3e38), torch.tensor([1, 0]), None, 2, -100), "overflow",
    ),
    "an inverse of a singular matrix": (A.linalg_inv_ex.default, (SINGULAR,), "singular"),
    "a conversion to a small dtype": (
        A._to_copy.default, (f(1e6),), {"dtype": torch.float16}, "cast_overflow",
    ),
    "a sum of halves": (A.sum.default, (half(*[6e4] * 4),), "overflow"),
    "an operator without float64": (
        A.mm.default, (half(300.0).reshape(1, 1), half(300.0).reshape(1, 1)), "overflow",
    ),
    "an exponential": (A.exp.default, (f(100.0),), "exp_overflow"),
    "a function of its own": (lambda x: x * 1e38, (f(1e38),), "overflow"),
}  # fmt: skip
OF_INF = {
    "a softmax of Inf": (A._softmax.default, (f(INF, 1.0), -1, False), "softmax_of_inf"),
    "a softmax of a masked row": (A._softmax.default, (f(-INF, -INF), -1, False), "all_masked"),
    "a difference": (A.sub.Tensor, (f(INF), f(INF)), "inf_minus_inf"),
    "a product with zero": (A.mul.Tensor, (f(INF), f(0.0)), "zero_times_inf"),
    "a quotient": (A.div.Tensor, (f(INF), f(INF)), "inf_by_inf"),
    "a sine": (A.sin.default, (f(INF),), "of_inf"),
    "a matrix product": (
        A.mm.default, (f(INF, -INF).reshape(1, 2), torch.ones(2, 1)), "products_of_inf",
    ),
    "an operator without a rule": (A.frac.default, (f(INF),), None),
    "complex numbers": (A.mul.Tensor, (torch.tensor([complex(INF, 0)]), torch.tensor([0j])), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_finite_inputs_prove_a_reason_or_none(name):
    func, args, *kwargs, expected = CASES[name]
    assert reason(why, func, *args, **(kwargs[0] if kwargs else {})) == expected


@pytest.mark.parametrize("name", OF_INF)
def test_inputs_with_inf_prove_a_reason_or_none(name):
    func, args, expected = OF_INF[name]
    assert reason(why_from_inf, func, *args) == expected


@pytest.mark.parametrize(
    ("mask", "expected"), [(None, None), (f(-INF, -INF), "all_masked"), (f(-INF, 0.0), None)]
)
def test_attention_of_a_masked_row(mask, expected):
    q = torch.ones(1, 1, 1, 4)
    key = torch.ones(1, 1, 2, 4)
    output = torch.full_like(q, NAN)
    mask = None if mask is None else mask.view(1, 1, 1, 2)
    operation = Operation(
        A._scaled_dot_product_flash_attention_for_cpu.default, (q, key, key),
        {"attn_mask": mask}, output,
    )  # fmt: skip
    found = why_from_inf(operation)
    assert (found and found[0]) == expected
