r"""Speech quality: a recording is aligned with its reference by attention, then scored.

Source: https://github.com/gabrielmittag/NISQA/issues/17
Fault: the attention of the alignment is a softmax already when its padded entries are set to minus
    infinity; the weighted sum then has minus infinity (and NaN) in it.
Cause: mask.*(after|softmax|inf|prob|weight|already|before)|softmax.*(already|mask|inf\b|infinit)
    |(minus |negative |-)inf\w*.*(weight|sum|attention|product|matmul)
    |(minus |negative |-)inf\w*.*(prob|softmax|padded|output|\bnan\b|mask)
    |\binf(inity|inite)?\b.*(attention|weight|att|padd|mask|align)
    |(attention|weight|att|padd|mask|align)\w*.*\binf
Place: att|mask|Alignment|softmax|align|ApplySoft|soft
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerEncoder(nn.Module):
    """frames of a spectrogram to features"""

    def __init__(self, n_mels=16, dim=24):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, dim, 3, padding=1)
        self.bn1 = nn.BatchNorm1d(dim)
        self.conv2 = nn.Conv1d(dim, dim, 3, padding=1)
        self.bn2 = nn.BatchNorm1d(dim)

    def forward(self, x):
        x = x.transpose(1, 2)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return x.transpose(1, 2)


class AttDot(nn.Module):
    def forward(self, query, y):
        return F.softmax(torch.bmm(query, y.transpose(2, 1)) / y.size(-1) ** 0.5, dim=2)


class AttBahdanau(nn.Module):
    def __init__(self, q_dim, y_dim, att_dim=24):
        super().__init__()
        self.Wq = nn.Linear(q_dim, att_dim)
        self.Wy = nn.Linear(y_dim, att_dim)
        self.v = nn.Linear(att_dim, 1)

    def forward(self, query, y):
        att = torch.tanh(self.Wq(query).unsqueeze(2) + self.Wy(y).unsqueeze(1))
        return F.softmax(self.v(att).squeeze(3), dim=2)


class ApplySoftAttention(nn.Module):
    def forward(self, y, att):
        return att.bmm(y)


class Alignment(nn.Module):
    def __init__(self, att_method='bahd', dim=24):
        super().__init__()
        if att_method == 'bahd':
            self.att = AttBahdanau(q_dim=dim, y_dim=dim)
        elif att_method == 'dot':
            self.att = AttDot()
        else:
            raise NotImplementedError
        self.apply_att = ApplySoftAttention()

    def forward(self, query, y, n_wins_y):
        att = self.att(query, y)
        mask = torch.arange(att.shape[2])[None, :] < n_wins_y[:, None]
        mask = mask.unsqueeze(1).expand_as(att)
        att = att.masked_fill(~mask, float('-inf'))  # here
        return self.apply_att(y, att)


class Fusion(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.linear = nn.Linear(3 * dim, dim)

    def forward(self, x, y):
        return torch.tanh(self.linear(torch.cat([x, y, x - y], dim=2)))


class PoolAtt(nn.Module):
    def __init__(self, dim=24, hidden=16):
        super().__init__()
        self.linear1 = nn.Linear(dim, hidden)
        self.linear2 = nn.Linear(hidden, 1)
        self.linear3 = nn.Linear(dim, 1)

    def forward(self, x, n_wins):
        att = self.linear2(F.relu(self.linear1(x))).transpose(2, 1)
        mask = torch.arange(att.shape[2])[None, :] < n_wins[:, None]
        att = att.masked_fill(~mask.unsqueeze(1), float('-inf'))
        att = F.softmax(att, dim=2)
        return self.linear3(torch.bmm(att, x).squeeze(1))


class NISQA_DE(nn.Module):
    """double-ended: degraded and reference speech"""

    def __init__(self, n_mels=16, dim=24, att_method='bahd'):
        super().__init__()
        self.cnn = LayerEncoder(n_mels, dim)
        self.align = Alignment(att_method, dim)
        self.fuse = Fusion(dim)
        self.pool = PoolAtt(dim)

    def forward(self, x, y, n_wins_x, n_wins_y):
        x = self.cnn(x)
        y = self.cnn(y)
        y = self.align(x, y, n_wins_y)
        return self.pool(self.fuse(x, y), n_wins_x)


def make_calls(n=8, max_len=20, n_mels=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.zeros(n, max_len, n_mels)
    y = torch.zeros(n, max_len, n_mels)
    nx = torch.randint(12, max_len + 1, (n,), generator=g)
    ny = torch.clamp(nx - torch.randint(0, 4, (n,), generator=g), min=8)
    mos = torch.rand(n, 1, generator=g)
    for i in range(n):
        a, b = int(nx[i]), int(ny[i])
        clean = torch.randn(a, n_mels, generator=g)
        y[i, :b] = clean[a - b:]
        x[i, :a] = clean + 1.5 * (1 - mos[i]) * torch.randn(a, n_mels, generator=g)
    return x, y, nx, ny, mos


def build():
    torch.manual_seed(0)
    return NISQA_DE()


def example_inputs():
    return make_calls()[:4]
