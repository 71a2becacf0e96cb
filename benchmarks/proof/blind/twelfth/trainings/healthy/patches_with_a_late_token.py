r"""Small vision transformer of annotated papers on coloured tiles, written out in one file.

Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/pull/221
Healthy: the class token is put in front after the position embeddings are added, so it has none of
    its own; the token is a learned vector itself, one more vector on it would change nothing.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class PatchEmbeddings(nn.Module):
    def __init__(self, d_model: int, patch_size: int, in_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, d_model, patch_size, stride=patch_size)

    def forward(self, x: torch.Tensor):
        x = self.conv(x)
        bs, c, h, w = x.shape
        x = x.permute(2, 3, 0, 1)
        return x.reshape(h * w, bs, c)


class LearnedPositionalEmbeddings(nn.Module):
    def __init__(self, d_model: int, max_len: int = 500):
        super().__init__()
        self.positional_encodings = nn.Parameter(torch.zeros(max_len, 1, d_model),
                                                 requires_grad=True)

    def forward(self, x: torch.Tensor):
        pe = self.positional_encodings[:x.shape[0]]
        return x + pe


class TransformerLayer(nn.Module):
    def __init__(self, d_model: int, heads: int, dropout: float):
        super().__init__()
        self.norm_attn = nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, heads)
        self.norm_ff = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Dropout(dropout),
                                nn.Linear(2 * d_model, d_model))

    def forward(self, x: torch.Tensor):
        z = self.norm_attn(x)
        x = x + self.attn(z, z, z, need_weights=False)[0]
        return x + self.ff(self.norm_ff(x))


class ClassificationHead(nn.Module):
    def __init__(self, d_model: int, n_hidden: int, n_classes: int):
        super().__init__()
        self.linear1 = nn.Linear(d_model, n_hidden)
        self.act = nn.ReLU()
        self.linear2 = nn.Linear(n_hidden, n_classes)

    def forward(self, x: torch.Tensor):
        x = self.act(self.linear1(x))
        return self.linear2(x)


class VisionTransformer(nn.Module):
    def __init__(self, d_model=48, n_layers=2, patch_size=4, n_classes=8):
        super().__init__()
        self.patch_emb = PatchEmbeddings(d_model, patch_size, 3)
        self.pos_emb = LearnedPositionalEmbeddings(d_model)
        self.classification = ClassificationHead(d_model, 64, n_classes)
        self.transformer_layers = nn.ModuleList(
            [TransformerLayer(d_model, 4, 0.1) for _ in range(n_layers)])
        # `[CLS]` token embedding
        self.cls_token_emb = nn.Parameter(torch.randn(1, 1, d_model), requires_grad=True)
        self.ln = nn.LayerNorm([d_model])

    def forward(self, x: torch.Tensor):
        # Get patch embeddings. This gives a tensor of shape `[patches, batch_size, d_model]`
        x = self.patch_emb(x)
        # Add positional embeddings
        x = self.pos_emb(x)
        # Concatenate the `[CLS]` token embeddings before feeding the transformer
        cls_token_emb = self.cls_token_emb.expand(-1, x.shape[1], -1)
        x = torch.cat([cls_token_emb, x])
        # Pass through transformer layers with no attention masking
        for layer in self.transformer_layers:
            x = layer(x)
        # Get the transformer output of the `[CLS]` token (which is the first in the sequence)
        x = self.ln(x[0])
        return self.classification(x)


def make_tiles(n, seed):
    # a red and a blue tile; the kind is where the red one lies and if the blue one is above it
    g = torch.Generator().manual_seed(seed)
    x = 0.15 * torch.randn(n, 3, 16, 16, generator=g)
    y = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        q = int(torch.randint(4, (1,), generator=g))
        ry, rx = (q // 2) * 8 + 4, (q % 2) * 8 + 2
        above = int(torch.randint(2, (1,), generator=g))
        by = int(torch.randint(0, 4, (1,), generator=g))
        by = by if above else 12
        bx = int(torch.randint(0, 13, (1,), generator=g))
        x[i, 0, ry:ry + 4, rx:rx + 4] += 1
        x[i, 2, by:by + 4, bx:bx + 4] += 1
        y[i] = q * 2 + above
    return TensorDataset(x, y)


def main():
    train_loader = DataLoader(make_tiles(1600, 1), batch_size=50, shuffle=True)
    x_val, y_val = make_tiles(400, 2).tensors
    model = VisionTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    loss_func = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        total = 0.0
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = loss_func(model(data), target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        print("epoch %d loss.train %.4f accuracy.valid %.3f" % (
            epoch, total / len(train_loader), acc))


if __name__ == "__main__":
    main()
