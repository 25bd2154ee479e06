package agones_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tendon/net/agones"
	"tendon/net/agones/sdktest"
)

func TestAddressesAreChecked(t *testing.T) {
	for _, address := range []string{"", "a", "a:", ":1", "a:0", "a:70000", "http://a:1"} {
		if _, err := agones.NewClient(address); !errors.Is(err, agones.ErrAddress) || !strings.Contains(err.Error(), fmt.Sprintf("%q", address)) {
			t.Errorf("%q: %v", address, err)
		}
	}
	t.Setenv("AGONES_SDK_HTTP_PORT", "")
	if at := agones.LocalAddress(); at != "127.0.0.1:9358" {
		t.Errorf("%s", at)
	}
	t.Setenv("AGONES_SDK_HTTP_PORT", "1234")
	if at := agones.LocalAddress(); at != "127.0.0.1:1234" {
		t.Errorf("%s", at)
	}
}

func TestThePublicAddressIsThatOfThePort(t *testing.T) {
	c, err := agones.NewClient(sdktest.Start(t, 1, 1).Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g, err := c.GameServer(t.Context())
	if err != nil || g.Public("") != "127.0.0.1:7654" || g.Public("game") != "127.0.0.1:7654" || g.Public("web") != "" {
		t.Errorf("%+v, %v", g, err)
	}
}

// The SDK server of Agones checks the range of a count only when a request changes it. A capacity alone may be below the count, which then falls to it.
func TestACapacityMayBeSetBelowTheCount(t *testing.T) {
	sdk := sdktest.Start(t, 4, 1)
	c, err := agones.NewClient(sdk.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	capacity := int64(2)
	if err := errors.Join(c.AddCounter(t.Context(), "rooms", 3, nil), c.AddCounter(t.Context(), "rooms", 0, &capacity)); err != nil {
		t.Error(err)
	}
	if n, err := c.Counter(t.Context(), "rooms"); n != (agones.Counter{Count: 2, Capacity: 2}) || err != nil {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestAnErrorContainsTheAnswer(t *testing.T) {
	sdk := sdktest.Start(t, 1, 1)
	c, err := agones.NewClient(sdk.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.AddCounter(t.Context(), "rooms", 2, nil); !errors.Is(err, agones.ErrAnswer) || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("%v", err)
	}
	sdk.Fault(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(503)
		_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
		return true
	})
	if err := c.Ready(t.Context()); !errors.Is(err, agones.ErrAnswer) || len(err.Error()) > 400 {
		t.Errorf("%v", err)
	}
}
