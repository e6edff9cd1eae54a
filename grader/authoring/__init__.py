"""For authors of kits: lays out new exercises, and holds them to the standards of our own."""
