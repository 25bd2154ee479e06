package lab

// Reading is recent measurements of one match of a Live: of the last readEvery, unless a field says otherwise. Times are in
// ms of virtual time, lengths in world units. Values that Result has too are defined in the package comment. They are
// measured in player 0's picture alone, and are late by liveAhead.
type Reading struct {
	Strategy string `json:"strategy"`
	Joined   bool   `json:"joined"`
	// RTT is the client's smoothed measurement of the round trip; 0: none yet.
	RTT float64 `json:"rtt_ms"`
	// Seen is the newest mark of Live.Input that was shown, SeenAfter its latency.
	Seen      uint64  `json:"seen"`
	SeenAfter float64 `json:"seen_after_ms"`
	// Display is the median input to display. Pressed is set once any was measured.
	Display float64 `json:"display_ms"`
	Pressed bool    `json:"pressed"`
	// Remote is the usual remote age; negative: the remote entities are predicted ahead of the server. Aged is set if it is
	// known.
	Remote float64 `json:"remote_ms"`
	Aged   bool    `json:"aged"`
	// Error is the mean distance of remote entities from where they are. Own is that of own entities from where the server
	// had them in the same tick.
	Error float64 `json:"error"`
	Own   float64 `json:"own_error"`
	// Still is the share of remote entities' steps that stand still in the picture while the true motion is straight and
	// even, in percent.
	Still float64 `json:"still_percent"`
	// Hits is Shots.Agree; 0: unknown. Shots are fired only while the input changes.
	Hits float64 `json:"hits_percent"`
	ReadingWork
	// Desync is the last desync that was caused on purpose.
	Desync Desync `json:"desync"`
}

// ReadingWork is what client and server compute and send.
type ReadingWork struct {
	// Corrections counts the resimulations that changed the present, Size is the largest of them.
	Corrections int     `json:"corrections"`
	Size        float64 `json:"correction_size"`
	// Depth is the most ticks that one frame resimulated.
	Depth int `json:"depth"`
	// Stalled is the time of the ticks that were due and could not be computed.
	Stalled float64 `json:"stalled_ms"`
	// Up and Down are in kbit/s on the wire, estimated.
	Up   float64 `json:"up_kbps"`
	Down float64 `json:"down_kbps"`
	// ServerTick and ClientFrame are real time, in µs.
	ServerTick  float64 `json:"server_us"`
	ClientFrame float64 `json:"client_us"`
	// Window is the number of ticks that are predicted, Delay the input delay in ticks.
	Window float64 `json:"window"`
	Delay  int     `json:"delay"`
}
