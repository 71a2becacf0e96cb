r"""Deep Q agent of a course, playing a small corridor game with a replay buffer.

Source: https://github.com/philtabor/Deep-Q-Learning-Paper-To-Code/issues/9
Healthy: the target is computed with the target network and without detach(); the optimizer holds
    only the evaluation network, so the gradients that reach the target network are never used.
"""
import numpy as np
import torch as T
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Corridor:
    """Walk to the lamp; a step costs a little and the lamp gives one."""

    def __init__(self, n=9, seed=0):
        self.n = n
        self.rng = np.random.RandomState(seed)

    def observe(self):
        s = np.zeros(2 * self.n, dtype=np.float32)
        s[self.pos] = 1
        s[self.n + self.lamp] = 1
        return s

    def reset(self):
        self.pos, self.lamp = self.rng.choice(self.n, 2, replace=False)
        self.t = 0
        return self.observe()

    def step(self, action):
        self.t += 1
        self.pos = int(np.clip(self.pos + (1 if action == 1 else -1), 0, self.n - 1))
        found = self.pos == self.lamp
        return self.observe(), (1.0 if found else -0.05), found or self.t >= 20, {}


class ReplayBuffer():
    def __init__(self, max_size, input_shape):
        self.mem_size = max_size
        self.mem_cntr = 0
        self.state_memory = np.zeros((self.mem_size, *input_shape), dtype=np.float32)
        self.new_state_memory = np.zeros((self.mem_size, *input_shape), dtype=np.float32)
        self.action_memory = np.zeros(self.mem_size, dtype=np.int64)
        self.reward_memory = np.zeros(self.mem_size, dtype=np.float32)
        self.terminal_memory = np.zeros(self.mem_size, dtype=bool)

    def store_transition(self, state, action, reward, state_, done):
        index = self.mem_cntr % self.mem_size
        self.state_memory[index] = state
        self.new_state_memory[index] = state_
        self.reward_memory[index] = reward
        self.action_memory[index] = action
        self.terminal_memory[index] = done
        self.mem_cntr += 1

    def sample_buffer(self, batch_size):
        max_mem = min(self.mem_cntr, self.mem_size)
        batch = np.random.choice(max_mem, batch_size, replace=False)
        return (self.state_memory[batch], self.action_memory[batch], self.reward_memory[batch],
                self.new_state_memory[batch], self.terminal_memory[batch])


class DeepQNetwork(nn.Module):
    def __init__(self, lr, n_actions, input_dims):
        super(DeepQNetwork, self).__init__()
        self.fc1 = nn.Linear(*input_dims, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, n_actions)
        self.optimizer = optim.RMSprop(self.parameters(), lr=lr)
        self.loss = nn.MSELoss()

    def forward(self, state):
        x = F.relu(self.fc1(state))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class DQNAgent(object):
    def __init__(self, gamma, epsilon, lr, n_actions, input_dims, mem_size, batch_size,
                 eps_min=0.05, eps_dec=6e-4, replace=100):
        self.gamma = gamma
        self.epsilon = epsilon
        self.batch_size = batch_size
        self.eps_min = eps_min
        self.eps_dec = eps_dec
        self.replace_target_cnt = replace
        self.action_space = [i for i in range(n_actions)]
        self.learn_step_counter = 0
        self.memory = ReplayBuffer(mem_size, input_dims)
        self.q_eval = DeepQNetwork(lr, n_actions, input_dims)
        self.q_next = DeepQNetwork(lr, n_actions, input_dims)

    def choose_action(self, observation):
        if np.random.random() > self.epsilon:
            state = T.tensor(np.array([observation]), dtype=T.float)
            return T.argmax(self.q_eval.forward(state)).item()
        return np.random.choice(self.action_space)

    def sample_memory(self):
        state, action, reward, new_state, done = self.memory.sample_buffer(self.batch_size)
        return (T.tensor(state), T.tensor(action), T.tensor(reward), T.tensor(new_state),
                T.tensor(done))

    def replace_target_network(self):
        if self.learn_step_counter % self.replace_target_cnt == 0:
            self.q_next.load_state_dict(self.q_eval.state_dict())

    def decrement_epsilon(self):
        self.epsilon = max(self.epsilon - self.eps_dec, self.eps_min)

    def learn(self):
        if self.memory.mem_cntr < self.batch_size:
            return
        self.q_eval.optimizer.zero_grad()
        self.replace_target_network()
        states, actions, rewards, states_, dones = self.sample_memory()
        indices = np.arange(self.batch_size)

        q_pred = self.q_eval.forward(states)[indices, actions]
        q_next = self.q_next.forward(states_).max(dim=1)[0]
        q_next[dones] = 0.0
        q_target = rewards + self.gamma * q_next

        loss = self.q_eval.loss(q_target, q_pred)
        loss.backward()
        self.q_eval.optimizer.step()
        self.learn_step_counter += 1
        self.decrement_epsilon()


if __name__ == '__main__':
    np.random.seed(1)
    T.manual_seed(1)
    env = Corridor()
    n_games = 240
    agent = DQNAgent(gamma=0.95, epsilon=1.0, lr=0.0007, n_actions=2, input_dims=(18,),
                     mem_size=3000, batch_size=32)
    scores, eps_history, n_steps = [], [], 0
    for i in range(n_games):
        done = False
        observation = env.reset()
        score = 0
        while not done:
            action = agent.choose_action(observation)
            observation_, reward, done, info = env.step(action)
            score += reward
            agent.memory.store_transition(observation, action, reward, observation_, int(done))
            agent.learn()
            observation = observation_
            n_steps += 1
        scores.append(score)
        eps_history.append(agent.epsilon)
        if i % 30 == 29:
            print('episode: ', i + 1, 'average score %.2f' % np.mean(scores[-30:]),
                  'epsilon %.2f' % agent.epsilon, 'steps', n_steps)

    agent.epsilon = 0.0
    lengths = []
    for _ in range(60):
        obs, done, t = env.reset(), False, 0
        while not done:
            obs, reward, done, _ = env.step(agent.choose_action(obs))
            t += 1
        lengths.append(reward > 0)
    print('lamp found in %d of %d games' % (sum(lengths), len(lengths)))
