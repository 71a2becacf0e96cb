r"""Soft actor of a pendulum whose torque goes from minus two to two.

Source: https://github.com/philtabor/Actor-Critic-Methods-Paper-To-Code/issues/7
Fault: The correction of the log-probability uses the action after it was scaled, so one minus
    its square becomes negative and the logarithm is not a number.
Cause: (scal\w*|max_action|rescal\w*|multipl\w*|bound).{0,140}(log\w*|square\w*|correct\w*|nan
    |negative|jacobian|1 ?-)|log\w*.{0,80}(negative|nan|not a number)|(negative
    |nan).{0,60}log\w*|1 ?- ?action.{0,60}(negative|scal\w*)|\bnan\b|un-?scaled
Place: action\w*|log\w*|max_action|scale\w*|forward|sample
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal


class ActorNetwork(nn.Module):
    def __init__(self, inputs, actions, max_action, hidden=64):
        super().__init__()
        self.max_action, self.reparam_noise = max_action, 1e-6
        self.fc1, self.fc2 = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)
        self.mu, self.sigma = nn.Linear(hidden, actions), nn.Linear(hidden, actions)

    def forward(self, state):
        prob = F.relu(self.fc2(F.relu(self.fc1(state))))
        mu = self.mu(prob)
        sigma = torch.clamp(self.sigma(prob), min=self.reparam_noise, max=1)
        probabilities = Normal(mu, sigma)
        actions = probabilities.rsample()
        action = torch.tanh(actions) * self.max_action  # here
        log_probs = probabilities.log_prob(actions)
        log_probs = log_probs - torch.log(1 - action.pow(2) + self.reparam_noise)  # here
        return action, log_probs.sum(1, keepdim=True)


class CriticNetwork(nn.Module):
    def __init__(self, inputs, actions, hidden=64):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inputs + actions, hidden), nn.Linear(hidden, hidden)
        self.q = nn.Linear(hidden, 1)

    def forward(self, state, action):
        x = F.relu(self.fc1(torch.cat([state, action], 1)))
        return self.q(F.relu(self.fc2(x)))


class Pendulum(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = ActorNetwork(3, 1, max_action=2.0)
        self.critic1, self.critic2 = CriticNetwork(3, 1), CriticNetwork(3, 1)

    def forward(self, state):
        action, log_probs = self.actor(state)
        q = torch.min(self.critic1(state, action), self.critic2(state, action))
        return (log_probs - q).mean()


def build():
    return Pendulum()


def example_inputs():
    return (torch.randn(64, 3),)
