"""Model checking and fuzzing of Peter: bounded models, questions, variants, monitors."""
