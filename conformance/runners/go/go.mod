module peerproof.example/vectors

go 1.21
