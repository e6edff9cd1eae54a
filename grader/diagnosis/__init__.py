"""Find the known mistakes that reproduce what a submission computed."""
