r"""An actor with a critic keeps poles near the top on ground that rises and falls.

Source: https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/74
Fault: Returns of shape (n,) less values of shape (n, 1) give an n by n matrix of advantages.
Cause: broadcast|(\(n, ?n\)|n ?(x|by|×) ?n|square|matrix).{0,60}(advantage|shape|return|value)
    |shape.{0,80}(mismatch|differ|\(n|squeeze|\d)|squeeze
Place: advantage|adv|values|returns
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
GAMMA, STEPS, POLES, ENTROPY_BETA = 0.9, 8, 16, 0.01


class Pole:
    def __init__(self, count):
        self.state = torch.zeros(count, 3)
        self.reset(torch.ones(count, dtype=torch.bool))

    def reset(self, which):
        self.state[which] = 0.3 * torch.randn(int(which.sum()), 3)

    def step(self, action):
        angle, speed, height = self.state.unbind(1)
        speed = speed + 0.25 * angle + 0.4 * (action.float() - 1)
        angle = angle + 0.25 * speed
        height = 0.5 * height + 0.9 * torch.randn_like(height)
        self.state = torch.stack([angle, speed, height], 1)
        fallen = angle.abs() > 1.5
        reward = 1 - angle.abs() - 2.0 * fallen + 1.5 * height
        self.reset(fallen)
        return reward, fallen


class A2C(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 48), nn.Tanh())
        self.policy = nn.Linear(48, 3)
        self.value = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return self.policy(h), self.value(h)


env, net = Pole(POLES), A2C()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
mean_reward = 0.0
for update in range(320):
    states, actions, rewards, dones = [], [], [], []
    for _ in range(STEPS):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=net(env.state)[0]).sample()
        states.append(env.state.clone())
        actions.append(action)
        reward, done = env.step(action)
        rewards.append(reward)
        dones.append(done)
    with torch.no_grad():
        following = net(env.state)[1].squeeze(-1)
    refs = []
    for reward, done in zip(reversed(rewards), reversed(dones)):
        following = reward + GAMMA * following * ~done
        refs.append(following)
    vals_ref = torch.cat(refs[::-1])
    logits, value = net(torch.cat(states))
    loss_value = F.mse_loss(value.squeeze(-1), vals_ref)
    log_prob = F.log_softmax(logits, dim=1)
    adv = vals_ref - value.detach()  # here
    chosen = log_prob[range(len(logits)), torch.cat(actions)]
    loss_policy = -(adv * chosen).mean()
    entropy = -(log_prob.exp() * log_prob).sum(dim=1).mean()
    loss = loss_policy + loss_value - ENTROPY_BETA * entropy
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
    upright = 1 - torch.cat(states)[:, 0].abs().mean().item()
    mean_reward = 0.95 * mean_reward + 0.05 * upright
    if update % 40 == 39:
        print(f"{update + 1} value loss {loss_value.item():.3f} upright {mean_reward:.3f}")
