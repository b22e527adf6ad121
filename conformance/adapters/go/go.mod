module peerproof.example/adapters

go 1.21

require peerproof.example/vectors v0.0.0

replace peerproof.example/vectors => ../../runners/go
