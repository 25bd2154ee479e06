package bench

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems/state"
)

// fullState is the reference of replication by deltas: each datagram is the full state.
const fullState = "the full state, packed plainly: row, position, velocity, angle, health"

// BenchmarkState measures replication by deltas.
func BenchmarkState(b *testing.B) {
	for _, kind := range []struct {
		name, what string
		run        func(b *testing.B, row measure.Row, n, rate int)
	}{
		{"bytes", "bytes", stateBytes},
		{"encode", "a delta encoded for one client", stateEncode},
		{"decode", "a delta decoded, and the replica saved", stateDecode},
	} {
		for _, rate := range []int{20, 60} {
			for _, n := range []int{50, 200, 1000} {
				b.Run(fmt.Sprintf("%s/%d/%d", kind.name, rate, n), func(b *testing.B) {
					kind.run(b, measure.Row{Reference: fullState, Unit: "entity",
						What: fmt.Sprintf("%d entities that move and sometimes turn, %d deltas a second, acknowledged after 100 ms: %s", n, rate, kind.what),
					}, n, rate)
				})
			}
		}
	}
	for _, n := range []int{50, 200, 1000} {
		b.Run(fmt.Sprintf("observe/%d", n), func(b *testing.B) {
			r := walk(n, walkRate)
			measure.Row{Reference: fullState, Unit: "entity",
				What: fmt.Sprintf("finding the changes of %d entities that all move, once for all clients", n),
			}.Report(b, measure.Compare(b, packFull(n), measure.Op{Units: n,
				Prepare: func() { r.world.Step(ecs.TickInputs{}) },
				Run:     r.observe,
			}))
		})
	}
}

// replica is a server's world and the replica of one client. Acknowledgements arrive some deltas late.
type replica struct {
	world    *ecs.World
	changes  *state.Changes
	states   [2]image.Snapshot // of the last two observed ticks
	newest   int
	changed  image.Changed
	sender   *state.Sender
	receiver *state.Receiver
	acks     []state.Ack // not arrived yet
	late     int
	delta    []byte
}

// newReplica returns a replica whose acknowledgements arrive so many deltas late. Every change fits into one delta.
func newReplica(game *ecs.Game, late int) *replica {
	changes := measure.Must(state.NewChanges(game))
	r := &replica{world: newWorld(game), late: late, changes: changes, sender: state.NewSender(changes),
		receiver: measure.Must(state.NewReceiver(newWorld(game)))}
	r.observe()
	r.sender.Open(-1, &r.states[r.newest])
	r.receiver.Load()
	return r
}

// next plays some ticks and finds the changes.
func (r *replica) next(ticks int) {
	for range ticks {
		r.world.Step(ecs.TickInputs{})
	}
	r.observe()
}

// observe saves the world, finds its changes and records them.
func (r *replica) observe() {
	base := &r.states[r.newest]
	r.newest ^= 1
	now := &r.states[r.newest]
	r.world.Image().Save(now)
	r.changed.Find(base, now)
	r.changes.Observe(now, &r.changed)
}

// encode writes a delta.
func (r *replica) encode() { r.delta = r.sender.Append(r.delta[:0], 1<<17, r.changes.All) }

// decode applies the delta.
func (r *replica) decode() {
	if err := r.receiver.Receive(r.delta); err != nil {
		panic(err)
	}
}

// acknowledge passes the acknowledgement that is due to the sender.
func (r *replica) acknowledge() {
	r.acks = append(r.acks, r.receiver.Ack())
	if len(r.acks) < r.late {
		return
	}
	if err := r.sender.Acked(r.acks[0]); err != nil {
		panic(err)
	}
	r.acks = slices.Delete(r.acks, 0, 1)
}

// turn replicates some ticks.
func (r *replica) turn(ticks int) {
	r.next(ticks)
	r.encode()
	r.decode()
	r.acknowledge()
}

// walker and vitals are the components that are replicated.
type walker struct {
	Pos   fixed.Vec2 `tendon:"step=1/512"`
	Vel   fixed.Vec2 `tendon:"step=1/256"`
	Angle fixed.Num  `tendon:"step=1/1024"`
}

type vitals struct {
	Health int16
	Armour uint8
	_      uint8
}

