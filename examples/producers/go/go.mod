module example.com/producer

go 1.19
