package matchtest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/session"
	"tendon/net/wire/vectors"
	"tendon/systems"
)

// mangler changes the session messages of a client by a script. It passes them on as they are until begun, and after the script.
type mangler struct {
	session.Transport
	begun  *bool
	script *[]byte // shared by all connections of the client
	sent   *[][]byte
	held   func() // sends a delayed message
}

// The operations of a script, one per message. Each has an argument n, in [0, 255]. Bit 3 of the operation selects the other
// channel.
const (
	pass     = iota // n + 1 messages without a change
	flip            // bits of one byte
	truncate        // to n/256 of the length
	repeat          // n % 32 times
	delay           // until after the next message
	replace         // by n bytes of the script
	replay          // an earlier message
	extend          // by n times one byte
	operations
)

func (m *mangler) next() (b byte) {
	if s := *m.script; len(s) > 0 {
		b, *m.script = s[0], s[1:]
	}
	return b
}

// Send implements session.Transport.
func (m *mangler) Send(ch systems.Channel, message []byte) error {
	if !*m.begun || len(*m.script) == 0 {
		return m.Transport.Send(ch, message)
	}
	if len(*m.sent) < 64 {
		*m.sent = append(*m.sent, bytes.Clone(message))
	}
	op, n := m.next(), int(m.next())
	if op&operations != 0 {
		ch = systems.Reliable + systems.Datagram - ch
	}
	message, times := bytes.Clone(message), 1
	switch op % operations {
	case pass:
		if n > 0 { // the operation is read again, for the next message
			*m.script = append([]byte{op, byte(n - 1)}, *m.script...)
		}
	case flip:
		message[int(m.next())%len(message)] ^= byte(n)
	case truncate:
		message = message[:len(message)*n/256]
	case repeat:
		times = n % 32
	case delay:
		if m.held == nil {
			m.held = func() { m.send(ch, message) }
			return nil
		}
	case replace:
		n = min(n, len(*m.script))
		message, *m.script = bytes.Clone((*m.script)[:n]), (*m.script)[n:]
	case replay:
		message = (*m.sent)[n%len(*m.sent)]
	case extend:
		message = append(message, bytes.Repeat([]byte{m.next()}, n)...)
	}
	for range times {
		m.send(ch, message)
	}
	if held := m.held; held != nil {
		m.held = nil
		held()
	}
	return nil
}

// send sends a message as a program that ignores the limits of a session.
func (m *mangler) send(ch systems.Channel, message []byte) {
	if ch == systems.Datagram {
		message = message[:min(len(message), session.MaxDatagram)]
	}
	_ = m.Transport.Send(ch, message)
}

// mangledMatch plays a match of two honest players and a third one. After two seconds the script mangles the messages of the third
// for four seconds. It reports a panic of a client, an honest player whose state differs, and a match that stops.
func mangledMatch(t *testing.T, s systems.Strategy, script []byte) {
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: s, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	good := profile(t, "P2")
	begun, sent := false, [][]byte{}
	for range 2 {
		m.Join(matchsim.Plan{Profile: good})
	}
	bot := halves.Wander(5)
	mangled := m.Join(matchsim.Plan{Profile: good, Change: func(c *client.Config) {
		dial := c.Dial
		c.Dial = func() (session.Transport, error) {
			to, err := dial()
			return &mangler{Transport: to, begun: &begun, script: &script, sent: &sent}, err
		}
	}, Play: func(c *matchsim.Client, now time.Duration) ecs.InputBytes {
		if begun && m.Room.Tick()%16 == 0 {
			_, _ = c.Core.Order(ecs.Entity{}, []byte{1})
		}
		return halves.PadInput.Pack(bot())
	}})
	m.Run(2 * time.Second)
	for _, c := range m.Clients {
		if !c.Live() {
			t.Fatalf("client %d is %v before its messages are mangled", c.Number, c.Core.State())
		}
	}
	begun = true
	m.Run(4 * time.Second)
	begun = false
	m.Run(3 * time.Second)
	before := m.Room.Tick()
	m.Run(time.Second)
	if passed := m.Room.Tick() - before; passed < 50 {
		t.Errorf("%s: %d ticks in the last second; the third client is %v, %v", s.Name, passed, mangled.Core.State(), mangled.Core.Err())
	}
	if p := (*session.Panic)(nil); errors.As(mangled.Core.Err(), &p) {
		t.Errorf("%s: the mangled client: %v\n%s", s.Name, p, p.Stack)
	}
	for _, c := range m.Clients[:2] {
		if !c.Live() || c.Mismatches > 0 || c.Checked == 0 || c.Core.Stats().Resyncs > 0 || c.Core.Stats().Reconnects > 0 {
			t.Errorf("%s: honest client %d is %v, %v; %d of %d states differ, first in tick %d; %+v", s.Name, c.Number, c.Core.State(), c.Core.Err(), c.Mismatches, c.Checked, c.FirstMismatch, c.Core.Stats())
		}
	}
}

// mangledBytes bounds what a match of mangledMatch allocates in all. An honest one allocates up to 34 MiB.
const mangledBytes = 64 << 20

// FuzzMatch checks that a seated client, whatever it sends, neither panics a room nor disturbs the other players, with each
// strategy.
func FuzzMatch(f *testing.F) {
	scripts := [][]byte{
		{},
		bytes.Repeat([]byte{flip, 1, 0}, 40),
		bytes.Repeat([]byte{flip, 0x80, 3, pass, 3, truncate, 128, pass, 2, repeat, 5, delay, 0, replay, 7, extend, 30, 9}, 8),
		slices.Concat(bytes.Repeat([]byte{flip | operations, 1, 0}, 20), []byte{repeat, 255, repeat | operations, 255}),
		slices.Concat([]byte{replace, 40}, bytes.Repeat([]byte{8, 1, 2, 3}, 10), bytes.Repeat([]byte{replace, 3, 8, 0, 5}, 60)),
	}
	for i, script := range scripts {
		for s := range strategies {
			if !race.Enabled || i == s {
				f.Add(byte(s), script)
			}
		}
	}
	f.Fuzz(func(t *testing.T, strategy byte, script []byte) {
		s := strategies[int(strategy)%len(strategies)]
		script = slices.Clone(script[:min(len(script), 4096)])
		if used := vectors.Allocated(func() { mangledMatch(t, s, script) }); used > mangledBytes && !race.Enabled {
			t.Errorf("%s: the match allocated %d bytes, want at most %d", s.Name, used, mangledBytes)
		}
	})
}
