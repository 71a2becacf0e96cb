r"""Actor and critic that steer a lander along a short path, with advantages over some steps.

Source: https://github.com/vwxyzjn/cleanrl/pull/337
Fault: The returns are made from the advantages still lying in the storage, which are zeros,
    instead of the new ones, so the critic is trained to repeat its own values.
Cause: (storage|stale|zeros?|empty|unfilled|initial|not yet|old advantage).{0,120}(advantage
    |return)|(returns?|targets?).{0,140}(zeros?\b|own (value|prediction|output)|storage|stale
    |equal|same as|itself|instead of the new)|critic.{0,80}(own|itself|never learn|not learn
    |nothing)|advantages?.{0,80}(storage|zeros?\b|stale|wrong (variable|one))
Place: returns|storage|advantages|compute_gae|storage\["advantages"\]|values
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(361)
LENGTH, ENVS, STEPS, GAMMA, LAMBDA = 8, 16, 16, 0.97, 0.95


class Paths:
    """Several landers; at the end of the path the pad pays 1, every step costs a little."""

    def __init__(self):
        self.place = torch.zeros(ENVS, dtype=torch.long)

    def observe(self):
        return nn.functional.one_hot(self.place, LENGTH).float()

    def step(self, action):
        self.place = (self.place + 2 * action - 1).clamp(min=0)
        done = self.place == LENGTH - 1
        reward = done.float() - 0.02
        self.place[done] = 0
        return self.observe(), reward, done.float()


actor, critic = nn.Linear(LENGTH, 2), nn.Linear(LENGTH, 1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.02)


def rollout(envs, storage):
    obs = envs.observe()
    for t in range(STEPS):
        with torch.no_grad():
            action = Categorical(logits=actor(obs)).sample()
            storage["values"][t] = critic(obs).squeeze(1)
            storage["logprobs"][t] = Categorical(logits=actor(obs)).log_prob(action)
        storage["obs"][t], storage["actions"][t] = obs, action.float()
        obs, storage["rewards"][t], storage["dones"][t] = envs.step(action)
    return obs


def compute_gae(next_obs, storage):
    advantages, last = torch.zeros(STEPS, ENVS), torch.zeros(ENVS)
    with torch.no_grad():
        next_value = critic(next_obs).squeeze(1)
    for t in reversed(range(STEPS)):
        alive = 1 - storage["dones"][t]
        delta = storage["rewards"][t] + GAMMA * alive * next_value - storage["values"][t]
        last = delta + GAMMA * LAMBDA * alive * last
        advantages[t], next_value = last, storage["values"][t]
    returns = storage["advantages"] + storage["values"]  # here
    return {**storage, "advantages": advantages, "returns": returns}


envs = Paths()
for update in range(40):
    names = ("values", "logprobs", "actions", "rewards", "dones", "advantages")
    storage = {name: torch.zeros(STEPS, ENVS) for name in names}
    storage["obs"] = torch.zeros(STEPS, ENVS, LENGTH)
    storage = compute_gae(rollout(envs, storage), storage)
    for _ in range(3):
        policy = Categorical(logits=actor(storage["obs"]))
        ratio = (policy.log_prob(storage["actions"]) - storage["logprobs"]).exp()
        adv = storage["advantages"]
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg_loss = -torch.min(adv * ratio, adv * ratio.clamp(0.8, 1.2)).mean()
        v_loss = 0.5 * ((critic(storage["obs"]).squeeze(-1) - storage["returns"]) ** 2).mean()
        loss = pg_loss + 0.5 * v_loss - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if update % 8 == 7:
        gain = storage["rewards"].mean().item()
        before_pad = critic(torch.eye(LENGTH)[LENGTH - 2]).item()
        print(f"update {update + 1} reward {gain:.4f} value before the pad {before_pad:.3f}")
