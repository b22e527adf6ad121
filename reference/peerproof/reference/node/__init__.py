"""What a person starts: a node on a terminal, its configuration and the commands that are typed."""
