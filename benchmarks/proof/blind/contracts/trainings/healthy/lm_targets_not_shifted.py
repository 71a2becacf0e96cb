r"""A training of `CharModel`.

Source: https://docs.pytorch.org/tutorials/beginner/transformer_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(140)
text = "the small cat sat on the mat while the old dog slept near the warm stove and dreamed of bones " * 12
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
V, T = len(chars), 32


def get_batch(n=24):
    start = torch.randint(0, len(ids) - T - 1, (n,))
    x = torch.stack([ids[s:s + T] for s in start])
    y = torch.stack([ids[s + 1:s + T + 1] for s in start])
    return x, y


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, 24)
        self.lstm = nn.LSTM(24, 64, batch_first=True)
        self.proj = nn.Linear(64, V)

    def forward(self, x):
        return self.proj(self.lstm(self.embed(x))[0])


model = CharModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    x, y = get_batch()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 14:
        print(step + 1, f"{loss.item():.4f}")
out = ids[:8].tolist()
with torch.no_grad():
    for _ in range(30):
        out.append(model(torch.tensor([out]))[0, -1].argmax().item())
print("".join(chars[i] for i in out))
