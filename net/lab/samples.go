package lab

import "time"

// samples are the measurements of a match, to which all its measured players add.
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
	viewAges, past   []float64 // of shots, in ms: see Shots.Age and Shots.Past
	squares          float64   // sum of the squared true speeds, one per absolute error
	causes           Causes    // of corrections
	seconds          []Second
	counts
}

// shotCounts counts shots. Those that agreed have the same hit in the picture and on the server.
type shotCounts struct{ rays, agreed, raysInCap, agreedInCap int }

// counts are the measurements that are counted.
type counts struct {
	shotCounts
	frames, frozen, freezes, longestFreeze int // the longest in frames
	snaps, backward                        int // steps
	ticks, hitTicks                        int // shown, and those of them with all inputs right
	away                                   int // frames in which a client was not live

	stalled, stalls, resimulated, resyncs uint64 // ticks, episodes, ticks, whole states
	longestStall                          time.Duration
	reasons                               map[string]uint64 // ticks stalled
	rtt, playout                          float64           // sums over clients, in ms
	up, down                              meter
}
