r"""Spacecraft on a line that has to find its orbit, with a table-like net of action values.

Source: https://github.com/shivaverma/Orbit/issues/10
Fault: The chance of a random action is lowered in the replay, which runs after every step and not
    after every episode, so within the first episode hardly any exploration is left.
Cause: epsilon.{0,140}(every|each|per) (step|replay)|(decay|lower|reduc|shrink).{0,100}(step
    |too (fast|soon|early|quick)|replay|rapid)|explor.{0,80}(end|stop|gone|too (fast|soon|early
    |little)|left|vanish|hardly)|(episode).{0,40}instead
Place: epsilon|epsilon_decay|replay|epsilon_min|decay
"""

import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(381)
random.seed(381)
LENGTH, GAMMA, LIMIT = 9, 0.97, 30


class Space:
    """A small reward near the start and the orbit far away."""

    def reset(self):
        self.place, self.time = 2, 0
        return self.place

    def step(self, action):
        self.place, self.time = max(0, self.place + (1 if action else -1)), self.time + 1
        if self.place == 0:
            return self.place, 0.1, True
        if self.place == LENGTH - 1:
            return self.place, 3.0, True
        return self.place, 0.0, self.time >= LIMIT


class Agent:
    def __init__(self):
        self.epsilon, self.epsilon_min, self.epsilon_decay = 1.0, 0.02, 0.96
        self.memory = deque(maxlen=3000)
        self.model = nn.Linear(LENGTH, 2, bias=False)
        nn.init.zeros_(self.model.weight)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.02)

    def act(self, state):
        if random.random() <= self.epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.model(torch.eye(LENGTH)[state]).argmax().item()

    def replay(self, size=64):
        if len(self.memory) < size:
            return
        batch = zip(*random.sample(self.memory, size), strict=True)
        state, action, reward, next_state, done = map(torch.tensor, batch)
        with torch.no_grad():
            best = self.model(torch.eye(LENGTH)[next_state]).max(1).values
        target = reward + GAMMA * best * (~done)
        value = self.model(torch.eye(LENGTH)[state]).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.epsilon = max(self.epsilon_min, self.epsilon * self.epsilon_decay)  # here


env, agent, scores = Space(), Agent(), []
for episode in range(120):
    state, done, score = env.reset(), False, 0.0
    while not done:
        action = agent.act(state)
        next_state, reward, done = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        state, score = next_state, score + reward
        agent.replay()
    scores.append(score)
    if episode % 20 == 19:
        mean = sum(scores[-20:]) / 20
        print(f"episode {episode + 1} score {mean:.3f} epsilon {agent.epsilon:.3f}")
