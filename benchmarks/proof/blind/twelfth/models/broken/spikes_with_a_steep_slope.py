r"""A spiking classifier: leaky integrate-and-fire layers with a sigmoid as surrogate gradient.

Source: https://github.com/jeshraghian/snntorch/issues/427
Fault: The backward of the spike function computes exp(-slope * u) and divides by its square plus
    one: for a potential far below the threshold exp overflows and inf / inf gives NaN gradients.
Cause: exp\w*.{0,120}(overflow|inf\w*|nan|large|unstable|blow|range|too big)|overflow\w*
    |inf ?/ ?inf|numerical\w* .{0,30}(unstable|instab|stab)|(surrogate|sigmoid|backward).{0,100}(nan
    |overflow|unstable|inf)
Place: SigmoidSurrogate|backward|slope|exp|spike_grad
"""

import torch
import torch.nn as nn


class SigmoidSurrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_, slope):
        ctx.save_for_backward(input_)
        ctx.slope = slope
        out = (input_ > 0).float()
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (input_,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad = (
            grad_input
            * ctx.slope
            * torch.exp(-ctx.slope * input_)  # here
            / ((torch.exp(-ctx.slope * input_) + 1) ** 2)  # here
        )
        return grad, None


def sigmoid(slope=25):
    """Sigmoid surrogate gradient enclosed with a parameterized slope."""
    def inner(x):
        return SigmoidSurrogate.apply(x, slope)
    return inner


class Leaky(nn.Module):
    def __init__(self, beta, threshold=1.0, spike_grad=None, reset_mechanism="subtract"):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(beta))
        self.threshold = threshold
        self.spike_grad = spike_grad
        self.reset_mechanism = reset_mechanism

    def forward(self, input_, mem):
        reset = (mem - self.threshold > 0).float().detach()
        mem = self.beta.clamp(0, 1) * mem + input_
        if self.reset_mechanism == "subtract":
            mem = mem - reset * self.threshold
        else:
            mem = mem - reset * mem
        spk = self.spike_grad(mem - self.threshold)
        return spk, mem


class Net(nn.Module):
    def __init__(self, num_inputs=64, num_hidden=100, num_outputs=5, num_steps=15, beta=0.9):
        super().__init__()
        self.num_steps = num_steps
        spike_grad = sigmoid(slope=25)
        self.fc1 = nn.Linear(num_inputs, num_hidden)
        self.lif1 = Leaky(beta=beta, spike_grad=spike_grad)
        self.fc2 = nn.Linear(num_hidden, num_outputs)
        self.lif2 = Leaky(beta=beta, spike_grad=spike_grad)

    def forward(self, x):
        mem1 = torch.zeros(x.size(0), self.fc1.out_features)
        mem2 = torch.zeros(x.size(0), self.fc2.out_features)
        spk2_rec = []
        mem2_rec = []
        for step in range(self.num_steps):
            cur1 = self.fc1(x)
            spk1, mem1 = self.lif1(cur1, mem1)
            cur2 = self.fc2(spk1)
            spk2, mem2 = self.lif2(cur2, mem2)
            spk2_rec.append(spk2)
            mem2_rec.append(mem2)
        return torch.stack(spk2_rec, dim=0).sum(0), torch.stack(mem2_rec, dim=0)


def build():
    torch.manual_seed(0)
    return Net()


def example_inputs():
    torch.manual_seed(1)
    return (torch.rand(16, 64) * 2,)
