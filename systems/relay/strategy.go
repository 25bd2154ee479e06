package relay

import "tendon/systems"

// Strategy is rollback with a server relay.
var Strategy = systems.Strategy{
	Name:      "relay",
	Needs:     systems.Needs{Exact: true},
	Predicts:  true,
	NewServer: NewServer,
	NewClient: NewClient,
}
