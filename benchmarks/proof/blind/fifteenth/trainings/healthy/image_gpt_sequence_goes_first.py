r"""Autoregressive transformer over the pixels of tiny pictures in few grey levels.

Source: https://github.com/teddykoker/image-gpt/issues/8
Healthy: the pixels are transposed to (sequence, batch) because nn.MultiheadAttention without
    batch_first expects the sequence in front; the start token is put before the shifted input.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def _to_sequence(x):
    x = x.view(x.shape[0], -1)
    return x.transpose(0, 1).contiguous()


class Block(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super(Block, self).__init__()
        self.ln_1 = nn.LayerNorm(embed_dim)
        self.ln_2 = nn.LayerNorm(embed_dim)
        self.attn = nn.MultiheadAttention(embed_dim, num_heads)
        self.mlp = nn.Sequential(
            nn.Linear(embed_dim, embed_dim * 4),
            nn.GELU(),
            nn.Linear(embed_dim * 4, embed_dim),
        )

    def forward(self, x):
        attn_mask = torch.full((len(x), len(x)), -float("Inf"), dtype=x.dtype)
        attn_mask = torch.triu(attn_mask, diagonal=1)
        x = self.ln_1(x)
        a, _ = self.attn(x, x, x, attn_mask=attn_mask, need_weights=False)
        x = x + a
        m = self.mlp(self.ln_2(x))
        x = x + m
        return x


class GPT2(nn.Module):
    def __init__(self, embed_dim, num_heads, num_layers, num_positions, num_vocab, num_classes):
        super(GPT2, self).__init__()
        self.embed_dim = embed_dim
        self.sos = torch.nn.Parameter(torch.zeros(embed_dim))
        nn.init.normal_(self.sos)
        self.token_embeddings = nn.Embedding(num_vocab, embed_dim)
        self.position_embeddings = nn.Embedding(num_positions, embed_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(Block(embed_dim, num_heads))
        self.ln_f = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, num_vocab, bias=False)
        self.clf_head = nn.Linear(embed_dim, num_classes)

    def forward(self, x, classify=False):
        length, batch = x.shape
        h = self.token_embeddings(x.long())
        sos = torch.ones(1, batch, self.embed_dim) * self.sos
        h = torch.cat([sos, h[:-1, :, :]], axis=0)
        positions = torch.arange(length).unsqueeze(-1)
        h = h + self.position_embeddings(positions).expand_as(h)
        for layer in self.layers:
            h = layer(h)
        h = self.ln_f(h)
        logits = self.head(h)
        if not classify:
            return logits
        h = torch.mean(h, dim=0)
        return self.clf_head(h), logits


class ImageGPT:
    def __init__(self, args):
        self.gpt = GPT2(embed_dim=args.embed_dim, num_heads=args.num_heads,
                        num_layers=args.num_layers, num_positions=args.num_pixels ** 2,
                        num_vocab=args.num_vocab, num_classes=args.num_classes)
        self.criterion = nn.CrossEntropyLoss()
        self.args = args
        self.classify = args.classify

    def training_step(self, batch):
        x, y = batch
        x = _to_sequence(x)
        if self.classify:
            clf_logits, logits = self.gpt(x, classify=True)
            clf_loss = self.criterion(clf_logits, y)
        else:
            logits = self.gpt(x)
            clf_loss = torch.zeros(())
        gen_loss = self.criterion(logits.view(-1, logits.size(-1)), x.view(-1))
        return clf_loss + gen_loss if self.classify else gen_loss, gen_loss.item(), clf_loss.item()

    @torch.no_grad()
    def validation(self, loader):
        self.gpt.eval()
        correct, loss = 0, 0.0
        for x, y in loader:
            x = _to_sequence(x)
            clf_logits, logits = self.gpt(x, classify=True)
            correct += (clf_logits.argmax(-1) == y).sum().item()
            loss += self.criterion(logits.view(-1, logits.size(-1)), x.view(-1)).item()
        return loss / len(loader), correct / len(loader.dataset)

    @torch.no_grad()
    def sample(self, num):
        self.gpt.eval()
        n = self.args.num_pixels ** 2
        context = torch.zeros(0, num, dtype=torch.long)
        pad = torch.zeros(1, num, dtype=torch.long)
        for _ in range(n):
            logits = self.gpt(torch.cat((context, pad), dim=0))[-1]
            pred = torch.multinomial(F.softmax(logits, dim=-1), 1).transpose(1, 0)
            context = torch.cat((context, pred), dim=0)
        return context.t()


def pictures(args, num, seed):
    g = torch.Generator().manual_seed(13)
    protos = torch.randint(0, args.num_vocab, (args.num_classes, args.num_pixels, args.num_pixels),
                           generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, args.num_classes, (num,), generator=g)
    x = protos[y]
    flip = torch.rand(x.shape, generator=g) < 0.1
    x = torch.where(flip, torch.randint(0, args.num_vocab, x.shape, generator=g), x)
    return TensorDataset(x, y)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--embed_dim", type=int, default=32)
    parser.add_argument("--num_heads", type=int, default=2)
    parser.add_argument("--num_layers", type=int, default=2)
    parser.add_argument("--num_pixels", type=int, default=6)
    parser.add_argument("--num_vocab", type=int, default=6)
    parser.add_argument("--num_classes", type=int, default=5)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--learning_rate", type=float, default=3e-3)
    parser.add_argument("--classify", action="store_true", default=True)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_dl = DataLoader(pictures(args, 800, 1), batch_size=args.batch_size, shuffle=True)
    valid_dl = DataLoader(pictures(args, 200, 2), batch_size=100)
    model = ImageGPT(args)
    optim = torch.optim.Adam(model.gpt.parameters(), lr=args.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optim, args.epochs * len(train_dl))
    for epoch in range(args.epochs):
        model.gpt.train()
        gen, clf = 0.0, 0.0
        for batch in train_dl:
            loss, g_loss, c_loss = model.training_step(batch)
            optim.zero_grad()
            loss.backward()
            optim.step()
            scheduler.step()
            gen, clf = gen + g_loss, clf + c_loss
        v_loss, v_acc = model.validation(valid_dl)
        print("epoch %d gen_loss %.4f clf_loss %.4f val_loss %.4f val_acc %.3f" % (
            epoch, gen / len(train_dl), clf / len(train_dl), v_loss, v_acc))
    print(model.sample(2).view(2, args.num_pixels, args.num_pixels).tolist()[0])
