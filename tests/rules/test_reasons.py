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
    "zero by zero": (A.div.Tensor, (f(0.0, 1.0), f(0.0, 1.0)), "zero_by_zero"),
    "one by zero": (A.div.Tensor, (f(1.0), f(0.0)), "by_zero"),
    "the reciprocal of zero": (A.reciprocal.default, (f(0.0, 2.0),), "by_zero"),
    "the reciprocal of a tiny number": (A.reciprocal.default, (f(1e-40),), "overflow"),
    "the logarithm of zero": (A.log.default, (f(0.0),), "log_of_zero"),
    "the logarithm of a negative number": (A.log2.default, (f(-1.0),), "log_of_negative"),
    "log1p below its pole": (A.log1p.default, (f(-2.0),), "log_of_negative"),
    "the root of a negative number": (A.sqrt.default, (f(-1.0),), "root_of_negative"),
    "a negative power of zero": (
        A.pow.Tensor_Scalar, (f(0.0), -1.0), "negative_power_of_zero",
    ),
    "a fractional power of a negative number": (
        A.pow.Tensor_Scalar, (f(-2.0), 0.5), "power_of_negative",
    ),
    "outside of the domain of logit": (A.logit.default, (f(1.5),), "domain"),
    "a layer norm without epsilon": (
        A.native_layer_norm.default, (torch.ones(1, 4), [4], None, None, 0.0), "zero_variance",
    ),
    "a layer norm whose values are too large": (
        A.native_layer_norm.default, (f(3e38, -3e38), [2], None, None, 1e-5), "overflow",
    ),
    "the deviation of values that are too large": (
        A.std.correction, (f(3e38, -3e38),), "overflow",
    ),
    "the variance along one number": (A.var.dim, (torch.ones(4, 1), [1]), "one_element"),
    "the mean of values that are too large": (A.mean.default, (f(3e38, 3e38),), "overflow"),
    "a loss with some ignored targets": (
        A.nll_loss_forward.default,
        (torch.full((2, 2), 3e38), torch.tensor([1, 1]), f(1.0, 1.0), 2, -100), "overflow",
    ),
    "an inverse of values that are too small": (
        A.linalg_inv_ex.default, (torch.eye(2) * 1e-39,), "overflow",
    ),
    "a copy to a small dtype": (
        A.copy.default, (half(1.0), f(1e6)), "cast_overflow",
    ),
    "a hyperbolic sine": (A.sinh.default, (f(100.0),), "exp_overflow"),
    "a fraction of infinity in float64": (
        A.div.Tensor, (f(1e300, dtype=torch.float64), f(1e-300, dtype=torch.float64)), None,
    ),
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
    "a logarithm of a softmax": (
        A._log_softmax.default, (torch.tensor([[-INF, -INF], [0.0, 1.0]]), 1, False), "all_masked",
    ),
    "a softmax of one number": (A._softmax.default, (torch.tensor(-INF), 0, False), "all_masked"),
    "a product with a factor that broadcasts": (
        A.mul.Tensor, (f(0.0), torch.tensor(INF)), "zero_times_inf",
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


def unproven(check, func, *args, output=None, **kwargs):
    """The reason for an output of this shape, which the arguments do not explain."""
    output = torch.full((2, 3), NAN) if output is None else output
    return check(Operation(func, args, kwargs, output))


# Outputs that the inputs cannot be compared with, element by element.
ELSEWHERE = {
    "a quotient": (A.div.Tensor, (torch.zeros(4), torch.zeros(4))),
    "a reciprocal": (A.reciprocal.default, (torch.zeros(4),)),
    "a logarithm": (A.log.default, (torch.zeros(4),)),
    "a root": (A.sqrt.default, (-torch.ones(4),)),
    "a power": (A.pow.Tensor_Tensor, (torch.zeros(4), -torch.ones(4))),
    "a domain": (A.acos.default, (torch.full((4,), 2.0),)),
    "a conversion": (A._to_copy.default, (torch.full((4,), 1e9, dtype=torch.float64),)),
    "a matrix that is not square": (A.linalg_inv_ex.default, (torch.ones(2, 3),)),
    "arguments that the operator does not take": (A.relu.default, (torch.ones(2, 3), 1, 2, 3)),
    "an output that is not a tensor": (lambda x: 3, (torch.ones(2, 3),)),
    "no outputs": (lambda x: [], (torch.ones(2, 3),)),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_no_reason_is_invented_for_an_output_that_the_inputs_do_not_explain(name):
    func, args = ELSEWHERE[name]
    assert unproven(why, func, *args) is None


# Inputs of which float64 makes finite values: no more than an overflow is proven.
HARMLESS = {
    "a conversion of integers": (A._to_copy.default, (torch.ones(2, 3, dtype=torch.int64),)),
    "a conversion to the same dtype": (A._to_copy.default, (torch.ones(2, 3),)),
    "a logarithm": (A.log.default, (torch.ones(2, 3),)),
    "a shifted logarithm": (A.log1p.default, (torch.ones(2, 3),)),
    "a root": (A.sqrt.default, (torch.ones(2, 3),)),
    "a power": (A.pow.Tensor_Scalar, (-torch.ones(2, 3), 2.0)),
    "the inside of a domain": (A.acos.default, (torch.zeros(2, 3),)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_an_input_that_is_allowed_is_not_blamed(name):
    func, args = HARMLESS[name]
    assert unproven(why, func, *args)[0] == "overflow"


def test_an_output_of_another_layout_has_no_reason():
    sparse = torch.eye(2).to_sparse()
    assert unproven(why, A.log.default, torch.zeros(2, 2), output=sparse) is None
    assert unproven(why_from_inf, A.sub.Tensor, torch.zeros(2, 2), output=sparse) is None


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (A._softmax.default, (3.0, -1, False)),
        (A._softmax.default, (torch.ones(2, 3), None, False)),
        (A._softmax.default, (torch.ones(2, 3), -1, False)),
        (A.mul.Tensor, (torch.ones(4), torch.full((4,), INF))),
        (A.mul.Tensor, (torch.ones(2, 3), torch.full((2, 3), INF))),
    ],
)
def test_inputs_with_inf_that_do_not_explain_it_prove_nothing(func, args):
    assert unproven(why_from_inf, func, *args) is None


def test_the_name_of_an_operator_in_place_is_that_of_the_other():
    assert Operation(A.add_.Tensor, (), {}, f(1.0)).name == "add"
    assert Operation(A.__and__.Tensor, (), {}, f(1.0)).name == "__and__"


def test_lists_of_tensors_count_as_floating_inputs():
    from hookcli.operators.reasons import floating_inputs

    one, other, indices = f(1.0), f(2.0), torch.tensor([1])
    found = floating_inputs(Operation(A.cat.default, ([one, indices, other], 0), {}, f(1.0)))
    assert [x.item() for x in found] == [1.0, 2.0]
