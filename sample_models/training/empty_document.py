"""A text classifier whose loss becomes NaN at step 400: one of its 2,000 documents is empty.

`hookcli run --stop-on nonfinite empty_document.py` finds the layer, the line and the batch.
"""

import torch
from torch import nn

WORDS, LONGEST, BATCH = 50, 8, 4


class MeanOfWords(nn.Module):
    """The mean of the embeddings of each document's words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 8)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        mask = torch.arange(LONGEST) < lengths[:, None]
        sums = (self.embedding(words) * mask[:, :, None]).sum(dim=1)
        return sums / lengths[:, None]


class Classifier(nn.Module):
    """Scores of two classes for each document."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = MeanOfWords()
        self.head = nn.Linear(8, 2)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.encoder(words, lengths)))


def documents() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return words [2000, 8], lengths [2000] and labels [2000]: whether word 0 is below 25."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(WORDS, (2_000, LONGEST), generator=generator)
    lengths = torch.randint(1, LONGEST + 1, (2_000,), generator=generator)
    lengths[1_602] = 0  # the empty one
    return words, lengths, (words[:, 0] < WORDS // 2).long()


def main() -> None:
    """Train for one epoch, 500 steps."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    words, lengths, labels = documents()
    for step, at in enumerate(range(0, len(words), BATCH)):
        batch = slice(at, at + BATCH)
        loss = nn.functional.cross_entropy(model(words[batch], lengths[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
