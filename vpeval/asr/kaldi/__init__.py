"""Kaldi's chain models and language models, in the form that Vosk loads."""
