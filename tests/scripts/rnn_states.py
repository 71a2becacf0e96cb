"""A character model, trained by truncated backpropagation through time."""

import os
import typing as t

import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog. " * 8
CHARS = sorted(set(TEXT))
CODES = torch.tensor([CHARS.index(c) for c in TEXT])


class CharModel(nn.Module):
    def __init__(self, vocabulary: int, width: int = 12):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.decode = nn.Linear(width, vocabulary)

    def forward(self, codes, hidden: t.Optional[tuple] = None) -> t.Dict[str, t.Any]:
        out, hidden = self.rnn(self.embed(codes), hidden)
        return {"logits": self.decode(out), "hidden": hidden, "step": codes.shape[1]}


def repackage_hidden(h):
    """Wrap hidden states in new tensors, to detach them from their history."""
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def main():
    torch.manual_seed(31)
    model = CharModel(len(CHARS))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    data = CODES[: 4 * 80].view(4, 80)
    hidden = None
    for i in range(0, 78, 13):
        source, target = data[:, i : i + 13], data[:, i + 1 : i + 14]
        if hidden is not None:
            hidden = repackage_hidden(hidden)
        optimizer.zero_grad()
        result = model(source, hidden)
        hidden = result["hidden"]
        loss = nn.functional.cross_entropy(result["logits"].flatten(0, 1), target.flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        # truth: before("model", optimizer, loss)
        optimizer.step()
        # truth: after("model")
        print(f"| {i:3d} | loss {loss.item():6.4f} | norm {norm:.6f} |")
    torch.save(model.state_dict(), os.environ["WEIGHTS"])


if __name__ == "__main__":
    main()
