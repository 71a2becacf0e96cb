"""Actor and critic with slow copies that bring a lift to the floor where it is wanted.

Source: https://github.com/ghliu/pytorch-ddpg/issues/11
Odd: The value of the next state is multiplied by the batch called terminal and not by one minus
    it; the memory already gives 0 for an end and 1 for all other steps.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
DISCOUNT, TAU = 0.95, 0.05


def mlp(inputs, last):
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 1), last)


actor, critic = mlp(1, nn.Tanh()), mlp(2, nn.Identity())
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optim = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=3e-3)


class Memory:
    def __init__(self, size=4000):
        self.rows, self.size = [], size

    def append(self, state, action, reward, following, done):
        alive = 0.0 if done else 1.0
        self.rows.append((state, action, reward, following, alive))
        del self.rows[: -self.size]

    def sample_and_split(self, count=64):
        picked = [self.rows[i] for i in torch.randint(0, len(self.rows), (count,))]
        return (torch.tensor(part).unsqueeze(1) for part in zip(*picked, strict=True))


memory = Memory()
place, time, rewards = 2.0, 0, []
for step in range(1, 1201):
    with torch.no_grad():
        action = actor(torch.tensor([[place]])).item() + 0.3 * torch.randn(()).item()
    action = max(-1.0, min(1.0, action))
    following = place + 0.5 * action
    done = abs(following) < 0.15
    reward = (5.0 if done else 0.0) - 0.2 * abs(following)
    memory.append(place, action, reward, following, done)
    rewards.append(reward)
    time += 1
    if done or time == 25:
        place, time = 4 * torch.rand(()).item() - 2, 0
    else:
        place = max(-3.0, min(3.0, following))
    if step >= 100 and step % 4 == 0:
        state, act, rew, nxt, terminal = memory.sample_and_split()
        with torch.no_grad():
            next_q = critic_target(torch.cat([nxt, actor_target(nxt)], 1))
        target_q = rew + DISCOUNT * terminal * next_q
        value_loss = F.mse_loss(critic(torch.cat([state, act], 1)), target_q)
        critic_optim.zero_grad()
        value_loss.backward()
        critic_optim.step()
        policy_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
        actor_optim.zero_grad()
        policy_loss.backward()
        actor_optim.step()
        for slow, fast in ((actor_target, actor), (critic_target, critic)):
            for p, q in zip(slow.parameters(), fast.parameters(), strict=True):
                p.data.lerp_(q.data, TAU)
    if step % 240 == 0:
        mean = sum(rewards[-240:]) / 240
        print(f"step {step} value loss {value_loss.item():.4f} mean reward {mean:.3f}")
