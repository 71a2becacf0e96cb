r"""An embedding of pictures and captions with several vectors per item and a hinge on their ranks.

Source: https://github.com/yalesong/pvse/issues/13
Fault: the summary of a caption is the output of the bidirectional GRU at the last true word; its
    backward half has read only that one word there, the full backward state is at the first
    word (h_n), so half of the vector knows nothing of the caption.
Cause: (backward|revers|bidirectional|second direction|direction).{0,140}(last|one word|single|only
    |first|h_n|final|hidden|gather|half|state|step|position|token)
    |(last|gather|final).{0,80}(backward|revers|bidirectional|direction)
    |h_n
Place: rnn|padded|gather|out\b|I\b|EncoderText|forward
"""

import torch
import torch.nn as nn
import torch.nn.init
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def l2norm(x):
    """L2-normalize columns of x"""
    return nn.functional.normalize(x, p=2, dim=-1)


def get_pad_mask(max_length, lengths, set_pad_to_one=True):
    ind = torch.arange(0, max_length).unsqueeze(0)
    mask = (ind >= lengths.unsqueeze(1)) if set_pad_to_one else (ind < lengths.unsqueeze(1))
    return mask


class MultiHeadSelfAttention(nn.Module):
    """Self-attention module by Lin, Zhouhan, et al. ICLR 2017"""

    def __init__(self, n_head, d_in, d_hidden):
        super(MultiHeadSelfAttention, self).__init__()
        self.n_head = n_head
        self.w_1 = nn.Linear(d_in, d_hidden, bias=False)
        self.w_2 = nn.Linear(d_hidden, n_head, bias=False)
        self.tanh = nn.Tanh()
        self.softmax = nn.Softmax(dim=1)
        self.init_weights()

    def init_weights(self):
        nn.init.xavier_uniform_(self.w_1.weight)
        nn.init.xavier_uniform_(self.w_2.weight)

    def forward(self, x, mask=None):
        # This expects input x to be of size (b x seqlen x d_feat)
        attn = self.w_2(self.tanh(self.w_1(x)))
        if mask is not None:
            mask = mask.repeat(self.n_head, 1, 1).permute(1, 2, 0)
            attn.masked_fill_(mask, -float('inf'))
        attn = self.softmax(attn)

        output = torch.bmm(attn.transpose(1, 2), x)
        if output.shape[1] == 1:
            output = output.squeeze(1)
        return output, attn


class PIENet(nn.Module):
    """Polysemous Instance Embedding (PIE) module"""

    def __init__(self, n_embeds, d_in, d_out, d_h):
        super(PIENet, self).__init__()
        self.num_embeds = n_embeds
        self.attention = MultiHeadSelfAttention(n_embeds, d_in, d_h)
        self.fc = nn.Linear(d_in, d_out)
        self.sigmoid = nn.Sigmoid()
        self.layer_norm = nn.LayerNorm(d_out)

    def forward(self, out, x, pad_mask=None):
        residual, attn = self.attention(x, pad_mask)
        residual = self.sigmoid(self.fc(residual))
        if self.num_embeds > 1:
            out = out.unsqueeze(1).repeat(1, self.num_embeds, 1)
        out = self.layer_norm(out + residual)
        return out


class EncoderImage(nn.Module):
    def __init__(self, d_feat=24, embed_size=64, num_embeds=2):
        super(EncoderImage, self).__init__()
        self.fc = nn.Linear(d_feat, embed_size)
        self.pie_net = PIENet(num_embeds, d_feat, embed_size, d_feat // 2)

    def forward(self, regions):
        out = self.fc(regions.mean(dim=1))
        return l2norm(self.pie_net(out, regions))


class EncoderText(nn.Module):

    def __init__(self, vocab_size=60, wemb_size=32, embed_size=64, num_embeds=2):
        super(EncoderText, self).__init__()
        self.embed_size = embed_size
        self.embed = nn.Embedding(vocab_size, wemb_size)
        self.rnn = nn.GRU(wemb_size, embed_size // 2, bidirectional=True, batch_first=True)
        self.pie_net = PIENet(num_embeds, wemb_size, embed_size, wemb_size // 2)
        nn.init.xavier_uniform_(self.embed.weight)

    def forward(self, x, lengths):
        # Embed word ids to vectors
        wemb_out = self.embed(x)

        # Forward propagate RNNs
        packed = pack_padded_sequence(wemb_out, lengths, batch_first=True, enforce_sorted=False)
        rnn_out, _ = self.rnn(packed)
        padded = pad_packed_sequence(rnn_out, batch_first=True)

        # Reshape *final* output to (batch_size, hidden_size)
        I = lengths.expand(self.embed_size, 1, -1).permute(2, 1, 0) - 1
        out = torch.gather(padded[0], 1, I).squeeze(1)  # here

        pad_mask = get_pad_mask(wemb_out.shape[1], lengths, True)
        out = self.pie_net(out, wemb_out, pad_mask)
        return l2norm(out)


class PVSE(nn.Module):
    """Polysemous Visual-Semantic Embedding (PVSE) module"""

    def __init__(self, margin=0.1):
        super(PVSE, self).__init__()
        self.img_enc = EncoderImage()
        self.txt_enc = EncoderText()
        self.margin = margin

    def forward(self, images, sentences, lengths):
        img_emb = self.img_enc(images)
        txt_emb = self.txt_enc(sentences, lengths)
        scores = torch.einsum('ikd,jld->ijkl', img_emb, txt_emb).flatten(2).max(-1)[0]
        diagonal = scores.diag().view(-1, 1)
        cost_s = (self.margin + scores - diagonal).clamp(min=0)
        cost_im = (self.margin + scores - diagonal.t()).clamp(min=0)
        eye = torch.eye(scores.size(0)) > .5
        return cost_s.masked_fill(eye, 0).sum() + cost_im.masked_fill(eye, 0).sum()


def build():
    torch.manual_seed(0)
    return PVSE()


def example_inputs():
    torch.manual_seed(1)
    lengths = torch.randint(3, 13, (20,))
    lengths[0] = 12
    table = torch.randn(60, 24)
    sentences = torch.zeros(20, 12, dtype=torch.long)
    images = 0.3 * torch.randn(20, 5, 24)
    for i, n in enumerate(lengths.tolist()):
        words = torch.randint(1, 60, (n,))
        sentences[i, :n] = words
        images[i, :3] += table[words[:3]]
    return images, sentences, lengths
