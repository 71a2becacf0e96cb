r"""Sets three valves of a brewery by a policy gradient with a normal for each valve.

Source: https://docs.pytorch.org/docs/stable/distributions.html
Fault: Independent takes two dimensions as parts of one event, the valves and also the batch, so
    the log-probability is one number for the whole batch; every action gets the mean advantage,
    which is about zero, and the policy does not learn which action was good.
Cause: independent|reinterpreted|batch.*(event|sum|dimension|one number|scalar|single)
    |log[- _]?prob.*(scalar|one number|single|summed|whole batch|all)|event dim
Place: dist|Independent|policy|log_prob|forward
"""
import torch
from torch import nn
from torch.distributions import Independent, Normal

torch.manual_seed(36)
SENSORS, VALVES = 6, 3


def brew(sensors, valves, recipe):
    wanted = torch.tanh(sensors @ recipe)
    return -((valves - wanted) ** 2).sum(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(
            nn.Linear(SENSORS, 48), nn.Tanh(), nn.Linear(48, VALVES), nn.Tanh()
        )
        self.log_std = nn.Parameter(torch.full((VALVES,), -0.7))

    def forward(self, sensors):
        mean = self.mean(sensors)
        return Independent(Normal(mean, self.log_std.exp().expand_as(mean)), 2)  # here


def main(batches=800):
    recipe = torch.randn(SENSORS, VALVES) * 0.7
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for step in range(batches):
        sensors = torch.randn(128, SENSORS)
        dist = policy(sensors)
        valves = dist.sample()
        gain = brew(sensors, valves, recipe)
        advantage = (gain - gain.mean()) / (gain.std() + 1e-6)
        loss = -(dist.log_prob(valves) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 199:
            print(f"batch {step + 1}: gain {gain.mean().item():.3f}")
    sensors = torch.randn(1000, SENSORS)
    with torch.no_grad():
        best = brew(sensors, policy.mean(sensors), recipe).mean().item()
        closed = brew(sensors, torch.zeros(1000, VALVES), recipe).mean().item()
    print(f"gain of the mean action {best:.3f}, of valves in the middle {closed:.3f}")


if __name__ == "__main__":
    main()
