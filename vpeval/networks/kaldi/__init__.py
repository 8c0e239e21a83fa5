"""Networks made with Kaldi (Povey et al., ASRU 2011), read and run without it."""
