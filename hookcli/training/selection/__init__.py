"""Which steps of a training are observed in detail, and which are watched at all."""
