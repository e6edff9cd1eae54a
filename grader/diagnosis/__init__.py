"""Which known mistakes reproduce what a submission computed."""
