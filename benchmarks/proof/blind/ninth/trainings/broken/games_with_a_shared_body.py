r"""Small matching game played by an actor and a critic with one body.

Source: https://github.com/coreylynch/async-rl/issues/8
Fault: The advantage in the loss of the actor still carries the gradient of the critic, so the
    loss of the actor pulls the values up or down to make itself smaller.
Cause: detach|stop.?grad|no_grad|advantage.{0,120}(gradient|backprop|graph|constant|attached
    |differentia)|(gradient|backprop|differentia).{0,80}(through|into|via|of|to|from
    |reach).{0,40}(the )?(critic|value|advantage|baseline)|(actor
    |policy).{0,60}loss.{0,100}(critic|value)
Place: advantage|detach|value|policy_loss|actor_loss|values|returns
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(391)
CARDS, ROUNDS, TABLES = 8, 6, 24


class ActorCritic(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(CARDS + 1, hidden), nn.Tanh())
        self.policy, self.value = nn.Linear(hidden, CARDS), nn.Linear(hidden, 1)

    def forward(self, x):
        x = self.body(x)
        return Categorical(logits=self.policy(x)), self.value(x).squeeze(-1)


partner = torch.randperm(CARDS)


def play(net):
    """A card is shown in each round, its partner wins a point, the game lasts some rounds."""
    shown = torch.randint(0, CARDS, (ROUNDS, TABLES))
    clock = torch.arange(ROUNDS).view(-1, 1, 1).expand(-1, TABLES, 1) / ROUNDS
    states = torch.cat([nn.functional.one_hot(shown, CARDS).float(), clock], -1)
    with torch.no_grad():
        actions = net(states)[0].sample()
    rewards = (actions == partner[shown]).float()
    return states, actions, rewards


def discounted(rewards, gamma=0.9):
    returns, running = torch.zeros_like(rewards), torch.zeros(TABLES)
    for t in reversed(range(ROUNDS)):
        running = rewards[t] + gamma * running
        returns[t] = running
    return returns


net = ActorCritic()
optimizer = torch.optim.RMSprop(net.parameters(), lr=4e-3)
for update in range(240):
    states, actions, rewards = play(net)
    returns = discounted(rewards)
    policy, values = net(states)
    advantage = returns - values
    policy_loss = -(policy.log_prob(actions) * advantage).mean()  # here
    value_loss = 0.5 * (advantage**2).mean()
    loss = policy_loss + value_loss - 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if update % 40 == 39:
        gap = (values - returns).mean().item()
        print(
            f"update {update + 1} points per round {rewards.mean().item():.3f} "
            f"values above returns {gap:.3f} value loss {value_loss.item():.4f}"
        )
