r"""Policy gradient with large rewards; the gradient norm of the policy should be clipped.

Source: https://github.com/google-deepmind/open_spiel/issues/827
Fault: The update of the policy clips the gradients of the value head, which has none of its own at
    that point, so the policy takes huge steps and collapses onto a bad action.
Cause: clip.*(value|critic|baseline|wrong)|(policy|pi_network|actor).*(not|never|un).?clip
Place: policy|pi_network|pi
"""

import torch
from torch import nn
from torch.distributions import Categorical


class PolicyGradient:
    def __init__(self, n_states=6, n_actions=8, max_global_gradient_norm=0.5):
        self.pi_network = nn.Sequential(
            nn.Linear(n_states, 32), nn.Tanh(), nn.Linear(32, n_actions)
        )
        self.baseline = nn.Sequential(nn.Linear(n_states, 32), nn.Tanh(), nn.Linear(32, 1))
        self.pi_optimizer = torch.optim.SGD(self.pi_network.parameters(), lr=0.5)
        self.critic_optimizer = torch.optim.Adam(self.baseline.parameters(), lr=1e-2)
        self.max_norm = max_global_gradient_norm

    def act(self, obs):
        dist = Categorical(logits=self.pi_network(obs))
        return dist, dist.sample()

    def learn(self, obs, dist, action, reward):
        value = self.baseline(obs).squeeze(1)
        critic_loss = (value - reward).pow(2).mean()
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        pi_loss = -(dist.log_prob(action) * (reward - value.detach())).mean()
        self.pi_optimizer.zero_grad()
        pi_loss.backward()
        nn.utils.clip_grad_norm_(self.baseline.parameters(), self.max_norm)  # here
        self.pi_optimizer.step()
        return nn.utils.get_total_norm([p.grad for p in self.pi_network.parameters()])


torch.manual_seed(0)
payoff = 100 * torch.rand(6, 8)
agent = PolicyGradient()
for update in range(200):
    state = torch.randint(0, 6, (32,))
    obs = nn.functional.one_hot(state, 6).float()
    dist, action = agent.act(obs)
    reward = payoff[state, action]
    norm = agent.learn(obs, dist, action, reward)
    if update % 40 == 39 or update == 0:
        regret = (payoff[state].max(1).values - reward).mean().item()
        print(f"update {update} regret {regret:.2f} gradient norm of the policy {norm:.2f}")
