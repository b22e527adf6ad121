"""One node in real time: the driver around its specification, UDP and TCP, and the recorder of traces."""
