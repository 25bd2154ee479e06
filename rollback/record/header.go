package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// Header describes the match of a record.
type Header struct {
	Game        string // Game.Name
	Fingerprint uint64 // Game.Fingerprint
	Build       string // of the program that wrote the record, with the target if the game computes with floats
	Strategy    string // the strategy's name
	Flags       string // the strategy's settings, as flags of the command line
	Params      []byte // the strategy's parameters, opaque here
	Room        string
	Match       uint64 // identity of the match
	Seed        uint64 // of the world
	TickRate    int    // per second
	Players     int    // Game.MaxPlayers
	InputSize   int    // bytes, Game.Input.Size
	// Layout is the layout of the game's state, as image.Schema.AppendLayout writes it. See Migrate.
	Layout string
	// Start is the position before the first tick. Zero: State(0), which Setup builds. A record with a later start has an
	// image of Start.Tick before its first tick.
	Start Position
	// Digest is the digest of the ticks up to Start. Zero if Start is zero or the digest is not known. If it is not known, no tick can
	// be proven.
	Digest Digest
	// Present is the name of the strategy at Start if the match changed it before, otherwise "". An order in tick Since chose it.
	Present string
	Since   ecs.Tick // at most Start.Tick; 0 if Present is ""
}

// version returns the version of a file with this header.
func (h *Header) version() byte {
	if h.Digest != (Digest{}) || h.Present != "" {
		return startVersion
	}
	return version
}

// HeaderOf returns the header for a match of g from its first tick. The caller fills in Strategy, Flags, Params, Room
// and Match.
func HeaderOf(g *ecs.Game, seed uint64, build string) Header {
	return Header{Game: g.Name, Fingerprint: g.Fingerprint(), Build: build, Seed: seed, TickRate: g.TickRate,
		Players: g.MaxPlayers, InputSize: g.Input.Size(), Layout: string(g.Schema().AppendLayout(nil))}
}

// Errors about the match of a record.
var (
	ErrNotRecord = errors.New("record: not a record")
	ErrVersion   = errors.New("record: a format version that this build cannot read")
	ErrOther     = errors.New("record: of another game, build or tick rate")
)

// The bounds of a header, in bytes.
const (
	maxTextBytes   = 1024
	maxParamsBytes = 64 << 10
	maxLayoutBytes = 1 << 20
)

// Check reports whether the record is of this game. If not, the error wraps ErrOther and names both sides.
func (h *Header) Check(g *ecs.Game) error {
	if h.Game != g.Name {
		return fmt.Errorf("%w: it is of %q, with fingerprint %016x, this is %q, with %016x: start the game that wrote it", ErrOther, h.Game, h.Fingerprint, g.Name, g.Fingerprint())
	}
	if h.TickRate != g.TickRate {
		return fmt.Errorf("%w: it was played at %d ticks per second, this game runs at %d: run it at that rate (with --tick-rate %d)", ErrOther, h.TickRate, g.TickRate, h.TickRate)
	}
	if f := g.Fingerprint(); h.Fingerprint != f {
		return fmt.Errorf("%w: build %q wrote it, with fingerprint %016x; this game has %016x: start the build that wrote it", ErrOther, h.Build, h.Fingerprint, f)
	}
	if why := h.fault(g); why != "" {
		return fmt.Errorf("%w: its header does not fit its fingerprint: %s", ErrCorrupt, why)
	}
	return nil
}

// CheckBuild reports whether this build may continue the match. Another build's ticks could lead to a state that differs
// from the one that clients received as confirmed. Builds are compared if both are known, and always if the game
// computes with floats. The error wraps ErrOther.
func (h *Header) CheckBuild(g *ecs.Game, build string) error {
	if h.Build != build && (h.Build != "" && build != "" || g.Schema().HasFloats()) {
		return fmt.Errorf("%w: build %q wrote it, this is build %q (fingerprint %016x both): start the build that wrote it", ErrOther, h.Build, build, h.Fingerprint)
	}
	return nil
}

