"""A learner's practice: history, review schedule, mock interviews and ``grade watch``."""
