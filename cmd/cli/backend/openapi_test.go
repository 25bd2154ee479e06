package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"tendon/cmd/cli/backend/api"
)

// description loads the OpenAPI document and checks it.
func description(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapi)
	if err == nil {
		err = doc.Validate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The description has the routes of the handlers, and no other ones.
func TestTheDescriptionHasEveryRoute(t *testing.T) {
	doc := description(t)
	have := []string{"GET /v1/openapi.json", "GET /healthz", "GET /readyz"}
	for _, r := range routes {
		have = append(have, r.method+" "+r.path)
	}
	var listed []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			listed = append(listed, method+" "+path)
		}
	}
	slices.Sort(have)
	slices.Sort(listed)
	if !slices.Equal(have, listed) {
		t.Errorf("the handlers are %q, the description has %q", have, listed)
	}
}

// The description has the fields of the requests and replies, with their types. A field is required unless the encoder omits it.
func TestTheDescriptionHasEveryField(t *testing.T) {
	doc := description(t)
	for _, v := range []any{api.TicketRequest{}, api.Ticket{}, api.Match{}, api.Backfill{}, api.Rooms{}, api.Server{}, api.Room{}, api.Sanction{}, api.Sanctioned{}, api.Error{}} {
		of := reflect.TypeOf(v)
		schema := doc.Components.Schemas[of.Name()]
		if schema == nil {
			t.Errorf("there is no schema of %s", of.Name())
			continue
		}
		if n := len(schema.Value.Properties); n != of.NumField() {
			t.Errorf("%s has %d fields, its schema %d", of.Name(), of.NumField(), n)
		}
		for i := range of.NumField() {
			f := of.Field(i)
			tag := f.Tag.Get("json")
			name, options, _ := strings.Cut(tag, ",")
			p := schema.Value.Properties[name]
			if p == nil {
				t.Errorf("the schema of %s has no %s", of.Name(), name)
				continue
			}
			if want := jsonType(f.Type, options); !p.Value.Type.Is(want) {
				t.Errorf("%s.%s is %v in the schema, want %s", of.Name(), name, p.Value.Type, want)
			}
			if required := slices.Contains(schema.Value.Required, name); required == strings.Contains(options, "omitempty") {
				t.Errorf("%s.%s: required is %v in the schema", of.Name(), name, required)
			}
		}
	}
}

// jsonType returns the type of a field in JSON.
func jsonType(of reflect.Type, options string) string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch k := of.Kind(); {
	case strings.Contains(options, "string"), k == reflect.String, of.String() == "time.Time", of.String() == "[]uint8":
		return "string"
	case k == reflect.Slice:
		return "array"
	case k == reflect.Bool:
		return "boolean"
	case k == reflect.Int, k == reflect.Int64, k == reflect.Uint64:
		return "integer"
	}
	return "object"
}

