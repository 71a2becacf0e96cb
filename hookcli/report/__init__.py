"""The report as plain data, to and from JSON, without tensors or torch."""
