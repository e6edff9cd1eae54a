"""What a suite imports: subjects, claims, comparisons, points, and pytest settings of its own."""
