"""What a learner has done so far."""
