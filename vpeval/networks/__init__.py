"""Networks that attackers, recognisers and anonymisers share: speaker encoders, SpeechBrain, Kaldi's nnet3, Whisper."""
