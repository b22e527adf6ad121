"""What model checking and fuzzing need of SWIM: bounded models, questions, variants, monitors."""
