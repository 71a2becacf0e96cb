r"""A small conformer for speech: half-step feed-forwards around attention and convolution.

Source: https://github.com/sooftware/conformer/pull/46
Fault: the model has a last layer fc to the classes, but forward never calls it: the log_softmax is
    taken over the features of the encoder.
Cause: \bfc\b|(final|last|output).*(unused|never|not (used|called|applied|part)|skipp)
    |(linear|projection|classifier|head).*(unused|never|not (used|called|applied|part)|skipp)
    |(final|last|output).*(missing|ignored|no grad|not reach|forgot)
    |(linear|projection|classifier|head).*(missing|ignored|no grad|not reach|forgot)
    |(unused|never (used|called)|not (used|called))\w*.*(final|last|output|linear)
    |(unused|never (used|called)|not (used|called))\w*.*(projection|classifier|head|layer)
    |(skipp|forgot|missing)\w*.*(final|last|output|linear|projection|classifier|head|layer)
    |log_?softmax.*(encoder|feature|hidden)
Place: \bfc\b|outputs|forward|Conformer
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Swish(nn.Module):
    def forward(self, inputs):
        return inputs * inputs.sigmoid()


class ResidualConnectionModule(nn.Module):
    def __init__(self, module, module_factor=1.0, input_factor=1.0):
        super(ResidualConnectionModule, self).__init__()
        self.module = module
        self.module_factor = module_factor
        self.input_factor = input_factor

    def forward(self, inputs):
        return (self.module(inputs) * self.module_factor) + (inputs * self.input_factor)


class FeedForwardModule(nn.Module):
    def __init__(self, encoder_dim, expansion_factor=4, dropout_p=0.1):
        super(FeedForwardModule, self).__init__()
        self.sequential = nn.Sequential(
            nn.LayerNorm(encoder_dim),
            nn.Linear(encoder_dim, encoder_dim * expansion_factor),
            Swish(),
            nn.Dropout(p=dropout_p),
            nn.Linear(encoder_dim * expansion_factor, encoder_dim),
            nn.Dropout(p=dropout_p),
        )

    def forward(self, inputs):
        return self.sequential(inputs)


class SelfAttentionModule(nn.Module):
    def __init__(self, d_model, num_heads, dropout_p=0.1):
        super(SelfAttentionModule, self).__init__()
        self.layer_norm = nn.LayerNorm(d_model)
        self.attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.dropout = nn.Dropout(p=dropout_p)

    def forward(self, inputs):
        inputs = self.layer_norm(inputs)
        outputs, _ = self.attention(inputs, inputs, inputs, need_weights=False)
        return self.dropout(outputs)


class ConformerConvModule(nn.Module):
    def __init__(self, in_channels, kernel_size=7, expansion_factor=2, dropout_p=0.1):
        super(ConformerConvModule, self).__init__()
        self.layer_norm = nn.LayerNorm(in_channels)
        self.sequential = nn.Sequential(
            nn.Conv1d(in_channels, in_channels * expansion_factor, 1),
            nn.GLU(dim=1),
            nn.Conv1d(in_channels, in_channels, kernel_size, padding=(kernel_size - 1) // 2,
                      groups=in_channels, bias=False),
            nn.BatchNorm1d(in_channels),
            Swish(),
            nn.Conv1d(in_channels, in_channels, 1),
            nn.Dropout(p=dropout_p),
        )

    def forward(self, inputs):
        return self.sequential(self.layer_norm(inputs).transpose(1, 2)).transpose(1, 2)


class ConformerBlock(nn.Module):
    def __init__(self, encoder_dim=32, num_heads=4, half_step_residual=True):
        super(ConformerBlock, self).__init__()
        factor = 0.5 if half_step_residual else 1
        self.sequential = nn.Sequential(
            ResidualConnectionModule(FeedForwardModule(encoder_dim), module_factor=factor),
            ResidualConnectionModule(SelfAttentionModule(encoder_dim, num_heads)),
            ResidualConnectionModule(ConformerConvModule(encoder_dim)),
            ResidualConnectionModule(FeedForwardModule(encoder_dim), module_factor=factor),
            nn.LayerNorm(encoder_dim),
        )

    def forward(self, inputs):
        return self.sequential(inputs)


class ConformerEncoder(nn.Module):
    def __init__(self, input_dim=20, encoder_dim=32, num_layers=2, num_heads=4):
        super(ConformerEncoder, self).__init__()
        self.conv_subsample = nn.Sequential(
            nn.Conv1d(input_dim, encoder_dim, 3, stride=2, padding=1), nn.ReLU())
        self.input_projection = nn.Sequential(
            nn.Linear(encoder_dim, encoder_dim), nn.Dropout(p=0.1))
        self.layers = nn.ModuleList(
            [ConformerBlock(encoder_dim, num_heads) for _ in range(num_layers)])

    def forward(self, inputs, input_lengths):
        outputs = self.conv_subsample(inputs.transpose(1, 2)).transpose(1, 2)
        outputs = self.input_projection(outputs)
        for layer in self.layers:
            outputs = layer(outputs)
        return outputs, (input_lengths + 1) // 2


class Conformer(nn.Module):
    def __init__(self, num_classes, input_dim=20, encoder_dim=32, num_encoder_layers=2):
        super(Conformer, self).__init__()
        self.encoder = ConformerEncoder(input_dim, encoder_dim, num_encoder_layers)
        self.fc = nn.Linear(encoder_dim, num_classes, bias=False)

    def count_parameters(self):
        return sum(p.numel() for p in self.parameters())

    def forward(self, inputs, input_lengths):
        encoder_outputs, encoder_output_lengths = self.encoder(inputs, input_lengths)
        outputs = encoder_outputs  # here
        outputs = F.log_softmax(outputs, dim=-1)
        return outputs, encoder_output_lengths


PHONES = torch.randn(10, 20, generator=torch.Generator().manual_seed(2))


def make_utterances(n=8, words=5, seed=0):
    g = torch.Generator().manual_seed(seed)
    targets = torch.randint(1, 10, (n, words), generator=g)
    frames = targets.repeat_interleave(4, dim=1)
    inputs = PHONES[frames] + 0.3 * torch.randn(n, 4 * words, 20, generator=g)
    return inputs, torch.full((n,), 4 * words), targets, torch.full((n,), words)


def build():
    torch.manual_seed(0)
    return Conformer(num_classes=10)


def example_inputs():
    inputs, lengths, _, _ = make_utterances(4)
    return inputs, lengths
