r"""Q-values of a lander from a value and an advantage branch.

Source: https://github.com/tqjxlm/Simple-DQN-Pytorch/issues/1
Fault: The mean of the values over the batch is subtracted instead of the mean of the advantages
    over the actions of each state.
Cause: \b(mean|average|subtract\w*|centr\w*|center\w*)\b.{0,80}(values?\b|\bval\b|batch|wrong)
    |val(ue)?\.mean|(adv\w*).{0,80}(not (centr|center|subtract)\w*|never (centr|center)\w*
    |mean|identif\w*)|(mix\w*|depend\w*|leak\w*|coupl\w*).{0,50}(batch|samples|states)
Place: val\w*|adv\w*|mean|forward|\bq\b|return
"""

import torch
from torch import nn


class Branches(nn.Module):
    def __init__(self, observations=8, actions=4, hidden=64):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(observations, hidden), nn.ReLU())
        self.adv1, self.adv2 = nn.Linear(hidden, hidden), nn.Linear(hidden, actions)
        self.val1, self.val2 = nn.Linear(hidden, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        x = self.shared(x)
        adv = self.adv2(torch.relu(self.adv1(x)))
        val = self.val2(torch.relu(self.val1(x)))
        return val + adv - val.mean()  # here


class Lander(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = Branches()
        self.target = Branches()
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)

    def forward(self, now, action, reward, after, done):
        q = self.online(now).gather(1, action.unsqueeze(1)).squeeze(1)
        best = self.online(after).argmax(1, keepdim=True)
        future = self.target(after).gather(1, best).squeeze(1)
        goal = reward + 0.99 * (1 - done) * future
        return nn.functional.smooth_l1_loss(q, goal.detach())


def build():
    return Lander()


def example_inputs():
    states = torch.randn(2, 16, 8)
    action, done = torch.randint(0, 4, (16,)), (torch.rand(16) > 0.9).float()
    return states[0], action, torch.randn(16), states[1], done
