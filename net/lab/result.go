package lab

// Report is what was measured, in the order strategies, profiles.
type Report struct {
	Game    string   `json:"game"`
	Players int      `json:"players"`
	Seconds float64  `json:"seconds"` // of virtual time, measured of each match
	Seed    uint64   `json:"seed"`
	Script  string   `json:"script"` // what the players did: "script" or "bots"
	Snap    float64  `json:"snap"`   // Config.Snap, in world units
	Cap     float64  `json:"cap_ms"` // Config.Cap
	Results []Result `json:"results"`
}

// Result is one match: a strategy on a profile. Times are in milliseconds of virtual time unless their name says
// otherwise, lengths in world units, shares in percent. All players' values are taken together. The package's page
// defines each value.
type Result struct {
	Strategy string  `json:"strategy"`
	Profile  string  `json:"profile"`
	Title    string  `json:"title"`  // of the profile
	RTT      float64 `json:"rtt_ms"` // as the sessions measured it at the end, mean
	// Failed says why nothing was measured; all else is then 0.
	Failed string `json:"failed,omitempty"`
	// Broken says that it failed because a client was removed or gave up. Otherwise the strategy does not take the game, or
	// its clients do not come into a match on such a network.
	Broken bool `json:"broken,omitempty"`
	// Predicts says that clients run ahead of what is final: see systems.Strategy.
	Predicts bool `json:"predicts"`
	// Exact says that every client's confirmed states must be the server's, and were compared.
	Exact bool `json:"exact"`

	Display Spread  `json:"input_to_display"`
	Confirm Spread  `json:"input_to_confirm"`
	Own     Spread  `json:"own_age"`
	Remote  Spread  `json:"remote_age"`
	Slope   float64 `json:"lag_slope_ms_per_s"`

	Stall  Stall  `json:"stall"`
	Freeze Freeze `json:"freeze"`

	Corrections Corrections `json:"corrections"`
	Jumps       Jumps       `json:"jumps"`
	Absolute    Error       `json:"remote_error"`
	Shape       Error       `json:"remote_shape"`
	Speed       float64     `json:"remote_speed"` // root mean square of the others' true speed, in world units per second
	Roughness   float64     `json:"roughness_percent"`
	Paces       int         `json:"paces"` // how many steps Roughness is of

	Shots Shots `json:"shots"`

	Hits        float64 `json:"prediction_hits_percent"`
	Late        float64 `json:"late_percent"`
	Substituted float64 `json:"substituted_percent"`
	Window      Spread  `json:"window_ticks"`
	Resimulated float64 `json:"resimulated_per_s"` // ticks, of one client

	// Updates are entities of which clients were told, where the strategy sends states.
	Updates Updates `json:"updates"`

	Up   Rates `json:"up"`   // of one client
	Down Rates `json:"down"` // to one client

	ServerTick  float64 `json:"server_ns_per_tick"`      // real time
	ClientFrame float64 `json:"client_ns_per_frame"`     // real time
	ClientWorst float64 `json:"client_ns_per_frame_p99"` // real time
	Factor      float64 `json:"factor_of_real_time"`

	Away    float64 `json:"away_percent"` // frames in which a client had left the match, to be put right or to connect again
	Desyncs uint64  `json:"desyncs"`
	Resyncs uint64  `json:"resyncs"`

	Timeline []Second `json:"timeline"` // second by second
}

// Stall is of ticks that were due and could not be computed, as the strategy counts them.
type Stall struct {
	Percent   float64           `json:"percent"`
	PerMinute float64           `json:"per_minute"` // episodes, of one client
	Longest   float64           `json:"longest_ms"`
	Reasons   map[string]uint64 `json:"reasons"` // ticks
}

// Freeze is of frames in which nothing of the others moved that goes straight and evenly in truth.
type Freeze struct {
	Percent   float64 `json:"percent"`
	PerMinute float64 `json:"per_minute"`
	Longest   float64 `json:"longest_ms"`
}

// Corrections are replays that changed the present.
type Corrections struct {
	PerMinute float64 `json:"per_minute"` // of one client
	Size      Spread  `json:"size"`
	Causes    Causes  `json:"causes"`
}

// Jumps are steps in the picture that are not what the velocity says.
type Jumps struct {
	Max       float64 `json:"max"`
	P99       float64 `json:"p99"`
	PerMinute float64 `json:"per_minute"` // of one client
	Snaps     int     `json:"snaps"`
	SnapsRate float64 `json:"snaps_per_minute"` // of one client
	Backward  int     `json:"backward"`
}

// Shots are of lines that the lab aims at others and beside them, from what each screen shows.
type Shots struct {
	N     int     `json:"n"`             // lines, of all shots
	Agree float64 `json:"agree_percent"` // on which the server found whom the screen showed
	InCap int     `json:"in_cap"`        // lines of shots at views no older than Config.Cap
	// AgreeInCap is Agree of those.
	AgreeInCap float64 `json:"agree_in_cap_percent"`
	Age        Spread  `json:"view_age"` // of the views, when the server used what was done at them
	// Past is how long ago those who were hit were where they were hit, on the server. That is the longest that they can
	// have been behind cover by then.
	Past Spread `json:"hit_in_the_past"`
}

// Updates are of entities that changed and waited to be told of, since bytes are short.
type Updates struct {
	Longest float64 `json:"longest_wait_ms"` // of any client since it connected
	Overdue uint64  `json:"overdue"`         // those that had waited for more than a second, of all clients
}

// Rates are of one end of one connection, means over the time.
type Rates struct {
	Payload float64 `json:"payload_kbps"`
	Wire    float64 `json:"wire_kbps"`
	Most    float64 `json:"most_wire_kbps"` // in one second
	Packets float64 `json:"packets_per_s"`
}
