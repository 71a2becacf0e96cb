r"""Answer to a question on a short text: the state after the question starts the reading.

Source: https://github.com/salesforce/decaNLP/issues/9
Fault: When the states are put back in the order of the batch, the hidden state is returned in
    place of the cell state as well.
Cause: cell.{0,80}(hidden|replac|wrong|lost|discard|unused|overwrit|same|dropped|not used|never)
    |(hidden|h\b).{0,60}(cell|twice|as c\b|for c\b|duplicat|both)|\bc\b.{0,40}(unused|lost|discard)
Place: \bh\b|\bc\b|PackedLSTM|_indices|cell|state
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

torch.manual_seed(97)
KEYS, VALUES = 8, 8
FACTS, PAD = 3, KEYS + VALUES


class PackedLSTM(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rnn = nn.LSTM(dim, dim, batch_first=True)

    def forward(self, inputs, lengths, state=None):
        lens, indices = torch.sort(lengths, descending=True)
        inputs = inputs[indices]
        if state is not None:
            state = tuple(s[:, indices].contiguous() for s in state)
        _, (h, c) = self.rnn(pack_padded_sequence(inputs, lens, batch_first=True), state)
        _indices = torch.argsort(indices)
        h, c = h[:, _indices, :], h[:, _indices, :]  # here
        return h, c


class AnswerModel(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.embedding = nn.Embedding(KEYS + VALUES + 1, dim)
        self.question = PackedLSTM(dim)
        self.context = PackedLSTM(dim)
        self.out = nn.Linear(dim, VALUES)

    def forward(self, question, question_length, context, context_length):
        state = self.question(self.embedding(question), question_length)
        h, c = self.context(self.embedding(context), context_length, state)
        return self.out(c[0])


def examples(count=64):
    keys = torch.rand(count, KEYS).topk(FACTS, dim=1).indices
    values = torch.randint(0, VALUES, (count, FACTS))
    context = torch.stack([keys, KEYS + values], 2).flatten(1)
    number = torch.randint(1, FACTS + 1, (count,))
    context[torch.arange(2 * FACTS)[None] >= 2 * number[:, None]] = PAD
    asked = (torch.rand(count) * number).long()
    rows = torch.arange(count)
    question = keys[rows, asked][:, None]
    return question, torch.ones(count, dtype=torch.long), context, 2 * number, values[rows, asked]


model = AnswerModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
for iteration in range(200):
    *inputs, answer = examples()
    loss = nn.functional.cross_entropy(model(*inputs), answer)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if iteration % 40 == 0:
        print(f"iteration {iteration} loss {loss.item():.4f}")
with torch.no_grad():
    *inputs, answer = examples(1000)
    exact = (model(*inputs).argmax(1) == answer).float().mean().item()
print(f"loss {loss.item():.4f} exact match {exact:.3f}")
