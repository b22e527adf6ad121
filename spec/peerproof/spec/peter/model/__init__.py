"""What model checking and fuzzing need of Peter: bounded models, questions, variants, monitors."""
