import argparse
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description="REINFORCE on a corridor")
parser.add_argument("--gamma", type=float, default=0.95)
parser.add_argument("--seed", type=int, default=543)
parser.add_argument("--episodes", type=int, default=6)
parser.add_argument("--weights", required=True)
args = parser.parse_args()


class Corridor:
    """Walk right from 0 to 4; an episode has at most 9 steps."""

    def reset(self):
        self.position, self.time = 0, 0
        return self._state()

    def _state(self):
        return torch.eye(5)[self.position]

    def step(self, action):
        self.position = min(4, max(0, self.position + (1 if action == 1 else -1)))
        self.time += 1
        done = self.position == 4 or self.time == 9
        return self._state(), 1.0 if self.position == 4 else -0.1, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(5, 16)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=-1)


torch.manual_seed(args.seed)
env = Corridor()
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)


def select_action(state):
    probs = policy(state.unsqueeze(0))
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    policy_loss = [-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    # truth: before("policy", optimizer, policy_loss, forwards=len(policy.rewards))
    optimizer.step()
    # truth: after("policy")
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


for episode in range(args.episodes):
    state, done = env.reset(), False
    while not done:
        state, reward, done = env.step(select_action(state))
        policy.rewards.append(reward)
    length, total = len(policy.rewards), sum(policy.rewards)
    print(f"Episode {episode}\tlength {length}\treward {total:.2f}\tloss {finish_episode():.6f}")
torch.save(policy.state_dict(), args.weights)
