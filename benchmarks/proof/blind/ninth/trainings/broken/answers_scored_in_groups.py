r"""Policy that answers sums, with several answers per question scored against their group.

Source: https://github.com/ServiceNow/PipelineRL/pull/54
Fault: The mean and spread of the rewards of a group are taken from its first answer alone, so the
    advantages are not relative to the group.
Cause: (first|single).{0,60}(answer|rollout|sample|reward|element|completion|column|member|one)
    |(mean|spread|std|baseline|statistic|deviation).{0,100}(first|only one|single|one (answer
    |sample|reward|rollout)|not.{0,20}(group|all))|:1\]|\[:, ?:1
Place: group_mean|group_std|mean|std|advantages|rewards|rewards\[:, ?:?1\]|baseline
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(371)
NUMBERS, GROUP, QUESTIONS = 6, 8, 24
ANSWERS = 2 * NUMBERS - 1

policy = nn.Sequential(nn.Linear(2 * NUMBERS, 64), nn.ReLU(), nn.Linear(64, ANSWERS))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)


def questions(count):
    a, b = torch.randint(0, NUMBERS, (2, count))
    asked = torch.cat([torch.eye(NUMBERS)[a], torch.eye(NUMBERS)[b]], 1)
    return asked, a + b


def score(answers, solution):
    """1 for the sum itself and less for numbers near it."""
    return torch.exp(-(answers - solution[:, None]).abs().float())


def advantages_of(rewards):
    group_mean = rewards[:, :1].mean(1, keepdim=True)  # here
    group_std = rewards[:, :1].std(1, keepdim=True, correction=0)  # here
    return (rewards - group_mean) / (group_std + 0.1)


test_asked, test_solution = questions(300)
for step in range(160):
    asked, solution = questions(QUESTIONS)
    with torch.no_grad():
        old = Categorical(logits=policy(asked))
        answers = old.sample((GROUP,)).T
        old_logprob = old.log_prob(answers.T).T
    rewards = score(answers, solution)
    advantages = advantages_of(rewards)
    for _ in range(2):
        new_logprob = Categorical(logits=policy(asked)).log_prob(answers.T).T
        ratio = (new_logprob - old_logprob).exp()
        clipped = ratio.clamp(0.8, 1.2)
        loss = -torch.min(ratio * advantages, clipped * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            right = (policy(test_asked).argmax(1) == test_solution).float().mean().item()
        print(
            f"step {step + 1} reward {rewards.mean().item():.4f} "
            f"spread of advantages {advantages.std().item():.2f} right {right:.3f}"
        )
