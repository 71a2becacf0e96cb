r"""Actor-critic on a contextual bandit, with a bonus for the entropy of the policy.

Source: https://github.com/nebuly-ai/optimate/pull/250
Fault: The entropy is added to the loss instead of subtracted, so the policy is pushed to certainty
    and settles on a poor arm before it explores.
Cause: entropy.*(sign|added|plus|minimi|penal|subtract)|sign.*entropy|(collapse|determinis).*entropy
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(4)


class ActorCritic(nn.Module):
    def __init__(self, n_states=6, n_arms=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_states, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, n_arms), nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


arms = torch.rand(6, 10)
agent = ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
beta_s = 0.2
for update in range(200):
    state = torch.randint(0, 6, (64,))
    dist, value = agent(nn.functional.one_hot(state, 6).float())
    action = dist.sample()
    rewards = arms[state, action]
    advantage = rewards - value
    entropies = dist.entropy()
    policy_loss = -dist.log_prob(action) * advantage.detach()
    loss = (policy_loss + beta_s * entropies).mean() + 0.5 * advantage.pow(2).mean()  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 40 == 39:
        regret = (arms.max(1).values[state] - rewards).mean()
        print(f"{update} regret {regret:.3f} entropy {entropies.mean():.3f} loss {loss.item():.3f}")
