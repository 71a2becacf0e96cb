r"""Moves on a line from a log of random play, given the return that is wished for.

Source: https://github.com/kzl/decision-transformer
Odd: There is no reward in the loss and no value; the network imitates random play, its loss stays
    far above zero, and only the wished return at test time makes it play well.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(71)
CELLS, STEPS = 9, 8


def play(policy, count):
    place = torch.full((count,), CELLS // 2)
    places, actions, rewards = [], [], []
    for t in range(STEPS):
        places.append(place)
        action = policy(t, places, actions, rewards)
        place = (place + action - 1).clamp(0, CELLS - 1)
        actions.append(action)
        rewards.append((place.float() - CELLS // 2) / 4)
    return [torch.stack(x, 1) for x in (places, actions, rewards)]


def to_go(rewards):
    return rewards.flip(1).cumsum(1).flip(1)


class DecisionModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed_return = nn.Linear(1, width)
        self.embed_state = nn.Embedding(CELLS, width)
        self.embed_time = nn.Embedding(STEPS, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.predict = nn.Linear(width, 3)

    def forward(self, returns, states):
        length = states.size(1)
        x = self.embed_return(returns[..., None]) + self.embed_state(states)
        x = x + self.embed_time(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.predict(self.body(x, mask=mask, is_causal=True))


@torch.no_grad()
def achieved(model, wish, count=200):
    def policy(t, places, actions, rewards):
        got = torch.stack([torch.zeros(count)] + rewards, 1).cumsum(1)
        logits = model(wish - got, torch.stack(places, 1))[:, -1]
        return torch.distributions.Categorical(logits=logits).sample()

    return play(policy, count)[2].sum(1).mean().item()


log = play(lambda t, p, a, r: torch.randint(0, 3, p[-1].shape), 3000)
returns = to_go(log[2])
model = DecisionModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
best = log[2].sum(1).max().item()
print(f"mean return of the log {log[2].sum(1).mean().item():.2f}, best {best:.2f}")
for step in range(240):
    rows = torch.randint(0, 3000, (96,))
    logits = model(returns[rows], log[0][rows])
    loss = F.cross_entropy(logits.flatten(0, 1), log[1][rows].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    if step % 60 == 59:
        high, low = achieved(model, best), achieved(model, -best)
        print(f"{step + 1} loss {loss.item():.3f} high wish {high:.2f} low wish {low:.2f}")
