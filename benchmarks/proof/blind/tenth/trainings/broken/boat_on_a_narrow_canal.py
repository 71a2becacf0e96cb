r"""Actor and critic that steer a boat to the lock at the end of a narrow canal.

Source: https://github.com/hill-a/stable-baselines/issues/385
Fault: The flags mark the last step of an episode, but the advantage is estimated with the flag of
    the following step, so episodes are cut one step too early and joined at their true ends.
Cause: (done|terminal|flag|new|end|mask|episode).{0,80}(off by one|shift|one step|next step
    |step \+ ?1|t ?\+ ?1|wrong (index|step|time)|following step|misalign|too early|leak|boundar)
    |(off by one|shifted|wrong index|t ?\+ ?1|step ?\+ ?1).{0,80}(done|terminal|flag|episode|mask)
Place: nonterminal|dones?|new|add_vtarg_and_adv|ends
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(5)
LENGTH, HORIZON, GAMMA, LAM = 7, 160, 0.97, 0.95


class Canal:
    def reset(self):
        self.place, self.time = 0, 0
        return torch.eye(LENGTH)[0]

    def step(self, action):
        self.place = max(self.place + (1 if action == 1 else -1), 0)
        self.time += 1
        at_lock = self.place == LENGTH - 1
        done = at_lock or self.time >= 40
        return torch.eye(LENGTH)[min(self.place, LENGTH - 1)], float(at_lock), done


policy = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 2))
value = nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=4e-3)
env = Canal()
env.observation = env.reset()


def traj_segment():
    obs, actions = torch.zeros(HORIZON, LENGTH), torch.zeros(HORIZON, dtype=torch.long)
    rewards, dones = torch.zeros(HORIZON), torch.zeros(HORIZON + 1)
    for step in range(HORIZON):
        with torch.no_grad():
            action = Categorical(logits=policy(env.observation)).sample()
        obs[step], actions[step] = env.observation, action
        env.observation, rewards[step], done = env.step(action.item())
        dones[step] = float(done)
        if done:
            env.observation = env.reset()
    with torch.no_grad():
        vpred = torch.cat([value(obs).squeeze(1), value(env.observation)])
    return {"ob": obs, "ac": actions, "rew": rewards, "new": dones, "vpred": vpred}


def add_vtarg_and_adv(seg):
    new, vpred, rew = seg["new"], seg["vpred"], seg["rew"]
    gaelam = torch.zeros(HORIZON)
    lastgaelam = 0.0
    for step in reversed(range(HORIZON)):
        nonterminal = 1 - new[step + 1]  # here
        delta = rew[step] + GAMMA * vpred[step + 1] * nonterminal - vpred[step]
        gaelam[step] = lastgaelam = delta + GAMMA * LAM * nonterminal * lastgaelam
    seg["adv"] = gaelam
    seg["tdlamret"] = gaelam + vpred[:-1]


for update in range(40):
    seg = traj_segment()
    add_vtarg_and_adv(seg)
    adv = (seg["adv"] - seg["adv"].mean()) / (seg["adv"].std() + 1e-8)
    dist = Categorical(logits=policy(seg["ob"]))
    pg_loss = -(dist.log_prob(seg["ac"]) * adv).mean()
    vf_loss = (value(seg["ob"]).squeeze(1) - seg["tdlamret"]).pow(2).mean()
    loss = pg_loss + 0.5 * vf_loss - 0.005 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 8 == 7:
        arrived, ended = seg["rew"].sum().item(), seg["new"].sum().item()
        print(
            f"update {update + 1} episodes {ended:.0f} arrived {arrived:.0f} "
            f"value at the start {seg['vpred'][0].item():.3f} vf loss {vf_loss.item():.4f}"
        )
