r"""Actor and critic of a soft actor-critic for a running cheetah.

Source: https://github.com/thu-ml/tianshou/issues/98
Fault: The mean of the Gaussian is squashed by a tanh although the sampled action is squashed by a
    tanh again, so the mean action never passes tanh(1).
Cause: tanh.{0,120}(twice|again|two|double|redundant|mean|mu\b|already|superfluous|needless|unnecessary|bounded|limits?|second)
    |(twice|double|doubly|already).{0,80}(tanh|squash\w*)|(mean|mu\b).{0,100}(squash\w*|bounded|tanh|limited|between -1|clipped|restricted|unbounded)
    |(action|policy).{0,80}(never reach|cannot reach|can't reach|0\.76)
Place: \bmu\b|tanh|ActorProb|actor\b
"""

import torch
from torch import nn
from torch.distributions import Independent, Normal


class ActorProb(nn.Module):
    def __init__(self, state, action, hidden=64, layers=2):
        super().__init__()
        model = [nn.Linear(state, hidden), nn.ReLU()]
        for _ in range(layers - 1):
            model += [nn.Linear(hidden, hidden), nn.ReLU()]
        self.model = nn.Sequential(*model)
        self.mu, self.sigma = nn.Linear(hidden, action), nn.Linear(hidden, action)

    def forward(self, s):
        logits = self.model(s)
        mu = torch.tanh(self.mu(logits))  # here
        sigma = torch.exp(self.sigma(logits).clamp(-20, 2))
        return mu, sigma


class Critic(nn.Module):
    def __init__(self, state, action, hidden=64):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(state + action, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, s, a):
        return self.model(torch.cat((s, a), 1))


class SoftPolicy(nn.Module):
    def __init__(self, state=17, action=6):
        super().__init__()
        self.actor = ActorProb(state, action)
        self.critic1, self.critic2 = Critic(state, action), Critic(state, action)
        self.eps = 1e-6

    def forward(self, s):
        mu, sigma = self.actor(s)
        dist = Independent(Normal(mu, sigma), 1)
        x = dist.rsample() if self.training else mu
        y = torch.tanh(x)
        correction = torch.log(1 - y.square() + self.eps).sum(-1)
        log_prob = (dist.log_prob(x) - correction).unsqueeze(1)
        q = torch.min(self.critic1(s, y), self.critic2(s, y))
        return y, log_prob, q


def build():
    return SoftPolicy()


def example_inputs():
    return (torch.randn(32, 17),)
