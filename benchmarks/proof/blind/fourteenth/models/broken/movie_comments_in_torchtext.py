r"""A multi-label classifier of comments: an LSTM over padded token lists and a few linear layers.

Source: https://github.com/keitakurita/practical-torchtext/issues/5
Fault: the feature is the output of the LSTM at the last row of the padded batch; for every comment
    that is shorter than the longest one this is the state after many padding tokens instead of
    the state after its last word.
Cause: pad.{0,120}(last|final|end|state|output|hidden|step|position|lstm|recurr|read|length|row
    |influence|change|move|affect|depend)
    |(last|final).{0,60}(time.?step|step|position|row|output|state).{0,80}(pad|shorter|length
    |not the last (word|token)|short)
    |(variable|different|true|real|actual).{0,10}length|(no|without|ignor|not).{0,20}(pack|length)
    |hdn\[-1
Place: hdn|encoder|feature|embedding|forward
"""

import torch
import torch.nn as nn

PAD = 1


class SimpleBiLSTMBaseline(nn.Module):
    def __init__(self, vocab_size, hidden_dim, emb_dim=50,
                 spatial_dropout=0.05, recurrent_dropout=0.1, num_linear=1):
        super().__init__()  # don't forget to call this!
        self.embedding = nn.Embedding(vocab_size, emb_dim)
        self.encoder = nn.LSTM(emb_dim, hidden_dim, num_layers=1)
        self.linear_layers = []
        for _ in range(num_linear - 1):
            self.linear_layers.append(nn.Linear(hidden_dim, hidden_dim))
        self.linear_layers = nn.ModuleList(self.linear_layers)
        self.predictor = nn.Linear(hidden_dim, 6)

    def forward(self, seq):
        hdn, _ = self.encoder(self.embedding(seq))
        feature = hdn[-1, :, :]  # here
        for layer in self.linear_layers:
            feature = layer(feature)
        preds = self.predictor(feature)
        return preds


def build():
    torch.manual_seed(0)
    return SimpleBiLSTMBaseline(120, 64, emb_dim=32, num_linear=2)


def example_inputs():
    torch.manual_seed(1)
    lengths = torch.randint(4, 40, (16,))
    lengths[0] = 40
    seq = torch.full((40, 16), PAD)
    for i, n in enumerate(lengths.tolist()):
        seq[:n, i] = torch.randint(2, 120, (n,))
    return (seq,)
