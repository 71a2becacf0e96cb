"""The pages of `list` and `explain`, and docs/hooks/reference.md, from the catalogues."""
