"""A bidirectional LSTM that tags each token of sentences of different lengths.

Packing needs the lengths as numbers, so this model cannot run on fake tensors: PyTorch has no fake
kernel for `pack_padded_sequence` ("DynamicOutputShapeException: aten._pack_padded_sequence").
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class LSTMTagger(nn.Module):
    """Embed, run a two-layer LSTM in both directions over packed sentences, score the tags."""

    def __init__(
        self,
        vocabulary: int = 40,
        tags: int = 5,
        width: int = 16,
        hidden: int = 12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            width, hidden, num_layers=2, batch_first=True, dropout=dropout, bidirectional=True
        )
        self.classifier = nn.Linear(2 * hidden, tags)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Map token ids (B, T), of which row i has lengths[i] real ones, to scores (B, T, tags)."""
        embedded = self.dropout(self.embedding(tokens))
        packed = pack_padded_sequence(
            embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        packed, _ = self.lstm(packed)
        hidden, _ = pad_packed_sequence(packed, batch_first=True, total_length=tokens.shape[1])
        return self.classifier(hidden)


def example_inputs() -> tuple[Tensor, Tensor]:
    """Return two sentences of 4 and 7 tokens, not sorted by length, padded with 0 to 7."""
    tokens = torch.randint(1, 40, (2, 7))
    tokens[0, 4:] = 0
    return tokens, torch.tensor([4, 7])


# Parameters
#   embedding    40*16                                                               640
#   lstm         a direction has 4 gates of (inputs + hidden + 2 biases) per unit:
#     layer 0    4*12*(16 + 12 + 2) = 1440, two directions                          2880
#     layer 1    4*12*(24 + 12 + 2) = 1824, two directions (24 = 2*12 inputs)       3648
#   classifier   24*5 + 5                                                            125
# Sizes: a packed batch holds the 4 + 7 = 11 real tokens; batch_sizes has one entry for each of the
# 7 time steps; h_n and c_n are (layers * directions, batch, hidden) = (4, 2, 12).
EXPECTED = {
    "type": "LSTMTagger",
    "parameters": 7293,  # 640 + 2880 + 3648 + 125
    "trainable_parameters": 7293,
    "buffers": 0,
    "calls": [
        ("", "LSTMTagger", 0, 0, [("[0]", (2, 7)), ("[1]", (2,))], [("", (2, 7, 5))]),
        ("embedding", "Embedding", 0, 640, [("[0]", (2, 7))], [("", (2, 7, 16))]),
        ("dropout", "Dropout", 0, 0, [("[0]", (2, 7, 16))], [("", (2, 7, 16))]),
        (
            "lstm",
            "LSTM",
            0,
            6528,  # 2880 + 3648
            [
                ("[0].data", (11, 16)),
                ("[0].batch_sizes", (7,)),
                ("[0].sorted_indices", (2,)),
                ("[0].unsorted_indices", (2,)),
            ],
            [
                ("[0].data", (11, 24)),
                ("[0].batch_sizes", (7,)),
                ("[0].sorted_indices", (2,)),
                ("[0].unsorted_indices", (2,)),
                ("[1][0]", (4, 2, 12)),
                ("[1][1]", (4, 2, 12)),
            ],
        ),
        ("classifier", "Linear", 0, 125, [("[0]", (2, 7, 24))], [("", (2, 7, 5))]),
    ],
    "uncalled": [],
    "shared": {},
}
