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
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// Bundle is what is known of a desync. Here has an image of Tick, and so has There, unless it is nil.
type Bundle struct {
	Tick ecs.Tick // of the two states
	By   Side     // who wrote it
	Peer string   // whose state differs, for people; at most 4096 bytes
	// Claimed is the tick of which There told the checksum Claim; 0: none is known.
	Claimed ecs.Tick
	Claim   image.Checksum
	// Settings say how the match was played: strategy, flags, targets. At most 64, of at most 4096 bytes.
	Settings []Setting
	// Here is the state of who wrote the bundle, with the ticks that led there as far as they are known. Required.
	Here travel.Source
	// There is the other one's; nil where only a checksum is known.
	There travel.Source
}

// Side is who wrote a bundle.
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
	magic        = "TENDONDB"
	version      = 1
	maxText      = 4096
	maxSettings  = 64
	maxRecording = 256 << 20
	sumBytes     = 4
	// MaxBytes bounds a bundle.
	MaxBytes = 2*maxRecording + (2+2*maxSettings)*(maxText+2) + 64
)

// Errors of bundles.
var (
	ErrNotBundle = errors.New("bundle: not a desync bundle")
	ErrVersion   = errors.New("bundle: a format version that this build does not know")
	ErrCorrupt   = errors.New("bundle: damaged")
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
	here, err := pack(b.Here)
	if err != nil {
		return dst, err
	}
	var there []byte
	if b.There != nil {
		if there, err = pack(b.There); err != nil {
			return dst, err
		}
	}
	w := wire.NewWriter(dst, MaxBytes)
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
	w.Blob(here)
	w.Blob(there)
	if w.Err() != nil {
		return dst, fmt.Errorf("%w: it is larger than %d bytes", ErrBundle, MaxBytes)
	}
	out := w.Bytes()
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out[len(dst):], castagnoli)), nil
}

// check says what is wrong with a bundle that is to be written or was read.
func (b *Bundle) check() error {
	switch {
	case b.By != Client && b.By != Server:
		return fmt.Errorf("%w: By is %q, want %q or %q", ErrBundle, b.By, Client, Server)
	case len(b.Peer) > maxText:
		return fmt.Errorf("%w: Peer is %d bytes, want at most %d", ErrBundle, len(b.Peer), maxText)
	case len(b.Settings) > maxSettings:
		return fmt.Errorf("%w: %d Settings, want at most %d", ErrBundle, len(b.Settings), maxSettings)
	case b.Here == nil:
		return fmt.Errorf("%w: Here is nil", ErrBundle)
	case !slices.Contains(b.Here.Images(), b.Tick) || b.Here.Last() != b.Tick:
		return fmt.Errorf("%w: Here does not end with an image of tick %d", ErrBundle, b.Tick)
	case b.There != nil && (!slices.Contains(b.There.Images(), b.Tick) || b.There.Last() != b.Tick):
		return fmt.Errorf("%w: There does not end with an image of tick %d", ErrBundle, b.Tick)
	case b.There != nil && b.There.Header().Fingerprint != b.Here.Header().Fingerprint:
		return fmt.Errorf("%w: Here and There are of different games", ErrBundle)
	}
	for _, s := range b.Settings {
		if len(s.Name) > maxText || len(s.Value) > maxText {
			return fmt.Errorf("%w: the setting %.40q is longer than %d bytes", ErrBundle, s.Name, maxText)
		}
	}
	return nil
}

// pack writes one side as a recording.
func pack(s travel.Source) ([]byte, error) {
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, s.Header())
	if err != nil {
		return nil, err
	}
	images := s.Images()
	due := func(f ecs.Tick) error {
		if len(images) == 0 || images[0] != f {
			return nil
		}
		images = images[1:]
		encoded, err := s.Image(f)
		if err != nil {
			return err
		}
		return w.ImageBytes(encoded)
	}
	err = due(s.Header().Start)
	for e := range s.Entries(s.Header().Start+1, s.Last()) {
		if err == nil {
			err = w.Tick(*e)
		}
		if err == nil {
			err = due(e.Tick)
		}
	}
	return file.Bytes(), errors.Join(err, w.Close())
}

// Open reads a bundle, which keeps data.
func Open(data []byte) (*Bundle, error) {
	if !Is(data) {
		return nil, ErrNotBundle
	}
	if len(data) < len(magic)+1+sumBytes {
		return nil, fmt.Errorf("%w: it ends after %d bytes", ErrCorrupt, len(data))
	}
	if v := data[len(magic)]; v != version {
		return nil, fmt.Errorf("%w: version %d, this build knows %d", ErrVersion, v, version)
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
	here, there := r.Blob(maxRecording), r.Blob(maxRecording)
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	var err error
	if b.Here, err = unpack(here); err == nil && len(there) > 0 {
		b.There, err = unpack(there)
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return b, nil
}

// unpack reads one side. It is whole, or it is none: a bundle is not torn.
func unpack(data []byte) (travel.Source, error) {
	r, err := recording.Open(data)
	if err != nil {
		return nil, err
	}
	return r, nil
}
