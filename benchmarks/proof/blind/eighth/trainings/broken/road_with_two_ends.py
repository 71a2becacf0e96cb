r"""Deep Q-learning on a road with a small reward at one end and a larger one at the other.

Source: https://github.com/lazyprogrammer/machine_learning_examples/issues/13
Fault: The targets do not use the flag of the end of an episode, so the value of the state after
    the end is added, which belongs to no reward.
Cause: done|terminal|end of (an |the )?episode|absorbing|bootstrap\w*.{0,60}(end|last|past|beyond
    |after)|q.?values?.{0,60}(grow|too (high|large)|overestimat|unbounded|inflat)|overestimat
Place: done\w*|target\w*|expected_q|gamma|calc_td|not_done|mask
"""

import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(139)
random.seed(139)
ROAD = 8


class Road:
    def reset(self):
        self.place, self.time = 3, 0
        return self.place

    def step(self, action):
        self.place += 1 if action == 1 else -1
        self.time += 1
        if self.place == 0:
            return self.place, 1.0, True
        if self.place == ROAD - 1:
            return self.place, 2.0, True
        return self.place, -0.05, self.time >= 40


class QNetwork(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.l1 = nn.Linear(ROAD, hidden)
        self.l2 = nn.Linear(hidden, 2)

    def forward(self, places):
        return self.l2(torch.tanh(self.l1(F.one_hot(places, ROAD).float())))


class Agent:
    def __init__(self, gamma=0.95, lr=5e-3):
        self.gamma = gamma
        self.q, self.target = QNetwork(), QNetwork()
        self.target.load_state_dict(self.q.state_dict())
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.buffer = deque(maxlen=2000)

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(torch.tensor([state])).argmax().item()

    def learn(self):
        states, actions, rewards, new_states, dones = zip(*random.sample(self.buffer, 64))
        q = self.q(torch.tensor(states)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        with torch.no_grad():
            q_next = self.target(torch.tensor(new_states)).max(1).values
            expected_q = torch.tensor(rewards) + self.gamma * q_next  # here
        loss = F.smooth_l1_loss(q, expected_q)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for t, p in zip(self.target.parameters(), self.q.parameters()):
            t.data.lerp_(p.data, 0.1)
        return loss.item()


env, agent = Road(), Agent()
updates, episode = 0, 0
while updates < 400:
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state, max(0.1, 1 - updates / 200))
        new_state, reward, done = env.step(action)
        agent.buffer.append((state, action, reward, new_state, float(done)))
        state, total = new_state, total + reward
        if len(agent.buffer) >= 64:
            loss = agent.learn()
            updates += 1
    episode += 1
    if episode % 8 == 0:
        print(f"episode {episode} updates {updates} reward {total:.2f} loss {loss:.4f}")
with torch.no_grad():
    values = agent.q(torch.arange(1, ROAD - 1)).max(1).values
print("values along the road:", [round(v, 2) for v in values.tolist()], "largest reward 2")
