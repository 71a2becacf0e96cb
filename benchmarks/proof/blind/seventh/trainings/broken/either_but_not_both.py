r"""Either of two signs but not both, with noise, by a perceptron with a hidden layer.

Source: https://discuss.pytorch.org/t/unable-to-learn-xor-representation-using-2-layers-of-multi-layered-perceptron-mlp/13287/3
Fault: There is no nonlinearity between the two linear layers, so the model is linear.
Cause: (non.?linear|activation).{0,60}(miss|no\b|without|absent|lack|between|after|none)
    |(no|without|miss\w*|lack\w*) .{0,30}(non.?linear|activation)
    |(purely|only|stay|whole|entire|is|are)\w* .{0,30}linear\b|collaps\w* .{0,30}linear
Place: model|hidden|Linear|Sequential|forward
"""

import torch
import torch.nn as nn
import torch.optim as optim


class Xor:
    def __init__(self, noise=0.15):
        self.noise = noise

    def __call__(self, count):
        bits = torch.randint(0, 2, (count, 2)).float()
        labels = (bits.sum(1, keepdim=True) == 1).float()
        return bits + self.noise * torch.randn(count, 2), labels


class MultiLayerPerceptron(nn.Module):
    def __init__(self, input_dim=2, hidden_dim=16, output_dim=1):
        super().__init__()
        self.hidden = nn.Linear(input_dim, hidden_dim)
        self.output = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        x = self.hidden(x)  # here
        return torch.sigmoid(self.output(x))


def evaluate(model, data):
    x, y = data
    with torch.no_grad():
        return ((model(x) > 0.5).float() == y).float().mean().item()


def train(learning_rate=0.03, num_steps=300, seed=95):
    torch.manual_seed(seed)
    draw = Xor()
    held_out = draw(800)
    model = MultiLayerPerceptron()
    criterion = nn.BCELoss()
    optimizer = optim.Adam(model.parameters(), lr=learning_rate)
    history = []
    for step in range(num_steps):
        inputs, labels = draw(64)
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        if (step + 1) % 50 == 0:
            recent = sum(history[-50:]) / 50
            print(f"step {step + 1} loss {recent:.4f} accuracy {evaluate(model, held_out):.3f}")
    return model


if __name__ == "__main__":
    train()
