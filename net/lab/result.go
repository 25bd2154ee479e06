package lab

// Report is the measurements of a Run, in the order strategies, profiles.
type Report struct {
	Game    string   `json:"game"`
	Rate    int      `json:"tick_rate"` // of the game, in ticks per second
	Players int      `json:"players"`
	Seconds float64  `json:"seconds"` // of virtual time, measured in each match
	Seed    uint64   `json:"seed,string"`
	Script  string   `json:"script"` // source of the inputs: "script" or "bots"
	Snap    float64  `json:"snap"`   // Config.Snap, in world units
	Cap     float64  `json:"cap_ms"` // age up to which a view counts in Shots.InCap
	Results []Result `json:"results"`
}

// Result is the measurements of one match. Times are in milliseconds of virtual time unless their name says otherwise,
// lengths in world units, shares in percent. The values of all players are taken together. The package comment defines
// each value.
type Result struct {
	Case
	Latency
	Motion
	Shots Shots `json:"shots"`
	Inputs
	Updates Updates `json:"updates"` // of entities, where the strategy sends states
	Up      Rates   `json:"up"`      // from one client
	Down    Rates   `json:"down"`    // to one client
	// These are in real time.
	ServerTick  float64 `json:"server_ns_per_tick"`
	ClientFrame float64 `json:"client_ns_per_frame"`
	ClientWorst float64 `json:"client_ns_per_frame_p99"`
	Factor      float64 `json:"factor_of_real_time"`

	Away     float64  `json:"away_percent"` // frames in which a client had left the match, for a resync or a reconnect
	Desyncs  uint64   `json:"desyncs"`
	Resyncs  uint64   `json:"resyncs"`
	Timeline []Second `json:"timeline"` // second by second

	ticks float64 // of the game in a millisecond. Judge sets it
}

// Case is a strategy on a profile.
type Case struct {
	Strategy string  `json:"strategy"`
	Profile  string  `json:"profile"`
	Title    string  `json:"title"`            // of the profile
	RTT      float64 `json:"rtt_ms"`           // mean of the sessions' measurements at the end
	Failed   string  `json:"failed,omitempty"` // why nothing was measured; all measurements are then 0
	// Broken is set if it failed because a client was removed or ended. Otherwise the strategy refuses the game, or its
	// clients cannot join on such a network.
	Broken   bool `json:"broken,omitempty"`
	Predicts bool `json:"predicts"` // clients run ahead of the confirmed tick: see systems.Strategy
	Exact    bool `json:"exact"`    // every client's confirmed states must equal the server's, and were compared
}

// Latency is how late inputs and entities are shown.
type Latency struct {
	Display Spread  `json:"input_to_display"`
	Confirm Spread  `json:"input_to_confirm"`
	Own     Spread  `json:"own_age"`
	Remote  Spread  `json:"remote_age"`
	Slope   float64 `json:"lag_slope_ms_per_s"`
	Playout float64 `json:"playout_ms"` // delay of states from their arrival to their display, mean of the clients at the end
}

// Motion is how smoothly and how correctly entities are shown.
type Motion struct {
	Stall       Stall       `json:"stall"`
	Freeze      Freeze      `json:"freeze"`
	Corrections Corrections `json:"corrections"`
	Jumps       Jumps       `json:"jumps"`
	Absolute    Error       `json:"remote_error"`
	Shape       Error       `json:"remote_shape"`
	Speed       float64     `json:"remote_speed"` // root mean square of the remote entities' true speed, in world units per second
	Roughness   float64     `json:"roughness_percent"`
	Paces       int         `json:"paces"` // number of steps in Roughness
}

// Inputs is how well inputs are predicted and how many are late.
type Inputs struct {
	Hits        float64 `json:"prediction_hits_percent"`
	Late        float64 `json:"late_percent"`
	Substituted float64 `json:"substituted_percent"`
	Window      Spread  `json:"window_ticks"`
	Resimulated float64 `json:"resimulated_per_s"` // ticks, of one client
}

// Stall counts the ticks that were due and could not be computed, as the strategy counts them.
type Stall struct {
	Percent   float64           `json:"percent"`
	PerMinute float64           `json:"per_minute"` // episodes, of one client
	Longest   float64           `json:"longest_ms"`
	Reasons   map[string]uint64 `json:"reasons"` // ticks
}

// Freeze counts the frames in which no remote entity moved though some moved straight and evenly on the server.
type Freeze struct {
	Percent   float64 `json:"percent"`
	PerMinute float64 `json:"per_minute"`
	Longest   float64 `json:"longest_ms"`
}

// Corrections are resimulations that changed the present.
type Corrections struct {
	PerMinute float64 `json:"per_minute"` // of one client
	Size      Spread  `json:"size"`
	Causes    Causes  `json:"causes"`
}

// Jumps are steps in the picture that deviate from the velocity.
type Jumps struct {
	Max       float64 `json:"max"`
	P99       float64 `json:"p99"`
	PerMinute float64 `json:"per_minute"` // of one client
	Snaps     int     `json:"snaps"`
	SnapsRate float64 `json:"snaps_per_minute"` // of one client
	Backward  int     `json:"backward"`
}

// Shots are the rays that the lab fires at the other players of each picture, and past them.
type Shots struct {
	N     int     `json:"n"`             // rays, of all shots
	Agree float64 `json:"agree_percent"` // rays that hit the same on the server and in the picture
	InCap int     `json:"in_cap"`        // rays at views no older than Report.Cap

	AgreeInCap float64 `json:"agree_in_cap_percent"` // of those
	Age        Spread  `json:"view_age"`             // of the views, when the server used the inputs
	// Past is how long before that the players who were hit were where they were hit, on the server. That is the longest
	// that they can have been behind cover.
	Past Spread `json:"hit_in_the_past"`
}

// Updates are the updates of entities that changed. They wait when bandwidth is short.
type Updates struct {
	Longest float64 `json:"longest_wait_ms"` // of any client since it connected
	Overdue uint64  `json:"overdue"`         // that had waited for more than a second, of all clients
}

// Rates are means over one end of one connection.
type Rates struct {
	Payload float64 `json:"payload_kbps"`
	Wire    float64 `json:"wire_kbps"`
	Most    float64 `json:"most_wire_kbps"` // in one second
	Packets float64 `json:"packets_per_s"`
}

// Causes counts corrections by their cause.
type Causes struct {
	Substituted int `json:"substituted"` // an own input was late, and the server substituted another
	Resync      int `json:"resync"`      // a whole state was loaded
	Remote      int `json:"remote"`      // a remote input or entity was mispredicted
}

// Second is what was measured in one second of virtual time, the mean of all clients.
type Second struct {
	Own    float64 `json:"own_age_ms"`
	Remote float64 `json:"remote_age_ms"`
	Error  float64 `json:"remote_error"`

	own, remote, errors int // how many values each mean is of
}
