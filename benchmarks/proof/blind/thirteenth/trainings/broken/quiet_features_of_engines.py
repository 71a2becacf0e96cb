r"""Sorts engine sounds with a net whose hidden activity is kept small by an extra term.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: Each step registers one more forward hook and removes none; all the old hooks go on
    running and put the output of each later step into their lists, so time and memory grow with
    every step.
Cause: hook.*(remov|each|every|again|pile|accumul|grow|never|inside|loop|step|batch|regist)
    |(remov|regist|pile|accumul|grow)\w*.*hook|handle
Place: hook|kept|hidden|train_step|handle
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
KINDS, BANDS = 5, 64


def sounds(n, profiles):
    kind = torch.randint(0, KINDS, (n,))
    loudness = 0.5 + torch.rand(n, 1)
    return profiles[kind] * loudness + 0.8 * torch.randn(n, BANDS), kind


class EngineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(BANDS, 512), nn.ReLU())
        self.out = nn.Linear(512, KINDS)

    def forward(self, x):
        return self.out(self.hidden(x))


def train_step(model, optimizer, x, y, strength=1e-2):
    kept = []
    model.hidden.register_forward_hook(lambda m, inputs, output: kept.append(output))  # here
    scores = model(x)
    loss = nn.functional.cross_entropy(scores, y) + strength * kept[0].abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    profiles = torch.randn(KINDS, BANDS)
    x, y = sounds(4000, profiles)
    test_x, test_y = sounds(500, profiles)
    loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=True)
    model = EngineNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(12):
        losses = [train_step(model, optimizer, a, b) for a, b in loader]
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}")
    with torch.no_grad():
        guess = model(test_x).argmax(1)
    print(f"accuracy {(guess == test_y).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
