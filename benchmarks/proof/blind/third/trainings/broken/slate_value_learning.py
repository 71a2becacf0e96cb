r"""Q-learning on a replay of transitions with a frozen target network.

Source: https://github.com/google-research/recsim/issues/26
Fault: The bootstrap value is taken at the states themselves and not at the next states.
Cause: next.?(state|obs)\w*.*(unused|not used|never|ignored)
    |(state|obs)\w*.*(instead of|rather than).*next|target.*(current|same) state
Place: next_states|states|target
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
q_net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5))
target_net = copy.deepcopy(q_net).requires_grad_(False)
optimizer = torch.optim.Adam(q_net.parameters(), lr=3e-3)
position = torch.randint(0, 4, (512,))
actions = torch.randint(0, 5, (512,))
moved = torch.where(actions > 0, position + 1, position)
states = nn.functional.one_hot(position, 5).float()
next_states = nn.functional.one_hot(moved, 5).float()
terminal = (moved == 4).float()
rewards = terminal
for step in range(400):
    index = torch.randint(0, 512, (64,))
    with torch.no_grad():
        q_next = target_net(states[index]).amax(1)  # here
        target = rewards[index] + 0.9 * (1 - terminal[index]) * q_next
    q = q_net(states[index]).gather(1, actions[index, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        target_net.load_state_dict(q_net.state_dict())
print(f"value of the start {q_net(torch.eye(5)[0]).amax().item():.3f} (0.729)")
