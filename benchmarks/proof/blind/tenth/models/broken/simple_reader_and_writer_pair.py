r"""Small translator with a recurrent reader and a recurrent writer.

Source: https://github.com/facebookresearch/fairseq/issues/2449
Fault: The reader's LSTM gets sentences with the batch first but was built for time first, so it
    runs over the sentences of the batch.
Cause: batch_first|(time|sequence|length|seq).{0,30}first|(batch|sentences).{0,80}(as|for|over|along) (the )?(time|sequence|step|batch)
    |(runs?|recur\w*|steps?|unroll\w*|iterat\w*|mixes|carries).{0,60}(over|along|across|between) (the )?(batch|sentences|samples|examples)
    |(transpos|permut)\w*.{0,60}(missing|lstm|encoder|reader)|dimension order
Place: batch_first|\blstm\b|Reader|LSTM|encoder|reader
"""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, vocab, embed_dim=32, hidden_dim=32, dropout=0.1):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, embed_dim, padding_idx=1)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, num_layers=1, bidirectional=False)  # here

    def forward(self, src_tokens):
        x = self.dropout(self.embed_tokens(src_tokens))
        outputs, _ = self.lstm(x)
        return outputs[:, -1]


class Writer(nn.Module):
    def __init__(self, vocab, reader_dim=32, embed_dim=32, hidden_dim=32, dropout=0.1):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, embed_dim, padding_idx=1)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(reader_dim + embed_dim, hidden_dim)
        self.output_projection = nn.Linear(hidden_dim, vocab)

    def forward(self, prev_tokens, final_state):
        x = self.dropout(self.embed_tokens(prev_tokens))
        context = final_state.unsqueeze(1).expand(-1, x.shape[1], -1)
        x = torch.cat((x, context), 2)
        start = (final_state.unsqueeze(0), torch.zeros_like(final_state).unsqueeze(0))
        output, _ = self.lstm(x.transpose(0, 1), start)
        return self.output_projection(output.transpose(0, 1))


class SimpleTranslator(nn.Module):
    def __init__(self, source=50, target=60):
        super().__init__()
        self.reader, self.writer = Reader(source), Writer(target)

    def forward(self, src_tokens, prev_tokens):
        return self.writer(prev_tokens, self.reader(src_tokens))


def build():
    return SimpleTranslator()


def example_inputs():
    return torch.randint(2, 50, (6, 9)), torch.randint(2, 60, (6, 11))
