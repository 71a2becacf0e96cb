r"""Which way to step, learned from the screens of a small game in bytes.

Source: https://github.com/yandexdataschool/Practical_RL/pull/305
Fault: The wrapper of the game divides the screen by 255 and the agent divides it once more.
Cause: (twice|second|double|again|two times|already).{0,80}(255|normali|scal|divid)
    |(255|normali|scal|divid)\w*.{0,80}(twice|second|double|again|two times|already)
    |(input|pixel|screen|observation|state|value)s?\w*.{0,60}(tiny|(very|too) small|near(ly)? zero)
    |(255|normali|scal|divid)\w*.{0,80}once more
Place: 255|Agent|screen|forward|observation
"""

import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(66)
torch.manual_seed(66)
SIDE, ACTIONS, GAMMA = 7, 3, 0.9


class Catch:
    def reset(self):
        self.ball, self.height, self.paddle = random.randrange(SIDE), 0, SIDE // 2
        return self.screen()

    def screen(self):
        pixels = torch.zeros(SIDE, SIDE, dtype=torch.uint8)
        pixels[self.height, self.ball] = 255
        pixels[SIDE - 1, self.paddle] = 255
        return pixels

    def step(self, action):
        self.paddle = min(max(self.paddle + action - 1, 0), SIDE - 1)
        self.height += 1
        done = self.height == SIDE - 1
        reward = (1.0 if self.paddle == self.ball else -1.0) if done else 0.0
        return self.screen(), reward, done


class PreprocessScreen:
    def __init__(self, env):
        self.env = env

    def reset(self):
        return self.env.reset().float() / 255

    def step(self, action):
        screen, reward, done = self.env.step(action)
        return screen.float() / 255, reward, done


class DQNAgent(nn.Module):
    def __init__(self, epsilon=1.0):
        super().__init__()
        self.epsilon = epsilon
        self.network = nn.Sequential(
            nn.Flatten(), nn.Linear(SIDE * SIDE, 64), nn.ReLU(), nn.Linear(64, ACTIONS)
        )

    def forward(self, states):
        return self.network(states / 255)  # here

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(ACTIONS)
        with torch.no_grad():
            return self(state[None]).argmax(1).item()


env, agent, target = PreprocessScreen(Catch()), DQNAgent(), DQNAgent()
target.load_state_dict(agent.state_dict())
opt = torch.optim.Adam(agent.parameters(), lr=2e-3)
memory, rewards = deque(maxlen=3000), deque(maxlen=50)
for episode in range(400):
    state, done = env.reset(), False
    agent.epsilon = max(0.05, 1 - episode / 250)
    while not done:
        action = agent.act(state)
        after, reward, done = env.step(action)
        memory.append((state, action, reward, after, done))
        state = after
    rewards.append(reward)
    s, a, r, s2, d = zip(*random.sample(memory, min(64, len(memory))))
    with torch.no_grad():
        best = target(torch.stack(s2)).max(1).values
        goal = torch.tensor(r) + GAMMA * best * (1 - torch.tensor(d, dtype=torch.float32))
    chosen = agent(torch.stack(s))[range(len(a)), a]
    loss = F.mse_loss(chosen, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 20 == 0:
        target.load_state_dict(agent.state_dict())
    if episode % 80 == 79:
        mean = sum(rewards) / len(rewards)
        print(f"episode {episode + 1} loss {loss.item():.4f} mean reward {mean:+.2f}")
