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

// ServerCounts is what a server counted since it was made.
type ServerCounts struct {
	Claims    uint64 // records of avatars that came
	Believed  uint64 // … that were taken, as they were or changed to what is possible
	Clamped   uint64 // … of them, changed
	Refused   uint64 // … in a mode that the avatar may not be in
	Foreign   uint64 // … of something that is no avatar of the sender
	Outdated  uint64 // … from before the server's last word about the avatar, doubled or overtaken
	Excessive uint64 // … beyond the budget
	Early     uint64 // … while the sender's clock was not known
	Snaps     uint64 // times that the server had the last word
	Records   uint64 // that were told to somebody
	Compact   uint64 // … of them, relative to an anchor
	Bytes     uint64 // of records that were told
}
