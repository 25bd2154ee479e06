package recording

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Header says what a recording is of.
type Header struct {
	Name        string   // Game.Name
	Build       string   // the program's build, for people
	Fingerprint uint64   // Game.Fingerprint
	Seed        uint64   // of the world
	TickRate    int      // per second
	Players     int      // Game.MaxPlayers
	InputSize   int      // bytes, Game.InputSize
	Start       ecs.Tick // the recording begins with this tick's state; 0: what Setup built
}

// HeaderOf returns the header for a match of g from its first tick.
func HeaderOf(g *ecs.Game, seed uint64, build string) Header {
	return Header{Name: g.Name, Build: build, Fingerprint: g.Fingerprint(), Seed: seed, TickRate: g.TickRate,
		Players: g.MaxPlayers, InputSize: g.Input.Size()}
}

// Errors of recordings. Torn and corrupt ones come with what could be read before.
var (
	ErrNotRecording = errors.New("recording: not a recording")
	ErrVersion      = errors.New("recording: a format version that this build does not know")
	ErrTorn         = errors.New("recording: the end was cut off while it was written")
	ErrCorrupt      = errors.New("recording: damaged")
	ErrOtherGame    = errors.New("recording: of another game")
	ErrOtherBuild   = errors.New("recording: of another version of the game")
	ErrRange        = errors.New("recording: tick is not in the recording")
	// ErrWriter is wrapped by errors about wrong use of a Writer.
	ErrWriter = errors.New("recording: bad write")
)

// Check reports whether g is the game that was recorded: ErrOtherGame or ErrOtherBuild if it is not.
func (h Header) Check(g *ecs.Game) error {
	if h.Name != g.Name {
		return fmt.Errorf("%w: it is of %q, this is %q", ErrOtherGame, h.Name, g.Name)
	}
	if f := g.Fingerprint(); h.Fingerprint != f {
		return fmt.Errorf("%w: fingerprint %016x of build %q, this one has %016x", ErrOtherBuild, h.Fingerprint, h.Build, f)
	}
	if h.TickRate != g.TickRate || h.Players != g.MaxPlayers || h.InputSize != g.Input.Size() {
		return fmt.Errorf("%w: its header does not fit its fingerprint", ErrCorrupt)
	}
	return nil
}

// valid reports whether the numbers are in their ranges.
func (h *Header) valid() bool {
	return h.TickRate >= 1 && h.TickRate <= 1000 && h.Players >= 1 && h.Players <= image.MaxPlayers &&
		h.InputSize >= 0 && h.InputSize <= image.MaxInputBytes && len(h.Name) <= maxNameBytes && len(h.Build) <= maxNameBytes &&
		h.Start <= maxStart
}

// maxStart leaves room to count ticks from it without overflow.
const maxStart ecs.Tick = 1 << 62

// maxNameBytes bounds the strings of a header.
const maxNameBytes = 4096

func (h *Header) append(b []byte) []byte {
	b = appendString(b, h.Name)
	b = appendString(b, h.Build)
	b = binary.LittleEndian.AppendUint64(b, h.Fingerprint)
	b = binary.LittleEndian.AppendUint64(b, h.Seed)
	for _, n := range []uint64{uint64(h.TickRate), uint64(h.Players), uint64(h.InputSize), uint64(h.Start)} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func parseHeader(payload []byte) (h Header, ok bool) {
	p := parser{rest: payload}
	h.Name, h.Build = string(p.bytes(maxNameBytes)), string(p.bytes(maxNameBytes))
	h.Fingerprint, h.Seed = p.uint64(), p.uint64()
	h.TickRate, h.Players, h.InputSize = p.small(), p.small(), p.small()
	h.Start = ecs.Tick(p.varint())
	return h, !p.bad && len(p.rest) == 0 && h.valid()
}
