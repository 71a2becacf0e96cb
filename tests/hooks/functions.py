"""Functions that hooks call: with PyTorch's own signatures, or with an event."""

from __future__ import annotations

import torch


def event_half(event):
    return event.value * 0.5


def event_none(event):
    return None


def event_five(event):
    return 5


def event_pair(event):
    return event.value, event.value


def tensor_half(grad):
    return grad * 0.5


def tensor_edit(grad):
    grad.mul_(10)


def tensor_edit_data(grad):
    grad.data.mul_(10)


def tensor_double(grad):
    return grad.double()


def tensor_short(grad):
    return grad[:1]


def tensor_number(grad):
    return 0.0


def forward_half(module, args, output):
    return output * 0.5


def forward_edit(module, args, output):
    output.mul_(2)


def forward_false(module, args, output):
    return False


def forward_handle(module, args, output):
    return output.register_hook(lambda grad: None)


def forward_pre_one(module, args):
    return args[0] * 0.5


def forward_pre_edit(module, args):
    args[0].mul_(2)


def post_half_in_place(parameter):
    parameter.grad.mul_(0.5)


def post_half_anew(parameter):
    parameter.grad = parameter.grad * 0.5


def post_drop(parameter):
    parameter.grad = None


def post_return(parameter):
    return parameter.grad


def step_pre_arguments(optimizer, args, kwargs):
    def closure():
        closure.called = True
        return torch.tensor(3.0)

    return (optimizer, closure), {}


def step_pre_scale(optimizer, args, kwargs):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad.mul_(0.0)


def state_post_edit(module, state, prefix, metadata):
    state[prefix + "bias"] = torch.full((2,), 7.0)


def state_post_return(module, state, prefix, metadata):
    return state


def load_pre_edit(module, state, prefix, *rest):
    state[prefix + "bias"] = torch.full((2,), 7.0)


def load_post_return(module, incompatible):
    return incompatible


def pack_half(tensor):
    return tensor * 0.5


def pack_name(tensor):
    return ["a list", tensor]


def unpack_name(packed):
    return packed[1]


def unpack_same(packed):
    return packed


def node_pre_half(grad_outputs):
    return tuple(None if g is None else g * 0.5 for g in grad_outputs)


def node_half(grad_inputs, grad_outputs):
    return tuple(None if g is None else g * 0.5 for g in grad_inputs)


def event_plus_one(event):
    return event.value + 1


def event_half_all(event):
    return {name: value * 0.5 for name, value in event.value.items()}


def state_post_add_one(module, state, prefix, metadata):
    state[prefix + "bias"] = state[prefix + "bias"] + 1


def nothing(*given):
    return None


def grads_half(module, first, *rest):
    return tuple(None if g is None else g * 0.5 for g in first)


def parameter_ones(module, name, parameter):
    return torch.nn.Parameter(torch.ones_like(parameter))


def buffer_half(module, name, buffer):
    return buffer * 0.5


def module_identity(module, name, submodule):
    return torch.nn.Identity() if isinstance(submodule, torch.nn.Tanh) else None


def op_half(op, args, kwargs, output):
    return output * 0.5 if op is torch.ops.aten.tanh.default else None


def bucket_half(state, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer() * 0.5)
    return future


def interrupt(event):
    raise KeyboardInterrupt


def event_thing(event):
    return [object()]


def _gradients(given):
    return next(one for one in given if isinstance(one, tuple))


def gradients_longer(*given):
    return (*_gradients(given), None)


def gradients_summed(*given):
    return tuple(one if one is None else one.sum() for one in _gradients(given))


def gradients_doubled_in_width(*given):
    return tuple(one if one is None else one.double() for one in _gradients(given))


def gradients_as_numbers(*given):
    return tuple(1.0 for _ in _gradients(given))


def gradients_left_out(*given):
    return tuple(None for _ in _gradients(given))
