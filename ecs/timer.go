package ecs

// Timer is a moment in ticks, for a component or a resource: the end of a reload, of a round, of a life. It needs no update. The
// zero Timer has ended.
type Timer struct{ End Tick }

// Timer returns a timer that ends after a number of ticks: 1 is the next tick.
func (w *World) Timer(ticks Tick) Timer { return Timer{w.Tick() + ticks} }

// Ended reports whether the running tick is that of the end, or a later one.
func (t Timer) Ended(w *World) bool { return w.Tick() >= t.End }

// EndsNow reports whether the running tick is that of the end. For a given timer, it is true in one tick.
func (t Timer) EndsNow(w *World) bool { return w.Tick() == t.End }

// Left returns the number of ticks until the end, 0 if the timer has ended.
func (t Timer) Left(w *World) Tick { return max(t.End, w.Tick()) - w.Tick() }

// Every reports true in one of every n ticks, beginning with tick n. It panics if n is 0.
func (w *World) Every(n Tick) bool {
	if n == 0 {
		panic("ecs: World.Every wants n ≥ 1: pass the number of ticks from one time to the next")
	}
	return w.Tick()%n == 0
}
