r"""A capsule network with dynamic routing, as in a widely read tutorial.

Source: https://github.com/higgsfield/Capsule-Network-Tutorial/issues/7
Fault: the coupling coefficients are a softmax over dim 1, the input capsules (routes), and not over
    dim 2, the output capsules; an input capsule does not share itself out among the outputs, and
    each output takes the mean of all inputs.
Cause: softmax.*(dim(ension)?|axis|over|wrong|route|input|output|capsule)
    |(dim(ension)?|axis).*softmax|coupling.*(sum|wrong|normali[sz]|route|input|output)
    |(normali[sz]ed|normali[sz]ation|sum to one).*(route|input|output|wrong|capsule|dim|axis)
Place: c_ij|b_ij|routing|DigitCaps|softmax|digit_caps
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvLayer(nn.Module):
    def __init__(self, in_channels=1, out_channels=32, kernel_size=5):
        super(ConvLayer, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size=kernel_size, stride=1)

    def forward(self, x):
        return F.relu(self.conv(x))


class PrimaryCaps(nn.Module):
    def __init__(self, num_capsules=8, in_channels=32, out_channels=4, kernel_size=5):
        super(PrimaryCaps, self).__init__()
        self.capsules = nn.ModuleList([
            nn.Conv2d(in_channels, out_channels, kernel_size=kernel_size, stride=2, padding=0)
            for _ in range(num_capsules)])

    def forward(self, x):
        u = [capsule(x) for capsule in self.capsules]
        u = torch.stack(u, dim=1)
        u = u.view(x.size(0), u.size(1), -1).transpose(1, 2)
        return self.squash(u)

    def squash(self, input_tensor):
        squared_norm = (input_tensor ** 2).sum(-1, keepdim=True)
        return squared_norm * input_tensor / ((1. + squared_norm) * torch.sqrt(squared_norm + 1e-9))


class DigitCaps(nn.Module):
    def __init__(self, num_capsules=5, num_routes=4 * 4 * 4, in_channels=8, out_channels=12):
        super(DigitCaps, self).__init__()
        self.in_channels = in_channels
        self.num_routes = num_routes
        self.num_capsules = num_capsules
        self.W = nn.Parameter(
            0.3 * torch.randn(1, num_routes, num_capsules, out_channels, in_channels))

    def forward(self, x):
        batch_size = x.size(0)
        x = torch.stack([x] * self.num_capsules, dim=2).unsqueeze(4)
        W = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(W, x)

        b_ij = torch.zeros(1, self.num_routes, self.num_capsules, 1)

        num_iterations = 3
        for iteration in range(num_iterations):
            c_ij = F.softmax(b_ij, dim=1)  # here
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)

            s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)
            v_j = self.squash(s_j)

            if iteration < num_iterations - 1:
                a_ij = torch.matmul(u_hat.transpose(3, 4),
                                    torch.cat([v_j] * self.num_routes, dim=1))
                b_ij = b_ij + a_ij.squeeze(4).mean(dim=0, keepdim=True)
        return v_j.squeeze(1)

    def squash(self, input_tensor):
        squared_norm = (input_tensor ** 2).sum(3, keepdim=True)
        return squared_norm * input_tensor / ((1. + squared_norm) * torch.sqrt(squared_norm + 1e-9))


class CapsNet(nn.Module):
    def __init__(self):
        super(CapsNet, self).__init__()
        self.conv_layer = ConvLayer()
        self.primary_capsules = PrimaryCaps()
        self.digit_capsules = DigitCaps()

    def forward(self, data):
        output = self.digit_capsules(self.primary_capsules(self.conv_layer(data)))
        return torch.sqrt((output ** 2).sum(dim=2) + 1e-9).squeeze(-1)

    def margin_loss(self, v_c, labels):
        labels = torch.eye(v_c.size(1))[labels]
        left = F.relu(0.9 - v_c) ** 2
        right = F.relu(v_c - 0.1) ** 2
        loss = labels * left + 0.5 * (1.0 - labels) * right
        return loss.sum(dim=1).mean()


def make_digits(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 5, (n,), generator=g)
    x = 0.15 * torch.randn(n, 1, 16, 16, generator=g)
    for i in range(n):
        r, c = torch.randint(2, 5, (2,), generator=g).tolist()
        k = int(y[i])
        if k in (0, 2, 3):
            x[i, 0, r:r + 2, c:c + 9] += 1.0
        if k in (1, 2, 4):
            x[i, 0, r:r + 9, c:c + 2] += 1.0
        if k in (3, 4):
            x[i, 0, r + 7:r + 9, c:c + 9] += 1.0
    return x, y


def build():
    torch.manual_seed(0)
    return CapsNet()


def example_inputs():
    return (make_digits(6)[0],)
