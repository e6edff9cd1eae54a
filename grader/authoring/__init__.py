"""For authors of kits: lays out exercises of one's own, and holds them to what ours are held to."""
