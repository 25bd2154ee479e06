package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Header says what a journal is of.
type Header struct {
	Game        string // Game.Name
	Fingerprint uint64 // Game.Fingerprint
	Build       string // of the program that writes it, with the target if the game computes with floats
	Strategy    string // name of the strategy, for whoever brings the match back
	Params      []byte // the strategy's own, opaque
	Room        string
	Match       uint64 // identity of the match
	Seed        uint64 // of the world
	TickRate    int    // per second
	Players     int    // Game.MaxPlayers
	InputSize   int    // bytes, Game.InputSize
	// Start is what the first tick follows. Zero: State(0), which Setup builds. A journal that starts later begins with
	// an Image of Start.Tick.
	Start Position
}

// HeaderOf returns the header for a match of g from its first tick. Strategy, Params, Room and Match are the caller's
// to fill in.
func HeaderOf(g *ecs.Game, seed uint64, build string) Header {
	return Header{Game: g.Name, Fingerprint: g.Fingerprint(), Build: build, Seed: seed, TickRate: g.TickRate,
		Players: g.MaxPlayers, InputSize: g.Input.Size()}
}

// Errors of opening a journal.
var (
	ErrNotJournal = errors.New("journal: not a journal")
	ErrVersion    = errors.New("journal: a format version that this build does not know")
	ErrOtherGame  = errors.New("journal: of another game")
	ErrOtherBuild = errors.New("journal: of another build")
	ErrOtherRate  = errors.New("journal: of another tick rate")
)

// The bounds of a header, in bytes.
const (
	maxTextBytes   = 1024
	maxParamsBytes = 64 << 10
)

// Check reports whether this program may go on with the journal. A journal of another game, at another rate, of other
// layouts or of another build is refused, since its ticks could lead to another state than the one that was confirmed to clients.
// Builds are compared if both are known, and always if the game computes with floats.
func (h *Header) Check(g *ecs.Game, build string) error {
	if h.Game != g.Name {
		return fmt.Errorf("%w: it is of %q, with fingerprint %016x, this is %q, with %016x: start the game that wrote it, or move the journal away", ErrOtherGame, h.Game, h.Fingerprint, g.Name, g.Fingerprint())
	}
	if h.TickRate != g.TickRate {
		return fmt.Errorf("%w: it was played at %d ticks per second, this game runs at %d: run it at that rate (with --tick-rate %d), or move the journal away", ErrOtherRate, h.TickRate, g.TickRate, h.TickRate)
	}
	if f := g.Fingerprint(); h.Fingerprint != f {
		return fmt.Errorf("%w: build %q wrote it, with fingerprint %016x; this is build %q, with %016x: start the build that wrote it, or move the journal away", ErrOtherBuild, h.Build, h.Fingerprint, build, f)
	}
	if h.Build != build && (h.Build != "" && build != "" || g.Schema().HasFloats()) {
		return fmt.Errorf("%w: build %q wrote it, this is build %q (fingerprint %016x both): start the build that wrote it, or move the journal away", ErrOtherBuild, h.Build, build, h.Fingerprint)
	}
	if why := h.fault(g); why != "" {
		return fmt.Errorf("%w: its header does not fit its fingerprint: %s", ErrCorrupt, why)
	}
	return nil
}

// fault returns what in the header is not as a journal of g must have it, or "".
func (h *Header) fault(g *ecs.Game) string {
	for _, text := range []string{h.Game, h.Build, h.Strategy, h.Room} {
		if len(text) > maxTextBytes {
			return fmt.Sprintf("Game, Build, Strategy or Room has %d bytes, at most %d", len(text), maxTextBytes)
		}
	}
	switch {
	case h.Game != g.Name || h.Fingerprint != g.Fingerprint() || h.TickRate != g.TickRate || h.Players != g.MaxPlayers || h.InputSize != g.Input.Size():
		return "Game, Fingerprint, TickRate, Players or InputSize is not the game's: take HeaderOf"
	case len(h.Params) > maxParamsBytes:
		return fmt.Sprintf("Params has %d bytes, at most %d", len(h.Params), maxParamsBytes)
	case h.Start.Tick > maxTick:
		return fmt.Sprintf("Start.Tick is %d, at most %d", h.Start.Tick, maxTick)
	}
	if err := NewCodec(g).Check(&Tick{Inputs: h.Start.Inputs}); err != nil {
		return "Start.Inputs: " + err.Error()
	}
	return ""
}

// append appends the header in its written form.
func (h *Header) append(b []byte) []byte {
	for _, text := range []string{h.Game, h.Build, h.Strategy, h.Room} {
		b = appendString(b, text)
	}
	b = appendString(b, h.Params)
	for _, n := range []uint64{h.Fingerprint, h.Match, h.Seed, uint64(h.Start.Chain)} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	for _, n := range []uint64{uint64(h.TickRate), uint64(h.Players), uint64(h.InputSize), uint64(h.Start.Tick)} {
		b = binary.AppendUvarint(b, n)
	}
	for p := range h.Players {
		in := inputOf(h.Start.Inputs, p)
		b = append(b, in[:h.InputSize]...)
	}
	return b
}

func parseHeader(payload []byte) (h Header, why string) {
	p := parser{rest: payload}
	for _, text := range []*string{&h.Game, &h.Build, &h.Strategy, &h.Room} {
		*text = string(p.bytes(maxTextBytes))
	}
	h.Params = slices.Clone(p.bytes(maxParamsBytes))
	h.Fingerprint, h.Match, h.Seed, h.Start.Chain = p.uint64(), p.uint64(), p.uint64(), Chain(p.uint64())
	h.TickRate, h.Players, h.InputSize = p.upTo(1000), p.upTo(image.MaxPlayers), p.upTo(image.MaxInputBytes)
	h.Start.Tick = ecs.Tick(p.varint())
	if h.Start.Tick > maxTick || len(p.rest) != h.Players*h.InputSize {
		p.fail("a number is larger than it may be, or inputs are missing")
	}
	if p.why == "" {
		h.Start.Inputs = make([]ecs.InputBytes, h.Players)
		for i := range h.Start.Inputs {
			copy(h.Start.Inputs[i][:], p.take(h.InputSize))
		}
	}
	return h, p.why
}

// ReadHeader returns the header of a journal, whatever game it is of, for listing journals and for finding the game
// to open one with.
func ReadHeader(data []byte) (Header, error) {
	h, _, err := readHeader(data)
	return h, err
}

// readHeader returns the header and where the block behind it begins.
func readHeader(data []byte) (h Header, next int, err error) {
	known := min(len(data), len(magic))
	if string(data[:known]) != magic[:known] {
		return h, 0, ErrNotJournal
	}
	if len(data) < openingBytes {
		return h, 0, &DamageError{Kind: ErrTorn, Bytes: len(data), Why: "the file ends"}
	}
	if data[len(magic)] != version {
		return h, 0, fmt.Errorf("%w: version %d, this build knows %d", ErrVersion, data[len(magic)], version)
	}
	payload, next, f := nextBlock(data, openingBytes)
	if f != faultNone {
		return h, 0, damageAt(data, openingBytes, f)
	}
	h, why := parseHeader(payload)
	if why != "" {
		return h, 0, &DamageError{Kind: ErrCorrupt, Offset: openingBytes, Bytes: len(data) - openingBytes, Why: "the header makes no sense: " + why}
	}
	return h, next, nil
}
