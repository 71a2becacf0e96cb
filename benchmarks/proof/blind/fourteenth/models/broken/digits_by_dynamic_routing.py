r"""A capsule network for small grey digits with routing by agreement and a reconstruction part.

Source: https://github.com/jindongwang/Pytorch-CapsuleNet/issues/21
Fault: the squashing function sums the squares over the last dimension, which has the size 1 for
    the digit capsules; each entry is squashed by itself instead of each vector by its length, and
    the lengths of the capsules are not bounded by 1.
Cause: (squash|squared_norm|norm|length).{0,100}(last (dim|axis)|dim(ension)?.{0,12}(-1
    |size (of )?1|one entry|of 1|singleton)|singleton|wrong (dim|axis)|size (of )?1|single (entry
    |element|value))|(last|singleton|size.?1|trivial|length.?1).{0,30}(dim|axis).{0,80}(squash|norm
    |sum|reduc)|(each|every) (entry|element|component|coordinate|number|value).{0,60}(itself|alone
    |separately|own|independ|instead)|(squash|norm|sum|reduc|length).{0,80}(element|entry
    |component).?wise|(element|entry|component).?wise.{0,80}(squash|norm|sum|reduc)|(sum|reduc|mean
    |norm).{0,60}(dim|axis).{0,20}(of|with|has) (size|length) (1|one)|(length|norm).{0,60}(exceed
    |above|more than|greater than|not bounded|over|larger than) ?(1|one)
Place: squash|squared_norm|DigitCaps
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvLayer(nn.Module):
    def __init__(self, in_channels=1, out_channels=32, kernel_size=5):
        super(ConvLayer, self).__init__()

        self.conv = nn.Conv2d(in_channels=in_channels,
                              out_channels=out_channels,
                              kernel_size=kernel_size,
                              stride=1
                              )

    def forward(self, x):
        return F.relu(self.conv(x))


class PrimaryCaps(nn.Module):
    def __init__(self, num_capsules=8, in_channels=32, out_channels=8, kernel_size=5,
                 num_routes=8 * 4 * 4):
        super(PrimaryCaps, self).__init__()
        self.num_routes = num_routes
        self.capsules = nn.ModuleList([
            nn.Conv2d(in_channels=in_channels, out_channels=out_channels,
                      kernel_size=kernel_size, stride=2, padding=0)
            for _ in range(num_capsules)])

    def forward(self, x):
        u = [capsule(x) for capsule in self.capsules]
        u = torch.stack(u, dim=4)
        u = u.view(x.size(0), self.num_routes, -1)
        return self.squash(u)

    def squash(self, input_tensor):
        squared_norm = (input_tensor ** 2).sum(-1, keepdim=True)
        output_tensor = squared_norm * input_tensor / (
            (1. + squared_norm) * torch.sqrt(squared_norm))
        return output_tensor


class DigitCaps(nn.Module):
    def __init__(self, num_capsules=10, num_routes=8 * 4 * 4, in_channels=8, out_channels=16):
        super(DigitCaps, self).__init__()

        self.in_channels = in_channels
        self.num_routes = num_routes
        self.num_capsules = num_capsules

        self.W = nn.Parameter(torch.randn(1, num_routes, num_capsules, out_channels, in_channels))

    def forward(self, x):
        batch_size = x.size(0)
        x = torch.stack([x] * self.num_capsules, dim=2).unsqueeze(4)

        W = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(W, x)

        b_ij = torch.zeros(1, self.num_routes, self.num_capsules, 1)

        num_iterations = 3
        for iteration in range(num_iterations):
            c_ij = F.softmax(b_ij, dim=2)
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)

            s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)
            v_j = self.squash(s_j)

            if iteration < num_iterations - 1:
                a_ij = torch.matmul(u_hat.transpose(3, 4),
                                    torch.cat([v_j] * self.num_routes, dim=1))
                b_ij = b_ij + a_ij.squeeze(4).mean(dim=0, keepdim=True)

        return v_j.squeeze(1)

    def squash(self, input_tensor):
        squared_norm = (input_tensor ** 2).sum(-1, keepdim=True)  # here
        output_tensor = squared_norm * input_tensor / (
            (1. + squared_norm) * torch.sqrt(squared_norm))
        return output_tensor


class Decoder(nn.Module):
    def __init__(self, input_width=16, input_height=16, input_channel=1):
        super(Decoder, self).__init__()
        self.input_width = input_width
        self.input_height = input_height
        self.input_channel = input_channel
        self.reconstraction_layers = nn.Sequential(
            nn.Linear(16 * 10, 128),
            nn.ReLU(inplace=True),
            nn.Linear(128, 256),
            nn.ReLU(inplace=True),
            nn.Linear(256, self.input_height * self.input_width * self.input_channel),
            nn.Sigmoid()
        )

    def forward(self, x):
        classes = torch.sqrt((x ** 2).sum(2))
        classes = F.softmax(classes, dim=1)

        _, max_length_indices = classes.max(dim=1)
        masked = torch.eye(10)
        masked = masked.index_select(dim=0, index=max_length_indices.squeeze(1).data)
        t = (x * masked[:, :, None, None]).view(x.size(0), -1)
        reconstructions = self.reconstraction_layers(t)
        reconstructions = reconstructions.view(-1, self.input_channel, self.input_width,
                                               self.input_height)
        return reconstructions, masked


class CapsNet(nn.Module):
    def __init__(self):
        super(CapsNet, self).__init__()
        self.conv_layer = ConvLayer()
        self.primary_capsules = PrimaryCaps()
        self.digit_capsules = DigitCaps()
        self.decoder = Decoder()
        self.mse_loss = nn.MSELoss()

    def forward(self, data, target):
        output = self.digit_capsules(self.primary_capsules(self.conv_layer(data)))
        reconstructions, masked = self.decoder(output)
        return self.loss(data, output, target, reconstructions)

    def loss(self, data, x, target, reconstructions):
        return self.margin_loss(x, target) + self.reconstruction_loss(data, reconstructions)

    def margin_loss(self, x, labels):
        batch_size = x.size(0)
        v_c = torch.sqrt((x ** 2).sum(dim=2, keepdim=True))
        left = F.relu(0.9 - v_c).view(batch_size, -1) ** 2
        right = F.relu(v_c - 0.1).view(batch_size, -1) ** 2

        loss = labels * left + 0.5 * (1.0 - labels) * right
        loss = loss.sum(dim=1).mean()
        return loss

    def reconstruction_loss(self, data, reconstructions):
        loss = self.mse_loss(reconstructions.view(reconstructions.size(0), -1),
                             data.view(reconstructions.size(0), -1))
        return loss * 0.0005


def build():
    torch.manual_seed(0)
    return CapsNet()


def example_inputs():
    torch.manual_seed(1)
    labels = torch.arange(20) % 10
    prototypes = torch.rand(10, 1, 16, 16)
    data = (prototypes[labels] + 0.1 * torch.randn(20, 1, 16, 16)).clamp(0, 1)
    return data, torch.eye(10)[labels]
