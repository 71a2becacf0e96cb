r"""A sentiment classifier on a hand-written LSTM cell loop that copes with padded batches.

Source: https://github.com/allenai/allennlp/issues/2530
Fault: The previous memory and state are taken from .data and cloned at each step, so no gradient
    flows back through time: the recurrent part learns from the last step only.
Cause: \.data\b|detach\w*|gradients? .{0,80}(earlier|previous|through time|back in time|other steps
    |last step|one step|recurr)|(graph|gradient|history|backprop\w*|chain) .{0,50}(cut|break|broken
    |truncat|interrupt|stop|lost|disconnect|block)
    |(cuts?|breaks?|truncat\w*|interrupts?|stops?) .{0,50}(graph|gradient|history|backprop|time)
Place: AugmentedLstm|full_batch_previous\w*|previous\w*|data
"""

import torch
import torch.nn as nn


class AugmentedLstm(nn.Module):
    def __init__(self, input_size, hidden_size, use_highway=True):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.use_highway = use_highway
        gates = 6 if use_highway else 4
        self.input_linearity = nn.Linear(input_size, gates * hidden_size, bias=False)
        self.state_linearity = nn.Linear(hidden_size, (gates - 1 if use_highway else gates)
                                         * hidden_size, bias=True)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.input_linearity.weight)
        nn.init.orthogonal_(self.state_linearity.weight)
        self.state_linearity.bias.data.fill_(0.0)
        self.state_linearity.bias.data[self.hidden_size:2 * self.hidden_size].fill_(1.0)

    def forward(self, sequence_tensor, batch_lengths):
        # the batch is sorted by length, longest first
        batch_size, total_timesteps, _ = sequence_tensor.size()
        h = self.hidden_size
        outputs = []
        full_batch_previous_memory = sequence_tensor.new_zeros(batch_size, h)
        full_batch_previous_state = sequence_tensor.new_zeros(batch_size, h)

        for timestep in range(total_timesteps):
            current_length_index = int((batch_lengths > timestep).sum())
            n = current_length_index
            full_batch_previous_memory = full_batch_previous_memory.data.clone()  # here
            full_batch_previous_state = full_batch_previous_state.data.clone()  # here
            previous_memory = full_batch_previous_memory[:n]
            previous_state = full_batch_previous_state[:n]
            timestep_input = sequence_tensor[:n, timestep]

            projected_input = self.input_linearity(timestep_input)
            projected_state = self.state_linearity(previous_state)
            input_gate = torch.sigmoid(projected_input[:, 0:h] + projected_state[:, 0:h])
            forget_gate = torch.sigmoid(projected_input[:, h:2 * h] + projected_state[:, h:2 * h])
            memory_init = torch.tanh(projected_input[:, 2 * h:3 * h]
                                     + projected_state[:, 2 * h:3 * h])
            output_gate = torch.sigmoid(projected_input[:, 3 * h:4 * h]
                                        + projected_state[:, 3 * h:4 * h])
            memory = input_gate * memory_init + forget_gate * previous_memory
            timestep_output = output_gate * torch.tanh(memory)
            if self.use_highway:
                highway_gate = torch.sigmoid(projected_input[:, 4 * h:5 * h]
                                             + projected_state[:, 4 * h:5 * h])
                highway_input = projected_input[:, 5 * h:6 * h]
                timestep_output = highway_gate * timestep_output + \
                    (1 - highway_gate) * highway_input

            full_batch_previous_memory = torch.cat([memory, full_batch_previous_memory[n:]])
            full_batch_previous_state = torch.cat([timestep_output, full_batch_previous_state[n:]])
            outputs.append(full_batch_previous_state)
        return torch.stack(outputs, dim=1), full_batch_previous_state


class ImdbClassifier(nn.Module):
    def __init__(self, vocab=80, embed=16, hidden=24, num_labels=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed, padding_idx=0)
        self.encoder = AugmentedLstm(embed, hidden)
        self.classifier = nn.Linear(hidden, num_labels)

    def forward(self, tokens, lengths):
        embedded = self.embedding(tokens)
        _, final_state = self.encoder(embedded, lengths)
        return self.classifier(final_state)


def build():
    torch.manual_seed(0)
    return ImdbClassifier()


def example_inputs():
    torch.manual_seed(1)
    lengths = torch.tensor([18, 16, 16, 12, 9, 7])
    tokens = torch.randint(1, 80, (6, 18))
    tokens = tokens * (torch.arange(18)[None] < lengths[:, None])
    return tokens, lengths
