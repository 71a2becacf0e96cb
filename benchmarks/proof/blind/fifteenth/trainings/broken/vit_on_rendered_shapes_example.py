r"""Vision transformer written in one file and trained on small colour images of ten kinds.

Source: https://github.com/pytorch/examples/issues/1184
Fault: nn.MultiheadAttention is left at its default (sequence first) while it is given
    (batch, patches, features), so the attention runs over the images of a batch, the class token
    never sees a patch of its image, and every image gets the same output.
Cause: batch_first
    |(sequence|length|time)[- ]first
    |attention.{0,100}(across|over|between|among|mix|along).{0,60}(batch|images|samples|examples)
    |(batch|images|samples|examples).{0,80}(as|taken for|treated|instead of|swapped).{0,40}(sequence
    |time|length|tokens?|patch)
    |(samples|images|examples|rows).{0,60}(attend|mixed|leak|influence|depend).{0,60}(each other
    |one another|batch|other)
    |(batch|sequence).{0,40}(axis|axes|dimension|order).{0,60}(swap|confus|mix|wrong|exchanged
    |transpos)
Place: attention|EncoderBlock|encoders|MultiheadAttention
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch import optim
from torch.utils.data import DataLoader, TensorDataset


class PatchExtractor(nn.Module):
    def __init__(self, patch_size=8):
        super().__init__()
        self.patch_size = patch_size

    def forward(self, input_data):
        batch_size, channels, height, width = input_data.size()
        assert height % self.patch_size == 0 and width % self.patch_size == 0, \
            f"Input height ({height}) and width ({width}) must be divisible"
        n = (height // self.patch_size) * (width // self.patch_size)
        p = input_data.unfold(2, self.patch_size, self.patch_size)
        p = p.unfold(3, self.patch_size, self.patch_size)
        return p.permute(0, 2, 3, 1, 4, 5).contiguous().view(batch_size, n, -1)


class InputEmbedding(nn.Module):
    def __init__(self, args):
        super(InputEmbedding, self).__init__()
        self.patch_size = args.patch_size
        self.latent_size = args.latent_size
        self.input_size = args.patch_size * args.patch_size * args.n_channels
        num_patches = (args.img_size // args.patch_size) ** 2

        self.LinearProjection = nn.Linear(self.input_size, self.latent_size)
        self.class_token = nn.Parameter(torch.randn(1, 1, self.latent_size))
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches + 1, self.latent_size))
        self.patchify = PatchExtractor(patch_size=self.patch_size)

    def forward(self, input_data):
        patches = self.patchify(input_data)
        linear_projection = self.LinearProjection(patches)
        b, n, _ = linear_projection.shape
        cls = self.class_token.expand(b, -1, -1)
        linear_projection = torch.cat((cls, linear_projection), dim=1)
        return linear_projection + self.pos_embedding[:, :n + 1, :]


class EncoderBlock(nn.Module):
    def __init__(self, args):
        super(EncoderBlock, self).__init__()
        self.latent_size = args.latent_size
        self.num_heads = args.num_heads
        self.dropout = args.dropout
        self.norm = nn.LayerNorm(self.latent_size)
        self.norm2 = nn.LayerNorm(self.latent_size)
        self.attention = nn.MultiheadAttention(self.latent_size, self.num_heads,  # here
                                               dropout=self.dropout)
        self.enc_MLP = nn.Sequential(
            nn.Linear(self.latent_size, self.latent_size * 4),
            nn.GELU(),
            nn.Dropout(self.dropout),
            nn.Linear(self.latent_size * 4, self.latent_size),
            nn.Dropout(self.dropout)
        )

    def forward(self, emb_patches):
        first_norm = self.norm(emb_patches)
        attention_out = self.attention(first_norm, first_norm, first_norm)[0]
        first_added = attention_out + emb_patches
        second_norm = self.norm2(first_added)
        mlp_out = self.enc_MLP(second_norm)
        return mlp_out + first_added


class ViT(nn.Module):
    def __init__(self, args):
        super(ViT, self).__init__()
        self.embedding = InputEmbedding(args)
        self.encoders = nn.ModuleList([EncoderBlock(args) for _ in range(args.num_encoders)])
        self.MLPHead = nn.Sequential(
            nn.LayerNorm(args.latent_size),
            nn.Linear(args.latent_size, args.latent_size),
            nn.Linear(args.latent_size, args.num_classes),
        )

    def forward(self, test_input):
        enc_output = self.embedding(test_input)
        for enc_layer in self.encoders:
            enc_output = enc_layer(enc_output)
        return self.MLPHead(enc_output[:, 0])


class TrainEval:
    def __init__(self, args, model, train_dataloader, val_dataloader, optimizer, criterion):
        self.model = model
        self.train_dataloader = train_dataloader
        self.val_dataloader = val_dataloader
        self.optimizer = optimizer
        self.criterion = criterion
        self.epoch = args.epochs

    def train_fn(self, current_epoch):
        self.model.train()
        total_loss = 0.0
        for t, (images, labels) in enumerate(self.train_dataloader):
            self.optimizer.zero_grad()
            logits = self.model(images)
            loss = self.criterion(logits, labels)
            loss.backward()
            self.optimizer.step()
            total_loss += loss.item()
        return total_loss / len(self.train_dataloader)

    def eval_fn(self, current_epoch):
        self.model.eval()
        total_loss, correct, seen = 0.0, 0, 0
        with torch.no_grad():
            for images, labels in self.val_dataloader:
                logits = self.model(images)
                total_loss += self.criterion(logits, labels).item()
                correct += (logits.argmax(1) == labels).sum().item()
                seen += labels.numel()
        return total_loss / len(self.val_dataloader), correct / seen

    def train(self):
        best_valid_loss = np.inf
        for i in range(self.epoch):
            train_loss = self.train_fn(i)
            val_loss, acc = self.eval_fn(i)
            print("EPOCH %d train %.4f valid %.4f acc %.3f" % (i + 1, train_loss, val_loss, acc))
            if val_loss < best_valid_loss:
                best_valid_loss = val_loss
        print(f"Valid Loss : {best_valid_loss}")


def make_images(num, args, gen):
    protos = torch.rand(args.num_classes, args.n_channels, 8, 8,
                        generator=torch.Generator().manual_seed(99))
    protos = nn.functional.interpolate(protos, size=args.img_size, mode="bilinear")
    labels = torch.randint(0, args.num_classes, (num,), generator=gen)
    noise = 0.25 * torch.randn(num, args.n_channels, args.img_size, args.img_size, generator=gen)
    return TensorDataset((protos[labels] + noise).clamp(0, 1), labels)


def main():
    parser = argparse.ArgumentParser(description='Vision Transformer in PyTorch')
    parser.add_argument('--patch-size', type=int, default=8)
    parser.add_argument('--latent-size', type=int, default=48)
    parser.add_argument('--n-channels', type=int, default=3)
    parser.add_argument('--num-heads', type=int, default=4)
    parser.add_argument('--num-encoders', type=int, default=3)
    parser.add_argument('--dropout', type=float, default=0.1)
    parser.add_argument('--img-size', type=int, default=32)
    parser.add_argument('--num-classes', type=int, default=10)
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--weight-decay', type=float, default=1e-4)
    parser.add_argument('--batch-size', type=int, default=32)
    args = parser.parse_args()

    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    train_loader = DataLoader(make_images(1024, args, gen), args.batch_size, shuffle=True)
    valid_loader = DataLoader(make_images(256, args, gen), args.batch_size, shuffle=False)

    model = ViT(args)
    optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    criterion = nn.CrossEntropyLoss()
    TrainEval(args, model, train_loader, valid_loader, optimizer, criterion).train()


if __name__ == "__main__":
    main()
