"""What the autograd graph of a loss shows of its model: softmaxes, norms, chains of layers."""
