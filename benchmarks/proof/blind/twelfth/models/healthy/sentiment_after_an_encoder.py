r"""A text classifier with a two-layer bidirectional LSTM on the states of a frozen encoder.

Source: https://github.com/songyingxin/Bert-TextClassification/issues/16
Healthy: The last two hidden states are taken with hidden[-2] and hidden[-1] although the LSTM is
    batch first, which looks as if it took two samples; batch_first doesn't touch the hidden state.
"""

import torch
import torch.nn as nn


class FrozenEncoder(nn.Module):
    """stands for the pre-trained encoder"""

    def __init__(self, vocab, hidden_size, layers=2):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, hidden_size)
        self.position = nn.Embedding(64, hidden_size)
        layer = nn.TransformerEncoderLayer(hidden_size, 4, hidden_size * 2, dropout=0.0,
                                           batch_first=True)
        self.layers = nn.ModuleList([layer] + [
            nn.TransformerEncoderLayer(hidden_size, 4, hidden_size * 2, dropout=0.0,
                                       batch_first=True) for _ in range(layers - 1)])

    def forward(self, input_ids):
        pos = torch.arange(input_ids.size(1)).unsqueeze(0)
        x = self.embeddings(input_ids) + self.position(pos)
        for layer in self.layers:
            x = layer(x)
        return x


class BertLSTM(nn.Module):
    def __init__(self, vocab=100, hidden_size=32, rnn_hidden_size=24, num_layers=2,
                 bidirectional=True, dropout=0.1, num_labels=2):
        super(BertLSTM, self).__init__()
        self.bert = FrozenEncoder(vocab, hidden_size)
        for param in self.bert.parameters():
            param.requires_grad = False
        self.rnn = nn.LSTM(hidden_size, rnn_hidden_size, num_layers, bidirectional=bidirectional,
                           batch_first=True, dropout=dropout)
        self.classifier = nn.Linear(rnn_hidden_size * 2, num_labels)
        self.dropout = nn.Dropout(dropout)
        self.num_labels = num_labels

    def forward(self, input_ids, labels=None):
        encoded_layers = self.bert(input_ids)
        # encoded_layers: [batch_size, seq_len, bert_dim]

        _, (hidden, cell) = self.rnn(encoded_layers)
        # outputs: [batch_size, seq_len, rnn_hidden_size * 2]
        hidden = self.dropout(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))

        logits = self.classifier(hidden)
        if labels is not None:
            loss_fct = nn.CrossEntropyLoss()
            return loss_fct(logits.view(-1, self.num_labels), labels.view(-1))
        return logits


def build():
    torch.manual_seed(0)
    return BertLSTM()


def example_inputs():
    torch.manual_seed(1)
    labels = torch.randint(0, 2, (32,))
    ids = torch.randint(0, 60, (32, 14))
    words = torch.randint(60, 80, (32, 14)) + 20 * labels[:, None]
    return torch.where(torch.rand(32, 14) < 0.3, words, ids), labels
