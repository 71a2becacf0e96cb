"""The `Model` interface and its backends: find, build and call the model that the user named."""
