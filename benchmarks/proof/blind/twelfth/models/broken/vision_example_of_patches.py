r"""The vision transformer of an examples repository, with a patch extractor and encoder blocks.

Source: https://github.com/pytorch/examples/issues/1178
Fault: The positional embedding has the shape (batch size, 1, latent size): it holds one vector for
    each place in the batch and none for the position of a patch, so the same vector is added to all
    patches and the model can't tell their order; an image's output depends on its row in the batch.
Cause: pos\w*[ _]?(embedding|encoding|vector|code)s?.{0,120}(batch|per (sample|image|row|example)
    |(wrong|same) (shape|dim\w*|vector|for (all|every|each))|not .{0,30}(patch|position|token
    |order))
    |(batch|shape).{0,80}pos\w*[ _]?(embedding|encoding)
    |order of (the )?(patches|tokens|positions?)|permut\w+ .{0,20}(patch|token)
    |(learn\w*|parameter|vector).{0,40}(per|for each|for every) (sample|place|row|item
    |entry) .{0,20}batch
    |(patch|token|position)\w* .{0,30}permut\w*
    |no (notion|information|knowledge) .{0,20}(position|order)
    |depend\w* .{0,40}(place|position|row|index) .{0,20}batch
Place: pos_embedding
"""

import torch
import torch.nn as nn


class PatchExtractor(nn.Module):
    def __init__(self, patch_size=8):
        super().__init__()
        self.patch_size = patch_size

    def forward(self, input_data):
        batch_size, channels, height, width = input_data.size()
        assert height % self.patch_size == 0 and width % self.patch_size == 0, \
            f"Input height ({height}) and width ({width}) must be divisible by patch size"

        num_patches_h = height // self.patch_size
        num_patches_w = width // self.patch_size
        num_patches = num_patches_h * num_patches_w

        patches = input_data.unfold(2, self.patch_size, self.patch_size). \
            unfold(3, self.patch_size, self.patch_size). \
            permute(0, 2, 3, 1, 4, 5). \
            contiguous(). \
            view(batch_size, num_patches, -1)
        return patches


class InputEmbedding(nn.Module):
    def __init__(self, args):
        super(InputEmbedding, self).__init__()
        self.patch_size = args["patch_size"]
        self.n_channels = args["n_channels"]
        self.latent_size = args["latent_size"]
        self.batch_size = args["batch_size"]
        self.device = torch.device("cpu")
        self.input_size = self.patch_size * self.patch_size * self.n_channels

        # Linear projection
        self.LinearProjection = nn.Linear(self.input_size, self.latent_size)
        # Class token
        self.class_token = nn.Parameter(torch.randn(1, 1, self.latent_size))
        # Positional embedding
        self.pos_embedding = nn.Parameter(
            torch.randn(self.batch_size, 1, self.latent_size)).to(self.device)  # here

    def forward(self, input_data):
        input_data = input_data.to(self.device)
        patchify = PatchExtractor(patch_size=self.patch_size)
        patches = patchify(input_data)

        linear_projection = self.LinearProjection(patches).to(self.device)
        b, n, _ = linear_projection.shape
        class_token = self.class_token.expand(b, -1, -1)
        linear_projection = torch.cat((class_token, linear_projection), dim=1)
        linear_projection += self.pos_embedding
        return linear_projection


class EncoderBlock(nn.Module):
    def __init__(self, args):
        super(EncoderBlock, self).__init__()
        self.latent_size = args["latent_size"]
        self.num_heads = args["num_heads"]
        self.dropout = args["dropout"]
        self.norm = nn.LayerNorm(self.latent_size)
        self.attention = nn.MultiheadAttention(self.latent_size, self.num_heads,
                                               dropout=self.dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(self.latent_size)
        self.enc_MLP = nn.Sequential(
            nn.Linear(self.latent_size, self.latent_size * 4),
            nn.GELU(),
            nn.Dropout(self.dropout),
            nn.Linear(self.latent_size * 4, self.latent_size),
            nn.Dropout(self.dropout),
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
        self.num_encoders = args["num_encoders"]
        self.latent_size = args["latent_size"]
        self.num_classes = args["num_classes"]
        self.embedding = InputEmbedding(args)
        self.encoders = nn.ModuleList([EncoderBlock(args) for _ in range(self.num_encoders)])
        self.MLPHead = nn.Sequential(
            nn.LayerNorm(self.latent_size),
            nn.Linear(self.latent_size, self.latent_size),
            nn.GELU(),
            nn.Linear(self.latent_size, self.num_classes),
        )

    def forward(self, test_input):
        enc_output = self.embedding(test_input)
        for enc_layer in self.encoders:
            enc_output = enc_layer(enc_output)
        class_token_embed = enc_output[:, 0]
        return self.MLPHead(class_token_embed)


def build():
    torch.manual_seed(0)
    args = {"patch_size": 4, "n_channels": 3, "latent_size": 48, "batch_size": 8, "num_heads": 4,
            "dropout": 0.1, "num_encoders": 2, "num_classes": 10}
    return ViT(args)


def example_inputs():
    torch.manual_seed(1)
    return (torch.rand(8, 3, 16, 16),)
