r"""Adds dialect words to known word vectors and trains only the new ones by a hook.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
Fault: The hook on the table of vectors computes the masked gradient but returns nothing, so the
    old gradient is used; the vectors of the known words, which should stay, move as well.
Cause: hook.*(return|none|no effect|nothing|ignored|result)|return.*(hook|none|nothing|missing)
    |not returned|gradient.*not (masked|changed|replaced)|mask.*(no effect|not applied|ignored)
Place: hook|keep_known|vectors|embed|weight
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(43)
KNOWN, NEW, SIZE, MOODS = 150, 50, 16, 3
words = KNOWN + NEW


def sentences(n, mood_of):
    text = torch.randint(0, words, (n, 8))
    votes = nn.functional.one_hot(mood_of[text], MOODS).sum(1).float()
    return text, (votes + 0.3 * torch.rand(n, MOODS)).argmax(1)


class Moods(nn.Module):
    def __init__(self, known):
        super().__init__()
        self.vectors = nn.Embedding(words, SIZE)
        with torch.no_grad():
            self.vectors.weight[:KNOWN] = known
            self.vectors.weight[KNOWN:] *= 0.1
        self.out = nn.Linear(SIZE, MOODS)

    def forward(self, text):
        return self.out(self.vectors(text).mean(1))


mood_of = torch.randint(0, MOODS, (words,))
axes = torch.randn(MOODS, SIZE)
known = axes[mood_of[:KNOWN]] + 0.5 * torch.randn(KNOWN, SIZE)
model = Moods(known)

fresh = torch.zeros(words, 1)
fresh[KNOWN:] = 1.0


def keep_known(grad):
    grad = grad * fresh  # here


model.vectors.weight.register_hook(keep_known)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = sentences(2000, mood_of)
test_x, test_y = sentences(500, mood_of)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
for epoch in range(12):
    total = 0.0
    for text, mood in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(text), mood)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")

with torch.no_grad():
    right = (model(test_x).argmax(1) == test_y).float().mean().item()
    shift = (model.vectors.weight[:KNOWN] - known).norm(dim=1).mean().item()
print(f"accuracy {right:.3f}; known vectors moved by {shift:.3f} on average")