// fault describes the first field that a record of g cannot have, or returns "".
func (h *Header) fault(g *ecs.Game) string {
	longest := 0
	for _, text := range h.texts() {
		longest = max(longest, len(*text))
	}
	longest = max(longest, len(h.Present))
	switch {
	case longest > maxTextBytes:
		return fmt.Sprintf("Game, Build, Strategy, Flags, Room or Present has %d bytes, want at most %d", longest, maxTextBytes)
	case h.Game != g.Name || h.Fingerprint != g.Fingerprint() || h.TickRate != g.TickRate || h.Players != g.MaxPlayers || h.InputSize != g.Input.Size():
		return "Game, Fingerprint, TickRate, Players or InputSize is not the game's: use HeaderOf"
	case len(h.Params) > maxParamsBytes:
		return fmt.Sprintf("Params has %d bytes, want at most %d", len(h.Params), maxParamsBytes)
	case len(h.Layout) > maxLayoutBytes:
		return fmt.Sprintf("Layout has %d bytes, want at most %d", len(h.Layout), maxLayoutBytes)
	case h.Start.Tick > maxTick:
		return fmt.Sprintf("Start.Tick is %d, want at most %d", h.Start.Tick, maxTick)
	case h.Since > h.Start.Tick || (h.Since > 0) != (h.Present != ""):
		return fmt.Sprintf("Present is %q and Since %d, want both or neither, and a Since of at most %d", h.Present, h.Since, h.Start.Tick)
	}
	if _, err := NewCodec(g).check(nil, &Tick{Inputs: h.Start.Inputs}); err != nil {
		return "Start.Inputs: " + err.Error()
	}
	return ""
}

// texts returns the strings in the order in which they are written.
func (h *Header) texts() []*string {
	return []*string{&h.Game, &h.Build, &h.Strategy, &h.Flags, &h.Room}
}

// append appends the header in its written form.
func (h *Header) append(b []byte) []byte {
	for _, text := range h.texts() {
		b = appendBlob(b, *text)
	}
	b = appendBlob(b, h.Params)
	b = appendBlob(b, h.Layout)
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
	if h.version() == startVersion {
		b = append(b, h.Digest[:]...)
		b = appendBlob(binary.AppendUvarint(b, uint64(h.Since)), h.Present)
	}
	return b
}

func parseHeader(payload []byte, version byte) (h Header, err error) {
	r := wire.NewReader(payload)
	for _, text := range h.texts() {
		*text = string(r.Blob(maxTextBytes))
	}
	h.Params = slices.Clone(r.Blob(maxParamsBytes))
	h.Layout = string(r.Blob(maxLayoutBytes))
	h.Fingerprint, h.Match, h.Seed, h.Start.Chain = r.U64(), r.U64(), r.U64(), Chain(r.U64())
	h.TickRate, h.Players, h.InputSize = r.Count(1000, 0), r.Count(image.MaxPlayers, 0), r.Count(image.MaxInputBytes, 0)
	h.Start.Tick = ecs.Tick(r.Uvarint())
	if h.Start.Tick > maxTick {
		r.Fail(errors.New("a tick number above the maximum"))
	}
	inputs := r.Bytes(h.Players * h.InputSize)
	if version == startVersion {
		copy(h.Digest[:], r.Bytes(len(h.Digest)))
		h.Since, h.Present = ecs.Tick(r.Uvarint()), string(r.Blob(maxTextBytes))
		if h.Since > h.Start.Tick || (h.Since > 0) != (h.Present != "") {
			r.Fail(errors.New("a present strategy without a tick up to the start, or a tick without a strategy"))
		}
	}
	if err := r.Close(); err != nil {
		return h, err
	}
	h.Start.Inputs = make([]ecs.InputBytes, h.Players)
	for i := range h.Start.Inputs {
		copy(h.Start.Inputs[i][:], inputs[i*h.InputSize:][:h.InputSize])
	}
	return h, nil
}

// ReadHeader returns the header of a record of any game.
func ReadHeader(data []byte) (Header, error) {
	h, _, err := readHeader(data)
	return h, err
}

// readHeader returns the header and the offset of the block behind it.
func readHeader(data []byte) (h Header, next int, err error) {
	switch opening := string(data[:min(len(data), len(magic))]); {
	case opening == oldRecording, opening == oldJournal:
		return h, 0, fmt.Errorf("%w: the file has the format of an earlier version: replay it with the build that wrote it", ErrVersion)
	case opening != magic[:len(opening)]:
		return h, 0, ErrNotRecord
	case len(data) < openingBytes:
		return h, 0, &DamageError{Kind: ErrTorn, Bytes: len(data), Why: "the file ends"}
	case data[len(magic)] < oldestVersion || data[len(magic)] > startVersion:
		return h, 0, fmt.Errorf("%w: the file has version %d, this build reads %d to %d", ErrVersion, data[len(magic)], oldestVersion, startVersion)
	}
	payload, next, fault := nextBlock(data, openingBytes)
	if fault != "" {
		return h, 0, damageAt(data, openingBytes, fault)
	}
	if h, err = parseHeader(payload, data[len(magic)]); err != nil {
		return h, 0, &DamageError{Kind: ErrCorrupt, Offset: openingBytes, Bytes: len(data) - openingBytes, Why: "the header is malformed: " + err.Error()}
	}
	return h, next, nil
}
