"""The verdict on a run: what is wrong with the model, one sentence for each cause."""
