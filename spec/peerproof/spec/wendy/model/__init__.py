"""Model checking and fuzzing of Wendy: bounded models, questions, variants, monitors."""
