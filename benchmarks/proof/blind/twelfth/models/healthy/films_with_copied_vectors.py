r"""A packed bidirectional LSTM for film reviews on copied word vectors.

Source: https://github.com/bentrevett/pytorch-sentiment-analysis/issues/103
Healthy: The rows of the unknown word and of the padding are set to zero after the vectors were
    copied, so they might never learn; that of the unknown word does, the padding is not to.
"""

import torch
import torch.nn as nn

UNK_IDX = 0
PAD_IDX = 1


class RNN(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers,
                 bidirectional, dropout, pad_idx):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=pad_idx)
        self.rnn = nn.LSTM(embedding_dim,
                           hidden_dim,
                           num_layers=n_layers,
                           bidirectional=bidirectional,
                           dropout=dropout)
        self.fc = nn.Linear(hidden_dim * 2, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text, text_lengths):
        # text = [sent len, batch size]
        embedded = self.dropout(self.embedding(text))

        # pack sequence
        # lengths need to be on CPU!
        packed_embedded = nn.utils.rnn.pack_padded_sequence(embedded, text_lengths.to('cpu'))
        packed_output, (hidden, cell) = self.rnn(packed_embedded)

        # concat the final forward (hidden[-2,:,:]) and backward (hidden[-1,:,:]) hidden layers
        # and apply dropout
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))
        return self.fc(hidden).squeeze(1)


def build():
    torch.manual_seed(1234)
    INPUT_DIM = 120
    EMBEDDING_DIM = 25
    HIDDEN_DIM = 32
    OUTPUT_DIM = 1
    N_LAYERS = 2
    BIDIRECTIONAL = True
    DROPOUT = 0.2

    model = RNN(INPUT_DIM, EMBEDDING_DIM, HIDDEN_DIM, OUTPUT_DIM, N_LAYERS, BIDIRECTIONAL,
                DROPOUT, PAD_IDX)

    pretrained_embeddings = torch.randn(INPUT_DIM, EMBEDDING_DIM) * 0.4
    model.embedding.weight.data.copy_(pretrained_embeddings)
    model.embedding.weight.data[UNK_IDX] = torch.zeros(EMBEDDING_DIM)
    model.embedding.weight.data[PAD_IDX] = torch.zeros(EMBEDDING_DIM)
    return model


def example_inputs():
    torch.manual_seed(2)
    lengths = torch.tensor([16, 15, 13, 12, 11, 10, 8, 5])
    text = torch.randint(2, 120, (16, 8))
    text[torch.rand(16, 8) < 0.1] = UNK_IDX
    text[torch.arange(16)[:, None] >= lengths[None]] = PAD_IDX
    return text, lengths
