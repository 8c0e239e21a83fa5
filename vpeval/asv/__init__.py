"""Speaker verification: encoders and scoring."""
