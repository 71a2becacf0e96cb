r"""Opinion of a review about one named thing, from the words around it and its syntax labels.

Source: https://github.com/shenwzh3/RGAT-ABSA/issues/3
Fault: The scores of the attention are linear in the concatenated pair, the leaky ReLU is never
    called, so the query adds the same to every score and vanishes in the softmax.
Cause: leaky.?relu.{0,100}(never|not|unused|missing|forgot\w*|omitted|skipped|left out)
    |(never|not|missing|un|no|without|lack\w*|forgot\w*).{0,60}(leaky|non-?linear\w*|activation)
    |(query|aspect\w*|\bQ\b).{0,120}(cancel\w*|no (effect|influence)|vanish\w*|constant|same (to|for)|ignored|does not matter|drops out|no gradient|zero gradient|shift)
    |softmax.{0,80}(shift|invarian\w*|cancel\w*|constant)|linear.{0,40}scores?
Place: leakyrelu|att_weight|LinearAttention|\bfc\b|\bgat\b|softmax|\bq\b
"""

import torch
from torch import nn
from torch.nn import functional as F


def mask_logits(target, mask):
    return target * mask + (1 - mask) * (-1e30)


class LinearAttention(nn.Module):
    def __init__(self, in_dim, mem_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, mem_dim)
        self.fc = nn.Linear(mem_dim * 2, 1)
        self.leakyrelu = nn.LeakyReLU(1e-2)

    def forward(self, feature, aspect_v, dmask):
        q = self.linear(aspect_v).unsqueeze(1).expand(-1, feature.shape[1], -1)
        feature = self.linear(feature)
        att_feature = torch.cat((feature, q), dim=2)
        att_weight = self.fc(att_feature)  # here
        att_weight = mask_logits(att_weight, dmask.unsqueeze(2))
        attention = F.softmax(att_weight, dim=1)
        return torch.bmm(feature.transpose(1, 2), attention).squeeze(2)


class AspectNet(nn.Module):
    def __init__(self, words=200, tags=20, dim=32, hidden=24, heads=3, classes=3):
        super().__init__()
        self.embed, self.tag_embed = nn.Embedding(words, dim), nn.Embedding(tags, dim)
        self.lstm = nn.LSTM(dim, dim // 2, batch_first=True, bidirectional=True)
        self.gat = nn.ModuleList(LinearAttention(dim, hidden) for _ in range(heads))
        self.dep = LinearAttention(dim, hidden)
        self.dropout = nn.Dropout(0.3)
        self.mlp = nn.Sequential(nn.Linear(hidden * (heads + 1), hidden), nn.ReLU())
        self.final = nn.Linear(hidden, classes)

    def forward(self, sentence, aspect, tags, mask):
        feature = self.lstm(self.dropout(self.embed(sentence)))[0]
        aspect_v = self.embed(aspect).mean(1)
        tag_v = self.tag_embed(tags).mean(1)
        heads = [g(feature, aspect_v, mask) for g in self.gat]
        heads.append(self.dep(feature, tag_v, mask))
        return self.final(self.dropout(self.mlp(torch.cat(heads, 1))))


def build():
    return AspectNet()


def example_inputs():
    mask = torch.ones(5, 14)
    mask[1, 10:] = 0
    return (
        torch.randint(0, 200, (5, 14)),
        torch.randint(0, 200, (5, 2)),
        torch.randint(0, 20, (5, 14)),
        mask,
    )
