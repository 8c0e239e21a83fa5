"""Speech recognition: recognisers behind one interface."""
