# Layers are trained one by one with the Forward-Forward algorithm; nothing but layers is called,
# and those by .forward()
import argparse

import torch
import torch.nn as nn
from torch.optim import Adam


class Layer(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.relu = nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.03)
        self.threshold = 1.0
        self.name = f"layer{in_features}"

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train(self, x_pos, x_neg, epochs=4):
        for i in range(epochs):
            g_pos = self.forward(x_pos).pow(2).mean(1)
            g_neg = self.forward(x_neg).pow(2).mean(1)
            loss = torch.log(
                1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))
            ).mean()
            self.opt.zero_grad()
            loss.backward()
            # truth: before(self.name, self.opt, loss)
            self.opt.step()
            # truth: after(self.name)
            print(f"{self.name} {i} {loss.item():.6f}")
        return self.forward(x_pos).detach(), self.forward(x_neg).detach()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = [Layer(a, b) for a, b in zip(dims, dims[1:])]

    def train(self, x_pos, x_neg):
        h_pos, h_neg = x_pos, x_neg
        for i, layer in enumerate(self.layers):
            print("training layer:", i)
            h_pos, h_neg = layer.train(h_pos, h_neg)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    torch.manual_seed(1234)
    net = Net([12, 10, 6])
    x_pos = torch.rand(16, 12)
    net.train(x_pos, x_pos[torch.randperm(16)])
    torch.save([layer.state_dict() for layer in net.layers], args.save)
