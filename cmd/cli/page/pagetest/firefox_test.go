package pagetest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"tendon/cmd/cli/page/pagetest"
)

// A page in Firefox is loaded and evaluated, and it has WebGL and WebTransport.
func TestAPageInFirefox(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>page</title><link rel="icon" href="data:,">`)
	}))
	defer s.Close()
	tab := pagetest.OpenFirefox(t, s.URL)
	tab.WaitFor(`document.title === "page"`)
	var has struct{ GL, Transport bool }
	if tab.Eval(`({gl: !!document.createElement("canvas").getContext("webgl"), transport: typeof WebTransport === "function"})`, &has); !has.GL || !has.Transport {
		t.Errorf("%+v", has)
	}
}
