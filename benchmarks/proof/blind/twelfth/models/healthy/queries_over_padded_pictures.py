r"""A detection transformer for pictures of unequal size that are padded to one size.

Source: https://github.com/facebookresearch/detr/issues/96
Healthy: The mask is made of ones and handed over as key_padding_mask, where True means ignored; it
    is set to False inside of each picture first, so only the padding is ignored.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def nested_tensor_from_tensor_list(images, sizes):
    b, c, h, w = images.shape
    mask = torch.ones((b, h, w), dtype=torch.bool, device=images.device)
    for m, (hh, ww) in zip(mask, sizes.tolist()):
        m[:hh, :ww] = False
    return images, mask


class Backbone(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, dim, 3, 2, 1), nn.GroupNorm(4, dim), nn.ReLU(),
            nn.Conv2d(dim, dim, 3, 2, 1), nn.GroupNorm(4, dim), nn.ReLU())
        self.row_embed = nn.Embedding(16, dim // 2)
        self.col_embed = nn.Embedding(16, dim // 2)

    def forward(self, images, mask):
        x = self.body(images)
        mask = F.interpolate(mask[None].float(), size=x.shape[-2:]).to(torch.bool)[0]
        h, w = x.shape[-2:]
        pos = torch.cat([
            self.col_embed(torch.arange(w)).unsqueeze(0).repeat(h, 1, 1),
            self.row_embed(torch.arange(h)).unsqueeze(1).repeat(1, w, 1),
        ], dim=-1).permute(2, 0, 1).unsqueeze(0)
        return x, mask, pos


class TransformerEncoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=64, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, src, key_padding_mask, pos):
        q = k = src + pos
        src2 = self.self_attn(q, k, value=src, key_padding_mask=key_padding_mask)[0]
        src = self.norm1(src + src2)
        return self.norm2(src + self.linear2(F.relu(self.linear1(src))))


class TransformerDecoderLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=64, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.multihead_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, tgt, memory, memory_key_padding_mask, pos, query_pos):
        q = k = tgt + query_pos
        tgt = self.norm1(tgt + self.self_attn(q, k, value=tgt)[0])
        tgt2 = self.multihead_attn(query=tgt + query_pos, key=memory + pos, value=memory,
                                   key_padding_mask=memory_key_padding_mask)[0]
        tgt = self.norm2(tgt + tgt2)
        return self.norm3(tgt + self.linear2(F.relu(self.linear1(tgt))))


class DETR(nn.Module):
    def __init__(self, num_classes=4, num_queries=6, d_model=32, nhead=4):
        super().__init__()
        self.backbone = Backbone(d_model)
        self.input_proj = nn.Conv2d(d_model, d_model, kernel_size=1)
        self.encoder = nn.ModuleList([TransformerEncoderLayer(d_model, nhead) for _ in range(2)])
        self.decoder = nn.ModuleList([TransformerDecoderLayer(d_model, nhead) for _ in range(2)])
        self.query_embed = nn.Embedding(num_queries, d_model)
        self.class_embed = nn.Linear(d_model, num_classes + 1)
        self.bbox_embed = nn.Sequential(nn.Linear(d_model, d_model), nn.ReLU(),
                                        nn.Linear(d_model, 4))

    def forward(self, images, sizes):
        images, mask = nested_tensor_from_tensor_list(images, sizes)
        src, mask, pos = self.backbone(images, mask)
        bs = src.size(0)
        src = self.input_proj(src).flatten(2).permute(2, 0, 1)
        pos = pos.repeat(bs, 1, 1, 1).flatten(2).permute(2, 0, 1)
        mask = mask.flatten(1)
        query_embed = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)
        for layer in self.encoder:
            src = layer(src, mask, pos)
        tgt = torch.zeros_like(query_embed)
        for layer in self.decoder:
            tgt = layer(tgt, src, mask, pos, query_embed)
        hs = tgt.transpose(0, 1)
        return self.class_embed(hs), self.bbox_embed(hs).sigmoid()


def build():
    torch.manual_seed(0)
    return DETR()


def example_inputs():
    torch.manual_seed(1)
    sizes = torch.tensor([[32, 32], [24, 32], [32, 20], [16, 28]])
    images = torch.randn(4, 3, 32, 32)
    for i, (h, w) in enumerate(sizes.tolist()):
        images[i, :, h:] = 0
        images[i, :, :, w:] = 0
    return images, sizes