var (
	walkers   = ecs.NewComponent[walker]("walker")
	vitalSign = ecs.NewComponent[vitals]("vitals")
	noInput   = ecs.NewInput[struct{ None uint8 }]()
	walking   = ecs.NewQuery2(ecs.Write(walkers), ecs.Write(vitalSign))
	looking   = ecs.NewQuery2(ecs.Read(walkers), ecs.Read(vitalSign))
)

const walkRate = 60

// walkGame returns a game of n entities that walk at 5 units a second. On average each turns once a second and loses
// health every two seconds.
func walkGame(n int) *ecs.Game {
	turn := func(w *ecs.World, b *walker) {
		b.Angle = fixed.Num(w.Rand().IntN(int(fixed.Tau)))
		b.Vel = fixed.FromAngle(b.Angle, fixed.FromInt(5))
	}
	return &ecs.Game{Name: "walk", TickRate: walkRate, MaxPlayers: 1, Input: noInput, Components: ecs.Components(walkers, vitalSign),
		Setup: func(w *ecs.World) {
			for range n {
				e := w.Spawn(ecs.OwnedByWorld, walkers, vitalSign)
				b := walker{Pos: fixed.Vec2{X: fixed.FromInt(w.Rand().IntN(1000)), Y: fixed.FromInt(w.Rand().IntN(1000))}}
				turn(w, &b)
				walkers.Put(w, e, b)
				vitalSign.Put(w, e, vitals{Health: 100, Armour: 50})
			}
		},
		Systems: ecs.Systems(func(w *ecs.World) {
			for e := range walking.All(w) {
				e.A.Pos = e.A.Pos.Add(e.A.Vel.Scale(fixed.One / walkRate))
				if w.Rand().Chance(1, walkRate) {
					turn(w, e.A)
				}
				if w.Rand().Chance(1, 2*walkRate) {
					e.B.Health -= int16(w.Rand().IntN(20))
				}
			}
		}),
	}
}

// walk returns a replica of walkers after a second.
func walk(n, rate int) *replica {
	r := newReplica(walkGame(n), rate/10)
	for range rate {
		r.turn(walkRate / rate)
	}
	return r
}

// fullBytes is the size of an entity in a full state: row 2, position 8, velocity 4, angle 2, health 3.
const fullBytes = 19

// appendFull encodes a full state.
func appendFull(dst []byte, w *ecs.World) []byte {
	le := binary.LittleEndian
	for e := range looking.All(w) {
		b := &e.A
		dst = le.AppendUint16(dst, uint16(e.Entity().Row))
		dst = le.AppendUint32(dst, uint32(b.Pos.X/(fixed.One/512)))
		dst = le.AppendUint32(dst, uint32(b.Pos.Y/(fixed.One/512)))
		dst = le.AppendUint16(dst, uint16(b.Vel.X/(fixed.One/256)))
		dst = le.AppendUint16(dst, uint16(b.Vel.Y/(fixed.One/256)))
		dst = le.AppendUint16(dst, uint16(b.Angle/(fixed.One/1024)))
		dst = le.AppendUint16(dst, uint16(e.B.Health))
		dst = append(dst, e.B.Armour)
	}
	return dst
}

// storeFull is the inverse of appendFull.
func storeFull(w *ecs.World, text []byte) {
	le := binary.LittleEndian
	for e := range walking.All(w) { // in the order of rows, as they were encoded
		if uint32(le.Uint16(text)) != e.Entity().Row {
			panic("a full state of another world")
		}
		e.A.Pos.X = fixed.Num(int32(le.Uint32(text[2:]))) * (fixed.One / 512)
		e.A.Pos.Y = fixed.Num(int32(le.Uint32(text[6:]))) * (fixed.One / 512)
		e.A.Vel.X = fixed.Num(int16(le.Uint16(text[10:]))) * (fixed.One / 256)
		e.A.Vel.Y = fixed.Num(int16(le.Uint16(text[12:]))) * (fixed.One / 256)
		e.A.Angle = fixed.Num(int16(le.Uint16(text[14:]))) * (fixed.One / 1024)
		*e.B = vitals{Health: int16(le.Uint16(text[16:])), Armour: text[18]}
		text = text[fullBytes:]
	}
}

