"""The worker side: of the grader it imports ``grader.wire`` alone; it holds nothing to steal."""
