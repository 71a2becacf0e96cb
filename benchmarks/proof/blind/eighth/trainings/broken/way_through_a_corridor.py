r"""Walker in a corridor with a coin near by at one end and a treasure further off at the other.

Source: https://github.com/hunkim/ReinforcementZeroToAll/issues/1
Fault: A reward is only multiplied with a power of gamma of its own step instead of adding up the
    rewards that follow, so the actions on the way to a reward get nothing of it.
Cause: (future|later|following|subsequent|next).{0,30}rewards?|rewards?.{0,60}(future|following
    |subsequent|to.?go|come after|cumulat|accumulat|summ|added up|add up)|returns?.{0,60}(cumulat
    |sum|future|wrong)|not.{0,20}return|discount.{0,80}(cumulat|sum|future|only|own step|single
    |index)|rewards?.{0,60}follow|gamma.{0,60}own step
Place: discount_rewards|gamma|returns?|d_rewards
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(3)
LENGTH, START, GAMMA = 9, 2, 0.99


def discount_rewards(r, gamma=GAMMA):
    d_rewards = torch.tensor([val * (gamma**i) for i, val in enumerate(r)])  # here
    return d_rewards


class Corridor:
    def reset(self):
        self.place, self.time = START, 0
        return self.observe()

    def observe(self):
        return torch.eye(LENGTH)[self.place]

    def step(self, action):
        self.place += 1 if action == 1 else -1
        self.time += 1
        reward, done = -0.1, self.time >= 30
        if self.place == 0:
            reward, done = 0.5, True
        elif self.place == LENGTH - 1:
            reward, done = 10.0, True
        return self.observe(), reward, done


policy = nn.Linear(LENGTH, 2, bias=False)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.1)
env = Corridor()


def episode():
    state, done = env.reset(), False
    states, actions, rewards = [], [], []
    while not done:
        with torch.no_grad():
            action = Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    return torch.stack(states), torch.stack(actions), rewards


for update in range(60):
    batch = [episode() for _ in range(10)]
    states = torch.cat([s for s, _, _ in batch])
    actions = torch.cat([a for _, a, _ in batch])
    returns = torch.cat([discount_rewards(r) for _, _, r in batch])
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    log_prob = Categorical(logits=policy(states)).log_prob(actions)
    loss = -(log_prob * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 10 == 9:
        score = sum(sum(r) for _, _, r in batch) / len(batch)
        print(f"update {update + 1} mean score {score:.2f} of at most {10 - 0.5:.1f}")
