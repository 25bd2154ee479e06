package reckon

// ClientCounts are the counters of a client since it was made.
type ClientCounts struct {
	Bodies     uint64 // bodies of state that were used
	Refused    uint64 // bodies that could not be used
	Replays    uint64 // bodies that differed from the predicted avatars in more than positions
	Snaps      uint64 // corrections of an avatar's position by the server
	Claims     uint64 // records of avatars sent
	Records    uint64 // records received
	Unanchored uint64 // records relative to an unknown anchor
}

// ServerCounts are the counters of a server since it was made.
type ServerCounts struct {
	Claims    uint64 // records of avatars received
	Believed  uint64 // … accepted, unchanged or clamped
	Clamped   uint64 // … accepted, clamped to a reachable position
	Refused   uint64 // … in a mode that is not allowed
	Foreign   uint64 // … of an entity that is no avatar of the sender
	Outdated  uint64 // … of an earlier epoch, duplicate or overtaken
	Excessive uint64 // … beyond the rate limit
	Early     uint64 // … while the sender's clock was unknown
	Snaps     uint64 // corrections of avatars by the server
	Records   uint64 // records sent, counted per peer
	Compact   uint64 // … relative to an anchor
	Bytes     uint64 // of records sent
}
