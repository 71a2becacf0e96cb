r"""The model `SpatialDropTagger`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout2d.html
Fault: nn.Dropout2d gets a 3-D [B, T, C] tensor, which it reads as one unbatched image, so whole
    samples are zeroed.
Cause: dropout2d|dropout_?1d|(whole|entire|complete) (sample|batch|sequence|row|example)
    |(3-?d|three).*(dropout|channel)|drop\w* .*(sample|batch)
"""

import torch
import torch.nn as nn


class SpatialDropTagger(nn.Module):
    def __init__(self, vocab=150, dim=24, tags=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout2d(0.3)
        self.rnn = nn.GRU(dim, 20, batch_first=True, bidirectional=True)
        self.out = nn.Linear(40, tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.drop(x)
        h, _ = self.rnn(x)
        return self.out(h)


torch.manual_seed(0)
model = SpatialDropTagger()
example_inputs = (torch.randint(0, 150, (16, 12)),)
