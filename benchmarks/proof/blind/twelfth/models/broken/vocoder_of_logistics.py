r"""A small WaveNet with dilated gated convolutions and a discretized mixture of logistics as loss.

Source: https://github.com/r9y9/wavenet_vocoder/issues/34
Fault: The log-probabilities are summed over the mixture components before the log mixture weights
    are added, so each component gets the product of all the densities and not its own.
Cause: sum\w*.{0,140}(mixture|component|before|prior|weights?|dim ?=? ?-1|last dim|logsumexp
    |product)
    |(product|joint) .{0,60}(component|mixture|densit|probab)
    |(each|every) (component|mixture).{0,80}(same|sum|all|own)
    |mixture .{0,60}(collapse|multipl|not (a|real) mixture|wrong dim)
Place: discretized_mix_logistic_loss|log_probs|sum
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def log_sum_exp(x):
    axis = len(x.size()) - 1
    m, _ = torch.max(x, dim=axis)
    m2, _ = torch.max(x, dim=axis, keepdim=True)
    return m + torch.log(torch.sum(torch.exp(x - m2), dim=axis))


def discretized_mix_logistic_loss(y_hat, y, num_classes=256, log_scale_min=-7.0):
    """y_hat: B x C x T, y: B x T x 1"""
    assert y_hat.dim() == 3
    assert y_hat.size(1) % 3 == 0
    nr_mix = y_hat.size(1) // 3

    # (B x T x C)
    y_hat = y_hat.transpose(1, 2)

    # unpack parameters. (B, T, num_mixtures) x 3
    logit_probs = y_hat[:, :, :nr_mix]
    means = y_hat[:, :, nr_mix:2 * nr_mix]
    log_scales = torch.clamp(y_hat[:, :, 2 * nr_mix:3 * nr_mix], min=log_scale_min)

    # B x T x 1 -> B x T x num_mixtures
    y = y.expand_as(means)

    centered_y = y - means
    inv_stdv = torch.exp(-log_scales)
    plus_in = inv_stdv * (centered_y + 1. / (num_classes - 1))
    cdf_plus = torch.sigmoid(plus_in)
    min_in = inv_stdv * (centered_y - 1. / (num_classes - 1))
    cdf_min = torch.sigmoid(min_in)

    log_cdf_plus = plus_in - F.softplus(plus_in)
    log_one_minus_cdf_min = -F.softplus(min_in)
    cdf_delta = cdf_plus - cdf_min
    mid_in = inv_stdv * centered_y
    log_pdf_mid = mid_in - log_scales - 2. * F.softplus(mid_in)

    inner_inner_cond = (cdf_delta > 1e-5).float()
    inner_inner_out = inner_inner_cond * torch.log(torch.clamp(cdf_delta, min=1e-12)) + \
        (1. - inner_inner_cond) * (log_pdf_mid - torch.log(torch.tensor((num_classes - 1) / 2.)))
    inner_cond = (y > 0.999).float()
    inner_out = inner_cond * log_one_minus_cdf_min + (1. - inner_cond) * inner_inner_out
    cond = (y < -0.999).float()
    log_probs = cond * log_cdf_plus + (1. - cond) * inner_out

    log_probs = torch.sum(log_probs, dim=-1, keepdim=True) + F.log_softmax(logit_probs, -1)  # here
    return -torch.mean(log_sum_exp(log_probs))


class ResidualConv1dGLU(nn.Module):
    def __init__(self, residual, gate, skip, kernel_size, dilation):
        super().__init__()
        self.padding = (kernel_size - 1) * dilation
        self.conv = nn.Conv1d(residual, gate, kernel_size, dilation=dilation, padding=self.padding)
        self.conv1x1_out = nn.Conv1d(gate // 2, residual, 1)
        self.conv1x1_skip = nn.Conv1d(gate // 2, skip, 1)

    def forward(self, x):
        residual = x
        x = self.conv(x)[:, :, :residual.size(-1)]
        a, b = x.chunk(2, dim=1)
        x = torch.tanh(a) * torch.sigmoid(b)
        s = self.conv1x1_skip(x)
        x = (self.conv1x1_out(x) + residual) * 0.5 ** 0.5
        return x, s


class WaveNet(nn.Module):
    def __init__(self, out_channels=9, layers=6, stacks=2, residual=24, gate=48, skip=24):
        super().__init__()
        per_stack = layers // stacks
        self.first_conv = nn.Conv1d(1, residual, 1)
        self.conv_layers = nn.ModuleList([
            ResidualConv1dGLU(residual, gate, skip, 3, 2 ** (i % per_stack))
            for i in range(layers)])
        self.last_conv_layers = nn.Sequential(
            nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, out_channels, 1))

    def forward(self, x, y):
        """x: B x 1 x T, y: B x T x 1"""
        x = self.first_conv(x)
        skips = 0
        for f in self.conv_layers:
            x, h = f(x)
            skips = skips + h
        y_hat = self.last_conv_layers(skips)
        return discretized_mix_logistic_loss(y_hat, y)


def build():
    torch.manual_seed(0)
    return WaveNet()


def example_inputs():
    torch.manual_seed(1)
    t = torch.arange(65).float()
    f = torch.rand(4, 1) * 0.5 + 0.1
    wave = 0.7 * torch.sin(f * t) + 0.05 * torch.randn(4, 65)
    return wave[:, None, :-1].contiguous(), wave[:, 1:, None].contiguous()
