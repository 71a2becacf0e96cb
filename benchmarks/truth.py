"""Multiply-accumulates of the sample models on their example inputs, worked out by hand.

A convolution or a linear layer: output positions times the elements of its weight. Attention: the
scores and their product with the values, over all positions. Parameters, calls and shapes are in
each sample's EXPECTED.
"""

MACS = {
    # backbone at 32x32, 16x16, 8x8; the heads at 8x8
    "detector": 2
    * (32 * 32 * 8 * 3 * 9 + 16 * 16 * 16 * 8 * 9 + 8 * 8 * 32 * 16 * 9 + 8 * 8 * 32 * (5 + 4)),
    # stem and layer1 at 8x8; layer2 at 4x4, with its shortcut; the classifier
    "inplace_resnet": 2
    * (64 * 8 * 3 * 9 + 64 * 2 * 8 * 8 * 9 + 16 * (16 * 8 * 9 + 16 * 16 * 9 + 16 * 8) + 16 * 10),
    # 11 packed tokens through four gates of both directions of two layers; all 14 are scored
    "lstm_tagger": 11 * 2 * 4 * 12 * ((16 + 12) + (24 + 12)) + 14 * 24 * 5,
    # 12 tokens are routed; each goes through two experts, whichever these are
    "moe": 12 * 16 * 4 + 12 * 2 * (16 * 32 + 32 * 16),
    # the encoder, once for each side
    "siamese": 2 * 2 * (64 * 1 * 8 * 9 + 16 * 8 * 16 * 9 + 16 * 8),
    # 24 positions through two blocks, attention over 12 positions, and the tied output layer
    "tiny_gpt": 2 * (24 * (32 * 96 + 32 * 32 + 2 * 32 * 128) + 2 * 2 * 12 * 12 * 32) + 24 * 32 * 50,
    # levels of 16x16, 8x8, 4x4 on the way down; up: each input element meets the 2x2 kernel
    "unet": 2
    * (
        256 * (1 * 8 * 9 + 8 * 8 * 9) + 64 * (8 * 16 * 9 + 16 * 16 * 9)
        + 16 * (16 * 32 * 9 + 32 * 32 * 9)
        + 16 * 32 * 16 * 4 + 64 * (32 * 16 * 9 + 16 * 16 * 9)
        + 64 * 16 * 8 * 4 + 256 * (16 * 8 * 9 + 8 * 8 * 9) + 256 * 8 * 3
    ),
    # 16 patches, then linear layers on vectors
    "vae": 2 * (16 * 8 * 16 + 128 * 32 + 2 * 32 * 4 + 4 * 32 + 32 * 256),
}  # fmt: skip
