r"""Q values of moves in a row of rooms where many doors are closed.

Source: https://github.com/thu-ml/tianshou/issues/309
Fault: The best value of the next state is taken over all moves, closed doors too, which are never
    tried and whose values are arbitrary, instead of over the allowed moves only.
Cause: (mask|illegal|invalid|forbidden|unavailable|not allowed|closed|legal|allowed
    |valid).{0,100}(next|target|max|bootstrap|not (used|applied|considered)|ignored)|(next|target
    |max|bootstrap) .{0,100}(mask|illegal|invalid|forbidden|unavailable|not allowed|closed|legal
    |allowed|valid)
Place: target_q|_target_q|obs_next|mask|next_q|max
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(309)
ROOMS, MOVES, GAMMA = 10, 8, 0.9
allowed = torch.zeros(ROOMS, MOVES, dtype=torch.bool)
goes_to = torch.randint(0, ROOMS, (ROOMS, MOVES))
for room in range(ROOMS):
    allowed[room, torch.randperm(MOVES)[:2]] = True
reward_in = torch.zeros(ROOMS)
reward_in[3] = 1.0


def act(q, rooms, eps):
    greedy = q.masked_fill(~allowed[rooms], -1e9).argmax(1)
    random = torch.multinomial(allowed[rooms].float(), 1).squeeze(1)
    return torch.where(torch.rand(len(rooms)) < eps, random, greedy)


value = torch.zeros(ROOMS, MOVES)
for _ in range(200):
    best = value.masked_fill(~allowed, -1e9).max(1).values
    value = reward_in[goes_to] + GAMMA * best[goes_to]

model = nn.Sequential(nn.Linear(ROOMS, 64), nn.ReLU(), nn.Linear(64, MOVES))
nn.init.normal_(model[2].bias, 0.0, 1.0)
model_old = nn.Sequential(nn.Linear(ROOMS, 64), nn.ReLU(), nn.Linear(64, MOVES))
model_old.load_state_dict(model.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
one_hot = torch.eye(ROOMS)


def _target_q(rooms_next):
    with torch.no_grad():
        return model_old(one_hot[rooms_next]).max(1).values  # here


rooms = torch.randint(0, ROOMS, (64,))
for step in range(400):
    with torch.no_grad():
        moves = act(model(one_hot[rooms]), rooms, 0.3)
    rooms_next = goes_to[rooms, moves]
    rew = reward_in[rooms_next]
    returns = rew + GAMMA * _target_q(rooms_next)
    q = model(one_hot[rooms]).gather(1, moves[:, None]).squeeze(1)
    loss = F.mse_loss(q, returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rooms = torch.where(torch.rand(64) < 0.05, torch.randint(0, ROOMS, (64,)), rooms_next)
    if step % 10 == 9:
        model_old.load_state_dict(model.state_dict())
    if step % 80 == 79:
        with torch.no_grad():
            gap = (model(one_hot) - value)[allowed].abs().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} mean reward {rew.mean():.3f} gap {gap:.3f}")
