r"""A dueling double DQN agent on a corridor that ends in a pit or at a door, with replay buffer.

Source: https://github.com/cyoon1729/deep-Q-networks/pull/6
Fault: the target bootstraps from the next state at terminal transitions as well; dones is unpacked
    but not used, so the values behind the pit and the door are invented and the Q values drift.
Cause: (\bdones?\b|terminal|terminated|end of (the |an )?episode|final state|absorbing)\b.*(not
    |never|ignored|unused|missing|bootstrap\w*|without|no mask|mask|as well|too|anyway|next)
    |(bootstrap\w*|expected_Q|target|next.?(state|q)\w*|discounted)\b.*(terminal|terminated
    |\bdones?\b|end of (the |an )?episode|finished|final state|past the end)
    |((done|terminal) ?mask|1 ?- ?dones?)\b.*(missing|not|absent|never|without|no)\b
    |\b(no|without|missing|lacks?)\b.*(\bdones?\b|terminal|(done|terminal) ?mask)
Place: dones|expected_Q|compute_loss|next_Q|max_next_Q
"""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

random.seed(3)
np.random.seed(3)
torch.manual_seed(3)


class Corridor:
    """8 cells; left end is a pit (-1), right end a door (+1); each step costs a little"""

    n_actions = 2

    def __init__(self, n=8):
        self.n = n

    def obs(self):
        o = np.zeros(self.n, dtype=np.float32)
        o[self.pos] = 1
        return o

    def reset(self):
        self.pos = random.randint(2, self.n - 3)
        self.t = 0
        return self.obs()

    def step(self, action):
        move = 1 if action == 1 else -1
        if random.random() < 0.1:
            move = -move
        self.pos += move
        self.t += 1
        if self.pos == 0:
            return self.obs(), -1.0, True
        if self.pos == self.n - 1:
            return self.obs(), 1.0, True
        return self.obs(), -0.02, self.t >= 40


class BasicBuffer:
    def __init__(self, max_size):
        self.buffer = deque(maxlen=max_size)

    def push(self, state, action, reward, next_state, done):
        self.buffer.append((state, action, np.array([reward]), next_state, done))

    def sample(self, batch_size):
        batch = random.sample(self.buffer, batch_size)
        return [list(col) for col in zip(*batch)]

    def __len__(self):
        return len(self.buffer)


class DuelingDQN(nn.Module):
    def __init__(self, input_dim, output_dim):
        super(DuelingDQN, self).__init__()
        self.feauture_layer = nn.Sequential(nn.Linear(input_dim, 64), nn.ReLU(),
                                            nn.Linear(64, 64), nn.ReLU())
        self.value_stream = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
        self.advantage_stream = nn.Sequential(nn.Linear(64, 32), nn.ReLU(),
                                              nn.Linear(32, output_dim))

    def forward(self, state):
        features = self.feauture_layer(state)
        values = self.value_stream(features)
        advantages = self.advantage_stream(features)
        return values + (advantages - advantages.mean(dim=1, keepdim=True))


class DuelingAgent:
    def __init__(self, env, learning_rate=1e-3, gamma=0.97, tau=0.02, buffer_size=5000):
        self.env = env
        self.gamma = gamma
        self.tau = tau
        self.replay_buffer = BasicBuffer(max_size=buffer_size)
        self.model = DuelingDQN(env.n, env.n_actions)
        self.target_model = DuelingDQN(env.n, env.n_actions)
        self.target_model.load_state_dict(self.model.state_dict())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=learning_rate)
        self.MSE_loss = nn.MSELoss()

    def get_action(self, state, eps):
        if np.random.rand() < eps:
            return random.randrange(self.env.n_actions)
        with torch.no_grad():
            qvals = self.model(torch.from_numpy(state).unsqueeze(0))
        return int(qvals.argmax(1))

    def compute_loss(self, batch):
        states, actions, rewards, next_states, dones = batch
        states = torch.FloatTensor(np.array(states))
        actions = torch.LongTensor(actions)
        rewards = torch.FloatTensor(np.array(rewards))
        next_states = torch.FloatTensor(np.array(next_states))
        dones = torch.FloatTensor(dones)

        curr_Q = self.model(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        next_act = self.model(next_states).argmax(1, keepdim=True)
        max_next_Q = self.target_model(next_states).gather(1, next_act).squeeze(1)
        expected_Q = rewards.squeeze(1) + self.gamma * max_next_Q  # here
        return self.MSE_loss(curr_Q, expected_Q.detach())

    def update(self, batch_size):
        loss = self.compute_loss(self.replay_buffer.sample(batch_size))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for tp, p in zip(self.target_model.parameters(), self.model.parameters()):
                tp.copy_(self.tau * p + (1 - self.tau) * tp)
        return loss.item()


def mini_batch_train(env, agent, max_episodes, batch_size):
    episode_rewards, losses = [], []
    for episode in range(max_episodes):
        state = env.reset()
        episode_reward, done = 0, False
        eps = max(0.1, 1.0 - episode / 150)
        while not done:
            action = agent.get_action(state, eps)
            next_state, reward, done = env.step(action)
            agent.replay_buffer.push(state, action, reward, next_state, done)
            episode_reward += reward
            if len(agent.replay_buffer) > batch_size:
                losses.append(agent.update(batch_size))
            state = next_state
        episode_rewards.append(episode_reward)
        if (episode + 1) % 50 == 0:
            print("Episode %d: reward %.3f loss %.5f" % (
                episode + 1, np.mean(episode_rewards[-50:]), np.mean(losses[-100:])))
    return episode_rewards


if __name__ == '__main__':
    env = Corridor()
    agent = DuelingAgent(env)
    mini_batch_train(env, agent, 250, 32)
    with torch.no_grad():
        q = agent.model(torch.eye(env.n))
    print('largest possible return 1.0, largest Q %.3f' % q.max())
    print(q.numpy().round(2))
