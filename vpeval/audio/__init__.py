"""Audio in and out, and F0."""
