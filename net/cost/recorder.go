package cost

// Recorder is the flight recorder: see NewRecorder.
type Recorder struct{}

func (r *Recorder) slow(*Ledger) {}
