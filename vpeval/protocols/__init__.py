"""What is measured on whom: the protocols of the papers, on sets of speakers, with the pure metrics."""
