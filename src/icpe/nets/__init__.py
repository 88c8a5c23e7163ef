"""Networks on one sequence; they know no tasks."""
