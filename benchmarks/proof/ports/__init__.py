"""Two implementations of one model, from two libraries or by hand: what `hookcli diff` says."""
