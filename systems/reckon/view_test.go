package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
)

// viewer shows a client's frames in its View.
type viewer struct {
	r    *rig
	seat int
	view *ecs.View
}

func (r *rig) viewer(seat int) viewer {
	view, err := ecs.NewView(r.Game)
	if err != nil {
		r.t.Fatal(err)
	}
	return viewer{r, seat, view}
}

// frame runs a frame, and returns where the View shows a walker and where it is on its own client.
func (v viewer) frame(of int) (shown, truth fixed.Vec3) {
	v.r.Step()
	v.r.clients[v.seat].Present(v.view, v.r.Local(v.seat))
	m, ok := v.view.Sim.Image().Motion(v.r.walker(of))
	if !ok {
		v.r.t.Fatalf("the View does not have walker %d", of)
	}
	return m.Pos, v.r.own(of)
}

// starts reports whether a message has a record of a walker that moves.
func (r *rig) starts(toClient bool, message []byte, of int) bool {
	var records []motion.Record
	switch {
	case !toClient && message[0] == kindMove:
		var m moveMessage
		if err := m.read(message, r.server.Done(), 0, new(inputs.WindowDecoder), r.Game); err != nil {
			r.t.Fatal(err)
		}
		for i := range m.claims {
			records = append(records, m.claims[i].record)
		}
	case toClient && message[0] == kindUpdate:
		var h updateHead
		reader := wire.NewReader(message)
		err := h.read(&reader, r.server.Done(), 0)
		if err == nil {
			records, err = readRecords(nil, &reader, 0)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for i := range records {
		if records[i].Entity.Row == r.walker(of).Row && records[i].Vel != (fixed.Vec3{}) {
			return true
		}
	}
	return false
}

// Three messages in a row with the record of a start are lost, to the server or from it. The record is repeated, so the View
// shows the walker on its way soon, and never at twice its speed.
func TestThreeLostRecordsAreRepeated(t *testing.T) {
	const way = 3
	for _, toClient := range []bool{false, true} {
		r := newRig(t, 2, way, way, Config{}, false)
		v, lost := r.viewer(1), 0
		r.lose = func(down bool, seat int, message []byte) bool {
			if lost == 3 || down != toClient || seat == 0 == toClient || !r.starts(down, message, 0) {
				return false
			}
			lost++
			return true
		}
		last, _ := v.frame(0)
		r.pads[0].Walk = true
		stood, fastest, off := 0, 0.0, 0.0
		for range 3 * gameRate {
			shown, truth := v.frame(0)
			if step := far(shown, last); step > 0.001 {
				fastest = max(fastest, step*gameRate)
			} else {
				stood++
			}
			last, off = shown, far(shown, truth)
		}
		t.Logf("to a client %v: stood for %d frames, then at most %.2f times as fast, in the end %.2f off", toClient, stood, fastest/top, off)
		if lost != 3 || stood > 2*way+gameRate/4 || fastest > 1.5*top || off > 0.35 {
			t.Errorf("to a client %v: %d messages lost, stood for %d frames, then moved at %.1f, in the end %.2f off", toClient, lost, stood, fastest, off)
		}
	}
}

// A record is repeated until it is acknowledged, and not any longer.
func TestAnAcknowledgedRecordIsNotRepeated(t *testing.T) {
	for _, toClient := range []bool{false, true} {
		r := newRig(t, 2, 6, 6, Config{Records: motion.SendConfig{Period: 5 * sec}}, false)
		first, last := 0, 0
		r.lose = func(down bool, seat int, message []byte) bool {
			if down == toClient && (seat == 0) != toClient && r.starts(down, message, 0) {
				if last = int(r.Tick); first == 0 {
					first = last
				}
			}
			return false
		}
		r.pads[0].Walk = true
		r.Run(3 * gameRate)
		if first == 0 || last-first < 6 || last-first > 40 {
			t.Errorf("to a client %v: a record was sent from tick %d to tick %d, the round trip is 12", toClient, first, last)
		}
	}
}

// The article's convergence takes a second from the arrival of each record. Without it, the age of a record is taken off.
func TestConvergenceOfASecondIsASetting(t *testing.T) {
	const way = 12 // 0.2 s
	for deadline, shares := range map[motion.Deadline][2]float64{motion.RestartAlways: {0.4, 0.6}, motion.DeadlineKept: {0, 0.25}} {
		r := newRig(t, 2, way, way, Config{Records: motion.SendConfig{Period: 5 * sec}, Remotes: motion.RemoteConfig{Deadline: deadline}}, false)
		v := r.viewer(1)
		r.pads[0].Walk = true
		before, began := 0.0, 0
		for i := range 2 * gameRate {
			shown, truth := v.frame(0)
			off := far(shown, truth)
			if began == 0 && off < before {
				began = i
			}
			switch {
			case began == 0:
				before = off
			case i == began+gameRate/2 && (off < shares[0]*before || off > shares[1]*before):
				t.Errorf("deadline %d: %.2f of %.2f is left after half a second", deadline, off, before)
			case i == began+gameRate && off > 0.1:
				t.Errorf("deadline %d: %.2f of %.2f is left after a second", deadline, off, before)
			}
		}
		if began == 0 || before < 1 {
			t.Fatalf("deadline %d: began at %d, off by %.2f", deadline, began, before)
		}
	}
}
