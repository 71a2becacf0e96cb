"""Files of weights without a model: their tensors, read in pieces, described and compared."""
