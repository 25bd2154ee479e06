package admin

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"unicode/utf8"

	"tendon/net/server"
)

// FuzzBody sends any body to the controls. Each is refused with a short text that has the status of a wrong request, or has one
// effect with values within their bounds.
func FuzzBody(f *testing.F) {
	for _, body := range []string{`{"client_id": "7", "reason": "text"}`, `{"client_id": "7", "seconds": 600, "reason": "text"}`, `{"client_id": "8", "seconds": 0}`,
		`{"room": "main", "strategy": "lockstep"}`, `{"room": "main", "on": true}`, `{"room": "\u202e"}`, `{"client_id": 7}`, `{"client_id": "7", "seconds": 1e30}`,
		"", "null", "[]", "{}{}", `{"a":1}`} {
		for path := range 4 {
			f.Add(uint8(path), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		control := &fakeControl{bans: map[uint64]server.Ban{}}
		from := &Source{Control: control, Peers: func(string) ([]server.PeerInfo, error) { return nil, server.ErrNoRoom }}
		r, err := http.NewRequest("POST", "http://127.0.0.1/", http.MaxBytesReader(nil, http.NoBody, 0))
		if err != nil {
			t.Fatal(err)
		}
		r.Body = http.MaxBytesReader(nil, readCloser{bytes.NewReader(body)}, 4096)
		controls := [...]func(*Source, *http.Request) (any, error){(*Source).change, (*Source).pause, (*Source).kick, (*Source).ban}
		_, err = controls[path%4](from, r)
		if why := (*controlError)(nil); err != nil && (!errors.As(err, &why) || why.status < 400 || why.status > 499 || len(why.text) > 1024 || !utf8.ValidString(why.text)) {
			t.Fatalf("%q: %v", body, err)
		}
		if len(control.calls) > 1 || err == nil && len(control.calls) != 1 {
			t.Fatalf("%q has the effects %q, error %v", body, control.calls, err)
		}
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
