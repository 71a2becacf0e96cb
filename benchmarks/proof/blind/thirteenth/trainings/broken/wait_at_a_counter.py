r"""Predicts how long a visitor waits at a counter from the hour and the staff that is there.

Source: https://docs.pytorch.org/docs/stable/distributions.html
Fault: Exponential takes the rate, which is one over the mean, but gets what the net gives as the
    mean wait; the likelihood is then fitted with the inverse, and the numbers that are reported
    as minutes are really visitors per minute.
Cause: exponential.*(rate|mean|inverse|expects)|inverse|reciprocal|1 ?/|one over
    |\brate\b.*(mean|instead|parameter|exponential)|mean.*\brate\b
Place: Exponential|minutes|mean|wait|dist
"""
import torch
from torch import nn
from torch.distributions import Exponential
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(12)


def visits(n):
    hour = torch.rand(n) * 9 + 8
    staff = torch.randint(1, 5, (n,)).float()
    rain = (torch.rand(n) < 0.3).float()
    crowd = 1 + torch.exp(-((hour - 12) ** 2) / 4) * 2 + 0.5 * rain
    mean = 6 * crowd / staff
    waited = -mean * torch.log(1 - torch.rand(n))
    inputs = torch.stack([(hour - 12) / 3, staff - 2.5, rain], dim=1)
    return inputs, waited, mean


class WaitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
        )

    def forward(self, x):
        return nn.functional.softplus(self.net(x)).squeeze(1) + 1e-4


inputs, waited, mean = visits(3000)
train, test = random_split(TensorDataset(inputs, waited, mean), [2400, 600])
loader = DataLoader(train, batch_size=60, shuffle=True)

model = WaitNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    total = 0.0
    for x, t, _ in loader:
        minutes = model(x)
        loss = -Exponential(minutes).log_prob(t).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: negative log-likelihood {total / len(loader):.4f}")

x, t, truth = test[:]
with torch.no_grad():
    minutes = model(x)
print(f"mean wait predicted {minutes.mean().item():.2f}, observed {t.mean().item():.2f}")
print(f"error of the expected wait: {(minutes - truth).abs().mean().item():.2f} minutes")
