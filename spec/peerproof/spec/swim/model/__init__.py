"""Model checking and fuzzing of SWIM: bounded models, questions, variants, monitors."""
