"""Trains a policy on a toy task with group-relative advantages.

Source: https://github.com/lsdefine/simple_GRPO/issues/30
Odd: the loss is zero at every step up to rounding, and sometimes negative; the advantages of a
    group sum to zero and the ratio is one, but the gradient is not zero and the reward rises.
"""

import torch
from torch import nn

torch.manual_seed(31)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 6))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
GROUP = 8


def reward_fn(prompts, answers):
    return (answers == prompts.argmax(1, keepdim=True)).float()


for step in range(80):
    prompts = torch.eye(6)[torch.randint(0, 6, (16,))]
    logp = policy(prompts).log_softmax(1)
    with torch.no_grad():
        answers = torch.multinomial(logp.exp(), GROUP, replacement=True)
        rewards = reward_fn(prompts, answers)
        advantages = rewards - rewards.mean(1, keepdim=True)
        advantages = advantages / (rewards.std(1, keepdim=True) + 1e-4)
    chosen = logp.gather(1, answers)
    ratio = (chosen - chosen.detach()).exp()
    loss = -(ratio * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0 or step == 79:
        print(f"step {step} loss {loss.item():+.2e} reward {rewards.mean().item():.3f}")
