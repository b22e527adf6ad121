"""The stages of `peerproof pipeline`: a module each, with `configure(parser)` and `run(args)`, and what several have."""
