"""The pages of `list` and `explain`, and docs/hooks, from the catalogues."""
