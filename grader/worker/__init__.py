"""The worker side: imports nothing of ours but its wire, and holds nothing to be stolen."""
