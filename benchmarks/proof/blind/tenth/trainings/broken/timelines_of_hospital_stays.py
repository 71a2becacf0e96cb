r"""Next event in the timelines of hospital stays, with an estimate of the loss in between.

Source: https://github.com/ipolharvard/ethos-ares/issues/20
Fault: The loss on validation data is estimated under no_grad only, without eval(), so the dropout
    of the model is active and the losses shown and the answers given are worse than they are.
Cause: dropout.{0,80}(active|on|enabled|eval|valid|still|applied|not (off|disabled))|(eval(\(\)
    |uation)? ?mode|model\.eval|\.eval\(\)|train(ing)? mode).{0,80}|no_grad.{0,60}(not|does|only)
Place: estimate_loss|eval|model|dropout|train
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(20)
EVENTS, LENGTH = 24, 16
follows = torch.softmax(3 * torch.randn(EVENTS, EVENTS), 1)


def timelines(count):
    rows = [torch.randint(0, EVENTS, (count,))]
    for _ in range(LENGTH):
        rows.append(torch.multinomial(follows[rows[-1]], 1).squeeze(1))
    return torch.stack(rows, 1)


data = {"train": timelines(600), "val": timelines(200)}


class Model(nn.Module):
    def __init__(self, dim=32, dropout=0.3):
        super().__init__()
        self.embedding = nn.Embedding(EVENTS, dim)
        self.drop = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=dropout, batch_first=True)
        self.block = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, EVENTS)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        x = self.block(self.drop(self.embedding(tokens)), mask=mask, is_causal=True)
        return self.head(self.drop(x))


def get_batch(split):
    rows = data[split][torch.randint(0, len(data[split]), (32,))]
    return rows[:, :-1], rows[:, 1:]


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


@torch.no_grad()
def estimate_loss():  # here
    out = {}
    for split in ("train", "val"):
        losses = torch.zeros(12)
        for k in range(12):
            x, y = get_batch(split)
            losses[k] = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        out[split] = losses.mean().item()
    return out


for it in range(240):
    if it % 60 == 0:
        losses = estimate_loss()
        print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    x, y = get_batch("train")
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
losses = estimate_loss()
print(f"end: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
