module tendon/cmd/tendonvet

go 1.26.0

require golang.org/x/tools v0.49.0
