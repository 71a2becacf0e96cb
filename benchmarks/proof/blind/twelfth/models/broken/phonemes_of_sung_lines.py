r"""A singing transcriber that aligns phonemes: a convolution stack, a GRU, frame scores, CTC loss.

Source: https://github.com/gwx314/STARS/issues/9
Fault: The CTC loss gets raw scores, not log-probabilities (there is no log_softmax): its value can
    be below zero and changes with a constant added to all scores, and it doesn't measure how well
    the phonemes are aligned.
Cause: log[ _-]?softmax|log[ _-]?prob\w*|(raw|unnormali[sz]ed|plain).{0,40}(logit|score|output
    |value)
    |ctc.{0,100}(logits|not normali[sz]ed|unnormali[sz]ed|raw|expects|normali[sz])
    |logits .{0,60}ctc
Place: ctc_loss|ph_frame_logits|ctc|forward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, dim, kernel_size, dilation, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.conv = nn.Conv1d(dim, 2 * dim, kernel_size, dilation=dilation,
                              padding=dilation * (kernel_size - 1) // 2)
        self.out = nn.Conv1d(2 * dim, dim, 1)
        self.dropout = dropout

    def forward(self, x, nonpadding):
        residual = x
        x = self.norm(x.transpose(1, 2)).transpose(1, 2)
        x = F.gelu(self.conv(x) * nonpadding)
        x = F.dropout(self.out(x), self.dropout, self.training)
        return (residual + x) * nonpadding


class FrameEncoder(nn.Module):
    def __init__(self, n_mels, hidden, layers=3, dropout=0.1):
        super().__init__()
        self.pre = nn.Conv1d(n_mels, hidden, 3, padding=1)
        self.blocks = nn.ModuleList(
            [ConvBlock(hidden, 3, 2 ** i, dropout) for i in range(layers)])
        self.rnn = nn.GRU(hidden, hidden // 2, batch_first=True, bidirectional=True)

    def forward(self, mels, mel_nonpadding):
        nonpadding = mel_nonpadding.unsqueeze(1)
        x = self.pre(mels.transpose(1, 2)) * nonpadding
        for block in self.blocks:
            x = block(x, nonpadding)
        x, _ = self.rnn(x.transpose(1, 2))
        return x * mel_nonpadding.unsqueeze(-1)


class PhonemeAligner(nn.Module):
    def __init__(self, n_mels=20, hidden=48, ph_num=12, lambda_bd=0.5):
        super().__init__()
        self.ph_num = ph_num
        self.lambda_bd = lambda_bd
        self.encoder = FrameEncoder(n_mels, hidden)
        self.ph_frame_out = nn.Linear(hidden, ph_num + 1)
        self.ph_bd_out = nn.Linear(hidden, 1)

    def forward(self, mels, mel_lengths, ph=None, ph_lengths=None, ph_bd=None):
        mel_nonpadding = (torch.arange(mels.size(1))[None] < mel_lengths[:, None]).float()
        feat = self.encoder(mels, mel_nonpadding)
        ph_frame_logits = self.ph_frame_out(feat)  # [B, T, ph_num + 1]
        ph_bd_logits = self.ph_bd_out(feat).squeeze(-1)
        if ph is None:
            return ph_frame_logits, ph_bd_logits

        ph_frame_logits = ph_frame_logits.transpose(0, 1)
        ph_ctc_loss = F.ctc_loss(  # here
            ph_frame_logits, ph, mel_lengths, ph_lengths,
            blank=self.ph_num, reduction='mean', zero_infinity=True)
        bd_loss = F.binary_cross_entropy_with_logits(ph_bd_logits, ph_bd, reduction='none')
        bd_loss = (bd_loss * mel_nonpadding).sum() / mel_nonpadding.sum()
        return ph_ctc_loss + self.lambda_bd * bd_loss


def build():
    torch.manual_seed(0)
    return PhonemeAligner()


def example_inputs():
    torch.manual_seed(1)
    proto = torch.randn(12, 20)
    B, T = 4, 36
    mels = torch.zeros(B, T, 20)
    ph_bd = torch.zeros(B, T)
    mel_lengths = torch.tensor([36, 30, 36, 24])
    ph_lengths = mel_lengths // 6
    ph = torch.randint(0, 12, (B, 6))
    for b in range(B):
        for i in range(ph_lengths[b]):
            mels[b, 6 * i:6 * i + 6] = proto[ph[b, i]] + 0.3 * torch.randn(6, 20)
            ph_bd[b, 6 * i] = 1.0
    return mels, mel_lengths, ph, ph_lengths, ph_bd
