//go:build !headless

package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// soundSchema has the event of the tests.
var soundSchema = &image.Schema{Events: []*image.Declaration{image.DeclareEvent[struct{}]("bang", image.Reversible)}}

// fakeVoice records what it plays.
type fakeVoice struct {
	starts  int
	volume  float64
	playing bool
}

func (v *fakeVoice) Play()               { v.starts, v.playing = v.starts+1, true }
func (v *fakeVoice) Pause()              { v.playing = false }
func (v *fakeVoice) IsPlaying() bool     { return v.playing }
func (v *fakeVoice) SetVolume(x float64) { v.volume = x }

// wavFile returns a WAV file with one channel of 16 bits.
func wavFile(samples ...int16) []byte {
	var b bytes.Buffer
	size := uint32(2 * len(samples))
	for _, part := range []any{[]byte("RIFF"), 36 + size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(sampleRate), uint32(2 * sampleRate), uint16(2), uint16(16), []byte("data"), size, samples} {
		binary.Write(&b, binary.LittleEndian, part)
	}
	return b.Bytes()
}

// soundTest is a player of sounds without a device.
type soundTest struct {
	*sounds
	voices []*fakeVoice
	errs   []string
	now    time.Time
}

func newSoundTest(sound ecs.Sound) *soundTest {
	s := &soundTest{now: time.Unix(1000, 0)}
	g := &ecs.Game{Assets: []ecs.Asset{{Name: "beep", Data: wavFile(1000, -1000, 1000)}, {Name: "noise", Data: []byte("noise")}},
		Screen: ecs.Screen{Sound: func(*ecs.View, ecs.Effect) ecs.Sound { return sound }}}
	s.sounds = &sounds{game: g, report: func(err error) { s.errs = append(s.errs, err.Error()) }, decoded: map[string][]byte{},
		open: func([]byte) voice { v := &fakeVoice{}; s.voices = append(s.voices, v); return v }}
	return s
}

// drain plays the effects that wait.
func (s *soundTest) drain(e *rollback.Effects) {
	e.Drain(9, func(e ecs.Effect) { s.effect(s.now, nil, e) })
	s.update(s.now)
}

// An event that is predicted, removed by a rollback, predicted again and confirmed has one sound, at its full volume.
func TestASoundStartsOnce(t *testing.T) {
	s, e := newSoundTest(ecs.Sound{Asset: "beep", Volume: 0.5}), rollback.NewEffects(soundSchema, 64, 0)
	event := []image.EmittedEvent{{Key: image.EventKey{Tick: 5}}}
	for _, step := range []func(){
		func() { e.Predicted(5, event) }, func() { e.Predicted(5, event) }, func() { e.Predicted(5, nil) }, func() { e.Predicted(5, event) }, func() { e.Settle(5, event) },
	} {
		step()
		s.drain(e)
		s.now = s.now.Add(fadeTime / 3)
	}
	s.now = s.now.Add(fadeTime)
	s.update(s.now)
	if len(s.voices) != 1 || s.voices[0].starts != 1 || !s.voices[0].playing || s.voices[0].volume != 0.5 {
		t.Errorf("%d sounds, the first %+v", len(s.voices), s.voices[0])
	}
}

// The sound of a cancelled event fades out within fadeTime.
func TestACancelledSoundFades(t *testing.T) {
	s, e := newSoundTest(ecs.Sound{Asset: "beep"}), rollback.NewEffects(soundSchema, 64, 0)
	e.Predicted(5, []image.EmittedEvent{{Key: image.EventKey{Tick: 5}}})
	s.drain(e)
	e.Predicted(5, nil)
	s.drain(e)
	var volumes []float64
	for range 3 {
		volumes = append(volumes, s.voices[0].volume)
		s.now = s.now.Add(fadeTime / 2)
		s.update(s.now)
	}
	if !slices.Equal(volumes, []float64{1, 0.5, 0.5}) || s.voices[0].playing || len(s.playing) != 0 {
		t.Errorf("volumes %v, then %+v", volumes, s.voices[0])
	}
}

// A missing or broken asset, and a missing device, are reported once, and the game goes on.
func TestABrokenSoundIsNamedOnce(t *testing.T) {
	for _, name := range []string{"ship", "noise"} {
		s := newSoundTest(ecs.Sound{Asset: name})
		for f := range ecs.Tick(3) {
			s.effect(s.now, nil, ecs.Effect{First: true, ID: uint64(f) + 1, Event: image.EmittedEvent{Key: image.EventKey{Tick: f}}})
		}
		if len(s.errs) != 1 || !strings.Contains(s.errs[0], `"`+name+`"`) || len(s.voices) != 0 {
			t.Errorf("%q", s.errs)
		}
	}
	s := newSoundTest(ecs.Sound{Asset: "beep"})
	s.failed = func() error { return errors.New("no device") }
	for f := range ecs.Tick(3) {
		s.update(s.now)
		s.effect(s.now, nil, ecs.Effect{First: true, ID: uint64(f) + 1, Event: image.EmittedEvent{Key: image.EventKey{Tick: f}}})
	}
	if len(s.errs) != 1 || len(s.voices) != 0 {
		t.Errorf("%q, %d sounds", s.errs, len(s.voices))
	}
}

func TestPanReducesTheOtherSide(t *testing.T) {
	samples, err := decodeSound(newSoundTest(ecs.Sound{}).game, "beep")
	if err != nil || len(samples) < 12 {
		t.Fatal(len(samples), err)
	}
	left, right := int16(binary.LittleEndian.Uint16(panned(samples, 0.5))), int16(binary.LittleEndian.Uint16(panned(samples, 0.5)[2:]))
	if right == 0 || max(left-right/2, right/2-left) > 1 {
		t.Errorf("left %d, right %d", left, right)
	}
}
