//go:build !headless

package window

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/ebitengine/oto/v3"
	"github.com/hajimehoshi/ebiten/v2/audio/vorbis"
	"github.com/hajimehoshi/ebiten/v2/audio/wav"

	"tendon/ecs"
	"tendon/ecs/image"
)

// sounds plays the sounds of events. The sound of an event starts with the first effect of the event. It fades out if the event
// is cancelled, and goes on if the event is predicted again while it fades.
type sounds struct {
	game    *ecs.Game
	report  func(error)
	failed  func() error               // error of the device
	open    func(samples []byte) voice // nil without a device
	decoded map[string][]byte          // by asset; nil: missing or broken
	playing []sounding
}

// voice plays samples. oto.Player is one.
type voice interface {
	Play()
	Pause()
	IsPlaying() bool
	SetVolume(volume float64)
}

// sounding is the sound of an event. It is kept for a while after its end, so that it does not start again.
type sounding struct {
	id     uint64         // of the effects of the event
	event  image.EventKey // at its first effect
	voice  voice
	volume float64
	start  time.Time
	fade   time.Time // when it began to fade; zero: it does not
}

const (
	sampleRate = 48000
	fadeTime   = 100 * time.Millisecond
	keepTime   = 2 * time.Second
	maxVoices  = 64
)

// newSounds opens the audio device. Without one, or without Screen.Sound, nothing is played.
func newSounds(g *ecs.Game, report func(error)) *sounds {
	s := &sounds{game: g, report: report, decoded: map[string][]byte{}}
	if g.Screen.Sound == nil {
		return s
	}
	context, _, err := oto.NewContext(&oto.NewContextOptions{SampleRate: sampleRate, ChannelCount: 2, Format: oto.FormatSignedInt16LE})
	if err != nil {
		report(fmt.Errorf("no sound: %w", err))
		return s
	}
	s.failed = context.Err // the device is opened in the background
	s.open = func(samples []byte) voice { return context.NewPlayer(bytes.NewReader(samples)) }
	return s
}

// effect starts the sound of an event, or lets it fade.
func (s *sounds) effect(now time.Time, v *ecs.View, e ecs.Effect) {
	if s.game.Screen.Sound == nil || e.Verdict != nil {
		return
	}
	i := slices.IndexFunc(s.playing, func(p sounding) bool { return p.id == e.ID || e.First && p.event == e.Event.Key })
	switch {
	case i >= 0 && e.Status == ecs.EffectCancelled:
		s.playing[i].fade = now
	case i >= 0 && e.First: // predicted again
		s.playing[i].id, s.playing[i].fade = e.ID, time.Time{}
		s.playing[i].voice.SetVolume(s.playing[i].volume)
	case e.First:
		s.start(now, e, s.game.Screen.Sound(v, e))
	}
}

// start starts the sound of an event.
func (s *sounds) start(now time.Time, e ecs.Effect, sound ecs.Sound) {
	if sound.Asset == "" {
		return
	}
	samples := s.samples(sound.Asset)
	if samples == nil || s.open == nil || len(s.playing) >= maxVoices {
		return
	}
	volume := min(max(sound.Volume, 0), 1)
	if sound.Volume == 0 {
		volume = 1
	}
	one := sounding{id: e.ID, event: e.Event.Key, voice: s.open(panned(samples, sound.Pan)), volume: volume, start: now}
	one.voice.SetVolume(volume)
	one.voice.Play()
	s.playing = append(s.playing, one)
}

// update advances the sounds that fade, and drops those that are over.
func (s *sounds) update(now time.Time) {
	if s.failed != nil {
		if err := s.failed(); err != nil {
			s.report(fmt.Errorf("no sound: %w", err))
			s.failed, s.open = nil, nil
		}
	}
	s.playing = slices.DeleteFunc(s.playing, func(p sounding) bool {
		if !p.fade.IsZero() {
			left := 1 - float64(now.Sub(p.fade))/float64(fadeTime)
			if left <= 0 {
				p.voice.Pause()
				return true
			}
			p.voice.SetVolume(p.volume * left)
		}
		return now.Sub(p.start) > keepTime && !p.voice.IsPlaying()
	})
}

// samples returns the samples of an asset, 16 bits for left and right each. An asset that cannot be played is reported once.
func (s *sounds) samples(name string) []byte {
	data, known := s.decoded[name]
	if !known {
		var err error
		if data, err = decodeSound(s.game, name); err != nil {
			s.report(err)
		}
		s.decoded[name] = data
	}
	return data
}

// decodeSound returns the samples of an asset. The error has its name.
func decodeSound(g *ecs.Game, name string) ([]byte, error) {
	data, err := asset(g, name)
	if err != nil {
		return nil, fmt.Errorf("sound: %w", err)
	}
	var stream io.Reader
	if bytes.HasPrefix(data, []byte("OggS")) {
		stream, err = vorbis.DecodeWithSampleRate(sampleRate, bytes.NewReader(data))
	} else {
		stream, err = wav.DecodeWithSampleRate(sampleRate, bytes.NewReader(data))
	}
	if err == nil {
		data, err = io.ReadAll(stream)
	}
	if err != nil {
		return nil, fmt.Errorf("sound: the asset %q is not a WAV or Ogg Vorbis file: %w", name, err)
	}
	return data, nil
}

// panned returns samples with the volume of one side reduced. pan is −1 for left and 1 for right.
func panned(samples []byte, pan float64) []byte {
	pan = min(max(pan, -1), 1)
	if pan == 0 || math.IsNaN(pan) {
		return samples
	}
	out, sides := make([]byte, len(samples)), [2]float64{min(1-pan, 1), min(1+pan, 1)}
	for i := 0; i+1 < len(samples); i += 2 {
		x := float64(int16(binary.LittleEndian.Uint16(samples[i:]))) * sides[i/2%2]
		binary.LittleEndian.PutUint16(out[i:], uint16(int16(x)))
	}
	return out
}
