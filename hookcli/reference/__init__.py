"""The pages of `list` and `explain`, and docs/hooks.md, from the catalogues."""