// Every reply of a running service fits the description, also those to wrong requests.
func TestEveryReplyFitsTheDescription(t *testing.T) {
	doc := description(t)
	keys, err := LoadKeys([]byte("# comment\n\ngame 0123456789abcdef\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := directory(4, "one")
	d.open["old"] = "one"
	r := start(t, &memory{}, Config{Directory: d, Access: &Access{Keys: keys}})
	doc.Servers = openapi3.Servers{{URL: r.URL}}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	send := func(method, path, body string, status int) []byte {
		t.Helper()
		route, text := exchange(t, router, method, r.URL+path, body, status)
		seen[route] = true
		return text
	}
	submit := `{"player":"ann","queue":"duel","name":"Ann","card":"cmVk","attributes":{"rating":1500,"region":"eu"}}`
	var a api.Ticket
	if err := json.Unmarshal(send("POST", "/v1/tickets", submit, 201), &a); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{`, `[]`, `{"queue":"duel"}`, `{"player":"x","queue":"duel","other":1}`, `{"player":"x","queue":"duel","party":"p"}`,
		`{"player":"x","queue":"duel"}{}`, `{"player":"x","queue":"duel","attributes":{"a":1.5}}`, `{"player":"x","queue":"duel","name":"` + strings.Repeat("n", 33) + `"}`,
		`{"player":"` + strings.Repeat("n", 129) + `","queue":"duel"}`} {
		send("POST", "/v1/tickets", bad, 400)
	}
	send("POST", "/v1/tickets", submit, 409)
	send("POST", "/v1/tickets", `{"player":"x","queue":"none"}`, 404)
	send("POST", "/v1/tickets", `{"player":"`+strings.Repeat("n", maxBody)+`"}`, 413)
	send("GET", "/v1/tickets/"+a.ID, "", 200)
	send("GET", "/v1/tickets/"+a.ID+"?wait=31", "", 400)
	send("GET", "/v1/tickets/none", "", 404)
	send("DELETE", "/v1/tickets/none", "", 404)
	send("DELETE", "/v1/tickets/"+a.ID, "", 200)
	b, c := r.withKey("0123456789abcdef"), api.TicketRequest{Player: "bob", Queue: "duel"}
	one, err := b.Submit(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	c.Player = "eve"
	if _, err = b.Wait(t.Context(), c, func(api.Ticket) {}); err != nil {
		t.Fatal(err)
	}
	if text := send("GET", "/v1/tickets/"+one.ID, "", 200); !bytes.Contains(text, []byte(`"token"`)) {
		t.Errorf("no token in %s", text)
	}
	send("DELETE", "/v1/tickets/"+one.ID, "", 409)
	send("PUT", "/v1/backfill/old", `{"queue":"duel","seats":1}`, 200)
	send("PUT", "/v1/backfill/OLD", `{"queue":"duel","seats":1}`, 400)
	send("GET", "/v1/rooms", "", 200)
	send("POST", "/v1/kick", `{"player":"ann"}`, 502)
	send("POST", "/v1/kick", `{"player":"ann","client_id":"7"}`, 400)
	send("POST", "/v1/ban", `{"player":"ann"}`, 400)
	send("POST", "/v1/ban", `{"client_id":"7","seconds":60,"reason":"text"}`, 200)
	send("POST", "/v1/ban", `{"client_id":"8","seconds":0}`, 404)
	for _, path := range []string{"/v1/kick", "/v1/ban"} {
		if text := send("POST", path, `{"client_id":"0"}`, 400); !bytes.Contains(text, []byte("a client_id of 1 or more")) {
			t.Errorf("%s of client 0: %s", path, text)
		}
	}
	for _, bad := range []string{``, `[]`, `{"client_id":7,"seconds":1}`, `{"client_id":"7","seconds":1.5}`, `{"client_id":"7","seconds":-1}`, `{"client_id":"7","seconds":1,"reason":"a\nb"}`,
		`{"player":"` + strings.Repeat("n", 129) + `","seconds":1}`} {
		if text := send("POST", "/v1/ban", bad, 400); bytes.Contains(text, []byte("Go ")) || bytes.Contains(text, []byte("struct")) {
			t.Errorf("%s: %s", bad, text)
		}
	}
	for _, path := range []string{"/metrics", "/v1/openapi.json", "/healthz", "/readyz"} {
		send("GET", path, "", 200)
	}
	send("POST", "/v1/ban", `{"player":"bob","seconds":60}`, 200)
	send("GET", "/v1/tickets/"+one.ID, "", 403)
	send("POST", "/v1/tickets", `{"player":"bob","queue":"duel"}`, 403)
	now := r.Service.term.Swap(nil)
	send("GET", "/readyz", "", 503)
	send("GET", "/v1/tickets/"+a.ID, "", 503)
	r.Service.term.Store(now)
	if len(seen) != len(routes)+3 {
		t.Errorf("only %d routes were used", len(seen))
	}
}

// The error of a body that is not valid names the field, and says what to send.
func TestABodyThatIsNotValid(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one")})
	const attribute = ": give a text, or a whole number of at most 64 bits; see"
	for body, want := range map[string]string{
		`{"player":"ann","queue":"duel","attributes":{"a":1.5}}`:                 `the attribute "a" is 1.5` + attribute,
		`{"player":"ann","queue":"duel","attributes":{"b":1,"a":true}}`:          `the attribute "a" is true` + attribute,
		`{"player":"ann","queue":"duel","attributes":{"a":9223372036854775808}}`: `the attribute "a" is 9223372036854775808` + attribute,
		`{"player":"ann","queue":"duel","attributes":{"a":null}}`:                `the attribute "a" is null` + attribute,
		`{"player":"ann","queue":"duel","attributes":[]}`:                        "attributes has a wrong type",
		`{"player":"ann","queue":"duel","card":"!!"}`:                            "card is not base64: give",
		`{"player":"ann","queue":"duel","card":7}`:                               "card has a wrong type",
		`null`:                          "it is null: send a JSON object",
		`[]`:                            "it is not a JSON object",
		`{"player":"ann"} {}`:           "it continues after the object",
		`{"player":"ann","queue":7}`:    "queue has a wrong type",
		`{"player":"ann","queues":"x"}`: `"queues" is not a field`,
	} {
		var refused api.Error
		if status := r.post("/v1/tickets", body, &refused); status != http.StatusBadRequest || !strings.Contains(refused.Error, want) {
			t.Errorf("%s: %d %s", body, status, refused.Error)
		}
	}
}

// Ids of players and parties with control or invisible characters are refused. So are those that are not UTF-8: the decoder replaces each
// invalid byte, so two players would have the same client id.
func TestAPlayerHasOneID(t *testing.T) {
	r := start(t, &memory{}, Config{Directory: directory(4, "one")})
	for _, id := range []string{"ann\xff", "ann\xfe", `ann\ud800`, "ann\uFFFD", `ann\u0000`, `ann\n`, `ann\u007f`, "ann\u200b", "ann\u2028", strings.Repeat("ä", 65)} {
		for path, body := range map[string]string{
			"/v1/tickets": `{"queue":"duel","player":"%s"}`, "/v1/tickets?": `{"queue":"duel","player":"eve","party":"%s","party_size":2}`,
			"/v1/kick": `{"player":"%s"}`, "/v1/ban": `{"player":"%s","seconds":1}`,
		} {
			var refused api.Error
			if status := r.post(path, strings.ReplaceAll(body, "%s", id), &refused); status != http.StatusBadRequest || !strings.Contains(refused.Error, " is not valid: send ") ||
				!strings.Contains(refused.Error, " bytes of UTF-8 without control or invisible characters") {
				t.Errorf("%s of %q: %d %s", path, id, status, refused.Error)
			}
		}
	}
	if got, err := r.Submit(t.Context(), api.TicketRequest{Queue: "duel", Player: strings.Repeat("ä", 64)}, ""); err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// The description says which limits are in bytes: maxLength is in characters.
func TestTheDescriptionStatesBytes(t *testing.T) {
	doc := description(t)
	for _, of := range []string{"TicketRequest", "Sanction"} {
		for name, p := range doc.Components.Schemas[of].Value.Properties {
			if most := p.Value.MaxLength; most != nil && !strings.Contains(p.Value.Description, fmt.Sprint(*most, " bytes")) {
				t.Errorf("%s.%s: the description does not say %d bytes", of, name, *most)
			}
		}
	}
}

// exchange sends a request and checks that the reply has a status and fits the description.
func exchange(t *testing.T, router routers.Router, method, url, body string, status int) (route string, text []byte) {
	t.Helper()
	request := httptest.NewRequest(method, url, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer 0123456789abcdef")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	found, params, err := router.FindRoute(request)
	if err != nil {
		t.Fatal(err)
	}
	input := &openapi3filter.RequestValidationInput{Request: request, PathParams: params, Route: found, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if status < 300 {
		if err := openapi3filter.ValidateRequest(t.Context(), input); err != nil {
			t.Errorf("%s %s: the request does not fit: %v", method, url, err)
		}
	}
	sent := request.Clone(t.Context())
	sent.RequestURI, sent.Body = "", io.NopCloser(strings.NewReader(body))
	response, err := http.DefaultClient.Do(sent)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil || response.StatusCode != status {
		t.Errorf("%s %s: %d, want %d: %s (%v)", method, url, response.StatusCode, status, text, err)
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: response.StatusCode,
		Header: response.Header, Body: io.NopCloser(bytes.NewReader(text)), Options: &openapi3filter.Options{IncludeResponseStatus: true}})
	if err != nil {
		t.Errorf("%s %s: the reply does not fit: %v", method, url, err)
	}
	return method + " " + found.Path, text
}
