"""What hookcli sees inside compiled code, held against the same model without the compiler."""
