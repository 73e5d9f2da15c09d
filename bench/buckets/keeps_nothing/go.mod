module keepsnothing

go 1.26
