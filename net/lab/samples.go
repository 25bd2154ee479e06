package lab

import "time"

// samples are the measurements of a match. All its measured players add to them.
type samples struct {
	display, confirm []float64 // latencies of inputs, in ms
	own, remote      []float64 // ages of pictures, in ms
	absolute         []float64 // distances of remote entities from where they are, in world units
	shape            []float64 // and from where they were at the usual remote age
	ownState         []float64 // and of own entities from where the server had them in the same tick
	jumps            []float64 // deviations of steps above tiny, in world units
	paces            []float64 // shown step by true step, where the true motion is straight and even
	sizes            []float64 // of each correction, the largest distance that an entity was moved, in world units
	window           []float64 // ticks predicted, by frame
	costs            []float64 // real time of each frame with the messages before it, in ns
	squares          float64   // sum of the squared true speeds, one per absolute error
	causes           Causes    // of corrections
	hits             hits
	seconds          []Second
	counts
	clientCounts
}

// counts are counted in pictures.
type counts struct {
	frames, frozen, freezes, longestFreeze int // the longest in frames
	snaps, backward                        int // steps
	ticks, hitTicks                        int // shown, and those of them with all inputs right
	away                                   int // frames in which a client was not live
}

// clientCounts are counted by the clients and their connections.
type clientCounts struct {
	stalled, stalls, resimulated uint64 // ticks, episodes, ticks
	longestStall                 time.Duration
	reasons                      map[string]uint64 // ticks stalled
	resyncs                      uint64
	rtt                          float64 // sum over clients, in ms
	up, down                     traffic
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

// hits are the results of shots. inCap has only those at views that were not older than the cap.
type hits struct {
	inCap, all agreement
	ages       []float64 // of the views when the server used them, in ms
	past       []float64 // how long ago an entity that was hit was where it was hit, in ms
}

// agreement counts rays, and those of them on which picture and server agree.
type agreement struct{ rays, agree int }

func (t *agreement) count(agree bool) {
	t.rays++
	if agree {
		t.agree++
	}
}

func (t agreement) percent() float64 { return percent(t.agree, t.rays) }
