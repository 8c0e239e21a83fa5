"""Vectors of utterances: Kaldi archives and directories of them."""
