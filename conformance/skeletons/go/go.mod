module example.com/my-node

go 1.22
