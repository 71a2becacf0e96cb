r"""Tells the variety of a wheat kernel from seven measures of its shape.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
Fault: NLLLoss expects log-probabilities, but the net ends in a plain linear layer and gives raw
    scores; the loss can then be lowered without end by making the scores large, it falls far
    below zero and the classes are not told apart as they should be.
Cause: log[- _]?softmax|log[- _]?probabilit|raw (score|output|logit)|nll[ _]?loss
    |unnormali[sz]ed|(gets?|given|receiv\w*|fed|are|on|of|takes?) (raw |plain )?logits
Place: criterion|head|forward|KernelNet
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VARIETIES = ["kama", "rosa", "canadian"]


def kernels(n, generator):
    label = torch.randint(0, 3, (n,), generator=generator)
    area = torch.tensor([14.3, 18.3, 11.9])[label]
    area = area + torch.randn(n, generator=generator) * 1.2
    perimeter = 4.2 * area.sqrt() * 0.9 + torch.randn(n, generator=generator) * 0.2
    compact = 12.6 * area / perimeter ** 2
    length = torch.tensor([5.5, 6.1, 5.2])[label] + torch.randn(n, generator=generator) * 0.25
    width = area / length * 1.25
    skew = torch.tensor([2.7, 3.6, 4.8])[label] + torch.randn(n, generator=generator) * 1.2
    groove = torch.tensor([5.1, 6.0, 5.1])[label] + torch.randn(n, generator=generator) * 0.25
    return torch.stack([area, perimeter, compact, length, width, skew, groove], 1), label


class KernelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, len(VARIETIES))

    def forward(self, x):
        return self.head(self.body(x))


def main():
    torch.manual_seed(11)
    generator = torch.Generator().manual_seed(5)
    x, y = kernels(900, generator)
    mean, std = x[:700].mean(0), x[:700].std(0)
    x = (x - mean) / std
    loader = DataLoader(TensorDataset(x[:700], y[:700]), batch_size=32, shuffle=True)

    model = KernelNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.NLLLoss()  # here
    for epoch in range(20):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}")

    with torch.no_grad():
        guess = model(x[700:]).argmax(1)
    print(f"held-out accuracy: {(guess == y[700:]).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
