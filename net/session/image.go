package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Image is a state that is sent to one or more peers. It is cut into pieces that are compressed separately, in steps.
// Piece i holds the raw bytes [i·imagePiece, (i+1)·imagePiece).
type Image struct {
	head    imageHead      // size and sum are those of the bytes that were summed
	state   image.Snapshot // until all pieces are compressed
	reader  *image.Reader  // of state, first to sum its bytes and then to compress them
	digest  *xxhash.Digest // until all bytes are summed
	coder   *zstd.Encoder  // from then on
	scratch []byte         // a piece
	ordered []byte         // the same piece, its bytes in the order in which they are compressed
	pieces  [][]byte       // the compressed ones
}

const (
	imagePiece     = 16 << 10         // bytes of an image that one message holds, before compression
	maxImage       = 64 << 20         // bound of the images that a client accepts, in bytes
	imagePackedMax = imagePiece + 128 // bound of a compressed piece: zstd adds less to incompressible data
	sumShare       = 8                // bytes that are summed in the time in which one is compressed
	imageRow       = 48               // bytes; rows of components of 8, 16, 24 and 48 bytes lie below each other
)

// order sets dst to the bytes of a piece in the order in which they are compressed. First come the first bytes of all rows of
// imageRow bytes, then their second bytes, and so on. The bytes after the last whole row come last. dst is as long as raw. The order
// brings together equal bytes of numbers of one kind.
func order(dst, raw []byte) {
	at, end := 0, len(raw)/imageRow*imageRow
	for k := range imageRow {
		for i := k; i < end; i += imageRow {
			dst[at] = raw[i]
			at++
		}
	}
	copy(dst[end:], raw[end:])
}

// restore is the inverse of order.
func restore(dst, ordered []byte) {
	at, end := 0, len(ordered)/imageRow*imageRow
	for k := range imageRow {
		for i := k; i < end; i += imageRow {
			dst[i] = ordered[at]
			at++
		}
	}
	copy(dst[end:], ordered[end:])
}

// NewImage returns an image of the state in a snapshot, whose pages it holds until it is done. chain is the hash chain of the
// match up to its tick, or 0: see record.Chain. The match continues from the image with a strategy of this name, with these
// params. Image.Work compresses it.
func NewImage(s *image.Snapshot, chain uint64, strategy string, params []byte) *Image {
	im := &Image{head: imageHead{tick: s.Tick(), chain: chain, strategy: strategy, params: params}, digest: xxhash.New(),
		scratch: make([]byte, imagePiece), ordered: make([]byte, imagePiece)}
	im.state.Hold(s)
	im.reader = image.NewReader(&im.state)
	return im
}

// Tick returns the tick of the state.
func (im *Image) Tick() ecs.Tick { return im.head.tick }

// Done reports whether all pieces are compressed.
func (im *Image) Done() bool { return im.reader == nil }

// Work compresses at least one piece and at most budget bytes, and returns how many. Bytes are counted before compression.
// First it sums the bytes, of which sumShare count as one.
func (im *Image) Work(budget int) (worked int) {
	for im.reader != nil && (worked == 0 || worked+imagePiece <= budget) {
		n, _ := im.reader.Read(im.scratch) // the only error is io.EOF, and then n is less than a piece
		if im.digest != nil {
			im.digest.Write(im.scratch[:n])
			im.head.size += n
			if worked += imagePiece / sumShare; n < imagePiece {
				im.begin()
			}
			continue
		}
		if n > 0 {
			order(im.ordered[:n], im.scratch[:n])
			im.pieces = append(im.pieces, im.coder.EncodeAll(im.ordered[:n], nil))
			worked += n
		}
		if n < imagePiece {
			im.state.Release()
			im.reader, im.coder, im.scratch, im.ordered = nil, nil, nil, nil
		}
	}
	return worked
}

// begin begins to compress: all bytes are summed.
func (im *Image) begin() {
	im.head.sum, im.digest = im.digest.Sum64(), nil
	im.reader = image.NewReader(&im.state)
	// It takes half a megabyte, so it is kept only until the last piece. An error can only be about the options.
	im.coder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(imagePiece), zstd.WithLowerEncoderMem(true))
}

// Packed returns the bytes of the pieces that are compressed.
func (im *Image) Packed() (n int) {
	for _, p := range im.pieces {
		n += len(p)
	}
	return n
}

// known reports whether the head is complete, so that the image can be announced.
func (im *Image) known() bool { return im.digest == nil }

func (im *Image) count() int { return (im.head.size + imagePiece - 1) / imagePiece }

// errImage reports an image that differs from its head.
var errImage = errors.New("session: the image is damaged")

// imageSink reassembles an image. Its memory is bounded by twice the pieces received, and by the announced size.
type imageSink struct {
	head    imageHead
	raw     []byte
	scratch []byte
	decoder *zstd.Decoder
}

func (s *imageSink) open(h imageHead) error {
	if h.size > maxImage {
		return fmt.Errorf("session: an image of %d bytes is announced and %d are allowed", h.size, maxImage)
	}
	h.params = slices.Clone(h.params)
	s.head, s.raw = h, nil
	if s.decoder == nil {
		s.scratch = make([]byte, 0, imagePiece)
		// An error can only be about the options, which are constant.
		s.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(imagePiece), zstd.WithDecoderMaxWindow(imagePiece), zstd.WithDecodeAllCapLimit(true))
	}
	return nil
}

func (s *imageSink) progress() float64 {
	if s.decoder == nil {
		return 0
	}
	return float64(len(s.raw)) / float64(s.head.size)
}

func (s *imageSink) add(packed []byte) (encoded []byte, err error) {
	if s.decoder == nil || len(packed) > imagePackedMax {
		return nil, errImage
	}
	want := min(imagePiece, s.head.size-len(s.raw))
	piece, err := s.decoder.DecodeAll(packed, s.scratch[:0])
	if err != nil || len(piece) != want {
		s.close()
		return nil, errImage
	}
	if n := len(s.raw) + want; n > cap(s.raw) {
		s.raw = append(make([]byte, 0, min(2*n, s.head.size)), s.raw...)
	}
	s.raw = append(s.raw, piece...)
	restore(s.raw[len(s.raw)-want:], piece)
	if len(s.raw) < s.head.size {
		return nil, nil
	}
	encoded = s.raw
	s.close()
	if xxhash.Sum64(encoded) != s.head.sum {
		return nil, errImage
	}
	return encoded, nil
}

func (s *imageSink) close() {
	if s.decoder != nil {
		s.decoder.Close()
	}
	s.decoder, s.raw, s.scratch = nil, nil, nil
}
