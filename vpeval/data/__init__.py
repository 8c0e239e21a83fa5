"""Kaldi data directories: reading, checking, mending, cutting, and trial lists."""
