"""Policy for decisions with a profit and a cost, where the mean cost has a limit.

Source: https://github.com/openai/safety-starter-agents
Odd: The weight of the cost is trained as well and goes up the gradient while the policy goes down;
    the loss of the policy has no fixed scale and may rise while the behaviour gets better.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(251)
COST_LIMIT = 0.25
profit_map = torch.randn(5, 4)


def outcome(state, action):
    profit = (state @ profit_map).gather(1, action[:, None]).squeeze(1)
    cost = (0.3 * action.float() * torch.sigmoid(2 * state[:, 0])).clamp(max=1)
    return profit + 0.4 * action, cost


actor = nn.Sequential(nn.Linear(5, 48), nn.Tanh(), nn.Linear(48, 4))
penalty_param = nn.Parameter(torch.tensor(-1.0))
pi_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)
penalty_optimizer = torch.optim.Adam([penalty_param], lr=5e-2)


@torch.no_grad()
def evaluate():
    state = torch.randn(3000, 5)
    profit, cost = outcome(state, Categorical(logits=actor(state)).sample())
    return profit.mean().item(), cost.mean().item()


start_profit, _ = evaluate()
for epoch in range(200):
    state = torch.randn(256, 5)
    pi = Categorical(logits=actor(state))
    action = pi.sample()
    profit, cost = outcome(state, action)
    penalty = F.softplus(penalty_param)

    penalty_loss = -penalty_param * (cost.mean() - COST_LIMIT)
    penalty_optimizer.zero_grad()
    penalty_loss.backward()
    penalty_optimizer.step()

    weight = penalty.item()
    gain = (profit - weight * cost) / (1 + weight)
    advantage = (gain - gain.mean()) / (gain.std() + 1e-8)
    pi_loss = -(pi.log_prob(action) * advantage).mean()
    pi_optimizer.zero_grad()
    pi_loss.backward()
    pi_optimizer.step()
    if epoch % 40 == 0:
        print(
            f"epoch {epoch} LossPi {pi_loss.item():.3f} penalty {weight:.3f} "
            f"cost {cost.mean().item():.3f}"
        )
end_profit, end_cost = evaluate()
print(
    f"profit {start_profit:.3f} before, {end_profit:.3f} after; "
    f"cost {end_cost:.3f} with the limit {COST_LIMIT}"
)
