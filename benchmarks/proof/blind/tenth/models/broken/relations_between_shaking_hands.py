r"""Tags of word pairs for the joint extraction of entities and their relations.

Source: https://github.com/131250208/TPlinker-joint-extraction/issues/37
Fault: The conditional layer norm divides by the square of the variance, not by its square root.
Cause: \*\*\s?2|squar(e|ed|es|ing) (of )?(the )?variance|variance.{0,60}squared|(fourth power)
    |(square root|sqrt|root|\*\*\s?0\.5|rsqrt).{0,100}(std|deviation|variance|missing|instead|should|norm)
    |(std|deviation|denominator).{0,80}(wrong|square|power|variance)
Place: \bstd\b|variance|LayerNorm|CondLayerNorm|epsilon|norm
"""

import torch
from torch import nn


class CondLayerNorm(nn.Module):
    def __init__(self, input_dim, cond_dim, epsilon=1e-12):
        super().__init__()
        self.epsilon = epsilon
        self.beta = nn.Parameter(torch.zeros(input_dim))
        self.gamma = nn.Parameter(torch.ones(input_dim))
        self.beta_dense = nn.Linear(cond_dim, input_dim, bias=False)
        self.gamma_dense = nn.Linear(cond_dim, input_dim, bias=False)
        nn.init.zeros_(self.beta_dense.weight)
        nn.init.zeros_(self.gamma_dense.weight)

    def forward(self, inputs, cond):
        beta = self.beta_dense(cond).unsqueeze(1) + self.beta
        gamma = self.gamma_dense(cond).unsqueeze(1) + self.gamma
        outputs = inputs - inputs.mean(dim=-1, keepdim=True)
        variance = (outputs**2).mean(dim=-1, keepdim=True)
        std = (variance + self.epsilon) ** 2  # here
        return outputs / std * gamma + beta


class HandshakingKernel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.tp_cln = CondLayerNorm(hidden, hidden)

    def forward(self, seq):
        pairs = []
        for i in range(seq.shape[1]):
            pairs.append(self.tp_cln(seq[:, i:], seq[:, i]))
        return torch.cat(pairs, 1)


class PairTagger(nn.Module):
    def __init__(self, vocab=100, width=32, relations=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.handshaking = HandshakingKernel(width)
        self.ent_fc = nn.Linear(width, 2)
        self.head_rel_fc = nn.ModuleList(nn.Linear(width, 3) for _ in range(relations))
        self.tail_rel_fc = nn.ModuleList(nn.Linear(width, 3) for _ in range(relations))

    def forward(self, tokens):
        pairs = self.handshaking(self.lstm(self.embed(tokens))[0])
        heads = torch.stack([fc(pairs) for fc in self.head_rel_fc], 1)
        tails = torch.stack([fc(pairs) for fc in self.tail_rel_fc], 1)
        return self.ent_fc(pairs), heads, tails


def build():
    return PairTagger()


def example_inputs():
    return (torch.randint(0, 100, (3, 10)),)
