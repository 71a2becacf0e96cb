"""In the style of pytorch/examples/mnist_forward_forward: an optimizer in each layer."""

import itertools
import json

import torch
from torch import nn
from torch.optim import Adam

torch.manual_seed(8)


class Layer(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.relu = nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.02)
        self.threshold = 1.0
        self.num_epochs = 40

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train(self, x_pos, x_neg):
        for i in range(self.num_epochs):
            g_pos = self.forward(x_pos).pow(2).mean(1)
            g_neg = self.forward(x_neg).pow(2).mean(1)
            terms = torch.cat([-g_pos + self.threshold, g_neg - self.threshold])
            loss = torch.log(1 + torch.exp(terms)).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if i % 20 == 0:
                print(f"loss {loss.item():.4f}")
        return self.forward(x_pos).detach(), self.forward(x_neg).detach()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = [Layer(a, b) for a, b in itertools.pairwise(dims)]

    def train(self, x_pos, x_neg):
        h_pos, h_neg = x_pos, x_neg
        for i, layer in enumerate(self.layers):
            print("training layer", i)
            h_pos, h_neg = layer.train(h_pos, h_neg)


net = Net([10, 24, 24])
centers = 2 * torch.randn(2, 8)
labels = torch.randint(2, (128,))
points = centers[labels] + 0.5 * torch.randn(128, 8)
one_hot = nn.functional.one_hot(labels, 2).float()
net.train(torch.cat([one_hot, points], 1), torch.cat([one_hot.flip(1), points], 1))
print("TRUTH", json.dumps({}))
