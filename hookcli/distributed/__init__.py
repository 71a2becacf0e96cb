"""Several ranks that run one model: joining them, wrapping the model, merging their reports."""
