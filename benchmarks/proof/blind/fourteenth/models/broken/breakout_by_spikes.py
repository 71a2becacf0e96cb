r"""A spiking policy for Breakout, whose output spikes are counted and turned into action chances.

Source: https://github.com/BindsNET/bindsnet/issues/577
Fault: the spike counts have a batch dimension of 1 in front, and the softmax runs over this
    dimension 0; every action has the chance 1, the agent acts at random and no gradient comes
    through.
Cause: softmax.{0,100}(dim(ension)?.{0,6}0|wrong|batch|first (dim|axis)|size (of )?1|axis 0
    |one entry|single)
    |(dim(ension)?.{0,6}0|batch|wrong|first|size.?1|singleton).{0,60}softmax
    |(probabilit|output|chance).{0,60}(always|all|every|constant|each).{0,20}(1|one|constant)
Place: softmax|select_softmax|probabilities
"""

import torch
import torch.nn as nn


class SurrGradSpike(torch.autograd.Function):
    """Heaviside step in forward, fast sigmoid as the surrogate in backward."""

    scale = 10.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return (input > 0).to(input.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output / (SurrGradSpike.scale * torch.abs(input) + 1.0) ** 2


spike_fn = SurrGradSpike.apply


class LIFNodes(nn.Module):
    """Layer of leaky integrate-and-fire neurons."""

    def __init__(self, n, tc_decay=20.0, thresh=1.0):
        super().__init__()
        self.n = n
        self.thresh = thresh
        self.register_buffer("decay", torch.exp(torch.tensor(-1.0 / tc_decay)))

    def forward(self, currents):
        # currents: time x batch x n
        v = torch.zeros_like(currents[0])
        s = []
        for x in currents:
            v = self.decay * v + x
            out = spike_fn(v - self.thresh)
            v = v - out.detach() * self.thresh
            s.append(out)
        return torch.stack(s)


class Network(nn.Module):
    def __init__(self, n_inpt=100, n_middle=64, n_out=4, time=25):
        super().__init__()
        self.time = time
        self.inpt_middle = nn.Linear(n_inpt, n_middle, bias=False)
        self.middle = LIFNodes(n_middle)
        self.middle_out = nn.Linear(n_middle, n_out, bias=False)
        self.out = LIFNodes(n_out)
        nn.init.uniform_(self.inpt_middle.weight, -0.05, 0.2)
        nn.init.uniform_(self.middle_out.weight, -0.1, 0.2)

    def forward(self, spikes):
        s = self.middle(self.inpt_middle(spikes))
        s = self.out(self.middle_out(s))
        return s


class EnvironmentPipeline(nn.Module):
    """Abstracts the interaction between Network and environment."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def bernoulli(self, obs):
        # encode the pixels as Bernoulli spikes, time x batch x pixels
        return torch.bernoulli(obs.flatten(1).clamp(0, 1).repeat(self.network.time, 1, 1))

    def forward(self, obs):
        spike_record = self.network(self.bernoulli(obs))
        return self.select_softmax(spike_record)

    def select_softmax(self, spike_record):
        # Sum of previous iterations' spikes (Not yet implemented)
        spikes = torch.sum(spike_record, dim=0)
        probabilities = torch.softmax(spikes, dim=0)  # here
        return probabilities


def build():
    torch.manual_seed(0)
    return EnvironmentPipeline(Network())


def example_inputs():
    torch.manual_seed(1)
    obs = torch.zeros(1, 10, 10)
    obs[0, 1:3, :] = 0.8
    obs[0, 9, 3:6] = 1.0
    obs[0, 6, 5] = 1.0
    return (obs,)
