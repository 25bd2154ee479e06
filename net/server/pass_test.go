package server

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"tendon/net/netcode"
	"tendon/systems"
)

// passes are the values of testdata/vectors.txt, by name.
var passes = map[string]Pass{
	"smallest":  {Room: "a", Seat: 0, Issued: time.UnixMilli(0)},
	"any":       {Room: "duel-7", Seat: AnySeat, Issued: time.UnixMilli(1_700_000_000_123), Name: "Ann"},
	"spectator": {Room: "hall_2.east", Seat: AnySeat, Role: systems.RoleSpectator, Issued: time.UnixMilli(1_700_000_000_123)},
	"reconnect": {Room: "duel-7", Seat: 253, Epoch: 0x01020304, Reconnect: true, Issued: time.UnixMilli(1_700_000_000_123), Name: "Zoë"},
	"bot":       {Room: "duel-7", Seat: 2, Issued: time.UnixMilli(1_700_000_000_123), Name: "bot 2", Bot: true},
	"longest":   {Room: strings.Repeat("r", 32), Seat: 1, Issued: time.UnixMilli(1 << 53), Name: strings.Repeat("n", 32), Data: bytes.Repeat([]byte{0xda}, 160)},
}

// The passes are encoded as in testdata/vectors.txt, which other implementations can use.
func TestPassesAreTheVectors(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, digits, ok := strings.Cut(lines.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		p, known := passes[name]
		if !known {
			t.Errorf("vector %q has no value here", name)
			continue
		}
		seen++
		got, err := p.Append(nil)
		if err != nil || hex.EncodeToString(got) != digits {
			t.Errorf("%s: %v\n got %x\nwant %s", name, err, got, digits)
		}
		var user [netcode.UserDataSize]byte
		copy(user[:], got)
		back, err := ParsePass(&user)
		if err != nil || !back.Issued.Equal(p.Issued) {
			t.Errorf("%s: read back: %v, %v", name, back, err)
		}
		back.Issued = p.Issued
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s: read back %+v", name, back)
		}
	}
	if seen != len(passes) {
		t.Errorf("%d vectors of %d", seen, len(passes))
	}
}

// A pass has one encoding: a changed byte gives another pass or an error.
func TestAPassHasOneForm(t *testing.T) {
	for name, p := range passes {
		user := [netcode.UserDataSize]byte{}
		b, err := p.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		copy(user[:], b)
		for i := range user {
			for bit := range 8 {
				user[i] ^= 1 << bit
				if q, err := ParsePass(&user); err == nil {
					again, err := q.Append(nil)
					if err != nil || string(again) != strings.TrimRight(string(user[:]), "\x00") && string(again) != string(user[:len(again)]) {
						t.Errorf("%s: byte %d bit %d is decoded as %+v, which is encoded differently", name, i, bit, q)
					}
				}
				user[i] ^= 1 << bit
			}
		}
	}
}

// Append refuses an invalid pass.
func TestInvalidPassesAreRefused(t *testing.T) {
	good := passes["any"]
	for name, change := range map[string]func(*Pass){
		"no room":                  func(p *Pass) { p.Room = "" },
		"a long room":              func(p *Pass) { p.Room = strings.Repeat("r", 33) },
		"a room in capitals":       func(p *Pass) { p.Room = "Duel" },
		"a room with a slash":      func(p *Pass) { p.Room = "../x" },
		"a seat below any":         func(p *Pass) { p.Seat = -2 },
		"a seat above all":         func(p *Pass) { p.Seat = 254 },
		"a role of the future":     func(p *Pass) { p.Role = 9 },
		"a spectator's seat":       func(p *Pass) { p.Role, p.Seat = systems.RoleSpectator, 0 },
		"a time before 1970":       func(p *Pass) { p.Issued = time.UnixMilli(-1) },
		"a long name":              func(p *Pass) { p.Name = strings.Repeat("n", 33) },
		"a name with a newline":    func(p *Pass) { p.Name = "a\nb" },
		"too much data":            func(p *Pass) { p.Data = make([]byte, 161) },
		"a name that is not UTF-8": func(p *Pass) { p.Name = "\xff" },
	} {
		p := good
		change(&p)
		if _, err := p.Append(nil); !errors.Is(err, ErrPass) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ParsePass never panics, and accepts valid passes only.
func FuzzParsePass(f *testing.F) {
	for _, p := range passes {
		b, _ := p.Append(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var user [netcode.UserDataSize]byte
		copy(user[:], b)
		if p, err := ParsePass(&user); err == nil {
			if err := p.Validate(); err != nil {
				t.Errorf("%+v was accepted: %v", p, err)
			}
		} else if !errors.Is(err, ErrPass) {
			t.Errorf("error %v", err)
		}
	})
}
