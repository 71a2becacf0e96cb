"""The document of a training: records, steps, findings; as a tree, and in short."""
