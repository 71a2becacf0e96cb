r"""Kind of a question from the strongest response of filters over windows of its words.

Source: https://github.com/allenai/allennlp/issues/4739
Fault: The maximum over the places of a sentence runs over the padding too, whose windows answer
    with the bias of the filter, so the vector of a sentence depends on its padding.
Cause: (max\w*|pool\w*).{0,140}(pad\w*|mask\w*|empty places)|pad\w*.{0,140}(max\w*|pool\w*|win|trigger|highest|response|bias)
    |mask.{0,100}(before|only|not (applied|used)|ignored|missing|max|pool|conv)
    |depend\w*.{0,60}(padding|length of the (batch|longest)|other sentences)
Place: \bmax\b|mask|pool\w*|convolution|filter_outputs|CnnEncoder
"""

import torch
from torch import nn


class CnnEncoder(nn.Module):
    def __init__(
        self, embedding_dim, num_filters, ngram_filter_sizes=(2, 3, 4, 5), output_dim=None
    ):
        super().__init__()
        self.convolution_layers = nn.ModuleList(
            nn.Conv1d(embedding_dim, num_filters, size) for size in ngram_filter_sizes
        )
        self.activation = nn.ReLU()
        self.projection = nn.Linear(num_filters * len(ngram_filter_sizes), output_dim)

    def forward(self, tokens, mask):
        tokens = tokens * mask.unsqueeze(-1)
        tokens = tokens.transpose(1, 2)
        filter_outputs = []
        for layer in self.convolution_layers:
            filter_outputs.append(self.activation(layer(tokens)).max(dim=2)[0])  # here
        return self.projection(torch.cat(filter_outputs, dim=1))


class QuestionKind(nn.Module):
    def __init__(self, vocab=150, embedding_dim=24, num_filters=16, kinds=6):
        super().__init__()
        self.embedder = nn.Embedding(vocab, embedding_dim, padding_idx=0)
        self.encoder = CnnEncoder(embedding_dim, num_filters, output_dim=32)
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(32, kinds)

    def forward(self, token_ids):
        mask = (token_ids != 0).float()
        embedded = self.embedder(token_ids)
        return self.classifier(self.dropout(torch.relu(self.encoder(embedded, mask))))


def build():
    return QuestionKind()


def example_inputs():
    token_ids = torch.randint(1, 150, (6, 18))
    for i, length in enumerate((18, 9, 12, 7, 15, 10)):
        token_ids[i, length:] = 0
    return (token_ids,)
