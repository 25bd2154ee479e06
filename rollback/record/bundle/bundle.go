package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback/record"
)

// Bundle is a desync. Here ends with an image of Tick, and so does There unless it is nil.
type Bundle struct {
	Tick ecs.Tick // of the two states
	By   Side     // the side that wrote the bundle
	Peer string   // the peer whose state differs, for people; at most 4096 bytes
	// Claimed is the tick of which There sent the checksum Claim; 0: none is known.
	Claimed ecs.Tick
	Claim   image.Checksum
	// Settings describe how the match was played: strategy, flags, targets. At most 64, of at most 4096 bytes.
	Settings []Setting
	// Here is the state of the side that wrote the bundle, with the ticks that led there, as far as they are known. Required.
	Here *record.Record
	// There is the other side's state. Optional: nil if only a checksum is known.
	There *record.Record
}

// Side is the side that wrote a bundle.
type Side string

// The sides.
const (
	Client Side = "client"
	Server Side = "server"
)

// Setting is one line of a configuration.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	magic       = "TENDONDB"
	version     = 2
	maxText     = 4096
	maxSettings = 64
	maxRecord   = 256 << 20
	maxBytes    = 2*maxRecord + (2+2*maxSettings)*(maxText+2) + 64
	sumBytes    = 4
)

// Errors of bundles. Those about the game are package record's.
var (
	ErrVersion = errors.New("bundle: a format version that this build cannot read")
	ErrCorrupt = errors.New("bundle: damaged")
	// ErrBundle is wrapped by errors about a Bundle that cannot be written.
	ErrBundle = errors.New("bundle: cannot be written")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Is reports whether a file begins as a bundle does.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// Append appends the bundle as bytes and returns the extended slice.
func (b *Bundle) Append(dst []byte) ([]byte, error) {
	if err := b.check(); err != nil {
		return dst, err
	}
	w := wire.NewWriter(dst, maxBytes)
	w.Raw([]byte(magic))
	w.U8(version)
	w.Uvarint(uint64(b.Tick))
	w.Blob([]byte(b.By))
	w.Blob([]byte(b.Peer))
	w.Uvarint(uint64(b.Claimed))
	w.U64(uint64(b.Claim))
	w.Uvarint(uint64(len(b.Settings)))
	for _, s := range b.Settings {
		w.Blob([]byte(s.Name))
		w.Blob([]byte(s.Value))
	}
	w.Blob(b.Here.Bytes())
	var there []byte
	if b.There != nil {
		there = b.There.Bytes()
	}
	w.Blob(there)
	if w.Err() != nil {
		return dst, fmt.Errorf("%w: it is larger than %d bytes", ErrBundle, maxBytes)
	}
	out := w.Bytes()
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[len(dst):], castagnoli)), nil
}

// check returns the first rule that the bundle breaks, wrapped in ErrBundle, or nil.
func (b *Bundle) check() error {
	long := func(s Setting) bool { return len(s.Name) > maxText || len(s.Value) > maxText }
	switch {
	case b.By != Client && b.By != Server:
		return fmt.Errorf("%w: By is %q, want %q or %q", ErrBundle, b.By, Client, Server)
	case len(b.Peer) > maxText || slices.ContainsFunc(b.Settings, long):
		return fmt.Errorf("%w: Peer or one of Settings is longer than %d bytes", ErrBundle, maxText)
	case len(b.Settings) > maxSettings:
		return fmt.Errorf("%w: %d Settings, want at most %d", ErrBundle, len(b.Settings), maxSettings)
	case b.Here == nil:
		return fmt.Errorf("%w: Here is nil", ErrBundle)
	case !b.ends(b.Here) || b.There != nil && !b.ends(b.There):
		return fmt.Errorf("%w: Here or There does not end with an image of tick %d and an end mark", ErrBundle, b.Tick)
	}
	return nil
}

// ends reports whether a record ends with an image of Tick and an end mark.
func (b *Bundle) ends(r *record.Record) bool {
	return r.Ended() && r.Last().Tick == b.Tick && slices.Contains(r.Images(), b.Tick)
}

// Open reads a bundle of g and keeps data. The error wraps ErrVersion, ErrCorrupt or, for another game, that of
// record.Open.
func Open(data []byte, g *ecs.Game) (*Bundle, error) {
	if !Is(data) || len(data) < len(magic)+1+sumBytes {
		return nil, fmt.Errorf("%w: it begins or ends otherwise than a bundle", ErrCorrupt)
	}
	if v := data[len(magic)]; v != version {
		return nil, fmt.Errorf("%w: the file has version %d, this build reads %d", ErrVersion, v, version)
	}
	body := data[:len(data)-sumBytes]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, fmt.Errorf("%w: it has the wrong checksum", ErrCorrupt)
	}
	r := wire.NewReader(body[len(magic)+1:])
	b := &Bundle{Tick: ecs.Tick(r.Uvarint()), By: Side(r.Blob(maxText)), Peer: string(r.Blob(maxText)), Claimed: ecs.Tick(r.Uvarint()), Claim: image.Checksum(r.U64())}
	for range r.Count(maxSettings, 2) {
		b.Settings = append(b.Settings, Setting{string(r.Blob(maxText)), string(r.Blob(maxText))})
	}
	here, there := r.Blob(maxRecord), r.Blob(maxRecord)
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	var err error
	if b.Here, err = record.Open(here, g); err == nil && len(there) > 0 {
		b.There, err = record.Open(there, g)
	}
	if err == nil {
		err = b.check()
	}
	if err != nil && !errors.Is(err, record.ErrOther) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
