r"""Recurrent memory of a world model that predicts a mixture of Gaussians for the next latent.

Source: https://github.com/ctallec/world-models/issues/10
Fault: The mixture weights are normalised over the samples of the batch, not over the Gaussians.
Cause: softmax .*(dim|axis|batch|samples?|over)|normalis\w* (over|along|across) .*(batch|samples?)
    |(dim|axis)\W* ?-2|batch (dim|axis)|(mix|depend)\w* .*(batch|samples?)
Place: \blogpi\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class MDRNN(nn.Module):
    def __init__(self, latents=8, actions=3, hiddens=32, gaussians=5):
        super().__init__()
        self.latents, self.gaussians = latents, gaussians
        self.rnn = nn.LSTM(latents + actions, hiddens)
        stride = 2 * latents * gaussians + gaussians + 2
        self.gmm_linear = nn.Linear(hiddens, stride)

    def forward(self, actions, latents):
        seq_len, bs = actions.size(0), actions.size(1)
        outs, _ = self.rnn(torch.cat([actions, latents], dim=-1))
        gmm_outs = self.gmm_linear(outs)
        stride = self.gaussians * self.latents

        mus = gmm_outs[:, :, :stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = gmm_outs[:, :, stride : 2 * stride].view_as(mus).exp()
        pi = gmm_outs[:, :, 2 * stride : 2 * stride + self.gaussians]
        pi = pi.view(seq_len, bs, self.gaussians)
        logpi = F.log_softmax(pi, dim=-2)  # here
        rewards, dones = gmm_outs[:, :, -2], gmm_outs[:, :, -1]
        return mus, sigmas, logpi, rewards, dones


def build():
    return MDRNN()


def example_inputs():
    return torch.randn(10, 6, 3), torch.randn(10, 6, 8)
