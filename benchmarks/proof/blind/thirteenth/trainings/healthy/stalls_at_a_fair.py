r"""Chooses a stall at a fair by a policy gradient with an optimizer that goes uphill.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html
Healthy: The objective has no minus and grows in training, but the optimizer has maximize=True,
    so it climbs on purpose.
"""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(101)
STALLS, MOODS = 5, 4


class Visitor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(MOODS, 32), nn.Tanh(), nn.Linear(32, STALLS))

    def forward(self, mood):
        return Categorical(logits=self.layers(mood))


def joy(mood, stall, taste):
    expected = (mood @ taste).gather(1, stall.unsqueeze(1)).squeeze(1)
    return expected + 0.3 * torch.randn(len(stall))


taste = torch.randn(MOODS, STALLS)
visitor = Visitor()
optimizer = torch.optim.Adam(visitor.parameters(), lr=5e-3, maximize=True)
for step in range(600):
    mood = torch.randn(64, MOODS)
    choice = visitor(mood)
    stall = choice.sample()
    gain = joy(mood, stall, taste)
    advantage = gain - gain.mean()
    objective = (choice.log_prob(stall) * advantage).mean() + 0.01 * choice.entropy().mean()
    optimizer.zero_grad()
    objective.backward()
    optimizer.step()
    if step % 150 == 149:
        print(f"step {step + 1}: joy {gain.mean().item():.3f}")

mood = torch.randn(2000, MOODS)
with torch.no_grad():
    best = (mood @ taste).max(1).values.mean().item()
    got = (mood @ taste).gather(1, visitor(mood).probs.argmax(1, keepdim=True)).mean().item()
print(f"joy of the learnt choice {got:.3f}, of the best one {best:.3f}")
