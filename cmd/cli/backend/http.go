package backend

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/backend/api"
	"tendon/cmd/cli/backend/queue"
)

//go:embed openapi.json
var openapi []byte

const maxBody = 16 << 10 // bytes of a request

// httpError is an error with the status of its reply.
type httpError struct {
	status int
	reply  api.Error
}

func (e *httpError) Error() string { return e.reply.Error }

func wrong(status int, format string, args ...any) error {
	return &httpError{status, api.Error{Error: fmt.Sprintf(format, args...)}}
}

// route is a request that the service serves.
type route struct {
	method, path string
	full         bool // needs a key
	handle       func(s *Service, w http.ResponseWriter, r *http.Request, by caller) (status int, reply any, err error)
}

var routes = []route{
	{http.MethodPost, "/v1/tickets", false, (*Service).submit},
	{http.MethodGet, "/v1/tickets/{id}", false, (*Service).get},
	{http.MethodDelete, "/v1/tickets/{id}", false, (*Service).cancel},
	{http.MethodPut, "/v1/backfill/{room}", true, (*Service).backfill},
	{http.MethodGet, "/v1/rooms", true, (*Service).rooms},
	{http.MethodPost, "/v1/kick", true, (*Service).kick},
	{http.MethodPost, "/v1/ban", true, (*Service).ban},
	{http.MethodGet, "/metrics", true, (*Service).scrape},
}

// Handler returns the handler of all requests.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route.method+" "+route.path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, &route) })
	}
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openapi)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "alive\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.Active() {
			http.Error(w, ErrInactive.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	return s.checked(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			w = noRoute{w}
		}
		mux.ServeHTTP(w, r)
	}))
}

// noRoute replies with JSON where http.ServeMux has no handler and replies with text.
type noRoute struct{ http.ResponseWriter }

// WriteHeader sends the whole reply.
func (w noRoute) WriteHeader(status int) {
	text := "there is no such path: GET /v1/openapi.json lists the paths"
	switch status {
	case http.StatusMethodNotAllowed:
		text = "the path does not have this method: use one of " + w.Header().Get("Allow")
	case http.StatusTemporaryRedirect:
		text = "the path is not in its shortest form: send the request to " + w.Header().Get("Location")
	}
	admin.WriteJSON(w.ResponseWriter, status, api.Error{Error: text})
}

func (w noRoute) Write(text []byte) (int, error) { return len(text), nil }

// checked refuses requests of pages that have no access, and answers their preflights.
func (s *Service) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if s.config.Access == nil && !loopback(r.Host) { // a name that an attacker has resolved to this address
			admin.WriteJSON(w, http.StatusForbidden, api.Error{Error: "the host of the request is not a loopback address: use 127.0.0.1, or start the backend with keys"})
			return
		}
		origin := r.Header.Get("Origin")
		if origin != "" && !slices.Contains(s.config.Origins, origin) {
			admin.WriteJSON(w, http.StatusForbidden, api.Error{Error: fmt.Sprintf("pages of %.100q may not use this backend: start it with --origin", origin)})
			return
		}
		if origin != "" {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Vary", "Origin")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key")
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// serve authenticates a request, applies its rate limit and sends the reply.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, route *route) {
	status, answer, err := s.answer(w, r, route)
	if err != nil {
		status, answer = errorReply(err)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	s.metrics.count(route.method+" "+route.path, status)
	if answer != nil {
		admin.WriteJSON(w, status, answer)
	}
}

func (s *Service) answer(w http.ResponseWriter, r *http.Request, route *route) (status int, answer any, err error) {
	by, err := s.config.Access.caller(r.Context(), r.Header.Get("Authorization"))
	if errors.Is(err, errIssuer) {
		return 0, nil, err
	}
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return 0, nil, wrong(http.StatusUnauthorized, "%v", err)
	}
	limit := playerRate
	if by.full {
		limit = keyRate
	}
	switch {
	case !s.limits.allow(by.name, limit):
		return 0, nil, wrong(http.StatusTooManyRequests, "too many requests: send at most one every %v", limit.interval)
	case route.full && !by.full:
		return 0, nil, wrong(http.StatusForbidden, "this request needs a key of the backend, not the JWT of a player")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	return route.handle(s, w, r, by)
}

// errorReply returns the reply to a request that failed.
func errorReply(err error) (status int, answer any) {
	if e := (*httpError)(nil); errors.As(err, &e) {
		return e.status, e.reply
	}
	text := api.Error{Error: err.Error()}
	if open := (*queue.OpenError)(nil); errors.As(err, &open) {
		text.ID = open.ID
		return http.StatusConflict, text
	}
	if banned := (*queue.BannedError)(nil); errors.As(err, &banned) {
		text.Error += time.UnixMilli(banned.Until).UTC().Format("; the ban ends at 2006-01-02 15:04:05 UTC")
		return http.StatusForbidden, text
	}
	switch {
	case errors.Is(err, queue.ErrMatched), errors.Is(err, queue.ErrBans):
		return http.StatusConflict, text
	case errors.Is(err, queue.ErrOften):
		return http.StatusTooManyRequests, text
	case errors.Is(err, queue.ErrQueue), errors.Is(err, queue.ErrTicket):
		return http.StatusNotFound, text
	case errors.Is(err, queue.ErrFull), errors.Is(err, errTooManyOpen), errors.Is(err, ErrInactive), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, text
	}
	return http.StatusBadRequest, text
}

// decode decodes the body of a request, which is one JSON object with known fields.
func decode(r *http.Request, body any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&body) // null sets body to nil
	if err == nil && body == nil {
		err = errNull
	}
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errLong
		}
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return wrong(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", large.Limit)
	}
	if err != nil {
		return wrong(http.StatusBadRequest, "the body is not valid: %s; see /v1/openapi.json", fault(err))
	}
	return nil
}

var (
	errNull = errors.New("it is null: send a JSON object")
	errLong = errors.New("it continues after the object: send one JSON object")
)

// fault returns the reason of an error about a body.
func fault(err error) string {
	if errors.Is(err, errNull) || errors.Is(err, errLong) || errors.Is(err, queue.ErrAttribute) {
		return err.Error()
	}
	if errors.As(err, new(base64.CorruptInputError)) { // card is the only field of bytes
		return "card is not base64: give the data of the card in standard base64 with padding"
	}
	return admin.Fault(err)
}

// scrape serves the metrics.
func (s *Service) scrape(w http.ResponseWriter, r *http.Request, _ caller) (int, any, error) {
	s.metrics.handler.ServeHTTP(w, r)
	return http.StatusOK, nil, nil
}