func stateBytes(b *testing.B, row measure.Row, n, rate int) {
	const seconds = 5
	var ratio, bytes float64
	for b.Loop() {
		ratio, bytes = deltaBytes(n, rate, seconds)
	}
	full := float64(fullBytes * rate)
	row.Text = fmt.Sprintf("%.3g : %.4g bytes per entity and second", ratio*full, full)
	row.Note = fmt.Sprintf("%.0f kbit/s to a client, headers of packets not counted", bytes*8/seconds/1000)
	row.Report(b, measure.Of(1, ratio))
}

// deltaBytes returns the bytes of the deltas of some seconds, and their ratio to full states.
func deltaBytes(n, rate, seconds int) (ratio, bytes float64) {
	r := walk(n, rate)
	for range seconds * rate {
		r.turn(walkRate / rate)
		bytes += float64(len(r.delta))
	}
	return bytes / float64(seconds*rate*n*fullBytes), bytes
}

// fullRepeats is how often one Run encodes a full state, which is quick.
const fullRepeats = 8

// packFull encodes full states: the reference of encoding.
func packFull(n int) measure.Op {
	w, text := newWorld(walkGame(n)), []byte(nil)
	return measure.Op{Units: fullRepeats * n, Prepare: func() { w.Step(ecs.TickInputs{}) }, Run: func() {
		for range fullRepeats {
			text = appendFull(text[:0], w)
		}
	}}
}

func stateEncode(b *testing.B, row measure.Row, n, rate int) {
	r := walk(n, rate)
	row.Report(b, measure.Compare(b, packFull(n), measure.Op{Units: n, Run: r.encode, Prepare: func() {
		r.decode()
		r.acknowledge()
		r.next(walkRate / rate)
	}}))
}

func stateDecode(b *testing.B, row measure.Row, n, rate int) {
	r := walk(n, rate)
	here, there, text := newWorld(walkGame(n)), saver{World: newWorld(walkGame(n))}, []byte(nil)
	count := 0
	row.Reference += "; stored and saved"
	row.Report(b, measure.Compare(b,
		measure.Op{Units: n,
			Prepare: func() { here.Step(ecs.TickInputs{}); text = appendFull(text[:0], here); count++ },
			Run:     func() { storeFull(there.World, text); there.Image().Save(&there.ring[count%ringDepth]) },
		},
		measure.Op{Units: n, Run: r.decode, Prepare: func() {
			r.acknowledge()
			r.next(walkRate / rate)
			r.encode()
		}}))
}

// The full state and the replica hold the same values: all components of a walker.
func TestFullStatesAndReplicasAreEqual(t *testing.T) {
	for _, rate := range []int{20, 60} {
		r := walk(50, rate)
		for range 2 * rate {
			r.turn(walkRate / rate)
		}
		if n := r.sender.Stats().Updates; n < 3*49*uint64(rate) {
			t.Errorf("%d updates at %d a second: some entities do not walk", n, rate)
		}
		full := newWorld(walkGame(50))
		text := appendFull(nil, r.world)
		storeFull(full, text)
		if len(text) != 50*fullBytes {
			t.Errorf("a full state of %d bytes", len(text))
		}
		for e := range looking.All(r.world) {
			body, _ := walkers.ReadAt(r.receiver.State(), e.Entity())
			life, _ := vitalSign.ReadAt(r.receiver.State(), e.Entity())
			if body != e.A || life != e.B {
				t.Fatalf("%v is %+v %+v here and %+v %+v there", e.Entity(), e.A, e.B, body, life)
			}
			body, _ = walkers.Read(full, e.Entity())
			life, _ = vitalSign.Read(full, e.Entity())
			if body != e.A || life != e.B {
				t.Fatalf("%v is %+v %+v here and %+v %+v in a full state", e.Entity(), e.A, e.B, body, life)
			}
		}
		if ratio, _ := deltaBytes(50, rate, 5); ratio <= 0 || ratio >= 0.5 {
			t.Errorf("%.2f of the bytes of full states", ratio)
		}
	}
}

// A server replicates to many clients in each tick.
func TestReplicationAllocatesNothing(t *testing.T) {
	r := walk(200, 60)
	allocatesNothing(t, 200, func() { r.turn(1) })
}
