"""In the style of CleanRL's ppo.py: the agent has no forward, its actor and critic are called."""

import json

import numpy as np
import torch
from torch import nn, optim
from torch.distributions.categorical import Categorical


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(4, 32)),
            nn.Tanh(),
            layer_init(nn.Linear(32, 32)),
            nn.Tanh(),
            layer_init(nn.Linear(32, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(4, 32)),
            nn.Tanh(),
            layer_init(nn.Linear(32, 32)),
            nn.Tanh(),
            layer_init(nn.Linear(32, 2), std=0.01),
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


if __name__ == "__main__":
    torch.manual_seed(1)
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    num_updates, losses = 10, []
    for update in range(1, num_updates + 1):
        frac = 1.0 - (update - 1.0) / num_updates
        optimizer.param_groups[0]["lr"] = frac * 2.5e-3
        obs = torch.randn(64, 4)
        with torch.no_grad():
            actions, logprobs, _, values = agent.get_action_and_value(obs)
        rewards = (actions == (obs[:, 0] > 0).long()).float()
        returns = rewards
        advantages = returns - values.flatten()
        for _ in range(4):
            b_inds = torch.randperm(64)
            for start in range(0, 64, 16):
                mb = b_inds[start : start + 16]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs[mb], actions[mb])
                ratio = (newlogprob - logprobs[mb]).exp()
                mb_adv = advantages[mb]
                mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                pg_loss1 = -mb_adv * ratio
                pg_loss2 = -mb_adv * torch.clamp(ratio, 0.8, 1.2)
                pg_loss = torch.max(pg_loss1, pg_loss2).mean()
                v_loss = 0.5 * ((newvalue.flatten() - returns[mb]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                losses.append(loss.item())
        print(f"update {update}: reward {rewards.mean():.3f}, loss {loss.item():.4f}")
    print("TRUTH", json.dumps({"agent": ["Adam", len(losses), losses[0], losses[-1]]}))
