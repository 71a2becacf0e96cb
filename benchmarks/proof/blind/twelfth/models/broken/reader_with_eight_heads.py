r"""The encoder block of a reading model: depthwise convolutions, self-attention per head, a linear.

Source: https://github.com/hackiey/QAnet-pytorch/issues/2
Fault: The outputs of the heads lie in (heads, batch, length, value) and are put together with a
    bare view(batch, length, -1), without a permute: a position gets parts of other positions and
    of other samples of the batch.
Cause: (view|reshape)\w*.{0,140}(head|transpos|permut|batch|sample|position|mix|scrambl|wrong|order)
    |(missing|without|no|needs?|lacks?|instead of|not) .{0,20}(transpos|permut)
    |(samples?|examples?|rows?|batch)\b.{0,80}(mix|leak|depend|other|each other)
    |heads? .{0,100}(view|reshap|mixed|scrambl|concat)
    |depend\w* .{0,40}(other|another|rest of the) (samples?|examples?|images?|pictures?|rows?|batch)
    |mix\w* .{0,40}(samples|examples|images|rows|batch)
    |(one|a|each) (sample|example|row)\b.{0,60}(other|leak)
Place: heads|SelfAttention|view
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class DepthwiseSeparableConv(nn.Module):
    def __init__(self, in_ch, out_ch, k):
        super(DepthwiseSeparableConv, self).__init__()
        self.depthwise_conv = nn.Conv1d(in_ch, in_ch, kernel_size=k, groups=in_ch, padding=k // 2)
        self.pointwise_conv = nn.Conv1d(in_ch, out_ch, kernel_size=1)

    def forward(self, x):
        x = x.transpose(1, 2)
        x = self.pointwise_conv(self.depthwise_conv(x))
        return F.relu(x).transpose(1, 2)


class SelfAttention(nn.Module):
    def __init__(self, hidden_size, n_heads, key_dim, value_dim):
        super(SelfAttention, self).__init__()
        self.n_heads = n_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.W_q = nn.ParameterList()
        self.W_k = nn.ParameterList()
        self.W_v = nn.ParameterList()
        for _ in range(n_heads):
            self.W_q.append(nn.Parameter(torch.empty(hidden_size, key_dim)))
            self.W_k.append(nn.Parameter(torch.empty(hidden_size, key_dim)))
            self.W_v.append(nn.Parameter(torch.empty(hidden_size, value_dim)))
        self.W_o = nn.Parameter(torch.empty(value_dim * n_heads, hidden_size))
        for p in self.parameters():
            nn.init.xavier_normal_(p)

    def forward(self, x, mask):
        batch_size = x.size(0)
        l = x.size(1)
        heads = torch.zeros(self.n_heads, batch_size, l, self.value_dim, device=x.device)
        hidden_mask = mask.unsqueeze(-1)
        for i in range(self.n_heads):
            q = torch.matmul(x, self.W_q[i])
            k = torch.matmul(x, self.W_k[i])
            v = torch.matmul(x, self.W_v[i])
            score = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.key_dim)
            score = score.masked_fill(~mask.unsqueeze(1), -1e30)
            score = F.softmax(score, dim=-1)
            heads[i] = torch.bmm(score, v)
        x = heads.view(batch_size, l, -1)  # here
        x = torch.matmul(x, self.W_o)
        return x * hidden_mask


class EncoderBlock(nn.Module):
    def __init__(self, hidden_size, n_conv=2, n_heads=8, key_dim=8, value_dim=8):
        super(EncoderBlock, self).__init__()
        self.convs = nn.ModuleList(
            [DepthwiseSeparableConv(hidden_size, hidden_size, 5) for _ in range(n_conv)])
        self.conv_norms = nn.ModuleList([nn.LayerNorm(hidden_size) for _ in range(n_conv)])
        self.attn_norm = nn.LayerNorm(hidden_size)
        self.self_attention = SelfAttention(hidden_size, n_heads, key_dim, value_dim)
        self.fc_norm = nn.LayerNorm(hidden_size)
        self.fc = nn.Linear(hidden_size, hidden_size)

    def forward(self, x, mask):
        for conv, norm in zip(self.convs, self.conv_norms):
            x = x + conv(norm(x))
        x = x + self.self_attention(self.attn_norm(x), mask)
        x = x + F.relu(self.fc(self.fc_norm(x)))
        return x


class SpanReader(nn.Module):
    def __init__(self, vocab=100, hidden_size=32, max_len=64):
        super(SpanReader, self).__init__()
        self.embed = nn.Embedding(vocab, hidden_size, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, max_len, hidden_size) * 0.1)
        self.block1 = EncoderBlock(hidden_size)
        self.block2 = EncoderBlock(hidden_size)
        self.start = nn.Linear(hidden_size, 1)
        self.end = nn.Linear(hidden_size, 1)

    def forward(self, words):
        mask = words != 0
        x = self.embed(words) + self.pos[:, :words.size(1)]
        x = self.block2(self.block1(x, mask), mask)
        p1 = self.start(x).squeeze(-1).masked_fill(~mask, -1e30)
        p2 = self.end(x).squeeze(-1).masked_fill(~mask, -1e30)
        return F.log_softmax(p1, dim=1), F.log_softmax(p2, dim=1)


def build():
    torch.manual_seed(0)
    return SpanReader()


def example_inputs():
    torch.manual_seed(1)
    words = torch.randint(1, 100, (6, 20))
    words[1, 15:] = 0
    words[4, 11:] = 0
    return (words,)
