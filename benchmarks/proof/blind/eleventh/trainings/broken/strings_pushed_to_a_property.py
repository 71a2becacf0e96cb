r"""A character generator is pretrained on strings and then pushed by rewards to strings with a
property.

Source: https://github.com/isayev/ReLeaSE/issues/39
Fault: the log probability is turned into a plain number with item() before it is multiplied with
    the reward; rl_loss has no path to the generator and the policy stage changes nothing.
Cause: (\.?item\b|detach\w*|numpy|plain number|python number|float)\w*\b.*(graph|gradient
    |log.?prob|rl_loss|loss|cut|break|path|constant)
    |(rl_loss|loss|log.?prob\w*|reward)\b.*(detach\w*|disconnect\w*|cut|not connected|no (graph
    |path|grad)|treated as (a )?constant|leaf|\bitem\b|numpy|python|plain number|does not depend
    |independent of)
    |(gradient|grad)\b.*(none|zero|no|never|not)\b.*(generator|parameter|policy|weight|network
    |reach)
    |(parameters?|weights?|generator|policy|network)\b.*(no|without|receive\w* no|get no
    |never (get|receive)s?|none) (a )?grad
    |\b(no|none)\b.*(parameter|weight)s?\b.*(gradient|grad)
Place: rl_loss|log_probs|policy_gradient|item|top_i|generator|StackAugmentedRNN|encoder|gru|decoder
"""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

tokens = '<>CNOF()'
n_characters = len(tokens)
END = tokens.index('>')


def random_string():
    n = random.randint(3, 8)
    s = ''
    for _ in range(n):
        s += random.choice('CCCNOF')
        if random.random() < 0.15:
            s += '(' + random.choice('CO') + ')'
    return '<' + s + '>'


def char_tensor(string):
    return torch.tensor([tokens.index(c) for c in string])


class StackAugmentedRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size, lr=0.005):
        super(StackAugmentedRNN, self).__init__()
        self.hidden_size = hidden_size
        self.encoder = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, 1)
        self.decoder = nn.Linear(hidden_size, output_size)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)

    def forward(self, inp, hidden):
        inp = self.encoder(inp.view(1, -1))
        output, hidden = self.gru(inp.view(1, 1, -1), hidden)
        return self.decoder(output.view(1, -1)), hidden

    def init_hidden(self):
        return torch.zeros(1, 1, self.hidden_size)

    def train_step(self, inp, target):
        hidden = self.init_hidden()
        self.optimizer.zero_grad()
        loss = 0
        for c in range(len(inp)):
            output, hidden = self(inp[c], hidden)
            loss = loss + self.criterion(output, target[c].unsqueeze(0))
        loss.backward()
        self.optimizer.step()
        return loss.item() / len(inp)

    def fit(self, n_iterations):
        avg = 0
        for it in range(n_iterations):
            s = char_tensor(random_string())
            avg += self.train_step(s[:-1], s[1:])
            if (it + 1) % 100 == 0:
                print('pretrain %d loss %.3f' % (it + 1, avg / 100))
                avg = 0

    @torch.no_grad()
    def evaluate(self, predict_len=14):
        hidden = self.init_hidden()
        inp = char_tensor('<')
        new_sample = '<'
        for _ in range(predict_len):
            output, hidden = self(inp, hidden)
            top_i = int(torch.multinomial(F.softmax(output, dim=1), 1))
            new_sample += tokens[top_i]
            inp = torch.tensor([top_i])
            if top_i == END:
                break
        return new_sample


def get_reward(string):
    body = string.strip('<>')
    return 4.0 * body.count('O') / max(len(body), 1) - 1.0


class Reinforcement(object):
    def __init__(self, generator, get_reward, lr=0.005):
        self.generator = generator
        self.get_reward = get_reward
        self.optimizer = torch.optim.Adam(generator.parameters(), lr=lr)

    def policy_gradient(self, n_batch=6, gamma=0.97):
        rl_loss = torch.zeros(1, requires_grad=True)
        self.optimizer.zero_grad()
        total_reward = 0
        for _ in range(n_batch):
            trajectory = self.generator.evaluate()
            if not trajectory.endswith('>'):
                trajectory += '>'
            reward = self.get_reward(trajectory)
            trajectory_input = char_tensor(trajectory)
            discounted_reward = reward
            total_reward += reward
            hidden = self.generator.init_hidden()
            for p in range(len(trajectory) - 1):
                output, hidden = self.generator(trajectory_input[p], hidden)
                log_probs = F.log_softmax(output, dim=1)
                top_i = trajectory_input[p + 1]
                rl_loss = rl_loss - log_probs[0, top_i].item() * discounted_reward  # here
                discounted_reward = discounted_reward * gamma
        rl_loss = rl_loss / n_batch
        total_reward = total_reward / n_batch
        rl_loss.backward()
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), 5.0)
        self.optimizer.step()
        return total_reward, rl_loss.item()


if __name__ == '__main__':
    my_generator = StackAugmentedRNN(n_characters, 32, n_characters)
    my_generator.fit(200)
    RL = Reinforcement(my_generator, get_reward)
    rewards = []
    for i in range(36):
        cur_reward, cur_loss = RL.policy_gradient()
        rewards.append(cur_reward)
        if (i + 1) % 9 == 0:
            print('policy %d reward %.3f loss %.3f' % (i + 1, np.mean(rewards[-9:]), cur_loss))
    print([my_generator.evaluate() for _ in range(5)])
